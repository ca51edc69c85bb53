"""The base of the aggregators that answer only if a sparse vector finds the vote far from a tie."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import attrs
import numpy as np

from arena.errors import InvalidArgument
from arena.messages import UNSTABLE
from arena.sample import Sample
from arena.settings import at_least, count_setting, more_than, setting
from learners.mechanisms.above_threshold import AboveThreshold
from learners.mechanisms.densities import laplace_nodes
from learners.mechanisms.noise import laplace_cdf
from learners.pate.ensemble.voters import Voters, VotersState, VotingLaw

_MOST_KINKS = 64  # distances at which the quadrature of the threshold is cut

Nodes = tuple[np.ndarray, np.ndarray]


def distances(teachers: int) -> np.ndarray:
    """(K + 1,) int64: dist = max(0, ⌈|2·ones − K|/2⌉ − 1) for each number of votes for label 1 among K.

    This is how many votes may change without changing the majority's label 1[ones ≥ K/2]. If one vote
    changes, it changes by at most 1; if that changes the label, it is 0 before and after.

    >>> distances(5).tolist(), distances(4).tolist()
    ([2, 1, 0, 0, 1, 2], [1, 0, 0, 0, 1])
    """
    margins = np.abs(2 * np.arange(teachers + 1) - teachers)
    return np.maximum(0, (margins + 1) // 2 - 1)


def majorities(teachers: int) -> np.ndarray:
    """(K + 1,) int8: the majority's label 1[ones ≥ K/2] for each number of votes for 1."""
    return (2 * np.arange(teachers + 1) >= teachers).astype(np.int8)


def largest_distance(teachers: int) -> int:
    """The distance if all teachers agree."""
    return (teachers + 1) // 2 - 1


def check_reach(threshold: float, teachers: int) -> None:
    """Raises: InvalidArgument if the answer is more often ⊥ than not even if all teachers agree."""
    if threshold > largest_distance(teachers):
        raise InvalidArgument(
            f"more teachers are needed for a threshold of {threshold:,.1f}: if all of them agree, they are "
            f"{largest_distance(teachers):,} votes from a tie",
            value=teachers,
            remedy=f"Set teachers to {2 * int(np.ceil(threshold)) + 1:,} or more, or raise epsilon or delta.",
        )


@attrs.frozen
class Screening(Voters):
    """Base of the aggregators that screen their answers with the sparse vector technique.

    A query is answered if its noisy distance from a tie is above a noisy threshold, and ⊥ otherwise; after
    the T-th ⊥ the game halts. The threshold has noise Lap(λ), drawn afresh after each ⊥, and a distance has
    noise Lap(2λ).

    A run, up to and including its ⊥, is AboveThreshold (Dwork and Roth, Theorem 3.23) of minus the distances,
    whose sensitivity is 1. So it is (2/λ, 0)-DP, and there are at most min(T, ℓ) runs.
    """

    epsilon: float = setting(1.0, unit="nats", help="ε of all answers together, for which λ is chosen")
    delta: float = setting(1e-5, unit="probability", help="δ of all answers together")
    unstable: int = count_setting(3, help="T, the number of answers ⊥ before a game halts")
    scale: float | None = setting(
        None, unit="votes", help="λ; default: the algorithm's, for ε and δ", check=more_than(0)
    )
    threshold: float | None = setting(
        None, unit="votes", help="w; default: the algorithm's", check=at_least(0)
    )

    @property
    def runs(self) -> int:
        """The largest number of thresholds that are drawn and used."""
        return min(self.unstable, self.queries)

    @property
    def effective_scale(self) -> float:
        """λ, votes."""
        return self._default_scale if self.scale is None else self.scale

    @property
    def effective_threshold(self) -> float:
        """w, votes."""
        return self._default_threshold if self.threshold is None else self.threshold

    @property
    def critical_margin(self) -> float:
        """Where the distance equals the threshold; at a tie the answer is ⊥ almost surely."""
        return self.effective_threshold + 1

    @property
    def labels_above(self) -> np.ndarray:
        """(K + 1,) int8: the answer above the threshold, for each number of votes for label 1."""
        return np.ones(self.teachers + 1, np.int8)

    @property
    @abstractmethod
    def _default_scale(self) -> float: ...

    @property
    @abstractmethod
    def _default_threshold(self) -> float: ...

    @property
    def common_random_numbers(self) -> bool:
        """If T = 1, every game draws one threshold, and one random number for each answer."""
        return self.unstable == 1

    def law(self, sample: Sample) -> ScreeningLaw:
        nodes = threshold_nodes(self)
        return ScreeningLaw(self, sample, first=nodes, later=nodes, halts=self.runs)

    def start(self, games: int, rng: np.random.Generator) -> Any:
        return ScreeningState(self, games, rng)


class ScreeningState(VotersState):
    """A running aggregator that screens its answers."""

    def __init__(self, spec: Screening, games: int, rng: np.random.Generator) -> None:
        super().__init__(spec, games)
        self._labels_above = spec.labels_above
        # A distance is below w if minus the distance is above −w.
        self._nearness = -distances(spec.teachers).astype(np.float64)
        self._screen = AboveThreshold(
            games,
            rng,
            threshold=-spec.effective_threshold,
            epsilon=2 / spec.effective_scale,
            halts=spec.unstable,
        )
        self._halted = self._screen.halted

    def _answer(self, ones: np.ndarray) -> np.ndarray:
        """The answers; also ⊥ in games that have halted."""
        below = self._screen.respond(self._nearness[ones])
        return np.where(below | self._screen.halted, np.int8(UNSTABLE), self._labels_above[ones])


def threshold_nodes(spec: Screening) -> Nodes:
    """Nodes and weights of the threshold's noise, with cuts where the threshold equals a distance.

    If there are more than 64 distances, 64 evenly spaced ones are used, with an error of at most 2e-7 in the
    probability of an answer.
    """
    largest = largest_distance(spec.teachers)
    cuts = np.round(np.linspace(0, largest, min(largest + 1, _MOST_KINKS)))
    return laplace_nodes(spec.effective_scale, cuts - spec.effective_threshold)


class ScreeningLaw(VotingLaw):
    """The distribution of screened answers, given the hidden noise of the threshold.

    States: the q nodes of the noise before the first ⊥, then the nodes of the next noise for each ⊥ after
    which the game continues. A game that halts keeps its state.
    """

    outcomes = ((0, False), (1, False), (UNSTABLE, False), (UNSTABLE, True))

    def __init__(self, spec: Screening, sample: Sample, *, first: Nodes, later: Nodes, halts: int) -> None:
        """first, later: nodes and weights of the noise before the first ⊥, and after each ⊥."""
        super().__init__(spec, sample)
        self._weights, self._fresh_weights = first[1], later[1]
        self._thresholds = spec.effective_threshold + np.concatenate([first[0], np.tile(later[0], halts - 1)])
        self._starts = np.r_[0, len(first[0]) + len(later[0]) * np.arange(halts - 1)]
        self._distances, self._labels_above = distances(spec.teachers), spec.labels_above

    def start(self) -> np.ndarray:
        measure = np.zeros(len(self._thresholds))
        measure[: len(self._weights)] = self._weights
        return measure

    def _step_by_votes(self, measure: np.ndarray, ones: np.ndarray) -> np.ndarray:
        counts, which = np.unique(ones, return_inverse=True)
        ahead = (self._distances[counts, None] - self._thresholds) / (2 * self._spec.effective_scale)
        above, below = laplace_cdf(ahead)[which.ravel()], laplace_cdf(-ahead)[which.ravel()]
        after = np.zeros((4, *measure.shape))
        after[self._labels_above[ones], np.arange(len(ones))] = measure * above
        fired = measure * below
        mass = np.add.reduceat(fired, self._starts, axis=1)[:, :-1]
        renewed = mass[:, :, None] * self._fresh_weights
        after[2, :, len(self._weights) :] = renewed.reshape(len(ones), -1)
        after[3, :, self._starts[-1] :] = fired[:, self._starts[-1] :]
        return after
