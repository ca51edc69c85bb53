"""Aggregators that ask, with the sparse vector, how far the teachers' vote is from a tie: what they share."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import attrs
import numpy as np

from arena.errors import InvalidArgument
from arena.replies import UNSTABLE
from arena.sample import Sample
from arena.settings import at_least, less_than, more_than, setting, whole
from learners.mechanisms.noise.laplace_noise import laplace_cdf
from learners.mechanisms.noise.quadrature import laplace_nodes
from learners.mechanisms.sparse_vector.above_threshold import AboveThreshold
from learners.pate.ensemble.voters import Voters, VotersState, VotingLaw

_MOST_KINKS = 64

Nodes = tuple[np.ndarray, np.ndarray]


def distances(teachers: int) -> np.ndarray:
    """(K + 1,) int64: for each number of votes for 1 among K, dist = max(0, ⌈|2·ones − K|/2⌉ − 1).

    So many votes may change and the majority's label 1[ones ≥ K/2] is still the same. One vote more or less
    moves it by 1 at most; where that changes the label, it is 0 before and after.

    >>> distances(5).tolist(), distances(4).tolist()
    ([2, 1, 0, 0, 1, 2], [1, 0, 0, 0, 1])
    """
    margins = np.abs(2 * np.arange(teachers + 1) - teachers)
    return np.maximum(0, (margins + 1) // 2 - 1)


def majorities(teachers: int) -> np.ndarray:
    """(K + 1,) int8: the majority's label 1[ones ≥ K/2] for each number of votes for 1."""
    return (2 * np.arange(teachers + 1) >= teachers).astype(np.int8)


def farthest(teachers: int) -> int:
    """The distance of teachers of one mind."""
    return (teachers + 1) // 2 - 1


def check_reach(threshold: float, teachers: int) -> None:
    """Raises: InvalidArgument if even teachers of one mind are answered ⊥ more often than not."""
    if threshold > farthest(teachers):
        raise InvalidArgument(
            f"teachers of one mind are {farthest(teachers):,} votes from a tie, and a threshold of "
            f"{threshold:,.1f} would answer even them ⊥ more often than not",
            value=teachers,
            remedy=f"Set teachers to {2 * int(np.ceil(threshold)) + 1:,} or more, or raise epsilon or delta.",
        )


@attrs.frozen
class Screening(Voters):
    """Base of the specs. An answer is free where the noisy distance is above a noisy threshold, and ⊥ where
    it is not; after the T-th ⊥ the game halts. The threshold has noise Lap(λ), drawn afresh after each ⊥, a
    distance has Lap(2λ).

    Up to and including its ⊥ a run is AboveThreshold (Dwork and Roth, Theorem 3.23) of minus the distances,
    whose sensitivity is 1: (2/λ, 0)-DP. There are min(T, ℓ) of them at most.
    """

    epsilon: float = setting(
        1.0, unit="nats", help="ε of all answers together, that λ is chosen for", check=more_than(0)
    )
    delta: float = setting(
        1e-5, unit="probability", help="δ of all answers together", check=[more_than(0), less_than(1)]
    )
    unstable: int = setting(3, help="T, the answers ⊥ before a game halts", check=[whole, at_least(1)])
    scale: float | None = setting(
        None, unit="votes", help="λ; default: the algorithm's, for ε and δ", check=more_than(0)
    )
    threshold: float | None = setting(
        None, unit="votes", help="w; default: the algorithm's", check=at_least(0)
    )

    @property
    def runs(self) -> int:
        """How often at most a threshold is drawn and used."""
        return min(self.unstable, self.queries)

    @property
    def scale_run(self) -> float:
        """λ."""
        return self._default_scale if self.scale is None else self.scale

    @property
    def threshold_run(self) -> float:
        """w."""
        return self._default_threshold if self.threshold is None else self.threshold

    @property
    def telling_margin(self) -> float:
        """Where the distance is at the threshold; at a tie the answer is ⊥ almost surely."""
        return self.threshold_run + 1

    @property
    def told(self) -> np.ndarray:
        """(K + 1,) int8: the answer above the threshold, for each number of votes for 1."""
        return np.ones(self.teachers + 1, np.int8)

    @property
    @abstractmethod
    def _default_scale(self) -> float: ...

    @property
    @abstractmethod
    def _default_threshold(self) -> float: ...

    @property
    def common_random_numbers(self) -> bool:
        """With one ⊥ a game draws one threshold, and one number an answer."""
        return self.unstable == 1

    def law(self, sample: Sample) -> ScreeningLaw:
        nodes = threshold_nodes(self)
        return ScreeningLaw(self, sample, first=nodes, later=nodes, halts=self.runs)

    def start(self, games: int, rng: np.random.Generator) -> Any:
        return ScreeningState(self, games, rng)


class ScreeningState(VotersState):
    """A screened vote at a table."""

    def __init__(self, spec: Screening, games: int, rng: np.random.Generator) -> None:
        super().__init__(spec, games)
        self._told = spec.told
        # A distance is below w where minus the distance is above −w.
        self._nearness = -distances(spec.teachers).astype(np.float64)
        self._screen = AboveThreshold(
            games, rng, threshold=-spec.threshold_run, epsilon=2 / spec.scale_run, halts=spec.unstable
        )
        self._halted = self._screen.halted

    def _answer(self, ones: np.ndarray) -> np.ndarray:
        """⊥ also in games that have halted."""
        below = self._screen.respond(self._nearness[ones])
        return np.where(below | self._screen.halted, np.int8(UNSTABLE), self._told[ones])


def threshold_nodes(spec: Screening) -> Nodes:
    """Nodes and weights of the threshold's noise: cut where the threshold meets a distance.

    Of more than 64 distances that many, evenly spaced, are taken: an answer's chance may be off by 2e-7.
    """
    most = farthest(spec.teachers)
    met = np.round(np.linspace(0, most, min(most + 1, _MOST_KINKS)))
    return laplace_nodes(spec.scale_run, met - spec.threshold_run)


class ScreeningLaw(VotingLaw):
    """The law of answers screened behind one hidden number, by which the threshold is off.

    States: before the first ⊥ the q nodes of the hidden number, then for each ⊥ that leaves the game going
    the nodes of the next. A game that halts keeps the state that it had.
    """

    outcomes = ((0, False), (1, False), (UNSTABLE, False), (UNSTABLE, True))

    def __init__(self, spec: Screening, sample: Sample, *, first: Nodes, later: Nodes, halts: int) -> None:
        """first, later: nodes and weights of the hidden number before the first ⊥, and after each."""
        super().__init__(spec, sample)
        self._weights, self._fresh = first[1], later[1]
        self._thresholds = spec.threshold_run + np.concatenate([first[0], np.tile(later[0], halts - 1)])
        self._starts = np.r_[0, len(first[0]) + len(later[0]) * np.arange(halts - 1)]
        self._distances, self._told = distances(spec.teachers), spec.told

    def start(self) -> np.ndarray:
        measure = np.zeros(len(self._thresholds))
        measure[: len(self._weights)] = self._weights
        return measure

    def _after(self, measure: np.ndarray, ones: np.ndarray) -> np.ndarray:
        counts, which = np.unique(ones, return_inverse=True)
        ahead = (self._distances[counts, None] - self._thresholds) / (2 * self._spec.scale_run)
        above, below = laplace_cdf(ahead)[which.ravel()], laplace_cdf(-ahead)[which.ravel()]
        after = np.zeros((4, *measure.shape))
        after[self._told[ones], np.arange(len(ones))] = measure * above
        fired = measure * below
        spent = np.add.reduceat(fired, self._starts, axis=1)[:, :-1]
        renewed = spent[:, :, None] * self._fresh
        after[2, :, len(self._weights) :] = renewed.reshape(len(ones), -1)
        after[3, :, self._starts[-1] :] = fired[:, self._starts[-1] :]
        return after
