"""The base of the adversaries of Voting, and swaps of one example that change votes at chosen points."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from functools import lru_cache
from typing import Any, ClassVar

import attrs
import numpy as np

from adversaries.common.answer_likelihood import AnswerLikelihood
from adversaries.common.training_samples import (
    build_sample,
    build_two_label_sample,
    choose_sample_size,
    find_runs_at,
    plant_example,
    thin_out,
)
from arena import Adversary, Learner, Move, Query, Sample, Train, Training, count_setting, setting
from arena.capabilities import HasTeachers, HasVotes, LimitsQueries
from arena.errors import ArenaError, InvalidArgument, Unsupported
from arena.players import finite_domain

_DEFAULT_SIZE = 101  # examples, for a learner that needs no number of them
_MAX_POINTS = 256  # of a sample that are examined
_MAX_TRIED = 8  # points, and examples at each, that are tried for a swap
_LADDER_POINTS = 17

Samples = tuple[Sample, Sample]
Candidate = tuple[Samples, np.ndarray]  # neighbouring samples, and a point


@attrs.frozen(eq=False)
class VoteSwap:
    """Neighbouring samples, and a point at which their votes differ, with the mean votes there in both
    worlds."""

    samples: Samples
    point: np.ndarray
    votes: tuple[float, float]

    def margin(self, aim: float) -> float:
        """The distance of the votes, averaged over the worlds, from a share `aim` of the teachers."""
        return abs(sum(self.votes) / 2 - aim)


def sample_size_of(learner: Learner | None) -> int:
    return choose_sample_size(learner, _DEFAULT_SIZE)


def teachers_of(learner: Learner | None) -> int:
    """The learner's setting `teachers`, or one for each example."""
    return learner.teachers if isinstance(learner, HasTeachers) else sample_size_of(learner)


def simulate_votes(learner: Learner | None, samples: tuple[Sample, ...], points: np.ndarray) -> np.ndarray:
    """(samples, m): the mean votes of a learner trained on each sample, at points (m, ...). Raises:
    Unsupported if there is no learner, or its state has no `votes(x)`."""
    games = len(samples) * len(points)
    state: Any = None if learner is None else learner.start(games, np.random.default_rng(0))
    has_votes = isinstance(state, HasVotes)
    if not has_votes:
        raise Unsupported(
            "this adversary needs the votes of the learner's teachers",
            value="no learner" if learner is None else f"no votes from {learner.own_name}",
            remedy="Give the learner's state a method votes(x).",
        )
    state.train(Training.of(samples, np.repeat(np.arange(len(samples)), len(points))))
    repeated = np.tile(points, (len(samples),) + (1,) * (points.ndim - 1))
    return np.asarray(state.votes(repeated)).reshape(len(samples), len(points))


def choose_ladder(learner: Learner | None) -> np.ndarray:
    """(m, ...): evenly spread points of a finite domain, or of [0, 1]; for vectors, `some_points`."""
    domain = finite_domain(learner)
    if domain is not None:
        return thin_out(np.asarray(domain, float), _LADDER_POINTS)
    if learner is None or not learner.point_shape:
        return np.linspace(0.0, 1.0, _LADDER_POINTS)
    return np.asarray(learner.some_points, float)


def build_ladder_sample(learner: Learner | None, votes: np.ndarray | None = None) -> Sample:
    """As many examples as the learner needs, spread over a ladder of points.

    On the line all labels are 1, so that votes rise along it, with a bare majority at the middle point;
    vectors are labelled 0 and 1 in turn. votes: (k,), on the line, those at the first k points, in increasing
    order.
    """
    points, size = choose_ladder(learner), sample_size_of(learner)
    if points.ndim > 1:
        counts = np.diff(size * np.arange(len(points) + 1) // len(points))
        return build_sample(points, np.arange(len(points)) % 2, counts)
    if votes is None:
        votes = size * np.arange(1, len(points) + 1) // len(points)
        votes[len(points) // 2] = (size + 1) // 2
    counts = np.diff(votes, prepend=0)
    counts[-1] += size - votes[-1]
    return build_sample(points[: len(counts)], np.ones(len(counts), int), counts)


def choose_candidates(learner: Learner | None, sample: Sample) -> np.ndarray:
    """(m, ...): the distinct points of the ladder and of the sample, thinned out if there are many."""
    points = thin_out(np.unique(sample.points.astype(float), axis=0), _MAX_POINTS)
    return np.unique(np.concatenate([points, choose_ladder(learner)]), axis=0)


@lru_cache(maxsize=32)
def find_narrowest_swap(learner: Learner | None, sample: Sample | None, *, below: float = 0.0) -> VoteSwap:
    """The example to replace, and the point to query, with the smallest margin.

    sample: the user's, or None for one point with both labels. below: the aim, in votes below the tie.
    Raises: as `choose_best_swap`.
    """
    aim = 0.5 - below / teachers_of(learner)
    if sample is None:
        size = sample_size_of(learner)
        ones = min(max(round(aim * size), 0), size)
        tried = [(build_two_label_sample(point, size, ones), point) for point in choose_ladder(learner)]
        swaps = (swap for each, point in tried for swap in _plant(learner, each, point))
        return choose_best_swap(learner, swaps, aim)
    points = choose_candidates(learner, sample)
    distance = np.abs(simulate_votes(learner, (sample,), points)[0] - aim)
    nearest = points[np.argsort(distance, kind="stable")[:_MAX_TRIED]]
    swaps = (swap for point in nearest for swap in _plant(learner, sample, point))
    return choose_best_swap(learner, swaps, aim)


def choose_best_swap(learner: Learner | None, candidates: Iterable[Candidate], aim: float = 0.5) -> VoteSwap:
    """The candidate whose votes differ and are closest to a share `aim`; the first with the aim between its
    votes is chosen at once, and those that the learner refuses are skipped.

    Raises: InvalidArgument if no votes differ; if all are refused, what the learner raises.
    """
    best: VoteSwap | None = None
    refusal: ArenaError | None = None
    for samples, point in candidates:
        try:
            in_0, in_1 = simulate_votes(learner, samples, point[None])[:, 0].tolist()
        except (InvalidArgument, Unsupported) as error:
            refusal = error
            continue
        swap = VoteSwap(samples, point, (in_0, in_1))
        if in_0 != in_1 and (best is None or swap.margin(aim) < best.margin(aim)):
            best = swap
        if min(in_0, in_1) < aim <= max(in_0, in_1):
            return swap
    if best is not None:
        return best
    raise refusal or InvalidArgument(
        "none of the examples that were tried changes a vote where the votes are close",
        remedy="Give each teacher fewer examples (more teachers), or bring no data.",
    )


def _plant(learner: Learner | None, sample: Sample, point: np.ndarray) -> Iterator[Candidate]:
    at_point = np.flatnonzero(find_runs_at(sample, point))[::-1]
    others = np.linspace(0, len(sample.points) - 1, _MAX_TRIED // 2).astype(int)
    for run in dict.fromkeys([*at_point[: _MAX_TRIED // 2].tolist(), *others.tolist()]):
        yield plant_example(sample, run, point, learner), point


_DEFAULT_QUERIES = 100  # for a learner without a setting `queries`


@attrs.frozen
class VotingAdversary(Adversary):
    """Base of the adversaries of Voting. A subclass implements `play`."""

    protocols: ClassVar[tuple[str, ...]] = ("Voting",)
    returns_score = True

    queries: int | None = count_setting(None, help="queries; default: the learner's ℓ, or 100")
    sample: Sample | None = setting(None, help="the training set; default: built by the adversary")
    learner: Learner | None = setting(None, help="the configuration of the learner it plays against")

    @property
    def query_count(self) -> int:
        """The number of queries that it makes."""
        limit = self.learner.queries if isinstance(self.learner, LimitsQueries) else None
        return self.queries or limit or _DEFAULT_QUERIES

    def _query_in_turn(
        self, samples: Samples, points: np.ndarray, games: int
    ) -> Generator[Move, Any, AnswerLikelihood]:
        likelihood = AnswerLikelihood(self.learner, samples, points, games)
        yield Train(*samples)
        for number in range(self.query_count):
            column = number % len(points)
            reply = yield Query(points[column])
            likelihood.add(column, reply)
        return likelihood
