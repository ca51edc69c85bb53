"""Points at which the simulated votes of a learner agree, and at which they tie.

An adversary knows the learner's configuration and not its random numbers, so it simulates the learner with
random numbers of its own.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import attrs
import numpy as np

from adversaries.common.training_samples import find_runs_at, thin_out
from arena import InvalidArgument, Learner, Sample, Training
from arena.capabilities import HasVotes, RemembersAnswers, finite_domain

_SIMULATED_GAMES = 64
_MAX_POINTS = 512  # of a sample that are examined
_STEP = 2.0**-20  # from one tied point to the next, on the line


@attrs.frozen
class VotePoints:
    """Two points, arrays if points are vectors.

    clear: where the votes agree. split: where they are closest to a tie. votes: the mean vote at `split`.
    """

    clear: Any
    split: Any
    votes: float


@lru_cache(maxsize=32)
def find_vote_points(learner: Learner | None, sample: Sample) -> VotePoints:
    """Where the learner's votes agree and where they tie, after training on `sample`.

    Uses the votes of simulated games if the learner's state has `votes(x)`, and otherwise the mean labels of
    the sample. Examines a finite domain, otherwise the points of the sample and one below them, or, for
    vectors, the learner's `some_points` too.

    Raises: InvalidArgument if the votes are the same at all points.
    """
    points, votes, split = _find_closest_vote(learner, sample)
    clear = int(np.abs(votes - 0.5).min(axis=1).argmax())
    if split == clear:
        raise InvalidArgument(
            "the votes must be clear at one point and tie at another, but they are the same at all points",
            remedy="Bring a sample with at least two points, or with both labels at some point."
            if len(np.unique(sample.labels)) == 1
            else "With these settings the learner answers alike everywhere: change them, or set the "
            "adversary's points.",
        )
    return VotePoints(as_point(points[clear]), as_point(points[split]), float(votes[split].mean()))


def find_split_point(learner: Learner | None, sample: Sample) -> Any:
    """The point where the votes are closest to a tie, as in `find_vote_points`; there may be no clear one."""
    points, _, split = _find_closest_vote(learner, sample)
    return as_point(points[split])


def choose_step(learner: Learner | None, step: float | None) -> float:
    """How far apart tied queries are: `step`, or 0 for learners that answer anew whenever a point is asked.

    A learner that remembers its answers is asked at other points, which it also labels alike.
    """
    if step is not None:
        return step
    remembers = isinstance(learner, RemembersAnswers) and learner.remembers_answers
    return _STEP if remembers and finite_domain(learner) is None else 0.0


@lru_cache(maxsize=32)
def _find_closest_vote(learner: Learner | None, sample: Sample) -> tuple[np.ndarray, np.ndarray, int]:
    """Points, their votes (points, games), and which of the points is closest to a tie in its worst game."""
    points = _choose_candidates(learner, sample)
    votes = _simulate_votes(learner, sample, points)
    return points, votes, int(np.abs(votes - 0.5).max(axis=1).argmin())


def as_point(point: Any) -> Any:
    """A point as a float, or as an array if it is a vector."""
    return np.asarray(point) if np.ndim(point) else float(point)


def _simulate_votes(learner: Learner | None, sample: Sample, points: np.ndarray) -> np.ndarray:
    """(points, games): mean votes."""
    if learner is not None and "Figure1" in learner.protocols:
        rng = np.random.default_rng(np.random.SeedSequence(0))
        state = learner.start(_SIMULATED_GAMES, rng)
        has_votes = isinstance(state, HasVotes)
        if has_votes:
            state.train(Training.of((sample,), np.zeros(_SIMULATED_GAMES, np.intp)))
            return np.stack([state.votes(point) for point in points])
    return np.array([[_mean_label(sample, point)] for point in points])


def _mean_label(sample: Sample, point: np.ndarray) -> float:
    """The mean label at a point of the sample, and 0 at other points, which lie below all of them."""
    runs = find_runs_at(sample, point)
    return float(np.average(sample.labels[runs], weights=sample.counts[runs])) if runs.any() else 0.0


def _choose_candidates(learner: Learner | None, sample: Sample) -> np.ndarray:
    domain = finite_domain(learner)
    if domain is not None:
        return np.asarray(domain, float)
    points = thin_out(np.unique(sample.points, axis=0), _MAX_POINTS)
    if points.ndim == 1:
        return np.append(points, points[0] - 1.0)
    return points if learner is None else np.concatenate([points, learner.some_points])
