"""Hypothesis strategies for points, and the numbers of repetitions that a learner's settings suggest."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, TypeVar

import attrs
import numpy as np
from hypothesis import strategies as st

from arena import ArenaError, Learner
from arena.capabilities import finite_domain, read_concepts
from audits.adversary_search.script import Point, as_point

T = TypeVar("T")

_MAX_ROUNDS = 1_024  # a larger setting is not taken for a number of rounds
_MAX_POINTS = 16
_MAX_FAR_POINTS = 32
_POWERS = (0, 1, 2, 3, 6, -1, -3, -6)  # of ten: the sizes of points far from the usual ones
# From a hundred choices on, Hypothesis mixes in constants that it finds in the loaded modules, so that the
# same seed would not draw the same games.
_MAX_CHOICES = 99


def sample_from(items: Iterable[T]) -> st.SearchStrategy[T]:
    return st.sampled_from(list(items)[:_MAX_CHOICES])


def list_of(items: st.SearchStrategy[T], limit: int) -> st.SearchStrategy[list[T]]:
    """One to `most` items, about as often a single one as several."""
    return st.one_of(
        st.lists(items, min_size=1, max_size=1),
        st.lists(items, min_size=1, max_size=limit),
        st.lists(items, min_size=2, max_size=limit),
    )


@lru_cache(maxsize=64)
def points_of(learner: Learner) -> tuple[Point, ...]:
    """Points to query: `some_points`, and midpoints between them if they are from an infinite range."""
    points = [as_point(point) for point in learner.some_points]
    if not learner.point_shape and finite_domain(learner) is None:
        edges = np.unique(learner.some_points)
        points += [as_point(middle) for middle in (edges[1:] + edges[:-1]) / 2]
    return tuple(dict.fromkeys(points))[:_MAX_POINTS]


@lru_cache(maxsize=64)
def far_points_of(learner: Learner) -> tuple[Point, ...]:
    """Points beyond `points_of`: others of a finite domain; powers of ten of both signs; of vectors, halves.

    None lies outside the learner's `domain`, nor outside its concept class. A learner that has `some_points`
    of its own gets these only, since they may be of a kind that nothing else describes.
    """
    if type(learner).some_points is not Learner.some_points:
        return ()
    domain, near = finite_domain(learner), points_of(learner)
    if domain is not None:
        places = np.linspace(0, len(domain) - 1, min(len(domain), _MAX_FAR_POINTS)).astype(int)
        candidates = [as_point(domain[place]) for place in places.tolist()]
    else:
        scales = [sign * 10.0**power for power in _POWERS for sign in (1, -1)]
        ones = np.ones(learner.point_shape)
        shapes: list[Any] = [ones]
        if ones.ndim:
            first = np.arange(ones.size).reshape(ones.shape)
            shapes += [1.0 * (first < ones.size // 2), 1.0 * (first % 2 == 0), 1.0 * (first == 0)]
            scales = [1.0, *scales]
        candidates = [as_point(scale * shape) for scale in scales for shape in shapes]
        low, high = learner.domain or (-np.inf, np.inf)
        candidates = [point for point in candidates if low <= np.min(point) and np.max(point) <= high]
    beyond = [point for point in dict.fromkeys(candidates) if point not in near and _accepts(learner, point)]
    return tuple(beyond[:_MAX_FAR_POINTS])


def _accepts(learner: Learner, point: Point) -> bool:
    """Whether the point is one of the learner's concept class, if it has one."""
    concepts = read_concepts(learner)
    try:
        return concepts is None or concepts.check(np.array([point])) is not None
    except ArenaError:
        return False


def draw_points(learner: Learner, near: Sequence[Point] = ()) -> st.SearchStrategy[Point]:
    """A point of `points_of` or, half as often, `far_points_of`; as often as both, one of `near`, if any."""
    usual, far = points_of(learner), far_points_of(learner)
    times = max(1, min(2 * len(far), _MAX_CHOICES // 2 - len(far)) // len(usual))
    others = [*usual * times, *far]
    return sample_from([*list(near) * (len(others) // max(1, len(near))), *others])


@lru_cache(maxsize=64)
def round_limit(learner: Learner, usual: int) -> int:
    """The rounds of a game at most: `usual`, or the largest setting that could be a number of rounds."""
    return max([usual, *(count for count in _integers(learner) if count <= _MAX_ROUNDS)])


def _integers(learner: Learner) -> list[int]:
    """The integer settings of a learner."""
    settings = [getattr(learner, field.name) for field in attrs.fields(type(learner))]
    return [value for value in settings if isinstance(value, int) and not isinstance(value, bool)]


@lru_cache(maxsize=64)
def counts_of(learner: Learner, limit: int) -> tuple[int, ...]:
    """Numbers of repetitions up to `limit`: 1 to 20, and those near the learner's integer settings."""
    near = {value + step for value in _integers(learner) for step in (-1, 0, 1)}
    return tuple(sorted(count for count in near | set(range(1, 21)) if 1 <= count <= limit))


def two_points(learner: Learner) -> st.SearchStrategy[tuple[Point, Point]]:
    """Two different points, about as often far ones as not."""
    usual = points_of(learner)
    return st.one_of(two_different(usual), two_different([*usual, *far_points_of(learner)]))


def two_different(items: Sequence[T]) -> st.SearchStrategy[tuple[T, T]]:
    places = range(len(items))
    return sample_from(places).flatmap(
        lambda a: sample_from([b for b in places if b != a]).map(lambda b: (items[a], items[b]))
    )
