"""Points and labels as arrays: what is accepted, and how it is shown."""

from __future__ import annotations

from typing import Any

import numpy as np

from arena.errors import InvalidArgument

_ODD = np.uint64(0x9E3779B97F4A7C15)


def freeze(array: np.ndarray) -> np.ndarray:
    """The same array, read-only."""
    array.setflags(write=False)
    return array


def as_points(points: Any) -> np.ndarray:
    """`points` as an array of finite numbers, or a refusal."""
    try:
        array = np.asarray(points)
    except ValueError as error:
        raise InvalidArgument("points must be numbers, or vectors of one length") from error
    if array.dtype.kind not in "biuf":
        raise InvalidArgument("points must be numbers", value=array.dtype.name)
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise InvalidArgument("points must be finite: no NaN, no infinity", value=_odd(array))
    return array


def as_labels(labels: Any) -> np.ndarray:
    """`labels` as int8 of 0 and 1, or a refusal."""
    array = np.asarray(labels)
    if array.dtype.kind not in "biuf" or not ((array == 0) | (array == 1)).all():
        raise InvalidArgument("labels must be 0 or 1", value=np.unique(array)[:5].tolist())
    return array.astype(np.int8)


def is_shared(x: np.ndarray) -> bool:
    """Whether x (n, ...) is one point broadcast to all games, so that work for it can be done once."""
    return len(x) > 0 and x.strides[0] == 0


def points_differ(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """(n,) bool: where two arrays of points (n, ...) hold different points."""
    differs: np.ndarray = (first != second).any(axis=tuple(range(1, first.ndim)))
    return differs


def hash_rows(rows: np.ndarray) -> np.ndarray:
    """(n,) uint64, of rows (n, F) of float64: equal for equal ones, different for others but for a chance in
    2^64.
    """
    keys = np.zeros(len(rows), np.uint64)
    for column in np.ascontiguousarray(rows.T).view(np.uint64):
        keys ^= column
        keys ^= column >> np.uint64(29)
        keys *= _ODD
        keys ^= keys >> np.uint64(32)
    return keys


def finite_domain(spec: Any) -> tuple[Any, ...] | None:
    """The points of the spec's concept class (its setting `concepts`) in order, if its domain is finite."""
    domain: tuple[Any, ...] | None = getattr(getattr(spec, "concepts", None), "domain", None)
    return domain


def format_point(point: Any) -> str:
    """A point for people.

    >>> point_text(0.5), point_text([1.0, 2.0])
    ('0.5', '[1 2]')
    """
    if np.ndim(point) == 0:
        return f"{float(point):.6g}"
    values = np.ravel(point)
    more = " ..." if len(values) > 6 else ""
    return "[" + " ".join(f"{float(v):.4g}" for v in values[:6]) + more + "]"


def _odd(array: np.ndarray) -> float:
    return float(array[~np.isfinite(array)].flat[0])
