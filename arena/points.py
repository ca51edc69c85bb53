"""Points and labels as arrays: which values are accepted, and how they are shown."""

from __future__ import annotations

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
    try:
        array = np.asarray(points)
    except ValueError as error:
        raise InvalidArgument("points must be numbers, or vectors of one length") from error
    if array.dtype.kind not in "biuf":
        raise InvalidArgument("points must be numbers", value=array.dtype.name)
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
            raise InvalidArgument(
                "integers must lie within ±2^53, where float64 is exact",
                value=high if high > LARGEST_INTEGER else low,
                remedy="Scale them down.",
            )
    return array if array.dtype == np.float32 else array.astype(np.float64, copy=False)


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
