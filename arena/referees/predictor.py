"""The game of predictors in two forms: training, then queries until the learner halts."""

from __future__ import annotations

from typing import ClassVar

import attrs
import numpy as np
from attrs.validators import optional

from arena.claims import PrivacyUnit
from arena.moves import Move, Queries, Query, Train, Unlabelled
from arena.points import freeze, points_differ
from arena.referees.batch import Batch, BatchSetup, MoveTable, Referee
from arena.referees.learner_calls import LabelRange
from arena.referees.transcript import QueryEntry, TrainingEntry, UnlabelledEntry
from arena.replies import NO_LABEL, UNSTABLE, Answer, Answers, Received, Trained
from arena.settings import at_least, whole

BINARY = LabelRange(1, "0 or 1")


@attrs.frozen(kw_only=True)
class PredictorRules:
    """In what the protocols of predictors differ.

    protocol: its name in messages. most: the most queries of a game, or None. symbol: its name in the paper.
    labels: the answers. public: True if both worlds ask the same points. moves: those that are allowed.
    """

    protocol: str
    most: int | None
    symbol: str
    labels: LabelRange = BINARY
    public: bool = False
    moves: tuple[type[Move], ...] = (Train, Query, Queries)


@attrs.frozen
class Figure1(Referee):
    """Figure 1 of Naor, Nissim, Stemmer, Yan, Private Everlasting Prediction: training, then up to t queries.

    1. The training sets are neighbours by the learner's claim, or the same.
    2. If they differ, the flag goes up.
    3. The learner gets its world's set. Nothing of h_0 is shown.
    4. Each round: (a) where the flag is up both queries are equal; (b) queries that differ raise it; (c) the
       label is shown where they are equal; (d) the learner gets its world's query; nothing of h_r is shown.

    The view is the labels and whether the learner has halted. A withheld round is withheld whole: a halt
    that it causes shows at the next round, as silence.

    Deviation: a learner that learns from unlabelled points (remark 3 of the introduction) may be handed some
    between queries. They too may differ in one place and raise the flag. A halt is then shown.

    t: the most queries of a game; None for no limit.
    """

    name: ClassVar[str] = "Figure1"
    t: int | None = attrs.field(default=None, validator=optional([whole, at_least(1)]))

    def open(self, setup: BatchSetup) -> PredictorBatch:
        moves = (Train, Query, Queries, Unlabelled)
        rules = PredictorRules(protocol="Figure 1", most=self.t, symbol="t", moves=moves)
        return PredictorBatch(setup, rules)


@attrs.frozen
class Voting(Referee):
    """The training phase of Figure 1, then adaptive queries at up to ℓ public points.

    The game of Algorithms 1 and 2 of Liu, Zhu, Chaudhuri, Wang, Revisiting Model-Agnostic Private Learning.
    The training sets of the two worlds are neighbours by the learner's claim, or the same. Points are public:
    the same in both worlds. An answer is 0, 1 or ⊥ (`UNSTABLE`: the votes were too close). Every answer is
    shown, and whether the learner has halted.

    ell: the most queries of a game; None for no limit.
    """

    name: ClassVar[str] = "Voting"
    ell: int | None = attrs.field(default=None, validator=optional([whole, at_least(1)]))

    def open(self, setup: BatchSetup) -> PredictorBatch:
        labels = LabelRange(UNSTABLE, f"0, 1 or {UNSTABLE} (⊥)")
        rules = PredictorRules(protocol="Voting", most=self.ell, symbol="ℓ", labels=labels, public=True)
        return PredictorBatch(setup, rules)


class PredictorBatch(Batch):
    """Games of a learner that is trained and then answers queries until it halts, for good."""

    halted: np.ndarray

    def __init__(self, setup: BatchSetup, rules: PredictorRules) -> None:
        *names, last = [kind.__name__ for kind in rules.moves]
        self.rule_of_moves = f"{rules.protocol} knows the moves {', '.join(names)} and {last}"
        self.moves = tuple(entry for entry in _HANDLERS if entry[0] in rules.moves)
        super().__init__(setup)
        self._rules = rules
        self._trained = False
        self.halted = freeze(np.zeros(self.games, bool))
        self._shown_halted = self.halted  # as far as the adversary knows

    # --- the moves ------------------------------------------------------------------------------------------

    def _train(self, move: Train) -> Trained:
        """Steps 1 to 3 of Figure 1: the learner gets its world's training set."""
        if self._trained:
            raise self._refuse(f"{self._rules.protocol} has one training phase, before the first query")
        first = self._adversary.read_samples(move.sample)
        second = first if move.other is None else self._adversary.read_samples(move.other)
        training = self._worlds.choose_samples(first, second)
        self._trained = True

        self._learner.train(training)
        self.halted = self._shown_halted = self._learner.read_halted(self.halted)
        if self._log is not None:
            self._log.append(TrainingEntry(round=0, training=training, reads=self._reads))
        return Trained()

    def _answer(self, move: Query) -> Answer:
        """One round: step 4 of Figure 1, or one point of Voting."""
        self._check_trained()
        self._position.round += 1
        self._check_round(self.round)
        x, withheld = self._choose_query(move)

        silent = self.halted
        answer = self._learner.predict(x, self._rules.labels, silent).astype(np.int8)
        if silent.any():
            answer[silent] = NO_LABEL
        self.halted = self._learner.read_halted(silent)

        # A withheld round is withheld whole: a halt that it causes shows at the next round, as silence.
        if withheld is None:
            label, self._shown_halted = answer, self.halted
        else:
            label = np.where(withheld, NO_LABEL, answer)
            self._shown_halted = freeze(np.where(withheld, self._shown_halted, self.halted))
        if self._log is not None:
            entry = QueryEntry(
                round=self.round,
                x=x,
                label=label,
                answer=answer,
                halted=self.halted,
                shown_halted=self._shown_halted,
                withheld=withheld,
            )
            self._log.append(entry)
        return Answer(freeze(label), self._shown_halted)

    def _answer_many(self, move: Queries) -> Answers:
        """Several rounds; their queries are the same in both worlds and chosen before the first answer."""
        self._check_trained()
        x = self._adversary.read_points(move.x)
        rounds = x.shape[1]
        self._check_round(self.round + rounds)

        labels = np.empty((self.games, rounds), np.int8)
        halted = np.empty((self.games, rounds), bool)
        begun = self.round
        while self.round < begun + rounds:
            done = self.round - begun
            silent = self.halted
            label = self._learner.predict_some(x[:, done:], self._rules.labels, silent)
            self.halted = self._learner.read_halted(silent)
            # Answers that are given together end with the first halt.
            now = slice(done, done + label.shape[1])
            labels[:, now] = np.where(silent[:, None], NO_LABEL, label)
            halted[:, now] = silent[:, None]
            halted[:, now.stop - 1] = self.halted
            self._position.round = begun + now.stop
        self._shown_halted = self.halted
        if self._log is not None:
            self._log += [
                QueryEntry(round=begun + k + 1, x=x[:, k], label=labels[:, k], halted=halted[:, k])
                for k in range(rounds)
            ]
        return Answers(freeze(labels), freeze(halted))

    def _hand_over(self, move: Unlabelled) -> Received:
        """Unlabelled points, which are no round of Figure 1; whether the learner has halted is shown."""
        self._check_trained()
        if not self._learner.receives_unlabelled:
            raise self._refuse(
                f"{self._position.learner} takes no unlabelled points",
                remedy="Hand them to a learner that learns from them, such as everlasting-fresh.",
            )
        x = self._choose_unlabelled(move)

        self._learner.receive_unlabelled(x)
        self.halted = self._shown_halted = self._learner.read_halted(self.halted)
        if self._log is not None:
            self._log.append(UnlabelledEntry(round=self.round, x=x, halted=self.halted))
        return Received(self._shown_halted)

    # --- the order of a game --------------------------------------------------------------------------------

    def _check_trained(self) -> None:
        if not self._trained:
            raise self._refuse(f"{self._rules.protocol} begins with the training phase: yield Train first")

    def _check_round(self, last: int) -> None:
        most = self._rules.most
        if most is not None and last > most:
            raise self._refuse(
                f"{self._rules.protocol} with {self._rules.symbol} = {most} has at most {most} rounds",
                remedy="Let the adversary ask fewer queries, or allow more rounds.",
            )

    # --- the points of both worlds --------------------------------------------------------------------------

    def _choose_query(self, move: Query) -> tuple[np.ndarray, np.ndarray | None]:
        """Each game's own query (n, ...), and where the answer is withheld (n,) bool; None: nowhere."""
        x0 = self._adversary.read_point(move.x)
        if move.other is None:
            return x0, None
        x1 = self._adversary.read_point(move.other)
        differ = points_differ(x0, x1)
        if not differ.any():
            return x0, None
        if self._rules.public:
            raise self._refuse(
                f"the points of {self._rules.protocol} are public",
                games=np.flatnonzero(differ),
                expected="the same point in both worlds",
                got="two different points",
            )
        self._worlds.challenge(differ, PrivacyUnit.QUERY, rule="after the flag both queries are equal")
        return self._worlds.choose(x0, x1), differ

    def _choose_unlabelled(self, move: Unlabelled) -> np.ndarray:
        """Each game's own unlabelled points (n, k, ...)."""
        x0 = self._adversary.read_points(move.x)
        if move.other is None:
            return x0
        x1 = self._adversary.read_points(move.other)
        if x0.shape != x1.shape:
            raise self._refuse(
                "both worlds have as many unlabelled points", expected=x0.shape[1], got=x1.shape[1]
            )
        places = (x0 != x1).any(axis=tuple(range(2, x0.ndim))).sum(axis=1)
        self._worlds.check_neighbours(places, "unlabelled points")
        rule = "after the flag both worlds' unlabelled points are equal"
        self._worlds.challenge(places > 0, PrivacyUnit.UNLABELLED_EXAMPLE, rule=rule)
        return self._worlds.choose(x0, x1)


_HANDLERS: MoveTable = (
    (Train, PredictorBatch._train),
    (Query, PredictorBatch._answer),
    (Queries, PredictorBatch._answer_many),
    (Unlabelled, PredictorBatch._hand_over),
)
