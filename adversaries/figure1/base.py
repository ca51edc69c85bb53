"""The base of the adversaries of Figure 1, long runs of points as moves, and points where votes tie or
agree."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

import attrs
import numpy as np

from adversaries.common.training_samples import find_runs_at, thin_out
from arena import Adversary, InvalidArgument, Learner, PrivacyUnit, Sample, Training, Unlabelled, setting
from arena.capabilities import AnswersInRounds, HasVotes, LimitsHalts, RemembersAnswers
from arena.players import finite_domain

_MAX_NUMBERS = 2**20  # of the points of one move, in all games
_DEFAULT_HALTS = 8  # for a learner without a setting `halts`


@attrs.frozen
class Figure1Adversary(Adversary):
    """Base of the adversaries of Figure 1. A subclass implements `play`."""

    protocols = ("Figure1",)
    returns_score = True

    learner: Learner | None = setting(None, help="the configuration of the learner it plays against")

    def _give_unlabelled(
        self, queries: int, games: int, draw: Callable[[int], np.ndarray]
    ) -> Iterator[Unlabelled]:
        """The unlabelled points for so many queries; draw: k -> (k, ...) or (n, k, ...)."""
        for size in chunk_sizes(count_unlabelled(self.learner, queries), games, self.learner):
            yield Unlabelled(draw(size))


def chunk_sizes(points: int, games: int, learner: Learner | None) -> list[int]:
    """So many points a game, divided into chunks of which one move can hold each."""
    numbers = 1 if learner is None else int(np.prod(learner.point_shape, dtype=int))
    step = max(1, _MAX_NUMBERS // max(1, games * numbers))
    full, rest = divmod(points, step)
    return [step] * full + ([rest] if rest else [])


def read_halts(learner: Learner | None) -> int:
    return learner.halts if isinstance(learner, LimitsHalts) else _DEFAULT_HALTS


def count_unlabelled(learner: Learner | None, queries: int) -> int:
    """The number of unlabelled points without which the learner does not answer so many queries."""
    if learner is None or PrivacyUnit.UNLABELLED_EXAMPLE not in learner.claim.protects:
        return 0
    assert isinstance(learner, AnswersInRounds)
    needed, index = 0, 1
    left = queries - learner.round(1).answers
    while left > 0 and index != learner.rounds:
        needed += learner.pool_size(index)
        index += 1
        left -= learner.round(index).answers
    return needed


_SIMULATED_GAMES = 64
_MAX_POINTS = 512  # of a sample that are examined
_STEP = 2.0**-20  # from one tied point to the next, on the line


@attrs.frozen
class VotePoints:
    """Two points, where the votes agree and where they are closest to a tie, and the mean vote there."""

    clear: Any
    split: Any
    votes: float


@lru_cache(maxsize=32)
def find_vote_points(learner: Learner | None, sample: Sample) -> VotePoints:
    """Where the learner's votes agree and where they tie, after training on `sample`.

    Uses the votes of simulated games if the learner's state has `votes(x)`, otherwise the mean labels; at the
    points of a finite domain, or of the sample and others. Raises: InvalidArgument if the votes are the same
    everywhere.
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
    """The point where the votes are closest to a tie, even if there is no clear one."""
    points, _, split = _find_closest_vote(learner, sample)
    return as_point(points[split])


def choose_step(learner: Learner | None, step: float | None) -> float:
    """The distance of tied queries: `step`, by default 0, or small for learners that remember answers."""
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
    return np.asarray(point) if np.ndim(point) else float(point)


def _simulate_votes(learner: Learner | None, sample: Sample, points: np.ndarray) -> np.ndarray:
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
