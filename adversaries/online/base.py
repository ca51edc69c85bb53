"""What adversaries of online games share: the class they play on, and the concepts that stay consistent."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

from adversaries.common.shared_settings import choose_concept_class
from arena import Adversary, Hypothesis, Learner, count_setting, setting
from arena.concepts import ConceptClass, Thresholds
from arena.littlestone.concept_sets import ConceptSets, concept_sets
from arena.players import finite_domain

DEFAULT_CLASS = Thresholds(range(16))  # if neither player has one
DIMENSION, NUMBER = "dimension", "number"


@attrs.frozen
class ClassAdversary(Adversary):
    """Base of the adversaries that play on the finite domain of a concept class."""

    returns_score = False

    rounds: int = count_setting(100, help="T, the number of rounds")
    concepts: ConceptClass | None = setting(None, help="the concept class; default: the learner's")
    learner: Learner | None = setting(None, help="the configuration of the learner it plays against")

    @property
    def _concept_class(self) -> ConceptClass:
        return choose_concept_class(self.concepts, self.learner, DEFAULT_CLASS)


def domain_points(concept_class: ConceptClass) -> np.ndarray:
    """(points, ...): the points of its finite domain. Raises: Unsupported if it has none."""
    concept_sets(concept_class)  # refuses an infinite domain
    return np.array(concept_class.domain)


def middle_point(learner: Learner | None) -> Any:
    """The middle of a finite domain, and otherwise 0.5 in every coordinate."""
    domain = finite_domain(learner)
    if domain is not None:
        return domain[len(domain) // 2]
    return np.full(() if learner is None else learner.point_shape, 0.5)


def label_points(hypothesis: Hypothesis, points: np.ndarray) -> np.ndarray:
    """(games, points) bool: the labels by the hypotheses of a batch."""
    return hypothesis.concept_class.labels(hypothesis.concepts, points)


def first_labels(learner: Learner, points: np.ndarray) -> np.ndarray:
    """(points,) bool: the labels of h_1 in a simulated game."""
    return label_points(learner.start(1, np.random.default_rng(0)).hypothesis(), points)[0]


def expect_first_labels(learner: Learner | None, spaces: ValuedVersionSpaces, games: int) -> np.ndarray:
    """(games, points) bool: h_1 of a simulated game; without a learner, what keeps more concepts."""
    if learner is None:
        return np.asarray(spaces.values[:, 1] >= spaces.values[:, 0])
    return np.broadcast_to(first_labels(learner, spaces.points), (games, len(spaces.points)))


class ValuedVersionSpaces:
    """For each game the concepts that agree with all its examples, and their value after another example.

    points: (points, ...), the domain. labels: (concepts, points) bool, the labellings of the class. values:
    (games, 2, points) int64, at [g, y, x] the value if x is labelled y, -1 if no concept is left: by NUMBER,
    how many are; by DIMENSION, Littlestone dimension * unit + number.
    """

    def __init__(self, concept_class: ConceptClass, games: int, by: str = DIMENSION) -> None:
        self._sets = concept_sets(concept_class)
        self._by = by
        self._cache: dict[bytes, np.ndarray] = {}
        self._games = np.arange(games)
        self.points = domain_points(concept_class)
        self.labels = self._sets.labels
        self.unit = len(self.labels) + 1
        self._consistent = np.ones((games, len(self.labels)), bool)
        self.values = np.empty((games, 2, len(self.points)), np.int64)
        self._update_values(self._games)

    def add(self, columns: np.ndarray, y: np.ndarray) -> None:
        """Add an example to each game: the point in its column, labelled y."""
        y = y.astype(np.intp)
        # Most often nothing changes, because all consistent concepts give this label.
        changed = np.flatnonzero(self.values[self._games, 1 - y, columns] >= 0)
        if len(changed):
            ones = self.labels[:, columns[changed]].T
            self._consistent[changed] &= np.where(y[changed, None] == 1, ones, ~ones)
            self._update_values(changed)

    def contradict(self, labels: np.ndarray) -> np.ndarray:
        """(games, points): the values if a hypothesis with these labels is contradicted."""
        return np.where(labels, self.values[:, 0], self.values[:, 1])

    def _update_values(self, games: np.ndarray) -> None:
        if self._by == NUMBER:
            consistent = self._consistent[games].astype(np.float32)  # exact for counts below 2^24
            ones = (consistent @ self.labels.astype(np.float32)).astype(np.int64)
            number = np.stack([consistent.sum(axis=1, dtype=np.int64)[:, None] - ones, ones], axis=1)
            self.values[games] = np.where(number > 0, number, -1)
            return
        packed = np.packbits(self._consistent[games], axis=1, bitorder="little")
        for game, row in zip(games, packed, strict=True):
            key = row.tobytes()
            if key not in self._cache:
                self._cache[key] = _value_by_dimension(self._sets, int.from_bytes(key, "little"))
            self.values[game] = self._cache[key]


def _value_by_dimension(sets: ConceptSets, concepts: int) -> np.ndarray:
    """(2, points): the value of what is left of a set of concepts, for each label of each point."""

    def value(part: int) -> int:
        return sets.dimension(part) * (len(sets.labels) + 1) + part.bit_count() if part else -1

    return np.array([[value(concepts & ~ones), value(concepts & ones)] for ones in sets.ones]).T
