"""rivest: the greedy decision list. Nothing is private about it."""

from __future__ import annotations

import attrs
import numpy as np

from arena.concepts import DecisionLists, Variables
from arena.concepts.base import ConceptClass
from arena.sample import Sample
from arena.settings import setting
from learners.common.fitted_learner import FittedLearner
from learners.lists.private_decision_list import lists_only


@attrs.frozen
class Rivest(FittedLearner):
    """The algorithm of Rivest (1987): a rule that errs on no example left, again and again.

    Of the rules that cover an example left it takes that with the least errors for each example covered; of
    those the one that covers most; of those the first, "true" before the features in order, 0 before 1. So it
    is consistent wherever a list is, and a heuristic elsewhere. "true" ends it: at the latest when one label
    is left.

    It claims nothing (ε = ∞): a yardstick for private-decision-list.
    """

    name = "rivest"

    concepts: ConceptClass = setting(
        DecisionLists(Variables(3)), help="decision lists, as lists:8 or lists:8:literals", check=lists_only
    )

    @property
    def _hypotheses(self) -> ConceptClass:
        return self.concepts

    def fit(self, sample: Sample) -> np.ndarray:
        """The list of a sample, (features + 1,)."""
        assert isinstance(self.concepts, DecisionLists)
        held = self.concepts.features.evaluate(sample.points)
        held = np.concatenate([held, np.ones((len(held), 1), bool)], axis=1)
        given = sample.counts[:, None] * (sample.labels[:, None] == [0, 1])
        return greedy_list(held, given)


def greedy_list(held: np.ndarray, given: np.ndarray) -> np.ndarray:
    """(F + 1,): the list that `Rivest` describes.

    Shapes: held (U, F + 1) bool, "true" last; given (U, 2): copies of each example with label 0 and 1.
    """
    true = held.shape[1] - 1
    asked = held.astype(np.float64)
    rules, left = np.full(true + 1, -1), np.ones(len(held), bool)
    counts = asked.T @ given  # of the examples left that a feature covers, by label
    for place in range(true + 1):
        feature, label = _best(counts)
        rules[place] = 2 * feature + label
        if feature == true:
            break
        covered = np.flatnonzero(left & held[:, feature])
        left[covered] = False
        counts -= asked[covered].T @ given[covered]
    return rules


def _best(counts: np.ndarray) -> tuple[int, int]:
    """The feature and label of the least share of errors; then of most examples; then the first."""
    counts = np.roll(counts, 1, axis=0)  # "true" first
    covered = counts.sum(axis=1)[:, None]
    errors = counts[:, ::-1]  # label 0 errs on ones
    share = np.where(covered > 0, errors / np.maximum(covered, 1), np.inf)
    best = np.where(share == share.min(), covered, -1)
    place, label = np.unravel_index(best.argmax(), best.shape)
    return int(place - 1) % len(counts), int(label)
