"""repeat-point, small-margin and canary repeat one query, where one example changes the votes."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import attrs
import numpy as np

from adversaries.common.training_samples import build_two_label_sample, find_runs_at, plant_example, thin_out
from adversaries.voting.vote_swaps import (
    Candidate,
    VoteSwap,
    VotingAdversary,
    choose_best_swap,
    choose_candidates,
    choose_ladder,
    find_narrowest_swap,
    sample_size_of,
    teachers_of,
)
from arena import InvalidArgument, Learner, Moves, PrivacyUnit, Query, Sample, Train, Training, setting
from arena.capabilities import HasCriticalMargin
from arena.messages import NO_LABEL
from arena.players import finite_domain


@attrs.frozen
class SmallMargin(VotingAdversary):
    """One vote more or less at the point where the votes are closest, which is queried repeatedly.

    It plants the example, labelled 0 in world 0 and 1 in world 1, that turns the majority of a simulated
    learner, or else changes the votes where they are closest to `below`, by default the learner's
    `critical_margin`. A rare answer 1 far below the tie may tell more than one at a tie (docs/voting.md).

    The score is the log-likelihood ratio of the answers, or the number of answers 1. Raises: InvalidArgument
    if no example that was tried changes a vote.
    """

    name = "small-margin"
    usual_for = (PrivacyUnit.TRAINING_EXAMPLE,)

    below: float | None = setting(None, unit="votes", help="aim below the tie; default: most informative")

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        critical = self.learner.critical_margin if isinstance(self.learner, HasCriticalMargin) else 0.0
        below = critical if self.below is None else self.below
        swap = find_narrowest_swap(self.learner, self.sample, below=below)
        return (yield from self._query_in_turn(swap.samples, swap.point[None], games)).score


_SIMULATED_GAMES = 1_024  # in each world
_MARGINS = 12  # that are simulated


@attrs.frozen
class RepeatPoint(VotingAdversary):
    """One vote more or less for 1 at a point where most teachers vote 1, which is queried to the end.

    A learner that halts after a number of unstable answers halts later if the votes are clearer, hence in
    world 1. The margin is that at which the scores of simulated worlds differ most, in standard deviations.
    The score is the number of answers before the halt plus the number of answers 1 among them.
    """

    name = "repeat-point"

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        queries = self.query_count
        swap = find_best_margin(self.learner, self.sample, queries)
        score = np.zeros(games)
        yield Train(*swap.samples)
        for _ in range(queries):
            reply = yield Query(swap.point)
            score += _score_answers(reply.label)
        return score


def _score_answers(label: np.ndarray) -> np.ndarray:
    return (label != NO_LABEL) + 1.0 * (label == 1)


@lru_cache(maxsize=32)
def find_best_margin(learner: Learner | None, sample: Sample | None, queries: int) -> VoteSwap:
    """The swap for which the simulated scores of the worlds differ most. Raises: as `find_narrowest_swap`."""
    return max(_find_swaps(learner, sample), key=lambda swap: _simulate_separation(learner, swap, queries))


def _find_swaps(learner: Learner | None, sample: Sample | None) -> Iterator[VoteSwap]:
    yield find_narrowest_swap(learner, sample)
    largest = teachers_of(learner) / 2 - 1
    for above in np.unique(np.round(np.linspace(0, largest, _MARGINS)))[1:]:
        try:
            yield find_narrowest_swap(learner, sample, below=-float(above))
        except InvalidArgument:  # no example changes a vote at this margin
            continue


def _simulate_separation(learner: Any, swap: VoteSwap, queries: int) -> float:
    scores = np.stack([_simulate_scores(learner, sample, swap.point, queries) for sample in swap.samples])
    return float((scores[1].mean() - scores[0].mean()) / (scores.std(axis=1).mean() + 1e-9))


def _simulate_scores(learner: Any, sample: Sample, point: np.ndarray, queries: int) -> np.ndarray:
    state = learner.start(_SIMULATED_GAMES, np.random.default_rng(0))
    state.train(Training.of((sample,), np.zeros(_SIMULATED_GAMES, np.intp)))
    x = np.broadcast_to(point, (_SIMULATED_GAMES, *point.shape))
    score = np.zeros(_SIMULATED_GAMES)
    for _ in range(queries):
        answers = ~state.halted
        score += answers * _score_answers(np.asarray(state.predict(x)))
    return score


_LADDER_POINTS = 5  # of the ladder that are tried


@attrs.frozen
class Canary(VotingAdversary):
    """The last example is moved to a point of its own, labelled 0 in world 0 and 1 in world 1, which is
    queried.

    Without data, all other examples are at one other point, where their teachers tie. In the user's data the
    canary lies beyond the other examples, or at the free point of a finite domain at which the votes are
    closest.

    The score is the log-likelihood ratio of the answers, or the number of answers 1. Raises: InvalidArgument
    if no point is free, or the canary changes no vote at any.
    """

    name = "canary"

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        swap = find_canary(self.learner, self.sample)
        return (yield from self._query_in_turn(swap.samples, swap.point[None], games)).score


@lru_cache(maxsize=32)
def find_canary(learner: Learner | None, sample: Sample | None) -> VoteSwap:
    if sample is None:
        return choose_best_swap(learner, _build_candidates(learner))
    last, points = len(sample.counts) - 1, find_free_points(learner, sample)
    return choose_best_swap(
        learner, ((plant_example(sample, last, point, learner), point) for point in points)
    )


def find_free_points(learner: Learner | None, sample: Sample) -> np.ndarray:
    """(m, ...): points that the learner accepts and that are not in the sample. Raises: InvalidArgument if
    none is."""
    if finite_domain(learner) is None:
        low, high = sample.points.min(axis=0), sample.points.max(axis=0)
        middle, reach = (high + low) / 2, np.maximum(high - low, 1.0)
        points = np.stack([middle - reach, middle + reach])
    else:
        points = choose_candidates(learner, sample)
        points = points[[not find_runs_at(sample, point).any() for point in points]]
    if not len(points):
        raise InvalidArgument(
            "a canary needs a point without examples, and the sample has examples at all of them",
            remedy="Choose a concept class with a larger domain, or bring no data.",
        )
    return points


def _build_candidates(learner: Learner | None) -> Iterator[Candidate]:
    points = thin_out(choose_ladder(learner), _LADDER_POINTS)
    size = sample_size_of(learner)
    for other in points:
        sample = build_two_label_sample(other, size, (size - 1) // 2)
        # Run 0 is labelled 0, so the canary takes the place of an example labelled 0.
        for point in points:
            if (point != other).any():
                yield plant_example(sample, 0, point, learner), point
