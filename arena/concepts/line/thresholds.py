"""Thresholds on the real line or on a finite ordered domain."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar

import attrs
import numpy as np

from arena.concepts.base import ConceptClass, as_numbers
from arena.concepts.dichotomies import CandidateConcepts, Dichotomies, SortedSamples
from arena.concepts.line.domain import (
    LineDomain,
    as_domain,
    check_increasing,
    draw_middle_index,
    format_domain,
)
from arena.errors import InvalidArgument
from arena.points import as_floats, as_points

# Sample sizes up to which comparing all pairs is faster than sorting (measured with 10^5 samples at once).
MAX_FOR_PAIRS = 24
MAX_FOR_WEIGHTED_PAIRS = 12


@attrs.frozen(repr=False)
class Thresholds(ConceptClass):
    """The concepts c_t(x) = 1[x >= t]. A concept is its t, a float, and t = +inf labels everything 0.

    ERM returns the smallest best t among the sample's points and +inf; an empty sample gives +inf.

    domain: None for the real line, or the points of a finite domain in increasing order. On a finite
    domain `check` refuses other points, and ERM and dichotomies return t in the domain or +inf.

    >>> Thresholds().erm([3, 1, 2], [1, 0, 1])
    array(2.)
    >>> Thresholds((1, 2, 4))
    Thresholds(3 points from 1 to 4)
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
        """Values of t as floats: any number or infinity, whether in the domain or not."""
        array = as_floats(as_numbers(concepts, "thresholds must be numbers"))
        if np.isnan(array).any():
            raise InvalidArgument("a threshold must be a number or infinity", value=np.nan)
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
    order = np.argsort(points, axis=1)
    points = np.take_along_axis(points, order, axis=1)
    signs = np.take_along_axis(signs, order, axis=1)
    gains = np.cumsum(signs[:, ::-1], axis=1)[:, ::-1]
    # Of equal points, only the first has the sum of all of them.
    gains[:, 1:][points[:, 1:] == points[:, :-1]] = -1
    first = gains.argmax(axis=1)[:, None]
    best = np.take_along_axis(points, first, axis=1)[:, 0]
    return np.where(np.take_along_axis(gains, first, axis=1)[:, 0] >= 0, best, np.inf)
