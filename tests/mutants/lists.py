"""Broken versions of `private-decision-list`: the shipped learner with one error each.

The settings make a single example visible: few variables, a rate of 2 and δ = 0.05.
"""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
from support.simple_players import BrokenLearner

from arena import Finite, Sample, Unsupported
from arena.concepts import ConceptClass, DecisionLists, Variables
from learners.lists.private_decision_list import PrivateDecisionList, PrivateDecisionListState
from learners.mechanisms.selection import EMCover


@attrs.frozen
class BrokenList(BrokenLearner, PrivateDecisionList):
    """Base of the broken learners: their settings and their running state. None has an output
    distribution."""

    State = PrivateDecisionListState

    concepts: ConceptClass = DecisionLists(Variables(1))
    epsilon: float = 1.0
    delta: float = 0.05
    rate: float | None = 2.0

    def law(self, sample: Sample) -> Finite:
        raise Unsupported(f"{self.name} has no exact output distribution")

    def start(self, games: int, rng: np.random.Generator) -> PrivateDecisionListState:
        return self.State(self, rng)


@attrs.frozen
class WithoutTheTwo(BrokenList):
    """The slip: exp(−ε₀·m) instead of exp(−ε₀·m/2), which costs as much as twice the rate."""

    class State(PrivateDecisionListState):
        def _scores(self, cover: EMCover) -> np.ndarray:
            return 2 * super()._scores(cover)


@attrs.frozen
class ShareOfCovered(BrokenList):
    """The slip: a rule's score is its share of errors times the number of remaining examples. No ε holds:
    one example may be all that a feature covers, and then changes the share by 1.
    """

    class State(PrivateDecisionListState):
        def _scores(self, cover: EMCover) -> np.ndarray:
            covered = cover.sums.sum(axis=2, keepdims=True)
            return -covered[:, -1:] * cover.sums / np.maximum(covered, 1)


class KeepingCover(EMCover):
    def _cover(self, parents: np.ndarray, sets: np.ndarray) -> None:
        self.left, self.sums = self.left[parents], self.sums[parents]


@attrs.frozen
class KeepsCovered(BrokenList):
    """The slip: covered examples remain, so that an example affects every round. The loss is that of seven
    choices at most.
    """

    class State(PrivateDecisionListState):
        def _start_cover(self, features: np.ndarray, errors: np.ndarray, coins: np.ndarray) -> EMCover:
            return KeepingCover(
                features, errors, coins, rate=self._spec.effective_rate, universal_set=features.shape[1] - 1
            )

    concepts: ConceptClass = DecisionLists(Variables(6))


@attrs.frozen
class StopsWhenEmpty(BrokenList):
    """The slip: a list ends when no example remains. No ε holds: the end may be possible in one world
    only."""

    class State(PrivateDecisionListState):
        def _draw_lists(self, features: np.ndarray, errors: np.ndarray, coins: np.ndarray) -> np.ndarray:
            cover = self._start_cover(features, errors, coins)
            lists, empty = np.full(coins.shape, -1), np.zeros(len(coins), bool)
            for rules in lists.T:
                if cover.finished:
                    break
                rules[:] = np.where(empty, -1, cover.choose(self._scores(cover)))
                running = cover.which >= 0
                empty[running] = ~cover.left[cover.which[running]].any(axis=1)
            return lists


@attrs.frozen
class SkipsUseless(BrokenList):
    """The slip: features that cover no remaining example are excluded. No ε holds: a rule may be possible in
    one world only.
    """

    class State(PrivateDecisionListState):
        def _scores(self, cover: EMCover) -> np.ndarray:
            useless = cover.sums.sum(axis=2, keepdims=True) == 0
            useless[:, -1] = False  # "true" is always possible
            return np.where(useless, -np.inf, super()._scores(cover))


@attrs.frozen
class ExactEnd(BrokenList):
    """The slip: a list ends with the exact majority label of the remaining examples. No ε holds."""

    class State(PrivateDecisionListState):
        def _scores(self, cover: EMCover) -> np.ndarray:
            scores = super()._scores(cover)
            rarer = cover.sums[:, -1] > cover.sums[:, -1].min(axis=1, keepdims=True)
            scores[:, -1] = np.where(rarer, -np.inf, scores[:, -1])
            return scores


@attrs.frozen
class ClaimsOneRound(BrokenList):
    """The slip: it argues that every example is covered once, so that parallel composition gives ε₀ = ε.

    The scores of every round before depend on the example too: the loss is up to 5ε₀/2.
    """

    concepts: ConceptClass = DecisionLists(Variables(3))
    epsilon: float = 3.0
    delta: float = 0.0
    rate: float | None = None

    @property
    def effective_rate(self) -> float:
        return self.epsilon


# The broken learners, the least ε that holds at δ, and settings of their audits and searches.
LISTS: tuple[tuple[Any, float, dict[str, Any]], ...] = (
    (WithoutTheTwo(), 4.72, {}),
    (ShareOfCovered(), np.inf, {}),
    (KeepsCovered(), 7 * 2.0, {"games": 64_000, "searched": False}),
    (StopsWhenEmpty(), np.inf, {}),
    (SkipsUseless(), np.inf, {}),
    (ExactEnd(), np.inf, {}),
    (ClaimsOneRound(), 5 * 3.0 / 2, {"games": 64_000, "searched": False}),
)
