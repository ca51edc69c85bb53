"""The base of the learners of decision lists: their setting `concepts`, and samples as tables of features."""

from __future__ import annotations

from typing import Any

import numpy as np

from arena.concepts import DecisionLists, Variables
from arena.errors import InvalidArgument
from arena.players import Learner
from arena.sample import Sample
from arena.settings import setting


def decision_lists_setting(help: str) -> Any:
    """The setting `concepts`, by default decision lists over three variables."""
    return setting(DecisionLists(Variables(3)), help=help, check=_require_decision_lists)


def _require_decision_lists(instance: Learner, attribute: object, value: object) -> None:
    if not isinstance(value, DecisionLists):
        raise InvalidArgument(
            f"{instance.name} learns decision lists", value=value, remedy="For instance concepts=lists:4."
        )


def tabulate_examples(concepts: DecisionLists, sample: Sample) -> tuple[np.ndarray, np.ndarray]:
    """The features of each distinct example (U, F + 1) bool, "true" last; and its copies by label (U, 2)."""
    features = concepts.features.evaluate(sample.points)
    features = np.concatenate([features, np.ones((len(features), 1), bool)], axis=1)
    return features, sample.counts[:, None] * (sample.labels[:, None] == [0, 1])
