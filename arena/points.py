"""Points and labels as arrays: which values are accepted, and how they are shown."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np

from arena.errors import InvalidArgument

LARGEST_INTEGER = 2**53  # up to which float64 holds every integer
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # odd, 2^64 over the golden ratio, as usual for hashes
_MOST_COORDINATES = 6  # of a vector, that are shown


def freeze(array: np.ndarray) -> np.ndarray:
    """The same array, read-only."""
    array.setflags(write=False)
    return array


def own_copy(array: Any) -> np.ndarray:
    """The same values as an array of numpy's own type, in memory that nobody can write to.

    `array`: an array or a subclass, or anything that numpy makes an array from. An array of objects is only
    marked read-only.
    """
    plain = np.asarray(array)
    if plain.dtype.hasobject:
        return freeze(plain.copy())
    memory: Any = plain.base
    shares = type(memory) is bytes and len(memory) == plain.nbytes and plain.flags.c_contiguous
    return np.ndarray(plain.shape, plain.dtype, memory if shares else plain.tobytes())


def own_points(points: Any) -> np.ndarray:
    """Points as float64, the one type in which they are compared: no −0, and an own copy.

    Raises: InvalidArgument for a value that is not finite, or an integer that float64 does not hold.
    """
    return own_copy(as_floats(as_points(points)).astype(np.float64, copy=False) + 0.0)


def own_labels(labels: Any) -> np.ndarray:
    """Labels as int8 of 0 and 1, an own copy. Raises: InvalidArgument if they are anything else."""
    return own_copy(as_labels(labels))


def as_points(points: Any) -> np.ndarray:
    """`points` as an array of finite numbers. Raises: InvalidArgument if they are anything else."""
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
    return array


def as_floats(array: np.ndarray) -> np.ndarray:
    """Numbers as floats: float32 is kept, other types become float64.

    Raises: InvalidArgument for an integer beyond ±2^53.
    """
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
    """Points of R^d as float64 (..., d), where `shape` is (d,), or numbers, where it is ().

    Raises: InvalidArgument for a value that is not finite, or a vector of another length.
    """
    points = as_floats(as_points(x)).astype(np.float64, copy=False)
    if shape and points.shape[-1:] != shape:
        raise InvalidArgument(f"a point must have shape {shape}", value=points.shape)
    return points


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
    """(n,) uint64: hashes of the rows of an array (n, F) of float64 or int8. Different rows of one type and
    length collide with probability about 2^-64.
    """
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
