"""Hypothesis strategies for points and steps, and the numbers of repetitions that settings suggest."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import islice, product
from typing import TypeVar

import attrs
import numpy as np
from hypothesis import strategies as st

from arena import ArenaError, Learner
from arena.players import finite_domain, read_concepts
from audits.adversary_search.code_constants import list_constants
from audits.adversary_search.script import ENDS, ODD, SEEN, Memory, Point, Step, as_point

T = TypeVar("T")

_MAX_ROUNDS = 1_024  # a larger setting is not taken for a number of rounds
_MAX_POINTS = 16
_MAX_FAR_POINTS = 56
_POWERS = (0, 1, 2, 3, 6, -1, -3, -6)  # of ten: the sizes of points far from the usual ones
# The limits of types: integers of 32 bits, those that floats hold, the largest float and the smallest.
_LIMITS = (0.0, 2.0**31, 2.0**31 - 1, 2.0**53, float(np.finfo(float).max), float(np.finfo(float).tiny))
_MAX_CONSTANTS = 32  # points that the constants of a learner's code give
_MAX_COUNTS = 8  # numbers of repetitions that they give
# From a hundred choices on, Hypothesis mixes in constants that it finds in the loaded modules, so that the
# same seed would not draw the same games.
_MAX_CHOICES = 99
MAX_STRETCHES = 3  # before the challenge, and after it


def sample_from(items: Iterable[T]) -> st.SearchStrategy[T]:
    return st.sampled_from(list(items)[:_MAX_CHOICES])


def choose_from(strategies: Sequence[st.SearchStrategy[T]]) -> st.SearchStrategy[T]:
    """One of the strategies, as often as it is listed: `one_of` drops repetitions."""
    return sample_from(range(len(strategies))).flatmap(lambda place: strategies[place])


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
    """Points beyond `points_of`, within the learner's domain and concept class: others of a finite domain;
    powers of ten of both signs; of vectors, halves. None for a learner that has `some_points` of its own."""
    if type(learner).some_points is not Learner.some_points:
        return ()
    domain, near = finite_domain(learner), points_of(learner)
    if domain is not None:
        places = np.linspace(0, len(domain) - 1, min(len(domain), _MAX_FAR_POINTS)).astype(int)
        candidates = [as_point(domain[place]) for place in places.tolist()]
    else:
        scales = [sign * 10.0**power for power in _POWERS for sign in (1, -1)]
        shapes = _shapes(learner)
        scales = [1.0, *scales] if len(shapes) > 1 else scales
        candidates = [as_point(scale * shape) for scale in scales for shape in shapes]
        limits = [sign * limit for limit in _LIMITS for sign in (1, -1)]
        candidates[_MAX_FAR_POINTS - len(limits) :] = [as_point(limit * shapes[0]) for limit in limits]
    return _keep_accepted(learner, candidates, near, _MAX_FAR_POINTS)


@lru_cache(maxsize=64)
def constant_points_of(learner: Learner) -> tuple[tuple[Point, ...], tuple[Point, ...]]:
    """Points within the domain whose entries are all one constant in a user's code, such as a code for
    missing values; and points beside these, or with a constant in the first entry alone."""
    if type(learner).some_points is not Learner.some_points:
        return (), ()
    constants, shapes = list_constants(learner), _shapes(learner)
    beside = [value + step for value in constants for step in (1.0, -1.0)]
    exact = [as_point(value * shapes[0]) for value in constants]
    others = [as_point(value * shapes[-1]) for value in constants]
    others += [as_point(value * shapes[0]) for value in (*beside, *(-value for value in constants))]
    near, most = points_of(learner), _MAX_CONSTANTS
    first = _keep_accepted(learner, exact, near, most)
    return first, _keep_accepted(learner, others, (*near, *first), most)


def _shapes(learner: Learner) -> list[np.ndarray]:
    """What numbers are multiplied with to make points: 1, or vectors of ones, the last with a single one."""
    ones = np.ones(learner.point_shape)
    if not ones.ndim:
        return [ones]
    first = np.arange(ones.size).reshape(ones.shape)
    return [ones, *(1.0 * part for part in (first < ones.size // 2, first % 2 == 0, first == 0))]


def _keep_accepted(
    learner: Learner, candidates: Iterable[Point], near: Sequence[Point], most: int
) -> tuple[Point, ...]:
    """The first `most` candidates that are not near, within the learner's domain and its concept class."""
    low, high = learner.domain or (-np.inf, np.inf)
    accepted = (
        point
        for point in dict.fromkeys(candidates)
        if point not in near and low <= np.min(point) and np.max(point) <= high and _accepts(learner, point)
    )
    return tuple(islice(accepted, most))


def _accepts(learner: Learner, point: Point) -> bool:
    """Whether the point is one of the learner's concept class, if it has one."""
    concepts = read_concepts(learner)
    try:
        return concepts is None or concepts.check(np.array([point])) is not None
    except ArenaError:
        return False


@lru_cache(maxsize=512)
def draw_points(learner: Learner, near: tuple[Point, ...] = ()) -> st.SearchStrategy[Point]:
    """A point of `points_of` or, half as often, `far_points_of`, and as often `constant_points_of`.
    As often as all of them, one of `near`, if any."""
    constants = [point for points in constant_points_of(learner) for point in points]
    kinds = [*[points_of(learner)] * 2, far_points_of(learner), constants]
    drawn = [sample_from(points) for points in kinds if points]
    return choose_from([*[sample_from(near)] * (len(drawn) if near else 0), *drawn])


@lru_cache(maxsize=64)
def draw_other_points(learner: Learner) -> st.SearchStrategy[Point]:
    """A point for the example in which neighbours differ, of each kind equally often."""
    kinds = points_of(learner), far_points_of(learner), *constant_points_of(learner)
    return st.one_of([sample_from(points) for points in kinds if points])


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
    """Numbers of repetitions up to `limit`: 1 to 20, and those near the learner's integer settings, or near
    integers in the code of a user's learner."""
    constants = [int(value) for value in list_constants(learner) if value.is_integer() and value > 20]
    near = {value + step for value in (*_integers(learner), *constants[:_MAX_COUNTS]) for step in (-1, 0, 1)}
    return tuple(sorted(count for count in near | set(range(1, 21)) if 1 <= count <= limit))


def two_points(learner: Learner) -> st.SearchStrategy[tuple[Point, Point]]:
    """Two different points, about as often far ones as not."""
    usual = points_of(learner)
    others = *far_points_of(learner), *constant_points_of(learner)[0]
    return st.one_of(two_different(usual), two_different([*usual, *others]))


def two_different(items: Sequence[T]) -> st.SearchStrategy[tuple[T, T]]:
    places = range(len(items))
    return sample_from(places).flatmap(
        lambda a: sample_from([b for b in places if b != a]).map(lambda b: (items[a], items[b]))
    )


PATTERNS = ["".join(bits) for length in range(1, 5) for bits in product("01", repeat=length)]
MEMORIES = sample_from([Memory(kind, bits) for bits in PATTERNS for kind in (ENDS, SEEN)] + [Memory(ODD)])


def stretches_around(
    single: st.SearchStrategy[Step], step: st.SearchStrategy[Step], most: int, limit: int
) -> st.SearchStrategy[tuple[Step, ...]]:
    """A step in which the worlds differ, with others before and after it."""
    before, after = st.lists(step, max_size=most), st.lists(step, min_size=1, max_size=most)
    return st.tuples(before, single, after).map(
        lambda parts: shorten_steps([*parts[0], parts[1], *parts[2]], limit)
    )


def place_challenge(
    learner: Learner, limit: int, challenges: st.SearchStrategy[Step]
) -> st.SearchStrategy[Step]:
    """Challenges, one in three at a place that depends on the answers."""
    times = sample_from([count for count in counts_of(learner, limit) if count > 1] or [1])
    placed = st.tuples(challenges, times, MEMORIES).map(
        lambda drawn: attrs.evolve(drawn[0], times=drawn[1], when=drawn[2])  # type: ignore[call-arg]
    )
    return st.one_of(challenges, challenges, placed)


def shorten_steps(steps: Sequence[Step], limit: int) -> tuple[Step, ...]:
    """The steps with fewer repetitions, in at most `limit` rounds; equal consecutive steps are joined."""
    left = limit - len(steps)
    fitting: list[Step] = []
    for step in steps:
        times = min(step.rounds, left + 1)
        left -= times - 1
        step = step if times == step.rounds else step.shorten(times)
        last = fitting[-1] if fitting else None
        is_same = hasattr(step, "times") and type(last) is type(step) and last.shorten(1) == step.shorten(1)
        if is_same:
            step = step.shorten(fitting.pop().rounds + times)
        fitting.append(step)
    return tuple(fitting)
