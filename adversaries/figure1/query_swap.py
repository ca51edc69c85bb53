"""query-swap and unlabelled-swap: one point differs, and a later round, trained on it, is probed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import attrs
import numpy as np

from adversaries.common.training_samples import build_separable_sample
from adversaries.figure1.base import Figure1Adversary, as_point, chunk_sizes, count_unlabelled
from arena import (
    InvalidArgument,
    Moves,
    PrivacyUnit,
    Queries,
    Query,
    Sample,
    Train,
    Unlabelled,
    Unsupported,
    count_setting,
    setting,
)
from arena.capabilities import AnswersInRounds

_QUERIES_WITHOUT_ROUNDS = 100  # before the probes, against a learner that does not answer in rounds


@attrs.frozen
class LaterRoundSwap(Figure1Adversary):
    """Base of query-swap and unlabelled-swap. A subclass implements `play`.

    All points of round `round` are `low`, which is labelled 0, except that in world 1 the challenge is
    `high`, which is labelled 1. So the next round's training examples hold a label 1 in world 1 only. If the
    probes come two rounds later, the points of the round between are `high`: their labels depend on whether
    LabelBoost sees the 1.
    """

    probes: int = count_setting(50, help="queries in the round of the probes")
    round: int = count_setting(1, help="the round of the challenge")
    later: int = count_setting(1, help="rounds from it to that of the probes")
    after: int | None = count_setting(
        None,
        help="queries from the challenge to the probes; default: the rest of the rounds",
        least=0,
    )
    patience: int = count_setting(100_000, help="the largest number of queries before the probes")
    sample: Sample | None = setting(None, help="the training set; default: two points, 0 and 1")

    def _choose_points(self) -> tuple[Sample, Any, Any]:
        """The training set, its lowest and highest point; of vectors, the first labelled 0 and 1."""
        sample = self.sample or build_separable_sample(self.learner)
        if sample.points.ndim == 1:
            return sample, as_point(sample.points.min()), as_point(sample.points.max())
        if len(np.unique(sample.labels)) < 2:
            raise InvalidArgument("the sample must have both labels", remedy="Bring another sample.")
        low, high = (int(np.flatnonzero(sample.labels == label)[0]) for label in (0, 1))
        return sample, sample.points[low], sample.points[high]

    def _count_queries(self) -> tuple[int, int, int]:
        """The queries before the challenge, after it in its round, and in the rounds up to the probes."""
        learner = self.learner
        if not isinstance(learner, AnswersInRounds):
            return 0, _QUERIES_WITHOUT_ROUNDS if self.after is None else self.after, 0
        before, rest, between = self._divide_rounds(lambda index: learner.round(index).answers, "answers")
        return (before, rest, between) if self.after is None else (before, self.after, 0)

    def _divide_rounds(self, size: Callable[[int], int], unit: str) -> tuple[int, int, int]:
        """The items before the challenge, after it in its round, and between, if round i has size(i) of them.

        Raises: Unsupported if there are more than `patience` of them.
        """
        before = sum(size(i) for i in range(1, self.round))
        between = sum(size(i) for i in range(self.round + 1, self.round + self.later))
        rest = size(self.round) - 1
        total = before + 1 + rest + between
        if total > self.patience and self.after is None:
            raise Unsupported(
                f"the rounds before the probes have {total:,} {unit}, more than the patience of {self.name}",
                value=self.patience,
                remedy=f"Give the learner shorter rounds (fewer {unit}, or teachers), or raise patience.",
            )
        return before, rest, between

    def _repeat(
        self, kind: type[Queries] | type[Unlabelled], point: Any, times: int, games: int
    ) -> Iterator[Queries | Unlabelled]:
        for size in chunk_sizes(times, games, self.learner):
            yield kind(repeat_point(point, size))

    def _probe(self, point: Any, games: int) -> Moves:
        """The probes at one point. Returns how many of them were answered 1 in each game."""
        ones = np.zeros(games)
        for size in chunk_sizes(self.probes, games, self.learner):
            reply = yield Queries(repeat_point(point, size))
            ones += (reply.label == 1).sum(axis=1)
        return ones


@attrs.frozen
class QuerySwap(LaterRoundSwap):
    """The challenge is a query: a point labelled 0 in world 0, and a point labelled 1 in world 1.

    The probes query the point labelled 1 in a later round. The score is the number of probes answered 1.
    """

    name = "query-swap"
    usual_for = (PrivacyUnit.QUERY,)

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        sample, low, high = self._choose_points()
        before, rest, between = self._count_queries()

        yield Train(sample)
        queries = before + 1 + rest + between + self.probes
        yield from self._give_unlabelled(queries, games, lambda size: repeat_point(low, size))
        yield from self._repeat(Queries, low, before, games)
        yield Query(low, high)  # world 0, world 1
        yield from self._repeat(Queries, low, rest, games)
        yield from self._repeat(Queries, high, between, games)
        return (yield from self._probe(high, games))


def repeat_point(point: Any, times: int) -> np.ndarray:
    """(times, ...): copies of one point."""
    return np.repeat(np.asarray(point)[None], times, axis=0)


@attrs.frozen
class UnlabelledSwap(LaterRoundSwap):
    """query-swap for learners that learn from fresh unlabelled points: the challenge is one of these points.

    The probes query the point labelled 1 in a later round. The score is the number of probes answered 1.
    """

    name = "unlabelled-swap"
    usual_for = (PrivacyUnit.UNLABELLED_EXAMPLE,)

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        sample, low, high = self._choose_points()
        before, rest, between = 0, 0, 0
        if isinstance(self.learner, AnswersInRounds):
            before, rest, between = self._divide_rounds(self.learner.pool_size, "points")

        yield Train(sample)
        yield from self._repeat(Unlabelled, low, before, games)
        yield Unlabelled(repeat_point(low, 1), repeat_point(high, 1))  # world 0, world 1
        yield from self._repeat(Unlabelled, low, rest, games)
        yield from self._repeat(Unlabelled, high, between, games)
        queries = sum(self._count_queries()) + 1
        # The probes may extend over several rounds, which need further points.
        more = count_unlabelled(self.learner, queries + self.probes) - (before + 1 + rest + between)
        yield from self._repeat(Unlabelled, low, max(0, more), games)
        yield from self._repeat(Queries, low, queries, games)
        return (yield from self._probe(high, games))
