"""Thresholds, point functions and intervals of the real line; thresholds on finite domains, too."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar

import attrs
import numpy as np

from arena.concepts.base import ConceptClass, as_numbers
from arena.concepts.dichotomies import (
    MAX_LABELLINGS,
    CandidateConcepts,
    Dichotomies,
    SortedSamples,
    apply_signs,
)
from arena.concepts.grids import LineDomain, as_domain, check_increasing, draw_middle_index, format_domain
from arena.sample import as_floats, as_points, check_each

# Sample sizes up to which comparing all pairs is faster than sorting (measured with 10^5 samples at once).
MAX_FOR_PAIRS = 24
MAX_FOR_WEIGHTED_PAIRS = 12


@attrs.frozen(repr=False)
class Thresholds(ConceptClass):
    """The concepts c_t(x) = 1[x >= t]. A concept is its t, a float, and t = +inf labels everything 0. ERM
    returns the smallest best t among the sample's points and +inf.

    domain: None for the real line, or the points of a finite domain in increasing order. Then `check` refuses
    other points, and ERM and dichotomies return t in the domain or +inf.

    >>> Thresholds().erm([3, 1, 2], [1, 0, 1]), Thresholds((1, 2, 4))
    (array(2.), Thresholds(3 points from 1 to 4))
    """

    name: ClassVar[str] = "thresholds"
    vc_dimension = 1

    domain: tuple[float, ...] | None = attrs.field(
        default=None,
        converter=attrs.converters.optional(as_domain),
        validator=attrs.validators.optional(check_increasing),
    )

    def __repr__(self) -> str:
        if self.domain is None:
            return "Thresholds()"
        return f"Thresholds({format_domain(self.domain)})"

    def check(self, x: Any) -> np.ndarray:
        """The points as floats; float32 is kept, and integers must lie within ±2^53."""
        return as_floats(as_points(x)) if self._line is None else self._line.check(x)

    def domain_indices(self, points: np.ndarray) -> np.ndarray:
        return super().domain_indices(points) if self._line is None else self._line.domain_indices(points)

    def check_concepts(self, concepts: Any) -> np.ndarray:
        """Values of t as floats, whether in the domain or not."""
        array = as_floats(as_numbers(concepts, "thresholds must be numbers"))
        check_each(~np.isnan(array), array, "a threshold must be a number or infinity")
        return array

    def dichotomies(self, points: Any) -> Dichotomies:
        """The labellings in the order of t: one for each distinct point, and last that of +inf, all 0."""
        array = self._check_row(points)
        thresholds = np.append(np.unique(array).astype(np.float64) + 0.0, np.inf)
        return Dichotomies(array >= thresholds[:, None], thresholds)

    def draw_concept(self, rng: np.random.Generator) -> np.ndarray:
        """t is uniform between 1/4 and 3/4, or on the middle half of a finite domain."""
        if self._line is None:
            return np.array(rng.uniform(0.25, 0.75))
        return np.array(self._line.grid[draw_middle_index(rng, len(self._line.grid))])

    @cached_property
    def _line(self) -> LineDomain | None:
        return None if self.domain is None else LineDomain(self.domain)

    def _label(self, concepts: np.ndarray, points: np.ndarray) -> np.ndarray:
        return np.asarray(points >= concepts)

    def _vote(self, concepts: np.ndarray, points: np.ndarray) -> np.ndarray:
        return np.searchsorted(np.sort(concepts), points, side="right") / len(concepts)

    def _candidate_concepts(
        self, points: np.ndarray, signs: np.ndarray, present: np.ndarray
    ) -> CandidateConcepts:
        self.check_growth(points.shape[1])
        ordered = SortedSamples.sort(points, signs, present)
        return ordered.candidates(ordered.suffix_sums)

    def _minimise(self, points: np.ndarray, labels: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
        size = points.shape[1]
        if size == 0:
            return np.full(len(points), np.inf)
        if weights is None:
            signs = labels.astype(np.min_scalar_type(-size - 1)) * 2 - 1
            by_pairs = size <= MAX_FOR_PAIRS
        else:
            signs = np.where(labels, weights, -weights)
            # An absent example must not be a candidate. At +inf it coincides with one that always exists.
            points = np.where(weights > 0, points, points.dtype.type(np.inf))
            by_pairs = size <= MAX_FOR_WEIGHTED_PAIRS
        best = _best_by_pairs(points.T, signs.T) if by_pairs else _best_by_sorting(points, signs)
        return best.astype(np.float64) + 0.0  # -0.0 and 0.0 are one threshold


# Both functions maximise the gain of t over +inf: the weight of label 1 minus that of label 0 at points >= t.


def _best_by_pairs(points: np.ndarray, signs: np.ndarray) -> np.ndarray:
    """Compare all pairs. Shapes: points, signs (m, b); result (b,)."""
    points, signs = np.ascontiguousarray(points), np.ascontiguousarray(signs)
    gains, terms = np.empty_like(signs), np.empty_like(signs)
    for gain, threshold in zip(gains, points, strict=True):
        np.multiply(signs, points >= threshold, out=terms)
        np.add.reduce(terms, axis=0, dtype=terms.dtype, out=gain)
    best = np.maximum(gains.max(axis=0), 0)
    return np.asarray(np.where(gains == best, points, np.inf).min(axis=0))


def _best_by_sorting(points: np.ndarray, signs: np.ndarray) -> np.ndarray:
    """Sort each sample and take suffix sums. Shapes: points, signs (b, m); result (b,)."""
    ordered = SortedSamples.sort(points, signs, points < np.inf)
    return ordered.best_points(ordered.suffix_sums, least=0)


@attrs.frozen
class RealPoints(ConceptClass):
    """The concepts c_z(x) = 1[x = z]. A concept is its z, a float, and z = +inf labels everything 0. ERM
    returns the smallest of the points at which the weight of label 1 exceeds that of label 0 most, or +inf if
    none does.

    >>> RealPoints().erm([3, 1, 2, 2], [1, 0, 1, 1])
    array(2.)
    """

    name: ClassVar[str] = "points"
    vc_dimension = 1  # no concept labels two points 1

    def check_concepts(self, concepts: Any) -> np.ndarray:
        array = as_floats(as_numbers(concepts, "point functions must be numbers"))
        check_each(array > -np.inf, array, "a point function must be a number or +inf")
        return array

    def dichotomies(self, points: Any) -> Dichotomies:
        """The labelling of +inf, all 0, and then one for each distinct point in the order of z."""
        array = self._check_row(points)
        concepts = np.append(np.inf, np.unique(array) + 0.0)
        return Dichotomies(array == concepts[:, None], concepts)

    def draw_points(self, rng: np.random.Generator, size: int) -> np.ndarray:
        """1/2 with probability 1/2, so that concepts label several 1, and otherwise uniform in [0, 1]."""
        points = rng.random(size)
        points[rng.random(size) < 0.5] = 0.5
        return points

    def draw_concept(self, rng: np.random.Generator) -> np.ndarray:
        """Always z = 1/2."""
        return np.array(0.5)

    def _label(self, concepts: np.ndarray, points: np.ndarray) -> np.ndarray:
        return np.asarray(points == concepts)

    def _candidate_concepts(
        self, points: np.ndarray, signs: np.ndarray, present: np.ndarray
    ) -> CandidateConcepts:
        self.check_growth(points.shape[1])
        ordered = SortedSamples.sort(points, signs, present)
        return ordered.candidates(ordered.group_sums)

    def _minimise(self, points: np.ndarray, labels: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
        if points.shape[1] == 0:
            return np.full(len(points), np.inf)
        signs = apply_signs(labels, weights)
        ordered = SortedSamples.sort(points, signs, signs != 0)
        return ordered.best_points(ordered.group_sums, least=1)


@attrs.frozen
class RealIntervals(ConceptClass):
    """The concepts 1[low <= x <= high] of the real line, and the empty interval.

    A concept is (low, high), and (inf, -inf) for the empty interval, which comes first. The others are
    ordered by high, then the shortest first. ERM returns the first of the best whose ends are points of the
    sample.

    >>> RealIntervals().erm([1, 2, 3, 4], [1, 0, 1, 1])
    array([3., 4.])
    """

    name: ClassVar[str] = "intervals"
    concept_ndim: ClassVar[int] = 1
    vc_dimension = 2  # no interval contains the outer two of three points without the middle one

    def check_concepts(self, concepts: Any) -> np.ndarray:
        return check_ends(concepts, 1)

    def dichotomies(self, points: Any) -> Dichotomies:
        """The labellings in the order of the concepts, each with its shortest interval."""
        array = self._check_row(points)
        values = np.unique(array) + 0.0
        self.check_growth(len(values))
        low, high = ends_in_order(len(values))
        concepts = np.concatenate([[[np.inf, -np.inf]], np.stack([values[low], values[high]], axis=1)])
        return Dichotomies(self._label(concepts[:, None], array[None]), concepts)

    def draw_concept(self, rng: np.random.Generator) -> np.ndarray:
        """An interval in [0, 1] with a uniform length between 1/4 and 3/4, at a uniform place."""
        length = rng.uniform(0.25, 0.75)
        low = rng.uniform(0, 1 - length)
        return np.array([low, low + length])

    def _label(self, concepts: np.ndarray, points: np.ndarray) -> np.ndarray:
        return (points >= concepts[..., 0]) & (points <= concepts[..., 1])

    def _candidate_concepts(
        self, points: np.ndarray, signs: np.ndarray, present: np.ndarray
    ) -> CandidateConcepts:
        size = points.shape[1]
        self.check_growth(size)
        ordered = SortedSamples.sort(points, signs, present)
        low, high = ends_in_order(size)
        gains, counted = np.zeros((2, len(points), 1 + len(low)))
        gains[:, 1:] = ordered.prefix_sums[:, high + 1] - ordered.prefix_sums[:, low]
        counted[:, 0] = 1
        counted[:, 1:] = ordered.first[:, low] & ordered.last[:, high]
        # The empty interval is in slot 0, so the ends of the others move up by one.
        low, high = np.append(0, low + 1), np.append(0, high + 1)
        edge = np.full((len(points), 1), np.inf)
        lows, highs = (np.concatenate([e, ordered.points], axis=1) for e in (edge, -edge))

        def concepts_at(which: np.ndarray) -> np.ndarray:
            games = np.arange(len(which))
            return np.stack([lows[games, low[which]], highs[games, high[which]]], axis=1)

        return CandidateConcepts(gains, counted > 0, concepts_at)

    def check_choice(self, points: int) -> None:
        """Any number of points will do: intervals are drawn end by end."""

    def draw_unlisted(
        self, rng: np.random.Generator, points: Any, signs: Any, present: Any, *, rate: float
    ) -> np.ndarray | None:
        if self.growth_bound(points.shape[1]) <= MAX_LABELLINGS:
            return None
        rows = [_draw_interval(rng, *row, rate) for row in zip(points, signs, present, strict=True)]
        return np.array(rows).reshape(len(points), 2)

    def _minimise(self, points: np.ndarray, labels: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
        return best_intervals(points, apply_signs(labels, weights))


def _draw_interval(
    rng: np.random.Generator, points: np.ndarray, signs: np.ndarray, present: np.ndarray, rate: float
) -> tuple[float, float]:
    """One interval between points (m,), or the empty one, with a chance in proportion to exp(rate·gain). It
    gains the signs up to its high end less those before the low end, so the ends are drawn in turn."""
    values, place = np.unique(points[present] + 0.0, return_inverse=True)
    sums = np.cumsum(np.bincount(place, weights=signs[present], minlength=len(values)))
    starts = -rate * np.concatenate([[0.0], sums[:-1]])
    by_high = rate * sums + np.logaddexp.accumulate(starts)
    high = _draw_index(rng, np.append(by_high, 0.0))  # the last is the empty interval, which gains 0
    if high == len(values):
        return np.inf, -np.inf
    low = _draw_index(rng, starts[: high + 1])
    return float(values[low]), float(values[high])


def _draw_index(rng: np.random.Generator, log_weights: np.ndarray) -> int:
    return int(np.argmax(log_weights + rng.gumbel(size=len(log_weights))))


def best_intervals(points: np.ndarray, signs: np.ndarray) -> np.ndarray:
    """(b, 2): the first interval, in the order of `RealIntervals`, with the largest sum of signs (b, m),
    where sign 0 marks an absent point."""
    if points.shape[1] == 0:
        return np.tile([np.inf, -np.inf], (len(points), 1))
    ordered = SortedSamples.sort(points, signs, signs != 0)
    # For each high, the best low is the one with the least sum before it. Only the first of equal points can
    # be low; all others get the maximum, which is never chosen.
    largest = ordered.prefix_sums.max(axis=1, keepdims=True)
    starts = np.where(ordered.first, ordered.prefix_sums[:, :-1], largest)
    least = np.minimum.accumulate(starts, axis=1)
    gains = np.where(ordered.last, ordered.prefix_sums[:, 1:] - least, 0)
    high = gains.argmax(axis=1)[:, None]
    places = np.arange(points.shape[1])
    fits = (places <= high) & ordered.first & (starts == np.take_along_axis(least, high, axis=1))
    low = np.where(fits, places, 0).max(axis=1)[:, None]
    ends = np.take_along_axis(ordered.points, np.concatenate([low, high], axis=1), axis=1)
    return np.where(np.take_along_axis(gains, high, axis=1) > 0, ends, [np.inf, -np.inf])


def ends_in_order(size: int) -> tuple[np.ndarray, np.ndarray]:
    """The indices (low, high), from 0 to size - 1, of all nonempty intervals in order."""
    low, high = np.triu_indices(size)
    order = np.lexsort((-low, high))
    return low[order], high[order]


def check_ends(concepts: Any, axes: int) -> np.ndarray:
    """The low ends, then the high ends, of intervals or boxes, as floats (..., 2·axes).
    Raises: InvalidArgument with the first that is neither empty nor has low <= high on every axis."""
    array = as_numbers(concepts, f"a concept must have {axes} low and {axes} high ends", (2 * axes,))
    array = array.astype(np.float64, copy=False)
    low, high = array[..., :axes], array[..., axes:]
    empty = (low == np.inf).all(axis=-1) & (high == -np.inf).all(axis=-1)
    good = empty | (low <= high).all(axis=-1)
    remedy = "Write the empty concept with low ends inf and high ends -inf."
    check_each(good, array, "low ends must not exceed high ends", remedy)
    return array
