"""An ensemble: K teachers trained on disjoint parts of a sample, and their votes."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache

import attrs
import numpy as np

from arena.errors import Unsupported
from arena.sample import Sample
from learners.pate.ensemble.teacher import Teacher, TrainedTeacher

_CACHED_TEACHERS = 4_096


@attrs.frozen(eq=False)
class Ensemble:
    """K trained teachers. Teachers with equal parts are the same object."""

    teachers: tuple[TrainedTeacher, ...]

    def votes(self, points: np.ndarray) -> np.ndarray:
        """(K, m) bool: the labels of each teacher for points (m, ...)."""
        return np.stack([teacher(points) for teacher in self.teachers])

    def ones(self, points: np.ndarray) -> np.ndarray:
        """(m,) int64: the number of teachers with label 1 for each of points (m, ...)."""
        ones = np.zeros(len(points), np.int64)
        for teacher, times in Counter(self.teachers).items():
            ones += times * teacher(points)
        return ones


@lru_cache(maxsize=64)
def train_ensemble(teacher: Teacher, sample: Sample, size: int, split: int) -> Ensemble:
    """The ensemble of `size` teachers, each trained on its part of the sample (steps 1 and 2 of Algorithm 3).

    The division of positions among teachers depends only on `split` and the size of the sample. So it is
    public, and the same for neighbouring samples, which share all teachers except one. Teachers with equal
    parts are trained once.

    Raises: Unsupported if there are fewer examples than teachers; InvalidArgument as `Teacher.train` does.
    """
    if sample.size < size:
        raise Unsupported(
            f"{size:,} teachers need at least as many examples",
            value=sample.size,
            remedy=f"Set teachers to {sample.size:,} or less, or give more data.",
        )
    return Ensemble(tuple(_train(teacher, part) for part in divide_sample(sample, size, split)))


def divide_sample(sample: Sample, size: int, split: int) -> list[Sample]:
    """The parts of a sample for `size` teachers: disjoint, of equal size up to 1, and random by the seed
    `split`.

    A part holds its distinct examples in order; equal parts are the same object.
    """
    first, which = sample.kinds()
    points, labels = sample.points[first], sample.labels[first]
    order = np.random.default_rng([split, sample.size]).permutation(sample.size)
    examples = np.repeat(which, sample.counts)[order]
    parts: dict[bytes, Sample] = {}
    by_teacher = []
    for teacher in range(size):
        rows = np.sort(examples[teacher::size])
        key = rows.tobytes()
        if key not in parts:
            distinct, counts = np.unique(rows, return_counts=True)
            parts[key] = Sample(points[distinct], labels[distinct], counts)
        by_teacher.append(parts[key])
    return by_teacher


_train = lru_cache(maxsize=_CACHED_TEACHERS)(lambda teacher, part: teacher.train(part))
