"""The teachers of a batch of games, and their mean votes."""

from __future__ import annotations

import numpy as np

from arena.concepts import ConceptClass
from arena.points import is_shared

_CACHE_SIZE = 32  # points whose votes are cached
_SLAB = 2_000_000  # labels computed at a time


class TeacherEnsembles:
    """The teachers of n games, T each, stored as counts of concepts or one by one.

    counts: (n, C), how many teachers of each game hold each of `concepts` (C, ...); or None, with concepts
    (n, T, ...). size: T.
    """

    def __init__(
        self, concept_class: ConceptClass, concepts: np.ndarray, counts: np.ndarray | None, size: int
    ):
        self._class = concept_class
        self._concepts = concepts
        self._counts = counts
        self.size = size
        self._cache: dict[tuple[str, bytes], np.ndarray] = {}

    def votes(self, x: np.ndarray) -> np.ndarray:
        """The mean votes (n,) in [0, 1], read-only, at one point per game, x (n, ...)."""
        if is_shared(x):
            return self._votes_at(x[0])
        points, which = np.unique(x, axis=0, return_inverse=True)
        if not 0 < len(points) <= _CACHE_SIZE:
            return self._votes_one_by_one(x)
        table = np.stack([self._votes_at(point) for point in points])
        return table[which.ravel(), np.arange(len(x))]

    def votes_in_a_row(self, x: np.ndarray) -> np.ndarray:
        """The mean votes (n, k) at k points per game, x (n, k, ...)."""
        if not len(x):
            return np.zeros(x.shape[:2])
        if self._counts is None:
            return np.stack(
                [
                    self._class.vote(concepts, points)
                    for concepts, points in zip(self._concepts, x, strict=True)
                ]
            )
        if is_shared(x):
            ones = self._class.labels(self._concepts, x[0])
            return self._counts @ ones.astype(np.float64) / self.size
        return np.stack([self._votes_of_game(*game) for game in zip(self._counts, x, strict=True)])

    def _votes_of_game(self, counts: np.ndarray, points: np.ndarray) -> np.ndarray:
        """The mean votes (k,) of one game's teachers, with counts (C,), at points (k, ...)."""
        present = counts > 0
        concepts, counts = self._concepts[present], counts[present]
        step = max(1, _SLAB // max(1, len(concepts)))
        slabs = (points[start : start + step] for start in range(0, len(points), step))
        ones = [counts @ self._class.labels(concepts, slab).astype(float) for slab in slabs]
        return np.concatenate(ones) / self.size

    def _votes_at(self, point: np.ndarray) -> np.ndarray:
        key = point.dtype.str, point.tobytes()  # the same bytes are another number in another type
        if key not in self._cache:
            if len(self._cache) >= _CACHE_SIZE:
                self._cache.clear()
            self._cache[key] = self._count_votes(np.asarray(point))
            self._cache[key].flags.writeable = False
        return self._cache[key]

    def _count_votes(self, point: np.ndarray) -> np.ndarray:
        if self._counts is not None:
            ones = self._class.labels(self._concepts, point[None])[:, 0]
            return (self._counts @ ones.astype(np.float64)) / self.size
        return self._mean_labels(self._class.label(self._flat_concepts, point))

    def _votes_one_by_one(self, x: np.ndarray) -> np.ndarray:
        if self._counts is not None:
            ones = self._class.labels(self._concepts, x)  # (C, n)
            return np.einsum("nc,cn->n", self._counts, ones.astype(np.float64)) / self.size
        return self._mean_labels(self._class.label(self._flat_concepts, np.repeat(x, self.size, axis=0)))

    @property
    def _flat_concepts(self) -> np.ndarray:
        """(n·T, ...)."""
        return self._concepts.reshape(-1, *self._concepts.shape[2:])

    def _mean_labels(self, ones: np.ndarray) -> np.ndarray:
        return np.asarray(ones.reshape(-1, self.size).mean(axis=1))
