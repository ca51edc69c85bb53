"""rivest: the greedy decision list, without privacy."""

from __future__ import annotations

import attrs
import numpy as np

from arena.concepts import ConceptClass, DecisionLists
from arena.sample import Sample
from learners.common.fitted_learner import FittedLearner
from learners.lists.base import decision_lists_setting, tabulate_examples


@attrs.frozen
class Rivest(FittedLearner):
    """The greedy algorithm of Rivest (1987), a baseline without privacy (ε = ∞) for private-decision-list.

    It appends rules one by one. Of the rules that cover a remaining example it takes one with the smallest
    share of errors; among those one that covers most; among those the first, in the order "true", then the
    features, and label 0 before 1. So it is consistent with the sample if some list is, and a heuristic
    otherwise. It stops after "true", which comes at the latest when one label remains.
    """

    name = "rivest"
    usual_adversary = "cover-swap"

    concepts: DecisionLists = decision_lists_setting("decision lists, as lists:8 or lists:8:literals")

    @property
    def _hypotheses(self) -> ConceptClass:
        return self.concepts

    def fit(self, sample: Sample) -> np.ndarray:
        """The list of a sample, (features + 1,)."""
        return greedy_list(*tabulate_examples(self.concepts, sample))


def greedy_list(features: np.ndarray, by_label: np.ndarray) -> np.ndarray:
    """(F + 1,): the list that `Rivest` describes.

    Shapes: features (U, F + 1) bool, "true" last; by_label (U, 2), the copies of each example with label 0
    and 1.
    """
    true = features.shape[1] - 1
    rules, left = np.full(true + 1, -1), np.ones(len(features), bool)
    as_numbers = features.astype(np.float64)
    counts = as_numbers.T @ by_label  # remaining examples that a feature covers, by label
    for position in range(true + 1):
        feature, label = _best_rule(counts)
        rules[position] = 2 * feature + label
        if feature == true:
            break
        covered = np.flatnonzero(left & features[:, feature])
        left[covered] = False
        counts -= as_numbers[covered].T @ by_label[covered]
    return rules


def _best_rule(counts: np.ndarray) -> tuple[int, int]:
    """The feature and label with the smallest share of errors; then the most examples; then the first."""
    counts = np.roll(counts, 1, axis=0)  # "true" first
    covered = counts.sum(axis=1)[:, None]
    errors = counts[:, ::-1]  # label 0 is wrong for examples with label 1
    share = np.where(covered > 0, errors / np.maximum(covered, 1), np.inf)
    eligible = np.where(share == share.min(), covered, -1)
    row, label = np.unravel_index(eligible.argmax(), eligible.shape)
    return int(row - 1) % len(counts), int(label)
