"""The concepts consistent with the examples of each game, and the fewest mistakes in hindsight.

Axis 0 of every array is the games.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from arena.concepts.base import ConceptClass
from arena.concepts.encrypted_thresholds import EncryptedThresholds
from arena.concepts.grids import Intervals, Points
from arena.concepts.halfspaces import Halfspaces, separator
from arena.concepts.line import Thresholds
from arena.errors import Unsupported
from arena.sample import freeze

MAX_LABELS = 2**24  # of a class, concepts x points
MAX_COUNTS = 2**28  # of a batch, games x points
_SLAB_NUMBERS = 2**20  # numbers in memory at a time


def version_spaces(concept_class: ConceptClass, games: int) -> VersionSpaces:
    """The version spaces of so many games without examples. Raises: as `check_consistency`."""
    check_consistency(concept_class)
    if isinstance(concept_class, Thresholds):
        return _ThresholdSpaces(concept_class, games)
    if isinstance(concept_class, Halfspaces):
        return _HalfspaceSpaces(concept_class, games)
    return _BitsetSpaces(concept_class, games)


def check_consistency(concept_class: ConceptClass) -> None:
    """Raises: Unsupported if a class is too large, or neither thresholds, halfspaces nor a finite domain."""
    if not isinstance(concept_class, Thresholds | Halfspaces):
        labellings(concept_class)


def check_hindsight(concept_class: ConceptClass) -> None:
    """Raises: Unsupported if the domain of a class is not finite, or the class is too large."""
    if not isinstance(concept_class, Thresholds) or concept_class.domain is None:
        labellings(concept_class)


@lru_cache(maxsize=8)
def labellings(concept_class: ConceptClass) -> np.ndarray:
    """(concepts, points) bool: the distinct labellings of the domain.
    Raises: Unsupported if the domain is not finite, or there are more than `MAX_LABELS` labels."""
    domain = concept_class.domain
    if domain is None:
        raise Unsupported(
            f"{concept_class} has no finite domain, so its concepts cannot be enumerated",
            remedy="Give it one, as in thresholds:1..16.",
        )
    size = 0
    if isinstance(concept_class, Thresholds | EncryptedThresholds | Intervals | Points):
        # The bound is exact for these, so a large class is refused before its labels take memory.
        size = len(domain) * concept_class.growth_bound(len(domain))
    if size <= MAX_LABELS:
        labels: np.ndarray = concept_class.dichotomies(np.array(domain)).labels
        size = labels.size
    if size > MAX_LABELS:
        raise Unsupported(
            f"{concept_class} has {size:,} labels (concepts × points), more than {MAX_LABELS:,}",
            remedy="Choose a smaller domain.",
        )
    return labels


# Version spaces: the concepts of a class that are consistent with all examples of each game so far. Their
# method `add` takes an example x (n, ...), y (n,) of each game; (n,) bool: whether some concept is left.


class _ThresholdSpaces:
    """Thresholds t with low < t <= high: the last point labelled 0 and the first point labelled 1."""

    def __init__(self, concept_class: Thresholds, games: int) -> None:
        self._class = concept_class
        self._low = np.full(games, -np.inf)
        self._high = np.full(games, np.inf)

    def add(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        points = self._class.check(x)
        np.maximum(self._low, points, out=self._low, where=y == 0)
        np.minimum(self._high, points, out=self._high, where=y == 1)
        return np.asarray(self._low < self._high)


class _HalfspaceSpaces:
    """Weights consistent with all examples of a game, replaced when an example refutes them."""

    def __init__(self, concept_class: Halfspaces, games: int) -> None:
        self._class = concept_class
        self._weights = np.full((games, concept_class.dimension), 1 / concept_class.dimension)
        self._consistent = np.ones(games, bool)  # a game without consistent weights never gets them back
        self._points: list[np.ndarray] = []
        self._labels: list[np.ndarray] = []

    def add(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        points = self._class.check(x)
        if (len(self._points) + 1) * points.size > MAX_COUNTS:
            raise Unsupported(
                f"looking for a target of {self._class} in {len(points):,} games of {len(self._points):,} "
                f"examples needs more than {MAX_COUNTS:,} numbers",
                remedy="Play fewer games in a batch, or give the target with the examples.",
            )
        self._points.append(points.copy())
        self._labels.append(y.copy())
        agrees = self._class.agrees(self._weights, points, y)
        for game in np.flatnonzero(self._consistent & ~agrees):
            own_points = np.array([each[game] for each in self._points])
            own_labels = np.array([each[game] for each in self._labels])
            weights = separator(own_points, own_labels, self._class.margin)
            self._consistent[game] = weights is not None
            if weights is not None:
                self._weights[game] = weights
        return self._consistent.copy()


class _BitsetSpaces:
    def __init__(self, concept_class: ConceptClass, games: int) -> None:
        self._class = concept_class
        self._agreeing = _agreeing_concepts(concept_class)
        all_concepts = self._agreeing[0, 0] | self._agreeing[0, 1]
        self._left = np.repeat(all_concepts[None], games, axis=0)

    def add(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        columns = self._class.domain_indices(self._class.check(x))
        self._left &= self._agreeing[columns, y]
        return np.asarray(self._left.any(axis=1))


class Hindsight:
    """The fewest mistakes that a concept of the class makes on the examples of each game so far.

    A concept's mistakes are all labels 1, plus the surplus of labels 0 over labels 1 at the points that it
    labels 1. Raises: Unsupported as `check_hindsight`, or if there are too many counts.
    """

    def __init__(self, concept_class: ConceptClass, games: int) -> None:
        check_hindsight(concept_class)
        points = len(concept_class.domain or ())
        if games * points > MAX_COUNTS:
            raise Unsupported(
                f"{games:,} games of {points:,} points need more than {MAX_COUNTS:,} counts",
                remedy="Play fewer games in a batch, or choose a smaller domain.",
            )
        self._class = concept_class
        self._games = np.arange(games)
        self._ones = np.zeros(games, np.int64)
        self._surplus = np.zeros((games, points), np.int32)
        # Products of floats are fast, and exact for integers below 2^53.
        thresholds = isinstance(concept_class, Thresholds)
        self._labels = None if thresholds else labellings(concept_class).T.astype(np.float64)

    def add(self, x: np.ndarray, y: np.ndarray) -> None:
        """Add an example x (n, ...), y (n,) to each game."""
        columns = self._class.domain_indices(self._class.check(x))
        self._surplus[self._games, columns] += 1 - 2 * y.astype(np.int32)
        self._ones += y

    def least(self) -> np.ndarray:
        """(n,) int64: the mistakes of the best concept of each game."""
        numbers = self._surplus.shape[1] if self._labels is None else sum(self._labels.shape)
        games, step = len(self._ones), max(1, _SLAB_NUMBERS // numbers)
        gains = [self._least_surplus(self._surplus[start : start + step]) for start in range(0, games, step)]
        return np.asarray(self._ones + np.concatenate([np.zeros(0, np.int64), *gains]))

    def _least_surplus(self, surplus: np.ndarray) -> np.ndarray:
        """(m,) int64: the least sum, over the concepts, of `surplus` (m, points) at the points labelled 1."""
        if self._labels is None:  # thresholds label a suffix of the domain 1, or nothing
            return np.asarray(np.cumsum(surplus[:, ::-1], axis=1, dtype=np.int64).min(axis=1).clip(max=0))
        return np.asarray((surplus @ self._labels).min(axis=1).astype(np.int64))


VersionSpaces = _ThresholdSpaces | _HalfspaceSpaces | _BitsetSpaces


@lru_cache(maxsize=8)
def _agreeing_concepts(concept_class: ConceptClass) -> np.ndarray:
    """(points, 2, words) uint64: at [x, y] the concepts that label x with y, a bit for each."""
    labels = labellings(concept_class)
    agrees = np.stack([~labels, labels]).transpose(2, 0, 1)
    padded = np.concatenate([agrees, np.zeros((*agrees.shape[:2], -len(labels) % 64), bool)], axis=2)
    return freeze(np.packbits(padded, axis=2).view(np.uint64))
