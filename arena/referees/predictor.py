"""The game of predictors in two forms: training, then queries until the learner halts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Protocol

import attrs
import numpy as np
from attrs.validators import optional

from arena.claims import PrivacyUnit
from arena.laws import AnswerLaw
from arena.messages import (
    NO_LABEL,
    UNSTABLE,
    Answer,
    Answers,
    Move,
    Queries,
    Query,
    Received,
    Train,
    Trained,
    Unlabelled,
)
from arena.referees.boundary import BINARY, LabelRange
from arena.referees.referee import Batch, BatchSetup, MoveTable, Probe, Referee
from arena.referees.transcript import QueryEntry, UnlabelledEntry
from arena.sample import Training, freeze, points_differ
from arena.settings import at_least, whole

_HANDED = 10  # times that a check hands over every point


class PredictorState(Protocol):
    """What Figure1 and Voting ask of a running learner."""

    @property
    def halted(self) -> np.ndarray:
        """(n,) bool: the games in which the learner has stopped answering. It never restarts."""

    def train(self, training: Training) -> None:
        """Receive the training sets and choose h_0."""

    def predict(self, x: np.ndarray) -> np.ndarray:
        """Receive the queries x (n, ...) and return the labels h_{r-1}(x), (n,) bool or int of 0 and 1; under
        Voting also `UNSTABLE`."""


class PredictorBatch(Batch):
    """Games of a learner that is trained and then answers queries until it halts, for good."""

    halted: np.ndarray

    def __init__(self, referee: PredictorReferee, setup: BatchSetup) -> None:
        super().__init__(referee, setup)
        self.halted = freeze(np.zeros(self.games, bool))
        self._shown_halted = self.halted  # as far as the adversary knows

    def _train(self, move: Train) -> Trained:
        """Steps 1 to 3 of Figure 1: the learner gets its world's training set."""
        training = self.choose_training(move)
        self.learner.call("train", training)
        self.halted = self._shown_halted = self.learner.read_halted(self.halted)
        return Trained()

    def _answer(self, move: Query) -> Answer:
        """One round: step 4 of Figure 1, or one point of Voting."""
        self.start_round()
        x, withheld = self._choose_query(move)

        silent = self.halted
        answer = self.learner.predict(x, self.referee.labels, silent).astype(np.int8)
        if silent.any():
            answer[silent] = NO_LABEL
        self.halted = self.learner.read_halted(silent)

        # A withheld round is withheld whole: a halt that it causes shows at the next round, as silence.
        if withheld is None:
            label, self._shown_halted = answer, self.halted
        else:
            label = np.where(withheld, NO_LABEL, answer)
            self._shown_halted = freeze(np.where(withheld, self._shown_halted, self.halted))
        if self.log is not None:
            entry = QueryEntry(
                round=self.round,
                x=x,
                label=label,
                answer=answer,
                halted=self.halted,
                shown_halted=self._shown_halted,
                withheld=withheld,
            )
            self.log.append(entry)
        return Answer(freeze(label), self._shown_halted)

    def _answer_many(self, move: Queries) -> Answers:
        """Several rounds; their queries are the same in both worlds and chosen before the first answer."""
        x = self.adversary.read_points(move.x)
        rounds = x.shape[1]
        self.check_rounds(self.round + rounds)

        labels = np.empty((self.games, rounds), np.int8)
        halted = np.empty((self.games, rounds), bool)
        begun = self.round
        while self.round < begun + rounds:
            done = self.round - begun
            silent = self.halted
            label = self.learner.predict_some(x[:, done:], self.referee.labels, silent)
            self.halted = self.learner.read_halted(silent)
            # Answers that are given together end with the first halt.
            now = slice(done, done + label.shape[1])
            labels[:, now] = np.where(silent[:, None], NO_LABEL, label)
            halted[:, now] = silent[:, None]
            halted[:, now.stop - 1] = self.halted
            self.position.round = begun + now.stop
        self._shown_halted = self.halted
        if self.log is not None:
            self.log += [
                QueryEntry(round=begun + k + 1, x=x[:, k], label=labels[:, k], halted=halted[:, k])
                for k in range(rounds)
            ]
        return Answers(freeze(labels), freeze(halted))

    def _choose_query(self, move: Query) -> tuple[np.ndarray, np.ndarray | None]:
        """Each game's own query (n, ...), and where the answer is withheld (n,) bool; None: nowhere."""
        x0 = self.adversary.read_point(move.x)
        if move.other is None:
            return x0, None
        x1 = self.adversary.read_point(move.other)
        differ = points_differ(x0, x1)
        if not differ.any():
            return x0, None
        if PrivacyUnit.QUERY not in self.referee.challenges:
            raise self.refuse(
                f"the points of {self.referee.name} are public",
                games=np.flatnonzero(differ),
                expected="the same point in both worlds",
                got="two different points",
            )
        self.worlds.challenge(differ, PrivacyUnit.QUERY, rule="after the flag both queries are equal")
        return self.worlds.choose(x0, x1), differ

    moves: MoveTable = ((Train, _train), (Query, _answer), (Queries, _answer_many))
    opening = Train


class Figure1Batch(PredictorBatch):
    """The same, with unlabelled points between the queries."""

    def _hand_over(self, move: Unlabelled) -> Received:
        """Unlabelled points, which are no round of Figure 1; whether the learner has halted is shown."""
        if not self.learner.receives_unlabelled:
            raise self.refuse(
                f"{self.position.learner} takes no unlabelled points",
                remedy="Hand them to a learner that learns from them, such as everlasting-fresh.",
            )
        x = self._choose_unlabelled(move)

        self.learner.call("receive_unlabelled", x)
        self.halted = self._shown_halted = self.learner.read_halted(self.halted)
        if self.log is not None:
            self.log.append(UnlabelledEntry(round=self.round, x=x, halted=self.halted))
        return Received(self._shown_halted)

    def _choose_unlabelled(self, move: Unlabelled) -> np.ndarray:
        x0 = self.adversary.read_points(move.x)
        if move.other is None:
            return x0
        x1 = self.adversary.read_points(move.other)
        if x0.shape != x1.shape:
            raise self.refuse(
                "both worlds have as many unlabelled points", expected=x0.shape[1], got=x1.shape[1]
            )
        places = (x0 != x1).any(axis=tuple(range(2, x0.ndim))).sum(axis=1)
        if (places > 1).any():
            raise self.refuse(
                "unlabelled points of the two worlds differ in at most one place",
                games=np.flatnonzero(places > 1),
                expected="0 or 1 places",
                got=f"{int(places.max())} places",
            )
        rule = "after the flag both worlds' unlabelled points are equal"
        self.worlds.challenge(places > 0, PrivacyUnit.UNLABELLED_EXAMPLE, rule=rule)
        return self.worlds.choose(x0, x1)

    moves = (*PredictorBatch.moves, (Unlabelled, _hand_over))


@attrs.frozen
class PredictorReferee(Referee):
    """In what the protocols of predictors agree. labels: the answers."""

    learner_state = PredictorState
    law = AnswerLaw
    labels: ClassVar[LabelRange] = BINARY

    def probe(self, probe: Probe, games: int) -> Iterator[Move]:
        points = [probe.mix_points(t, games) for t in range(len(probe.points))]
        yield Train(probe.mix_samples(games))
        if probe.unlabelled:
            yield Unlabelled(np.stack(points * _HANDED, axis=1))
        if probe.in_a_row:
            yield Queries(np.array(probe.points))
            return
        for x in points:
            yield Query(x)


@attrs.frozen
class Figure1(PredictorReferee):
    """Figure 1 of Naor, Nissim, Stemmer, Yan, Private Everlasting Prediction: training, then up to t queries.

    1. The training sets are neighbours by the learner's claim, or the same. 2. If they differ, the flag goes
    up. 3. The learner gets its world's set. Nothing of h_0 is shown. 4. Each round: (a) where the flag is up
    both queries are equal; (b) queries that differ raise it; (c) the label is shown where they are equal; (d)
    the learner gets its world's query; nothing of h_r is shown.

    The view is the labels and whether the learner has halted. A withheld round is withheld whole: a halt that
    it causes shows at the next round, as silence. t: the most queries of a game; None for no limit.

    Deviation: a learner that learns from unlabelled points (remark 3 of the introduction) may be handed some
    between queries. They may differ in one place and raise the flag. A halt is then shown.
    """

    name = "Figure1"
    summary = (
        "a predictor is trained and answers queries (Figure 1 of Naor et al., Private Everlasting Prediction)"
    )
    batch = Figure1Batch
    challenges = (PrivacyUnit.TRAINING_EXAMPLE, PrivacyUnit.QUERY, PrivacyUnit.UNLABELLED_EXAMPLE)
    rounds_setting = "t"
    template_opponents = ("noisy-votes", "training-swap")
    usual_games = 50_000

    t: int | None = attrs.field(default=None, validator=optional([whole, at_least(1)]))


@attrs.frozen
class Voting(PredictorReferee):
    """The training phase of Figure 1, then adaptive queries at up to ℓ public points: the game of Algorithms
    1 and 2 of Liu, Zhu, Chaudhuri, Wang, Revisiting Model-Agnostic Private Learning. An answer is 0, 1 or ⊥
    (`UNSTABLE`: the votes were too close), always shown, and so is a halt. ell: the most queries of a game;
    None for no limit."""

    name = "Voting"
    summary = "a predictor answers public queries (Liu et al., Revisiting Model-Agnostic Private Learning)"
    batch = PredictorBatch
    challenges = (PrivacyUnit.TRAINING_EXAMPLE,)
    rounds_setting = "ell"
    labels = LabelRange(UNSTABLE, f"0, 1 or {UNSTABLE} (⊥)")
    usual_games = 100_000

    ell: int | None = attrs.field(default=None, validator=optional([whole, at_least(1)]))
