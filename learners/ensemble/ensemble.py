"""An ensemble: K teachers trained on disjoint parts of a sample, and their votes."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache

import attrs
import numpy as np

from arena.errors import Unsupported
from arena.sample import Sample
from learners.ensemble.teacher import Taught, Teacher

_MOST_TRAINED = 4_096  # teachers kept


@attrs.frozen(eq=False)
class Ensemble:
    """K trained teachers."""

    teachers: tuple[Taught, ...]

    def votes(self, points: np.ndarray) -> np.ndarray:
        """(K, m) bool: how each teacher labels points (m, ...)."""
        return np.stack([teacher(points) for teacher in self.teachers])

    def ones(self, points: np.ndarray) -> np.ndarray:
        """(m,) int64: how many teachers label points (m, ...) 1."""
        total = np.zeros(len(points), np.int64)
        # Teachers of equal parts are one: few are to be asked where a sample has few distinct examples.
        for teacher, count in Counter(self.teachers).items():
            total += count * teacher(points).astype(np.int64)
        return total


@lru_cache(maxsize=64)
def trained(teacher: Teacher, sample: Sample, size: int, split: int) -> Ensemble:
    """The ensemble of `size` teachers, each trained on its part of the sample (steps 1 and 2 of Algorithm 3).

    Which position of the sample goes to which teacher is drawn from `split` and the sample's size alone, so
    it is public and the same for neighbouring samples: these share all teachers but one, and a teacher that
    was trained on an equal part before is not trained again.

    Raises: Unsupported if there are fewer examples than teachers; InvalidArgument as `Teacher.train` does.
    """
    if sample.size < size:
        raise Unsupported(
            f"{size:,} teachers need at least as many examples",
            value=sample.size,
            remedy=f"Set teachers to {sample.size:,} or less, or give more data.",
        )
    return Ensemble(tuple(_trained(teacher, part) for part in parts_of(sample, size, split)))


def parts_of(sample: Sample, size: int, split: int) -> list[Sample]:
    """The parts of a sample that go to `size` teachers: even, disjoint, and at random by `split`."""
    run = np.repeat(np.arange(len(sample.counts)), sample.counts)
    order = np.random.default_rng([split, sample.size]).permutation(sample.size)
    parts = []
    for teacher in range(size):
        runs, counts = np.unique(run[order[teacher::size]], return_counts=True)
        parts.append(Sample(sample.points[runs], sample.labels[runs], counts).distinct())
    return parts


_trained = lru_cache(maxsize=_MOST_TRAINED)(lambda teacher, part: teacher.train(part))
