"""What the games of a table have seen, against a class: which concepts agree with it, and how few mistakes
the best of them makes. Axis 0 of every array is the games.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import lru_cache

import numpy as np

from arena.concepts.base import ConceptClass
from arena.concepts.cube.halfspaces import Halfspaces, separator
from arena.concepts.line.encrypted_thresholds import EncryptedThresholds
from arena.concepts.line.intervals import Intervals
from arena.concepts.line.points import Points
from arena.concepts.line.thresholds import Thresholds
from arena.errors import Unsupported
from arena.points import freeze

MOST_LABELS = 2**24  # of a class, concepts x points
MOST_COUNTS = 2**28  # of a table, games x points
_CHUNK = 2**20  # numbers that are held at once


class VersionSpaces(ABC):
    """The concepts of a class that agree with all examples of each game so far."""

    @abstractmethod
    def add(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Take an example of each game; (n,) bool: the games in which some concept agrees with all of them.

        Shapes: x (n, ...) points, y (n,) of 0 and 1.

        Raises: InvalidArgument for a point that is not in the domain.
        """


class Hindsight(ABC):
    """The least mistakes that a concept of the class makes on the examples of each game so far."""

    @abstractmethod
    def add(self, x: np.ndarray, y: np.ndarray) -> None:
        """Take an example of each game, as `VersionSpaces.add` does."""

    @abstractmethod
    def least(self) -> np.ndarray:
        """(n,) int64: the mistakes of the best concept of each game."""


def version_spaces(concept_class: ConceptClass, games: int) -> VersionSpaces:
    """Those of `games` games that have seen nothing: two numbers a game for thresholds, on the line or not;
    the examples themselves for halfspaces; otherwise a bit for each concept.

    Raises: as `check_consistency`.
    """
    check_consistency(concept_class)
    if isinstance(concept_class, Thresholds):
        return _Gaps(concept_class, games)
    if isinstance(concept_class, Halfspaces):
        return _Margins(concept_class, games)
    return _Bits(concept_class, games)


def hindsight(concept_class: ConceptClass, games: int) -> Hindsight:
    """That of `games` games that have seen nothing: a count a point and game.

    Raises: Unsupported as `check_hindsight` does, or if there are too many counts.
    """
    check_hindsight(concept_class)
    points = len(concept_class.domain or ())
    if games * points > MOST_COUNTS:
        raise Unsupported(
            f"{games:,} games of {points:,} points make more than {MOST_COUNTS:,} counts",
            remedy="Play fewer games at a table, or choose a smaller domain.",
        )
    return (
        _Suffixes(concept_class, games)
        if isinstance(concept_class, Thresholds)
        else _Rows(concept_class, games)
    )


def check_consistency(concept_class: ConceptClass) -> None:
    """Refuse a class of which `version_spaces` cannot tell.

    Raises: Unsupported if it has no finite domain and is neither thresholds nor halfspaces, or is too large.
    """
    if not isinstance(concept_class, Thresholds | Halfspaces):
        labellings(concept_class)


def check_hindsight(concept_class: ConceptClass) -> None:
    """Refuse a class of which `hindsight` cannot tell.

    Raises: Unsupported if it has no finite domain, or is too large.
    """
    if not isinstance(concept_class, Thresholds) or concept_class.domain is None:
        labellings(concept_class)


@lru_cache(maxsize=8)
def labellings(concept_class: ConceptClass) -> np.ndarray:
    """(concepts, points) bool: the distinct labellings of the domain.

    Raises: Unsupported if the domain is not finite, or there are more than `MOST_LABELS` labels.
    """
    domain = concept_class.domain
    if domain is None:
        raise Unsupported(
            f"{concept_class} has no finite domain, so its concepts cannot be gone through",
            remedy="Give it one, as in thresholds:1..16.",
        )
    known = _fewest_labels(concept_class, len(domain))
    if known <= MOST_LABELS:  # else making the labels may take more memory than there is
        labels: np.ndarray = concept_class.dichotomies(np.array(domain)).labels
        known = labels.size
    if known > MOST_LABELS:
        raise Unsupported(
            f"{concept_class} has {known:,} labels, concepts times points, over {MOST_LABELS:,}",
            remedy="Choose a smaller domain.",
        )
    return labels


class _Gaps(VersionSpaces):
    """Thresholds t: those with low < t <= high, the last point labelled 0 and the first labelled 1.

    Where low < high, `high` itself is one of them, be it a point of the domain or +inf.
    """

    def __init__(self, concept_class: Thresholds, games: int) -> None:
        self._class = concept_class
        self._low = np.full(games, -np.inf)
        self._high = np.full(games, np.inf)

    def add(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        points = self._class.check(x)
        np.maximum(self._low, points, out=self._low, where=y == 0)
        np.minimum(self._high, points, out=self._high, where=y == 1)
        return np.asarray(self._low < self._high)


class _Margins(VersionSpaces):
    """Halfspaces: some weights that agree with all examples of a game, looked for anew when an example does
    not suit those at hand."""

    def __init__(self, concept_class: Halfspaces, games: int) -> None:
        self._class = concept_class
        self._weights = np.full((games, concept_class.dimension), 1 / concept_class.dimension)
        self._some = np.ones(games, bool)  # games of which none agrees with all stay such
        self._points: list[np.ndarray] = []
        self._labels: list[np.ndarray] = []

    def add(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        points = self._class.check(x)
        if (len(self._points) + 1) * points.size > MOST_COUNTS:
            raise Unsupported(
                f"{len(points):,} games of {len(self._points):,} examples in {self._class} make more than "
                f"{MOST_COUNTS:,} numbers to look for a target in",
                remedy="Play fewer games at a table, or name the target beside the examples.",
            )
        self._points.append(points.copy())
        self._labels.append(y.copy())
        agreeing = self._class.agrees(self._weights, points, y)
        for game in np.flatnonzero(self._some & ~agreeing):
            self._some[game] = self._find(int(game))
        return self._some.copy()

    def _find(self, game: int) -> bool:
        """Look for weights that agree with all examples of the game."""
        points = np.array([x[game] for x in self._points])
        labels = np.array([y[game] for y in self._labels])
        found = separator(points, labels, self._class.margin)
        if found is not None:
            self._weights[game] = found
        return found is not None


class _Bits(VersionSpaces):
    """A bit for each concept, packed in words."""

    def __init__(self, concept_class: ConceptClass, games: int) -> None:
        self._class = concept_class
        self._agreeing = _agreeing(concept_class)
        every = self._agreeing[0, 0] | self._agreeing[0, 1]
        self._left = np.repeat(every[None], games, axis=0)

    def add(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        columns = self._class.place(self._class.check(x))
        self._left &= self._agreeing[columns, y]
        return np.asarray(self._left.any(axis=1))


class _Counted(Hindsight):
    """Labels 0 less labels 1 at every point, and how many were 1 in all.

    A concept errs on the ones, less those at points that it labels 1, plus the zeros there.
    """

    def __init__(self, concept_class: ConceptClass, games: int) -> None:
        self._class = concept_class
        self._every = np.arange(games)
        self._ones = np.zeros(games, np.int64)
        self._surplus = np.zeros((games, len(concept_class.domain or ())), np.int32)

    def add(self, x: np.ndarray, y: np.ndarray) -> None:
        columns = self._class.place(self._class.check(x))
        self._surplus[self._every, columns] += 1 - 2 * y.astype(np.int32)
        self._ones += y

    def least(self) -> np.ndarray:
        games, step = len(self._ones), max(1, _CHUNK // self._numbers_a_game())
        gained = [self._best(self._surplus[start : start + step]) for start in range(0, games, step)]
        return np.asarray(self._ones + np.concatenate([np.zeros(0, np.int64), *gained]))

    @abstractmethod
    def _numbers_a_game(self) -> int:
        """How many numbers `_best` holds for a game."""

    @abstractmethod
    def _best(self, surplus: np.ndarray) -> np.ndarray:
        """(m,) int64: over the concepts, the least sum of `surplus` (m, points) at the points labelled 1."""


class _Rows(_Counted):
    def __init__(self, concept_class: ConceptClass, games: int) -> None:
        super().__init__(concept_class, games)
        # Products of whole numbers below 2^53 are exact, and those of floats the only quick ones.
        self._labelled = labellings(concept_class).T.astype(np.float64)

    def _numbers_a_game(self) -> int:
        return sum(self._labelled.shape)

    def _best(self, surplus: np.ndarray) -> np.ndarray:
        return np.asarray((surplus @ self._labelled).min(axis=1).astype(np.int64))


class _Suffixes(_Counted):
    """Thresholds label a suffix of the domain 1, or nothing."""

    def _numbers_a_game(self) -> int:
        return self._surplus.shape[1]

    def _best(self, surplus: np.ndarray) -> np.ndarray:
        return np.asarray(np.cumsum(surplus[:, ::-1], axis=1, dtype=np.int64).min(axis=1).clip(max=0))


@lru_cache(maxsize=8)
def _agreeing(concept_class: ConceptClass) -> np.ndarray:
    """(points, 2, words) uint64: at [x, y] the concepts that label x with y, a bit each."""
    labels = labellings(concept_class)
    given = np.stack([~labels, labels]).transpose(2, 0, 1)
    padded = np.concatenate([given, np.zeros((*given.shape[:2], -len(labels) % 64), bool)], axis=2)
    return freeze(np.packbits(padded, axis=2).view(np.uint64))


def _fewest_labels(concept_class: ConceptClass, points: int) -> int:
    """How many labels the class has, as far as that can be told without making them."""
    if isinstance(concept_class, Thresholds | EncryptedThresholds):
        return points * (points + 1)
    if isinstance(concept_class, Intervals):
        return points * (1 + points * (points + 1) // 2)
    return points * points if isinstance(concept_class, Points) else 0
