"""GenericBBL at a table of n games: steps 1 to 3(g), all but the answering of a query."""

from __future__ import annotations

from abc import ABC, abstractmethod
from math import floor
from typing import Any, ClassVar

import numpy as np

from arena.errors import Unsupported
from arena.points import shared
from arena.sample import Training
from learners.common.teachers import TeacherEnsembles, train_teachers
from learners.everlasting.counted_examples import CountedExamples, choose_concepts, label_points
from learners.everlasting.generic_bbl import BBLRound, GenericBBL
from learners.everlasting.streaming_subset import StreamingSubset


class BBLState(ABC):
    """GenericBBL at a table of n games. A version gives `_open_round`, `_answer`, `_answer_many` and `cuts`;
    one that learns from other points than queries also `_open_pool`, `_keep` and `_chosen`.

    together: answers that are worked out at once. A halt in one of many games ends them soon.
    """

    together: ClassVar[int] = 65_536

    def __init__(self, spec: GenericBBL, games: int, rng: np.random.Generator) -> None:
        self._spec = spec
        self._games = games
        self._rng = rng
        self._stopped = np.zeros(games, bool)
        self._round: BBLRound | None = None
        self._labelling: np.ndarray | None = None

    # --- what Figure 1 asks -----------------------------------------------------------------------

    @property
    def halted(self) -> np.ndarray:
        return self._stopped

    def train(self, training: Training) -> None:
        """Steps 1 and 2, and the opening of round 1."""
        first = self._spec.round(1)
        for sample in training.samples:
            if sample.size < self._spec.sample_size:
                raise Unsupported(
                    f"{self._spec.name} with {first.teachers:,} teachers of {first.chunk} examples and rate "
                    f"{self._spec.training_rate_run:.4g} needs a sample of {self._spec.sample_size:,}",
                    value=sample.size,
                    remedy="Lower teachers or chunk, or raise training_rate (the claim follows).",
                )
            self._spec.concepts.check(sample.points)
        taught = train_teachers(
            training,
            self._spec.concepts,
            teachers=first.teachers,
            chunk=first.chunk,
            rng=self._rng,
            relabel=self._relabelled if self._spec.agnostic else None,
        )
        self._begin(first, taught.teachers)
        self._labelled = CountedExamples(taught.points, taught.labels, taught.counts)

    def predict(self, x: np.ndarray) -> np.ndarray:
        """Step 3(d) for one query a game; the step to the next round happens before its first query."""
        if not self._left():
            return np.zeros(self._games, bool)
        self._spec.concepts.check(x[:1] if shared(x) else x)
        label = self._answer(self._teachers.votes(x))
        self._answered(x[:, None])
        return label

    def predict_many(self, x: np.ndarray) -> np.ndarray:
        """The labels (n, j) of the first j of the queries (n, k, ...), up to the end of the round or to the
        first halt of a game.
        """
        left = self._left()
        if not left:
            return np.zeros(x.shape[:2], bool)
        x = x[:, : min(left, max(1, self.together // max(1, self._games)))]
        self._spec.concepts.check(x[0] if shared(x) else x)
        labels = self._answer_many(self._teachers.votes_in_a_row(x))
        self._answered(x[:, : labels.shape[1]])
        return labels

    @property
    @abstractmethod
    def cuts(self) -> np.ndarray:
        """The hypotheses behind the last answers: h_{r-1}(x) = 1 where the mean vote at x is at least this.

        (n,) after `predict`, (n, j) after `predict_many`. For experiments, which look inside.
        """

    @property
    def labelling(self) -> np.ndarray | None:
        """The concepts (n, ...) that label S_i, chosen by LabelBoost; None in round 1. For experiments."""
        return self._labelling

    def votes(self, x: np.ndarray | float) -> np.ndarray:
        """The teachers' mean votes (n,), for a player that seats the learner at a table of its own."""
        return self._teachers.votes(np.broadcast_to(x, (self._games, *self._spec.point_shape)))

    def votes_in_a_row(self, x: np.ndarray) -> np.ndarray:
        """The mean votes (n, k) at several points of each game, x (n, k, ...), with the teachers behind the
        last answers. For experiments, which look inside.
        """
        return self._teachers.votes_in_a_row(x)

    @property
    def round(self) -> BBLRound:
        """The round of the last answers; before them, round 1. For experiments, which look inside."""
        assert self._round is not None
        return self._round

    # --- rounds -----------------------------------------------------------------------------------

    @property
    def _last_round(self) -> bool:
        return self._round is not None and self._spec.rounds == self._round.index

    def _left(self) -> int:
        """The answers that are left of the round, a new one if the last is over; 0 when all rounds are."""
        assert self._round is not None
        if self._asked == self._round.answers and not self._last_round:
            self._next_round()
        return self._round.answers - self._asked

    def _answered(self, x: np.ndarray) -> None:
        """Queries (n, k, ...) of this round have been answered."""
        assert self._round is not None
        self._keep(x)
        self._asked += x.shape[1]
        if self._asked == self._round.answers and self._last_round:
            self._stopped = np.ones(self._games, bool)  # in every game at once, whatever was asked

    def _begin(self, round: BBLRound, teachers: TeacherEnsembles) -> None:
        self._round = round
        self._teachers = teachers
        self._asked = 0
        self._open_pool(round)
        self._open_round(round)

    def _open_pool(self, round: BBLRound) -> None:
        """Make ready for D_i."""
        self._pool = self._collector(round.index)

    def _keep(self, x: np.ndarray) -> None:
        """Queries (n, k, ...) of this round are its D_i."""
        self._pool.offer(x)

    def _chosen(self) -> np.ndarray:
        """D̂_i of the round that is over, in random order: (n, m, ...)."""
        return self._pool.chosen()

    def _collector(self, index: int) -> StreamingSubset:
        """Chooses D̂_i as the points of D_i arrive."""
        size = self._spec.unlabelled(index)
        share = floor(self._spec.rate_run * size)
        return StreamingSubset(self._games, of=size, choose=share, rng=self._rng)

    def _next_round(self) -> None:
        """Steps 3(f), 3(g), 3(a), 3(b)."""
        assert self._round is not None
        chosen = self._chosen()
        labelled = self._labelled.subset(floor(self._spec.rate_run * self._round.examples), self._rng)
        concept = self._labelling = choose_concepts(self._rng, self._spec.concepts, labelled, chosen)
        following = self._spec.round(self._round.index + 1)
        points = chosen[:, : following.examples]
        labels = label_points(self._spec.concepts, concept, points)
        chunks = (self._games, following.teachers, following.chunk)
        held = self._spec.concepts.erm(points.reshape(*chunks, *points.shape[2:]), labels.reshape(chunks))
        self._labelled = CountedExamples(points, labels, np.ones(labels.shape, np.int64))
        self._begin(following, TeacherEnsembles(self._spec.concepts, held, None, following.teachers))

    def _relabelled(self, points: np.ndarray, labels: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """S_1 labelled by one concept a game, chosen by LabelBoost with nothing unlabelled: (n, k).

        Shapes: points (k, ...), labels (k,), counts (n, k).
        """
        runs = CountedExamples(points[None], labels[None], counts)
        nothing = np.empty((len(counts), 0, *points.shape[1:]))
        concept = choose_concepts(self._rng, self._spec.concepts, runs, nothing)
        return label_points(
            self._spec.concepts, concept, np.broadcast_to(points, (len(counts), *points.shape))
        )

    @abstractmethod
    def _open_round(self, round: BBLRound) -> None:
        """Step 3(c)."""

    @abstractmethod
    def _answer(self, votes: np.ndarray) -> np.ndarray:
        """Steps 3(d)ii and 3(d)iii: the labels for the mean votes of the queries."""

    @abstractmethod
    def _answer_many(self, votes: np.ndarray) -> np.ndarray:
        """The same for votes (n, k): the labels of the first j ≥ 1 queries, no game halting before the last
        of them.
        """


class HaltingBBLState(BBLState):
    """GenericBBL at a table, its answers given by a mechanism that halts games, anew for every round."""

    _mechanism: Any = None

    @property
    def halted(self) -> np.ndarray:
        return self._stopped if self._mechanism is None else self._stopped | self._mechanism.halted

    def _open_round(self, round: BBLRound) -> None:
        self._stopped = self.halted  # who has halted stays halted under the new round's mechanism
        self._mechanism = self._mechanism_of(round)

    @abstractmethod
    def _mechanism_of(self, round: BBLRound) -> Any:
        """What answers in this round, and tells which games it has `halted`."""
