"""What the adversaries of online games share: the class they play on, and the concepts still consistent."""

from __future__ import annotations

import numpy as np

from arena import Hypothesis, InvalidArgument, Learner
from arena.concepts import ConceptClass, Thresholds
from arena.littlestone.concept_sets import ConceptSets, concept_sets

DIMENSION, NUMBER = "dimension", "number"


def class_for(learner: Learner | None, own: ConceptClass | None) -> ConceptClass:
    """The class to play on: `own`, else the learner's `concepts`, else thresholds on 16 points.

    Raises: InvalidArgument if its points have another shape than the learner's.
    """
    given = own or getattr(learner, "concepts", None) or Thresholds(range(16))
    if learner is not None and given.point_shape != learner.point_shape:
        raise InvalidArgument(
            f"{learner.name} receives points of shape {learner.point_shape}",
            value=given,
            remedy="Leave `concepts` to the learner's.",
        )
    return given


def domain_of(concept_class: ConceptClass) -> np.ndarray:
    """(points, ...): its finite domain. Raises: Unsupported if there is none."""
    concept_sets(concept_class)  # which refuses an infinite domain
    return np.array(concept_class.domain)


def on_domain(hypothesis: Hypothesis, points: np.ndarray) -> np.ndarray:
    """(games, points) bool: what a table's hypotheses say of every point."""
    return hypothesis.concept_class.labels(hypothesis.concepts, points)


def opening(learner: Learner, points: np.ndarray) -> np.ndarray:
    """(points,) bool: h_1 of a copy of the learner, with fixed coins.

    It is that of the learner itself where that starts with one function always, as most do.
    """
    return on_domain(learner.start(1, np.random.default_rng(0)).hypothesis(), points)[0]


def first_said(learner: Learner | None, spaces: VersionSpaces, games: int) -> np.ndarray:
    """(games, points) bool: the function to play against first: h_1 of a copy of the learner, or what leaves
    most concepts consistent where the learner is not known."""
    if learner is None:
        return np.asarray(spaces.worth[:, 1] >= spaces.worth[:, 0])
    return np.broadcast_to(opening(learner, spaces.points), (games, len(spaces.points)))


class VersionSpaces:
    """For every game of a table, the concepts that agree with all its examples.

    points: (points, ...), the domain.
    labels: (concepts, points) bool, the distinct labellings of the class.
    worth: (games, 2, points) int64: at [g, y, x] what is left of game g's concepts if x is labelled y; -1 if
    nothing is. More is better for an adversary: a larger Littlestone dimension, then more concepts, as
    dimension * unit + number; or the number of concepts alone.
    """

    def __init__(self, concept_class: ConceptClass, games: int, by: str = DIMENSION) -> None:
        self._sets = concept_sets(concept_class)
        self._by = by
        self._remembered: dict[bytes, np.ndarray] = {}
        self._rows = np.arange(games)
        self.points = domain_of(concept_class)
        self.labels = self._sets.labels
        self.unit = len(self.labels) + 1
        self._alive = np.ones((games, len(self.labels)), bool)
        self.worth = np.empty((games, 2, len(self.points)), np.int64)
        self._weigh(self._rows)

    def take(self, columns: np.ndarray, y: np.ndarray) -> None:
        """Each game gets an example: the point in its column, labelled y."""
        y = y.astype(np.intp)
        # Nothing changes where no concept that is left says otherwise, which is most often so.
        changed = np.flatnonzero(self.worth[self._rows, 1 - y, columns] >= 0)
        if len(changed):
            ones = self.labels[:, columns[changed]].T
            self._alive[changed] &= np.where(y[changed, None] == 1, ones, ~ones)
            self._weigh(changed)

    def _weigh(self, games: np.ndarray) -> None:
        """Bring the worth of these games up to date."""
        if self._by == NUMBER:
            alive = self._alive[games].astype(np.float32)  # counts below 2^24 are exact
            ones = (alive @ self.labels.astype(np.float32)).astype(np.int64)
            left = np.stack([alive.sum(axis=1, dtype=np.int64)[:, None] - ones, ones], axis=1)
            self.worth[games] = np.where(left > 0, left, -1)
            return
        packed = np.packbits(self._alive[games], axis=1, bitorder="little")
        for game, row in zip(games, packed, strict=True):
            key = row.tobytes()
            if key not in self._remembered:
                self._remembered[key] = _worth(self._sets, int.from_bytes(key, "little"))
            self.worth[game] = self._remembered[key]


def _worth(sets: ConceptSets, concepts: int) -> np.ndarray:
    """(2, points): what is left of a set of concepts for each label of each point."""

    def worth(part: int) -> int:
        return sets.dimension(part) * (len(sets.labels) + 1) + part.bit_count() if part else -1

    return np.array(
        [[worth(concepts & ~ones) for ones in sets.ones], [worth(concepts & ones) for ones in sets.ones]]
    )
