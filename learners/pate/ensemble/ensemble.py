"""An ensemble: K teachers trained on disjoint parts of a sample, and their votes."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache

import attrs
import numpy as np

from arena.errors import Unsupported
from arena.sample import Sample
from learners.pate.ensemble.teacher import Taught, Teacher

_MOST_TRAINED = 4_096  # teachers kept


@attrs.frozen(eq=False)
class Ensemble:
    """K trained teachers. Those of equal parts are one object."""

    teachers: tuple[Taught, ...]

    def votes(self, points: np.ndarray) -> np.ndarray:
        """(K, m) bool: how each teacher labels points (m, ...)."""
        return np.stack([teacher(points) for teacher in self.teachers])

    def ones(self, points: np.ndarray) -> np.ndarray:
        """(m,) int64: how many teachers label points (m, ...) 1."""
        ones = np.zeros(len(points), np.int64)
        for teacher, times in Counter(self.teachers).items():
            ones += times * teacher(points)
        return ones


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
    """The parts of a sample that go to `size` teachers: even, disjoint, and at random by `split`.

    Each has one run an example, sorted; equal parts are one object.
    """
    first, which = sample.kinds()
    points, labels = sample.points[first], sample.labels[first]
    order = np.random.default_rng([split, sample.size]).permutation(sample.size)
    held = np.repeat(which, sample.counts)[order]
    parts: dict[bytes, Sample] = {}
    dealt = []
    for teacher in range(size):
        rows = np.sort(held[teacher::size])
        key = rows.tobytes()
        if key not in parts:
            own, counts = np.unique(rows, return_counts=True)
            parts[key] = Sample(points[own], labels[own], counts)
        dealt.append(parts[key])
    return dealt


_trained = lru_cache(maxsize=_MOST_TRAINED)(lambda teacher, part: teacher.train(part))
