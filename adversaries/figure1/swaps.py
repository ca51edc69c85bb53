"""Attacks that swap one query, example or unlabelled point: halt-counter, training-swap, stale-thresholds,
query-swap and unlabelled-swap."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

import attrs
import numpy as np

from adversaries.common.training_samples import (
    build_sample,
    build_separable_sample,
    build_tied_sample,
    swap_nearest_label,
    thin_out,
)
from adversaries.figure1.base import (
    Figure1Adversary,
    as_point,
    choose_step,
    chunk_sizes,
    count_unlabelled,
    find_split_point,
    find_vote_points,
    read_halts,
)
from arena import (
    InvalidArgument,
    Learner,
    Moves,
    PrivacyUnit,
    Queries,
    Query,
    Sample,
    Train,
    Training,
    Unlabelled,
    Unsupported,
    count_setting,
    setting,
)
from arena.capabilities import AnswersInRounds
from arena.players import finite_domain


@attrs.frozen
class TiedQueries(Figure1Adversary):
    """Base of the adversaries that query where the votes tie."""

    step: float | None = setting(
        None, unit="point", help="distance of tied queries; default: 0, or small if answers are remembered"
    )
    sample: Sample | None = setting(None, help="the training set; default: one point with both labels")


@attrs.frozen
class HaltCounter(TiedQueries):
    """Uses up the halting budget except for one unit, which the challenge uses up in world 1 only.

    Made for the first version of GenericBBL, which halts after exactly c outcomes above the threshold. At
    `split` the votes tie, and a query costs one; at `clear` it costs none. The score is 1 if the learner has
    halted.
    """

    name = "halt-counter"

    budget: int | None = count_setting(None, help="c; default: the learner's `halts`, or 8")
    split: float | None = setting(None, unit="point", help="where votes tie; default: found by simulation")
    clear: float | None = setting(None, unit="point", help="where votes agree; default: by simulation")

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        sample = self.sample or build_tied_sample(self.learner)
        points = find_vote_points(self.learner, sample)
        split = points.split if self.split is None else self.split
        clear = points.clear if self.clear is None else self.clear
        budget = self.budget or read_halts(self.learner)
        step = choose_step(self.learner, self.step)

        yield Train(sample)  # the same in both worlds
        for query in range(budget - 1):
            yield Query(split + query * step)
        yield Query(clear, split + (budget - 1) * step)  # world 0, world 1; the label is withheld
        reply = yield Query(clear)
        return reply.halted


@attrs.frozen
class TrainingSwap(TiedQueries):
    """The training sets differ in the label of one example at the decision point, which is then queried.

    The score is the number of answers 1.
    """

    name = "training-swap"
    usual_for = (PrivacyUnit.TRAINING_EXAMPLE,)

    queries: int = count_setting(100, help="queries at the decision point")
    point: float | None = setting(None, unit="point", help="the decision point; default: where the votes tie")

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        sample = self.sample or build_tied_sample(self.learner)
        point = find_split_point(self.learner, sample) if self.point is None else self.point
        step = choose_step(self.learner, self.step)

        yield Train(*swap_nearest_label(sample, point, learner=self.learner))
        ones = np.zeros(games)
        for query in range(self.queries):
            reply = yield Query(point + query * step)
            ones += reply.label == 1
        return ones


_SIMULATED_GAMES = 512
_HALVINGS = 12  # of the bisection for the border
_MAX_BORDER_ONES = 0.8  # largest share of labels 1 at the border, so that it stays in doubt
_MAX_POINTS = 16  # of the user's sample that are tried as the border
_MANY_ATTEMPTS = 16  # at which games are also told apart by the parity of their answers 1
_SPLIT_ONES = 0.4  # share of labels 1 at the tie; teachers that err at the border vote 1 there too


@attrs.frozen
class StaleThresholds(Figure1Adversary):
    """Waits for games with an unusual hidden threshold, and lets the challenge redraw it or not.

    Made for GenericBBL with BetweenThresholds, even with private counting. After `run` answers 0 in a row at
    the border, near the lower threshold, the offset μ is likely to have moved that up. The challenge is a
    point where the votes agree, which keeps μ, or where they tie, which redraws it; a fresh μ soon answers 1
    at the border again.

    It gives up after `budget` answers 1. Without a sample it builds one with a border and a tie. The score is
    minus the number of answers 0 before the first 1 among the `probes`, less 1/2 after an odd number of
    answers 1 in 16 or more attempts, since a learner may redraw at every second one.
    """

    name = "stale-thresholds"

    run: int = count_setting(8, help="answers 0 in a row before the challenge")
    probes: int = count_setting(12, help="queries after the challenge")
    firing: float = setting(0.65, unit="probability", help="of an answer 1 at the border")
    budget: int | None = count_setting(None, help="ones before it gives up; default: `halts`/2", least=0)
    patience: int = count_setting(250, help="the largest number of queries before the challenge")
    sample: Sample | None = setting(None, help="the training set; default: two points with both labels")

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        points = _choose_points(self.learner, self.sample, self.firing)
        budget = read_halts(self.learner) // 2 if self.budget is None else self.budget

        yield Train(points.sample)  # the same in both worlds
        zeros_in_a_row, ones, probes_done, zeros_first = (np.zeros(games, int) for _ in range(4))
        challenged = np.zeros(games, bool)
        for _ in range(self.patience + 1 + self.probes):
            challenge = ~challenged & (zeros_in_a_row == self.run)
            waits = ~challenged & ~challenge & (ones < budget)
            probes = challenged & (probes_done < self.probes)
            x = np.where(waits | probes, points.border, points.clear)
            reply = yield Query(x, np.where(challenge, points.split, x))
            is_one = reply.label == 1
            ones += waits & is_one
            zeros_in_a_row = np.where(waits, np.where(is_one, 0, zeros_in_a_row + 1), zeros_in_a_row)
            probes_done += probes
            zeros_first += probes & (zeros_first == probes_done - 1) & ~is_one
            challenged |= challenge
        is_odd = (ones % 2 == 1) & (zeros_first > 0) & (budget >= _MANY_ATTEMPTS)
        return -zeros_first - is_odd / 2


@attrs.frozen
class BorderPoints:
    """A sample, and points where votes are near the lower threshold, where they agree, and where they tie."""

    sample: Sample
    border: float
    clear: float
    split: float


@lru_cache(maxsize=32)
def _choose_points(learner: Learner | None, sample: Sample | None, firing: float) -> BorderPoints:
    """Found by simulating the learner; without one, a quarter of the votes at the border are 1."""
    if sample is None:
        sample, border = _build_sample(learner, firing)
    else:
        border = _find_border(learner, sample, firing)
    points = find_vote_points(learner, sample)
    return BorderPoints(sample, border, points.clear, points.split)


def _build_sample(learner: Learner | None, firing: float) -> tuple[Sample, float]:
    """A sample of two points, a border and a tie above it; the share of 1s at the border is bisected."""
    tied = build_tied_sample(learner)
    border, size = float(tied.points[0]), tied.size
    domain = finite_domain(learner)
    split = border + 0.5 if domain is None else float(domain[-1])
    if split == border:
        raise InvalidArgument("the domain must have at least three points", value=domain)

    def build(ones: float) -> Sample:
        at_border, at_split = size // 2, size - size // 2
        border_ones, split_ones = round(ones * at_border), round(_SPLIT_ONES * at_split)
        counts = np.array([at_border - border_ones, border_ones, at_split - split_ones, split_ones])
        return build_sample(np.array([border, border, split, split]), np.array([0, 1, 0, 1]), counts)

    low, high = 0.0, _MAX_BORDER_ONES
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        too_low = _estimate_firing(learner, build(middle), border) < firing
        low, high = (middle, high) if too_low else (low, middle)
    return build(high), border


def _find_border(learner: Learner | None, sample: Sample, firing: float) -> float:
    tried = thin_out(np.unique(sample.points), _MAX_POINTS)
    return float(min(tried, key=lambda point: abs(_estimate_firing(learner, sample, float(point)) - firing)))


def _estimate_firing(learner: Learner | None, sample: Sample, point: float) -> float:
    if learner is None or "Figure1" not in learner.protocols:
        at_point = sample.points == point
        return 2 * float(np.average(sample.labels[at_point], weights=sample.counts[at_point]))
    state = learner.start(_SIMULATED_GAMES, np.random.default_rng(np.random.SeedSequence(0)))
    state.train(Training.of((sample,), np.zeros(_SIMULATED_GAMES, np.intp)))
    return float(np.mean(state.predict(np.full(_SIMULATED_GAMES, point)) == 1))


_QUERIES_WITHOUT_ROUNDS = 100  # before the probes, against a learner that does not answer in rounds


@attrs.frozen
class LaterRoundSwap(Figure1Adversary):
    """Base of query-swap and unlabelled-swap. A subclass implements `play`.

    All points of round `round` are `low`, labelled 0, except that in world 1 the challenge is `high`,
    labelled 1. If the probes come two rounds later, the points of the round between are `high`: their labels
    depend on whether LabelBoost sees the 1.
    """

    probes: int = count_setting(50, help="queries in the round of the probes")
    round: int = count_setting(1, help="the round of the challenge")
    later: int = count_setting(1, help="rounds from it to that of the probes")
    after: int | None = count_setting(None, help="queries before the probes; default: the rest", least=0)
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
        """The items before the challenge, after it, and between, at most `patience`, if round i has
        size(i)."""
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
        """The probes at one point, and in the end (n,) how many were answered 1."""
        ones = np.zeros(games)
        for size in chunk_sizes(self.probes, games, self.learner):
            reply = yield Queries(repeat_point(point, size))
            ones += (reply.label == 1).sum(axis=1)
        return ones


@attrs.frozen
class QuerySwap(LaterRoundSwap):
    """The challenge is a query: a point labelled 0 in world 0, and a point labelled 1 in world 1.

    The score is the number of probes, at the latter point in a later round, answered 1.
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
    return np.repeat(np.asarray(point)[None], times, axis=0)


@attrs.frozen
class UnlabelledSwap(LaterRoundSwap):
    """query-swap for learners that learn from fresh unlabelled points: the challenge is one of these
    points."""

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
