"""Training data: ordered lists of labelled examples, stored as runs of equal examples."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, Literal

import attrs
import numpy as np

from arena.errors import InvalidArgument, count_things
from arena.points import (
    LARGEST_INTEGER,
    as_points,
    format_point,
    own_copy,
    own_labels,
    own_points,
    points_differ,
)

Reads = Literal["points", "labels", "both"]  # what a learner reads of the examples
BOTH: Reads = "both"
BLANK = -1  # the label of a blank example, which learners count and otherwise ignore


def _own_sample_labels(labels: Any) -> np.ndarray:
    array = np.asarray(labels)
    blank = array == BLANK
    if not np.any(blank):
        return own_labels(labels)
    own_labels(array[~blank])  # refuses what is no label
    return own_copy(array.astype(np.int8))


def _own_counts(counts: Any) -> np.ndarray | None:
    return None if counts is None else own_copy(counts)


@attrs.frozen(eq=False, slots=False, repr=False)
class Sample:
    """An ordered list of labelled examples, stored as runs.

    Shapes: points (k, ...) float64, labels (k,) of 0 and 1, counts (k,) of at least 1. The list holds
    `counts[0]` copies of example 0, then `counts[1]` copies of example 1, and so on. Equality is that of the
    lists. Arrays are copied, and nobody can write to the copies. A blank example has the label `BLANK` and
    the point 0; referees allow it where neighbours zero out one example.

    Raises: InvalidArgument if the shapes or the values are others.

    >>> Sample([0.5, 0.5, 2.0], [0, 1, 1], [3, 2, 1])
    Sample(6 examples: 3 x (0.5, 0), 2 x (0.5, 1), 1 x (2, 1))
    """

    points: np.ndarray = attrs.field(converter=own_points)
    labels: np.ndarray = attrs.field(converter=_own_sample_labels)
    counts: np.ndarray = attrs.field(default=None, converter=_own_counts)

    def __attrs_post_init__(self) -> None:
        runs = len(self.points) if self.points.ndim else 0
        counts = np.ones(runs, np.int64) if self.counts is None else self.counts
        if runs == 0:
            raise InvalidArgument("a sample must hold at least one example", remedy="Give more data.")
        if self.labels.shape != (runs,):
            raise InvalidArgument(f"a sample of {runs} points needs as many labels", value=self.labels.shape)
        if counts.shape != (runs,) or counts.dtype.kind not in "iu" or (counts < 1).any():
            raise InvalidArgument(
                "counts must be one integer of at least 1 for each point", value=counts.tolist()[:5]
            )
        blank = self.labels == BLANK
        if self.points[blank].any():
            raise InvalidArgument(
                "labels must be 0 or 1; -1 marks a blank example, whose point must be 0",
                value=self.points[blank][0],
                remedy="Write 0 where labels are -1 and 1.",
            )
        if counts.astype(float).sum() > LARGEST_INTEGER:
            raise InvalidArgument("a sample holds at most 2^53 examples", value=float(counts.sum()))
        object.__setattr__(self, "counts", own_copy(counts.astype(np.int64, copy=False)))

    @classmethod
    def of(cls, given: Sample) -> Sample:
        """The same list as a new Sample of no subclass, which changes to the given object do not reach.

        Raises: InvalidArgument if the attributes have been changed to what is no sample.
        """
        return Sample(given.points, given.labels, given.counts)

    @cached_property
    def size(self) -> int:
        """The number of examples, copies counted."""
        return int(self.counts.sum())

    @cached_property
    def digest(self) -> str:
        """A hash of the list, the same however it is divided into runs."""
        merged = self._merge_runs()
        state = hashlib.sha256()
        for array in merged:
            state.update(f"{array.dtype.str}{array.shape}".encode())
            state.update(np.ascontiguousarray(array).tobytes())
        return state.hexdigest()[:16]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sample) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        return f"Sample({self.describe()})"

    def describe(self, most: int = 4, *, reads: Reads = BOTH) -> str:
        """The size and the first `most` runs, as one line of text. reads: the parts of the examples to show.

        >>> Sample([0.5, 2.0], [0, 1], [1, 3]).describe(reads="points")
        '4 examples: 1 x 0.5, 3 x 2'
        """
        points = np.zeros_like(self.points) if reads == "labels" else self.points
        labels = np.zeros_like(self.labels) if reads == "points" else self.labels
        shown = self if reads == BOTH else Sample(points, labels, self.counts)  # merges what looks alike
        forms = {"points": "{p}", "labels": "label {y}", "both": "({p}, {y})"}
        runs = [
            f"{c:,} x {forms[reads].format(p=format_point(p), y=y)}"
            for c, p, y in zip(shown.counts[:most], shown.points, shown.labels, strict=False)
        ]
        left = len(shown.counts) - most
        more = f", and {count_things(left, 'more run')}" if left > 0 else ""
        return f"{count_things(self.size, 'example')}: " + ", ".join(runs) + more

    def replace_one(self, run: int, point: Any, label: int) -> Sample:
        """The neighbour in which the last example of run `run` is (point, label) instead.

        >>> Sample([0.5, 2.0], [0, 1], [3, 1]).replace_one(0, 0.5, 1)
        Sample(4 examples: 2 x (0.5, 0), 1 x (0.5, 1), 1 x (2, 1))
        """
        return self.add_one(run, point, label).remove_one(run)

    def add_one(self, run: int, point: Any, label: int) -> Sample:
        """The sample with one example more, after those of run `run`."""
        points = np.insert(self.points, run + 1, as_points(point), axis=0)
        labels = np.insert(self.labels, run + 1, label)
        return Sample(points, labels, np.insert(self.counts, run + 1, 1))

    def remove_one(self, run: int) -> Sample:
        """The sample without the last example of run `run`. Raises: InvalidArgument if it is the only one."""
        counts = self.counts.copy()
        counts[run] -= 1
        left = counts > 0
        return Sample(self.points[left], self.labels[left], counts[left])

    def blank_one(self, run: int) -> Sample:
        """The neighbour in which the last example of run `run` is blank instead."""
        return self.replace_one(run, np.zeros(self.points.shape[1:]), BLANK)

    def divide(self, pieces: Any = 1) -> Sample:
        """The same list in other runs: adjacent runs of equal examples are merged, and then each is cut into
        `pieces`, or into single examples if it has fewer.

        pieces: one integer of at least 1, or one for each of the merged runs.

        >>> Sample([0.5, 0.5, 2.0], [0, 0, 1], [1, 2, 4]).divide()
        Sample(7 examples: 3 x (0.5, 0), 4 x (2, 1))
        >>> Sample([0.5, 2.0], [0, 1], [3, 4]).divide([1, 3])
        Sample(7 examples: 3 x (0.5, 0), 2 x (2, 1), 1 x (2, 1), 1 x (2, 1))
        """
        points, labels, counts = self._merge_runs()
        parts = np.minimum(np.broadcast_to(pieces, counts.shape), counts)
        run = np.repeat(np.arange(len(counts)), parts)
        place = np.arange(len(run)) - (np.cumsum(parts) - parts)[run]
        sizes, left = np.divmod(counts, parts)
        return Sample(points[run], labels[run], sizes[run] + (place < left[run]))

    def distinct(self) -> Sample:
        """The same multiset of examples, sorted and with one run for each distinct example."""
        first, which = self.kinds()
        counts = np.bincount(which, weights=self.counts).round().astype(np.int64)
        return Sample(self.points[first], self.labels[first], counts)

    def kinds(self) -> tuple[np.ndarray, np.ndarray]:
        """The index of the first run of each distinct example, in sorted order; and (k,), which distinct
        example each run holds."""
        rows = np.column_stack([self.points.reshape(len(self.points), -1), self.labels])
        order = np.lexsort(rows.T[::-1])  # np.unique(axis=0) takes four times as long
        new = np.ones(len(rows), bool)
        new[1:] = (rows[order[1:]] != rows[order[:-1]]).any(axis=1)
        which = np.empty(len(rows), np.intp)
        which[order] = np.cumsum(new) - 1
        return order[new], which

    def rows(self) -> tuple[np.ndarray, np.ndarray]:
        """Every example in order: points (size, ...), labels (size,)."""
        return np.repeat(self.points, self.counts, axis=0), np.repeat(self.labels, self.counts)

    def differences(self, other: Sample, *, blanked: bool = False) -> int:
        """The number of positions at which the lists hold different examples; -1 if their lengths differ.

        blanked: count only positions at which one of the two examples is blank.
        """
        if self.size != other.size or self.points.shape[1:] != other.points.shape[1:]:
            return -1
        ends, other_ends = np.cumsum(self.counts), np.cumsum(other.counts)
        stretches = np.union1d(ends, other_ends)  # their ends; within each, both lists hold one example
        lengths = np.diff(stretches, prepend=0)
        own, others = np.searchsorted(ends, stretches), np.searchsorted(other_ends, stretches)
        differ = self.labels[own] != other.labels[others]
        differ |= points_differ(self.points[own], other.points[others])
        if blanked:
            differ &= (self.labels[own] == BLANK) | (other.labels[others] == BLANK)
        return int(lengths[differ].sum())

    def _merge_runs(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        flat = self.points.reshape(len(self.points), -1)
        new = np.ones(len(flat), bool)
        new[1:] = (flat[1:] != flat[:-1]).any(axis=1) | (self.labels[1:] != self.labels[:-1])
        starts = np.flatnonzero(new)
        return self.points[starts], self.labels[starts], np.add.reduceat(self.counts, starts)


@attrs.frozen(eq=False)
class Training:
    """What a learner receives in the training phase: the distinct samples, and which game got which.

    samples: those that some game of the batch got, so that a batch of one world does not show the other; in a
        batch without games, those that games would have got. Their order reveals nothing about the worlds.
    which: (n,), indices of `samples`.
    """

    samples: tuple[Sample, ...]
    which: np.ndarray

    @classmethod
    def of(cls, samples: Sequence[Sample], which: np.ndarray) -> Training:
        """Game g gets `samples[which[g]]`. Equal samples are merged, and ordered by their digests."""
        occurs = np.bincount(which, minlength=len(samples)) > 0
        got = [sample for sample, some in zip(samples, occurs, strict=True) if some] or samples
        ordered = sorted(set(got), key=lambda s: s.digest)
        place = {sample: i for i, sample in enumerate(ordered)}
        return cls(tuple(ordered), own_copy(np.array([place.get(s, 0) for s in samples])[which]))

    @property
    def games(self) -> int:
        return len(self.which)

    def groups(self) -> Iterator[tuple[Sample, np.ndarray]]:
        """Each sample with the indices of the games that got it."""
        for i, sample in enumerate(self.samples):
            yield sample, np.flatnonzero(self.which == i)
