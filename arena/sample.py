"""Training data: points and labels as arrays, and lists of examples stored as runs of equal ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from numbers import Integral, Real
from typing import Any, Literal

import attrs
import numpy as np

from arena.dataset import Dataset
from arena.errors import InvalidArgument, count_things

LARGEST_INTEGER = 2**53  # up to which float64 holds every integer
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # odd, 2^64 over the golden ratio, as usual for hashes
_MOST_COORDINATES = 6  # of a vector, that are shown

BLANK = -1  # the label of a blank example, which learners count and otherwise ignore


def freeze(array: np.ndarray) -> np.ndarray:
    array.setflags(write=False)
    return array


def own_copy(array: Any) -> np.ndarray:
    """The same values as a plain array in memory that nobody can write to; of objects read-only."""
    plain = np.asarray(array)
    if plain.dtype.hasobject:
        return freeze(plain.copy())
    memory: Any = plain.base
    shares = type(memory) is bytes and len(memory) == plain.nbytes and plain.flags.c_contiguous
    return np.ndarray(plain.shape, plain.dtype, memory if shares else plain.tobytes())


def own_points(points: Any) -> np.ndarray:
    """Points as float64, the one type in which they are compared: no −0, and an own copy.
    Raises: InvalidArgument for a value that is not finite, or an integer that float64 does not hold."""
    return own_copy(as_floats(as_points(points)).astype(np.float64, copy=False) + 0.0)


def own_labels(labels: Any) -> np.ndarray:
    return own_copy(as_labels(labels))


def as_points(points: Any, shape: tuple[int, ...] = ()) -> np.ndarray:
    """`points` as an array of finite numbers, or of vectors of this shape. Raises: InvalidArgument."""
    refuse_masks("points", points)
    try:
        array = np.asarray(points)
    except ValueError as error:
        raise InvalidArgument("points must be numbers, or vectors of one length") from error
    if array.dtype == object:
        array = as_numbers("points", array)
    if array.dtype.kind not in "biuf":
        raise InvalidArgument("points must be numbers", value=array.dtype.name)
    if array.dtype.kind == "f" and not isinstance(points, np.ndarray):
        check_integers("points", points)
    if array.dtype.kind == "f" and array.dtype.itemsize > 8:
        with np.errstate(over="ignore"):
            array = array.astype(np.float64)
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        infinite = array[~np.isfinite(array)]
        raise InvalidArgument(
            "points must be finite: no NaN, no infinity",
            value=float(infinite.flat[0]),
            remedy="Remove the rows with missing values, or fill these in.",
        )
    if shape and array.shape[-1:] != shape:
        raise InvalidArgument(f"a point must have shape {shape}", value=array.shape)
    return array


def check_each(good: np.ndarray, array: np.ndarray, rule: str, remedy: str = "") -> None:
    """Raises: InvalidArgument of `rule` with the first number or row of `array` that is not good."""
    if not good.all():
        raise InvalidArgument(rule, value=array[~good][0].tolist(), remedy=remedy)


def as_floats(array: np.ndarray) -> np.ndarray:
    """Numbers as floats: float32 is kept, other types become float64.
    Raises: InvalidArgument for an integer beyond ±2^53."""
    if array.dtype.kind in "iu":
        low, high = int(array.min(initial=0)), int(array.max(initial=0))
        if max(high, -low) > LARGEST_INTEGER:
            raise _refuse_integer(high if high > LARGEST_INTEGER else low)
    return array if array.dtype == np.float32 else array.astype(np.float64, copy=False)


def as_numbers(name: str, array: np.ndarray) -> np.ndarray:
    """An array of objects as floats. Raises: InvalidArgument unless all are numbers that float64 holds."""
    for value in array.ravel().tolist():
        if not isinstance(value, Real):
            raise InvalidArgument(f"{name} must be numbers", value=type(value).__name__)
        if isinstance(value, Integral) and abs(int(value)) > LARGEST_INTEGER:
            raise _refuse_integer(int(value))
    return array.astype(np.float64)


def check_integers(name: str, values: Any) -> None:
    """Look for integers that became floats beside others. Raises: InvalidArgument for one beyond ±2^53."""
    if isinstance(values, np.ndarray) and values.dtype != object:
        as_floats(values)
    elif isinstance(values, list | tuple | np.ndarray):
        kinds = set(map(type, values))
        if not kinds <= {float, np.float64}:
            for value in values:
                check_integers(name, value)
    elif isinstance(values, Integral) and abs(int(values)) > LARGEST_INTEGER:
        raise _refuse_integer(int(values))


def refuse_masks(name: str, values: Any) -> None:
    """Raises: InvalidArgument for masked numbers, which numpy takes for the numbers beneath, or for NaN."""
    masked = np.ma.MaskedArray
    if isinstance(values, masked) or (
        isinstance(values, list | tuple) and any(isinstance(value, masked) for value in values)
    ):
        raise InvalidArgument(
            f"{name} must be plain numbers",
            value="a masked array",
            remedy="Leave out what is masked: values.compressed().",
        )


def _refuse_integer(value: int) -> InvalidArgument:
    return InvalidArgument(
        "integers must lie within ±2^53, where float64 is exact", value=value, remedy="Scale them down."
    )


def as_vectors(x: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Points of R^d as float64 (..., d), where `shape` is (d,), or numbers. Raises: InvalidArgument."""
    return as_floats(as_points(x, shape)).astype(np.float64, copy=False)


def as_labels(labels: Any) -> np.ndarray:
    """`labels` as int8 of 0 and 1. Raises: InvalidArgument if they are anything else."""
    array = np.asarray(labels)
    if array.dtype.kind not in "biuf" or not ((array == 0) | (array == 1)).all():
        raise InvalidArgument("labels must be 0 or 1", value=np.unique(array)[:5].tolist())
    return array.astype(np.int8)


def is_shared(x: np.ndarray) -> bool:
    """Whether x (n, ...) is one point broadcast to all games, so that one computation serves all."""
    return len(x) > 0 and x.strides[0] == 0


def points_differ(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """(n,) bool: where two arrays of points (n, ...) hold different points."""
    return np.asarray((first != second).any(axis=tuple(range(1, first.ndim))))


def hash_rows(rows: np.ndarray) -> np.ndarray:
    """(n,) uint64: hashes of the rows (n, F) of float64 or int8, which collide with chance 2^-64."""
    keys = np.zeros(len(rows), np.uint64)
    if rows.dtype == np.int8:
        words = np.zeros((len(rows), -(-rows.shape[1] // 8) * 8), np.int8)
        words[:, : rows.shape[1]] = rows
        rows = words.view(np.uint64)
    for column in np.ascontiguousarray(rows.T).view(np.uint64):
        keys ^= column
        keys ^= column >> np.uint64(29)
        keys *= _MULTIPLIER
        keys ^= keys >> np.uint64(32)
    return keys


def format_point(point: Any) -> str:
    """A point as text.

    >>> format_point(0.5), format_point([1.0, 2.0])
    ('0.5', '[1 2]')
    """
    if np.ndim(point) == 0:
        return f"{float(point):.6g}"
    values = np.ravel(point)
    more = " ..." if len(values) > _MOST_COORDINATES else ""
    return "[" + " ".join(f"{float(v):.4g}" for v in values[:_MOST_COORDINATES]) + more + "]"


Reads = Literal["points", "labels", "both"]  # what a learner reads of the examples
BOTH: Reads = "both"


def _own_sample_labels(labels: Any) -> np.ndarray:
    array = np.asarray(labels)
    blank = array == BLANK
    if not np.any(blank):
        return own_labels(labels)
    own_labels(array[~blank])  # refuses what is no label
    return own_copy(array.astype(np.int8))


@attrs.frozen(eq=False, slots=False, repr=False)
class Sample(Dataset):
    """An ordered list of labelled examples, stored as runs.

    Shapes: points (k, ...) float64, labels (k,) of 0 and 1, counts (k,): `counts[0]` ≥ 1 copies of example 0,
    then `counts[1]` copies of example 1, and so on. Equality is that of the lists. Arrays are copied. A blank
    example has the label `BLANK` and the point 0; referees allow it where neighbours zero out one.
    Raises: InvalidArgument for other shapes or values.

    >>> Sample([0.5, 0.5, 2.0], [0, 1, 1], [3, 2, 1])
    Sample(6 examples: 3 x (0.5, 0), 2 x (0.5, 1), 1 x (2, 1))
    """

    points: np.ndarray = attrs.field(converter=own_points)
    labels: np.ndarray = attrs.field(converter=_own_sample_labels)
    counts: np.ndarray = attrs.field(default=None, converter=attrs.converters.optional(own_copy))

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

    def own_copy(self) -> Sample:
        return Sample(self.points, self.labels, self.counts)

    @property
    def blank(self) -> np.ndarray:  # type: ignore[override]
        return np.asarray(self.labels == BLANK)

    def is_comparable(self, other: Dataset) -> bool:
        return isinstance(other, Sample) and self.points.shape[1:] == other.points.shape[1:]

    def differ(self, runs: np.ndarray, other: Sample, others: np.ndarray) -> np.ndarray:
        labels = self.labels[runs] != other.labels[others]
        differ: np.ndarray = labels | points_differ(self.points[runs], other.points[others])
        return differ

    def list_for_users(self) -> np.ndarray:
        return self.points

    def repeat(self, counts: np.ndarray) -> Sample:
        return Sample(self.points, self.labels, counts)

    def vary(self) -> Sample:
        return Sample(self.points, 0 * self.labels + 1 - self.labels[0], self.counts)

    def __repr__(self) -> str:
        return f"Sample({self.describe()})"

    def describe(self, most: int = 4, *, reads: Reads = BOTH) -> str:
        """The size and the first `most` runs, as one line of text, with the parts that `reads` names."""
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
        """The neighbour in which the last example of run `run` is (point, label) instead."""
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
        return attrs.evolve(self, counts=np.maximum(counts, 1)).select(counts > 0)

    def select(self, runs: np.ndarray) -> Sample:
        return Sample(self.points[runs], self.labels[runs], self.counts[runs])

    def blank_one(self, run: int) -> Sample:
        return self.replace_one(run, np.zeros(self.points.shape[1:]), BLANK)

    def divide(self, pieces: Any = 1) -> Sample:
        """The same list in other runs: adjacent runs of equal examples are merged, and then each is cut into
        `pieces` (one integer of at least 1, or one for each merged run), or into single examples if it has
        fewer.

        >>> Sample([0.5, 2.0], [0, 1], [3, 4]).divide([1, 3])
        Sample(7 examples: 3 x (0.5, 0), 2 x (2, 1), 1 x (2, 1), 1 x (2, 1))
        """
        points, labels, counts = self.merge_runs()
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
        """The first run of each distinct example, in sorted order; and (k,), which of these each run has."""
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

    def merge_runs(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        flat = self.points.reshape(len(self.points), -1)
        new = np.ones(len(flat), bool)
        new[1:] = (flat[1:] != flat[:-1]).any(axis=1) | (self.labels[1:] != self.labels[:-1])
        starts = np.flatnonzero(new)
        return self.points[starts], self.labels[starts], np.add.reduceat(self.counts, starts)


@attrs.frozen(eq=False)
class Training:
    """What a learner receives in the training phase: the distinct datasets that some game got, whose number
    and order reveal nothing about the worlds (in a batch without games, those that games would have got), and
    `which` of them each game got (n,)."""

    samples: tuple[Any, ...]
    which: np.ndarray

    @property
    def games(self) -> int:
        return len(self.which)

    @classmethod
    def of(cls, samples: Sequence[Dataset], which: np.ndarray) -> Training:
        """Game g gets `samples[which[g]]`. Equal samples are merged, and ordered by their digests."""
        occurs = np.bincount(which, minlength=len(samples)) > 0
        got = [sample for sample, some in zip(samples, occurs, strict=True) if some] or samples
        ordered = sorted(set(got), key=lambda s: s.digest)
        place = {sample: i for i, sample in enumerate(ordered)}
        return cls(tuple(ordered), own_copy(np.array([place.get(s, 0) for s in samples])[which]))

    def groups(self) -> Iterator[tuple[Any, np.ndarray]]:
        """Each dataset with the indices of the games that got it."""
        for i, sample in enumerate(self.samples):
            yield sample, np.flatnonzero(self.which == i)
