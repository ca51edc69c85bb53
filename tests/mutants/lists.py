"""Broken versions of `private-decision-list`: the shipped learner but for one slip.

Settings are such that a single example is worth seeing: few variables, a rate of 2 and δ = 0.05.
"""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

from arena import Claim, Finite, Sample, Unsupported
from arena.concepts import ConceptClass, DecisionLists, Variables
from learners.lists.private_decision_list import PrivateDecisionList, PrivateDecisionListState
from learners.mechanisms.selection.em_cover import EMCover


@attrs.frozen
class BrokenList(PrivateDecisionList):
    """What the broken learners share: settings, and a seat of their own. None tells a law."""

    state_class = PrivateDecisionListState

    concepts: ConceptClass = DecisionLists(Variables(1))
    epsilon: float = 1.0
    delta: float = 0.05
    rate: float | None = 2.0

    def law(self, sample: Sample) -> Finite:
        raise Unsupported(f"{self.name} tells no law")

    def start(self, games: int, rng: np.random.Generator) -> PrivateDecisionListState:
        return self.state_class(self, rng)

    @property
    def twin(self) -> PrivateDecisionList:
        """The shipped learner at the same settings."""
        fields = attrs.fields(PrivateDecisionList)
        return PrivateDecisionList(**{field.name: getattr(self, field.name) for field in fields})


class WithoutTheTwoState(PrivateDecisionListState):
    def _scores(self, cover: EMCover) -> np.ndarray:
        return 2 * super()._scores(cover)


@attrs.frozen
class WithoutTheTwo(BrokenList):
    """The slip: exp(−ε₀·m) for exp(−ε₀·m/2). It loses what twice the rate does."""

    name = "without-the-two"
    state_class = WithoutTheTwoState


class ShareOfCoveredState(PrivateDecisionListState):
    def _scores(self, cover: EMCover) -> np.ndarray:
        covered = cover.sums.sum(axis=2, keepdims=True)
        return -covered[:, -1:] * cover.sums / np.maximum(covered, 1)


@attrs.frozen
class ShareOfCovered(BrokenList):
    """The slip: a rule's errors are its share of errors times all examples left. No ε holds: one example is
    all of what a feature covers, and moves its share by 1.
    """

    name = "share-of-covered"
    state_class = ShareOfCoveredState


class KeepingCover(EMCover):
    def _cover(self, parents: np.ndarray, sets: np.ndarray) -> None:
        self.left, self.sums = self.left[parents], self.sums[parents]


class KeepsCoveredState(PrivateDecisionListState):
    def _cover(self, held: np.ndarray, wrong: np.ndarray, coins: np.ndarray) -> EMCover:
        return KeepingCover(held, wrong, coins, rate=self._spec.chosen_rate, universal_set=held.shape[1] - 1)


@attrs.frozen
class KeepsCovered(BrokenList):
    """The slip: examples stay when they are covered, so that one is asked about in every round. It loses no
    more than seven choices.
    """

    name = "keeps-covered"
    state_class = KeepsCoveredState

    concepts: ConceptClass = DecisionLists(Variables(6))


class StopsWhenEmptyState(PrivateDecisionListState):
    def _drawn(self, held: np.ndarray, wrong: np.ndarray, coins: np.ndarray) -> np.ndarray:
        cover = self._cover(held, wrong, coins)
        lists, empty = np.full(coins.shape, -1), np.zeros(len(coins), bool)
        for rules in lists.T:
            if cover.finished:
                break
            rules[:] = np.where(empty, -1, cover.choose(self._scores(cover)))
            going = cover.which >= 0
            empty[going] = ~cover.left[cover.which[going]].any(axis=1)
        return lists


@attrs.frozen
class StopsWhenEmpty(BrokenList):
    """The slip: a list ends when no example is left. No ε holds: it ends early, or cannot."""

    name = "stops-when-empty"
    state_class = StopsWhenEmptyState


class SkipsUselessState(PrivateDecisionListState):
    def _scores(self, cover: EMCover) -> np.ndarray:
        useless = cover.sums.sum(axis=2, keepdims=True) == 0
        useless[:, -1] = False  # "true" may always come
        return np.where(useless, -np.inf, super()._scores(cover))


@attrs.frozen
class SkipsUseless(BrokenList):
    """The slip: features that cover no example left are not offered. No ε holds: x0 is drawn, or never."""

    name = "skips-useless"
    state_class = SkipsUselessState


class ExactEndState(PrivateDecisionListState):
    def _scores(self, cover: EMCover) -> np.ndarray:
        scores = super()._scores(cover)
        rarer = cover.sums[:, -1] > cover.sums[:, -1].min(axis=1, keepdims=True)
        scores[:, -1] = np.where(rarer, -np.inf, scores[:, -1])
        return scores


@attrs.frozen
class ExactEnd(BrokenList):
    """The slip: a list ends with the commoner label of what is left, not a noisy one. No ε holds."""

    name = "exact-end"
    state_class = ExactEndState


@attrs.frozen
class ClaimsOneRound(BrokenList):
    """The slip: every example is covered once, so parallel composition is called for, and ε₀ = ε.

    Scores tell of an example in every round before it is covered: it loses up to 5ε₀/2.
    """

    name = "claims-one-round"

    concepts: ConceptClass = DecisionLists(Variables(3))
    epsilon: float = 3.0
    delta: float = 0.0
    rate: float | None = None

    @property
    def chosen_rate(self) -> float:
        return self.epsilon

    @property
    def claim(self) -> Claim:
        return self.twin.claim


# The slips, the least ε that holds at δ, and settings of audits and searches.
LISTS: tuple[tuple[Any, float, dict[str, Any]], ...] = (
    (WithoutTheTwo(), 4.72, {}),
    (ShareOfCovered(), np.inf, {}),
    (KeepsCovered(), 7 * 2.0, {"games": 64_000, "searched": False}),
    (StopsWhenEmpty(), np.inf, {}),
    (SkipsUseless(), np.inf, {}),
    (ExactEnd(), np.inf, {}),
    (ClaimsOneRound(), 5 * 3.0 / 2, {"games": 64_000, "searched": False}),
)
