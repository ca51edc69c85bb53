"""The interface of concept classes, and the rules that their arrays obey."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import attrs
import numpy as np

from arena.concepts.dichotomies import (
    LABELLINGS_A_POINT,
    MAX_LABELLINGS,
    CandidateConcepts,
    Dichotomies,
    tally_signs,
)
from arena.errors import InvalidArgument, Unsupported
from arena.sample import as_labels, as_vectors, check_each

# ERM works on slabs of samples: small enough for a core's cache, large enough to amortise a numpy call.
SLAB_NUMBERS = 2**17
SLAB_SAMPLES = 2**14
_LABELLINGS_AT_ONCE = 2**14  # rows of labels multiplied with signs at a time


@attrs.frozen
class ConceptClass(ABC):
    """Base of the concept classes: immutable, hashable, printable and picklable.

    A new class implements `vc_dimension`, `check_concepts`, `dichotomies`, `check` unless its points are all
    of R^d, and the hooks `_label` and `_minimise`, which receive checked arrays only.

    name: its name on the command line. concept_ndim: the number of axes of one concept, 0 for a number.
    lists_minimisers: whether `dichotomies` of any points that include a sample's points lists, as the same
    numbers, every concept that `erm` may return for that sample.
    """

    name: ClassVar[str] = ""
    concept_ndim: ClassVar[int] = 0
    lists_minimisers: ClassVar[bool] = True

    @property
    def domain(self) -> tuple[Any, ...] | None:
        """The points of a finite domain in order, vectors as tuples; None if the domain is not finite."""
        return None

    def domain_indices(self, points: np.ndarray) -> np.ndarray:
        """The indices of checked points in a finite domain, from 0. Raises: Unsupported without one."""
        raise Unsupported(f"{self} has no finite domain", remedy="Give it one, as in thresholds:1..16.")

    @property
    @abstractmethod
    def vc_dimension(self) -> int:
        """The size of the largest set of points on which the class realises every labelling."""

    @property
    def point_shape(self) -> tuple[int, ...]:
        """The shape of one point: () for numbers."""
        return ()

    def check(self, x: Any) -> np.ndarray:
        """Points of any leading shape as an array; by default all of R or R^d, as float64. Raises:
        InvalidArgument with the first value that is not a point of the domain."""
        return as_vectors(x, self.point_shape)

    @abstractmethod
    def check_concepts(self, concepts: Any) -> np.ndarray:
        """`concepts` as an array. Raises: InvalidArgument with the first value that is no concept."""

    @abstractmethod
    def dichotomies(self, points: Any) -> Dichotomies:
        """The distinct labellings of points (m, ...), repeated or not, in the order that the class states."""

    def label(self, concepts: Any, x: Any) -> np.ndarray:
        """(n,) bool: the labels of each game's concept (n, ...) at x, one point for all games or (n, ...)."""
        concepts, points = self.check_concepts(concepts), self.check(x)
        lead = _lead(points, self.point_shape)
        if concepts.ndim <= self.concept_ndim:
            raise InvalidArgument("concepts must have an axis of games", value=concepts.tolist())
        if lead not in ((), concepts.shape[:1]):
            raise InvalidArgument(
                f"{len(concepts)} games need one common point or one point each", value=lead
            )
        return self._label(concepts, points)

    def agrees(self, concepts: Any, x: Any, y: np.ndarray) -> np.ndarray:
        """(n,) bool: whether each game's concept gives x the label y (n,), with the margin if there is
        one."""
        return np.asarray(self.label(concepts, x) == y)

    def agreement(self, concepts: Any) -> Callable[[Any, np.ndarray], np.ndarray]:
        """`agrees` with the concepts fixed: a function of (x, y) that repeats no work on the concepts."""
        checked = self.check_concepts(concepts)
        return lambda x, y: self.agrees(checked, x, y)

    def labels(self, concepts: Any, points: Any) -> np.ndarray:
        """(a, b) bool: the label that each of concepts (a, ...) gives each of points (b, ...)."""
        concepts, points = self.check_concepts(concepts), self._check_row(points)
        if concepts.ndim <= self.concept_ndim:
            raise InvalidArgument(
                "a list of concepts must have one more axis than a concept", value=concepts.tolist()
            )
        return self._label(concepts[:, None], points[None])

    def vote(self, concepts: Any, points: Any) -> np.ndarray:
        """(b,) in [0, 1]: the share of concepts (a, ...), a ≥ 1, that label each of points (b, ...) 1."""
        return self._vote(self.check_concepts(concepts), self._check_row(points))

    def erm(self, points: Any, labels: Any, weights: Any = None) -> np.ndarray:
        """An empirical risk minimiser of each sample: a concept with the least total weight of errors.

        An example of weight 0 is absent, so weights may count copies. A result depends only on the multiset
        of its sample's examples: sums are exact, and ties are broken as the class documents.

        Shapes: points (..., m, ...), labels (..., m) of 0 and 1, weights (..., m) ≥ 0 (default: ones), which
        broadcast over the leading axes; result (..., ...). Raises: InvalidArgument for other shapes or
        values.
        """
        arrays = [np.asarray(points), np.asarray(labels)]
        if weights is not None:
            arrays.append(np.asarray(weights))
        shapes = [self.point_shape, (), ()]
        lead, size = _common([_lead(a, s) for a, s in zip(arrays, shapes, strict=False)])
        rows = [_rows(a, s, lead, size) for a, s in zip(arrays, shapes, strict=False)]
        parts = []
        for slab in self._slabs(lead, size):
            x, y, *w = (row[slab] for row in rows)
            parts.append(self._minimise(self.check(x), as_labels(y), integer_weights(w[0]) if w else None))
        minimisers = np.concatenate(parts)
        return minimisers.reshape(lead + minimisers.shape[1:])

    def growth_bound(self, points: int) -> int:
        """An upper bound on the number of labellings of so many points; by default Sauer's lemma."""
        return sum(math.comb(points, i) for i in range(min(self.vc_dimension, points) + 1))

    def candidate_concepts(self, points: Any, signs: Any, present: Any) -> CandidateConcepts:
        """One concept for each distinct labelling of each sample's present points, with its gain: the sum of
        `signs` (examples labelled 1 minus those labelled 0) over the present points that it labels 1. The
        concept for a labelling depends only on the set of points.

        Shapes: b samples; points (b, m, ...), signs (b, m) integers, present (b, m) bool. Raises:
        InvalidArgument if shapes do not fit or a point is not valid; Unsupported as `check_growth`.
        """
        points, signs, present = np.asarray(points), np.asarray(signs), np.asarray(present)
        lead = _lead(points, self.point_shape)
        if len(lead) != 2 or signs.shape != lead or present.shape != lead or present.dtype != np.bool_:
            raise InvalidArgument(
                "samples must be points (b, m, ...), signs (b, m) and booleans (b, m)",
                value=(lead, signs.shape, present.shape),
            )
        checked = self.check(points[present])
        # Entries that are not present need not be valid points.
        filled = np.zeros(points.shape, checked.dtype)
        filled[present] = checked
        return self._candidate_concepts(filled, np.where(present, signs, 0), present)

    def check_growth(self, points: int) -> None:
        """Raises: Unsupported if so many distinct points may have more labellings than can be listed:
        `MAX_LABELLINGS`, or 64 a point, so that thresholds and stumps are always listed."""
        bound = self.growth_bound(points)
        if bound > max(MAX_LABELLINGS, LABELLINGS_A_POINT * points):
            raise Unsupported(
                f"{self} may have {bound:,} labellings of {points:,} points, more than the "
                f"{MAX_LABELLINGS:,} that can be enumerated",
                remedy="Use fewer points, or a class of smaller VC dimension.",
            )

    def check_choice(self, points: int) -> None:
        """Raises: Unsupported if LabelBoost may not be able to choose a labelling of so many points."""
        self.check_growth(points if self.domain is None else min(points, len(self.domain)))

    def draw_unlisted(
        self, rng: np.random.Generator, points: Any, signs: Any, present: Any, *, rate: float
    ) -> np.ndarray | None:
        """Concepts (b, ...) drawn from `candidate_concepts` with chances exp(rate·gain), without a list of
        these; None if there are few enough for a list, or the class needs one."""
        return None

    def draw_points(self, rng: np.random.Generator, size: int) -> np.ndarray:
        """(size, ...): independent points, uniform on a finite domain or on the unit interval or cube."""
        if self.domain is None:
            return self.check(rng.random((size, *self.point_shape)))
        return self.check(np.array(self.domain)[rng.integers(0, len(self.domain), size)])

    def draw_concept(self, rng: np.random.Generator) -> np.ndarray:
        """A random target that labels neither too few nor too many of `draw_points` 1, distributed as each
        class says. Raises: Unsupported if the class does not define one."""
        raise Unsupported(
            f"{self} cannot draw a random target", remedy="Choose a concept of the class instead."
        )

    def _candidate_concepts(
        self, points: np.ndarray, signs: np.ndarray, present: np.ndarray
    ) -> CandidateConcepts:
        """`candidate_concepts` of checked arrays, with sign 0 where a point is not present."""
        distinct, tally, sets, set_of = tally_signs(points, signs, present)
        self.check_growth(int(sets.sum(axis=1).max(initial=0)))
        # With no samples, an empty set still gives the result the shapes of the class.
        options = [self.dichotomies(distinct[members]) for members in sets]
        options = options or [self.dichotomies(distinct[:0])]
        gains = np.zeros((len(points), max(map(len, options))))
        counted = np.zeros(gains.shape, bool)
        for i, (members, option) in enumerate(zip(sets, options, strict=False)):
            samples = np.flatnonzero(set_of == i)
            totals = tally[np.ix_(samples, np.flatnonzero(members))]
            for start in range(0, len(option), _LABELLINGS_AT_ONCE):
                rows = slice(start, min(start + _LABELLINGS_AT_ONCE, len(option)))
                gains[samples, rows] = totals @ option.labels[rows].T.astype(np.float64)
            counted[samples, : len(option)] = True

        def concepts_at(which: np.ndarray) -> np.ndarray:
            first = options[0].concepts
            concepts = np.empty((len(which), *first.shape[1:]), first.dtype)
            for i, option in enumerate(options):
                concepts[set_of == i] = option.concepts[which[set_of == i]]
            return concepts

        return CandidateConcepts(gains, counted, concepts_at)

    @abstractmethod
    def _label(self, concepts: np.ndarray, points: np.ndarray) -> np.ndarray:
        """The labels (bool) of concepts and points whose leading axes broadcast."""

    def _vote(self, concepts: np.ndarray, points: np.ndarray) -> np.ndarray:
        step = max(1, SLAB_NUMBERS // len(concepts))
        slabs = [slice(start, start + step) for start in range(0, len(points), step)]
        return np.concatenate([self.labels(concepts, points[s]).mean(axis=0) for s in slabs])

    @abstractmethod
    def _minimise(self, points: np.ndarray, labels: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
        """`erm` of a slab of samples: points (b, m, ...), labels (b, m) int8, weights (b, m) integers (int64,
        or Python's where that is too small) or None for ones; b and m may be 0; result (b, ...)."""

    def _numbers_a_sample(self, size: int) -> int:
        """How many numbers `_minimise` keeps in memory for one sample of `size` examples."""
        return size

    def _check_row(self, points: Any) -> np.ndarray:
        array = self.check(points)
        lead = _lead(array, self.point_shape)
        if len(lead) != 1:
            raise InvalidArgument("a list of points must have one more axis than a point", value=lead)
        return array

    def _slabs(self, lead: tuple[int, ...], size: int) -> Iterator[slice]:
        samples = math.prod(lead)
        step = min(SLAB_SAMPLES, max(1, SLAB_NUMBERS // max(1, self._numbers_a_sample(size))))
        # At least one slab, even of no samples, so that the result has the dtype of the class.
        return (slice(start, start + step) for start in range(0, max(samples, 1), step))


def as_numbers(values: Any, rule: str, shape: tuple[int, ...] = ()) -> np.ndarray:
    """`values` as an array of numbers, or of vectors of this shape. Raises: InvalidArgument with `rule`."""
    array = np.asarray(values)
    if array.dtype.kind not in "biuf" or (shape and array.shape[-1:] != shape):
        raise InvalidArgument(rule, value=(array.dtype.name, array.shape) if shape else array.dtype.name)
    return array


def integer_weights(weights: np.ndarray) -> np.ndarray:
    """Integers in exact proportion to weights (..., m), so that their sums do not depend on the order: int64
    where the sum along the last axis fits, else Python's. Raises: InvalidArgument unless finite and ≥ 0."""
    weights = as_numbers(weights, "weights must be numbers")
    if weights.dtype.kind == "f":
        weights = weights.astype(np.float64)
    check_each(np.isfinite(weights) & (weights >= 0), weights, "weights must be finite and ≥ 0")
    if weights.dtype.kind == "f":
        return _scale_to_integers(weights)
    return np.asarray(weights, np.int64 if _sums_fit(weights) else object)


def _scale_to_integers(weights: np.ndarray) -> np.ndarray:
    mantissa, exponent = np.frexp(weights)
    digits = np.ldexp(mantissa, 53).astype(np.int64)
    lowest = digits & -digits
    # weights = odd * 2**power, so all of them are multiples of 2**(the least power).
    power = exponent - 54 + np.frexp(lowest.astype(np.float64))[1]
    grid = power[digits > 0].min(initial=1024)
    with np.errstate(over="ignore"):
        scaled = np.ldexp(weights, -grid)
    if _sums_fit(scaled):
        return np.asarray(scaled, np.int64)
    odd = digits // np.maximum(lowest, 1)
    return np.asarray(np.left_shift(odd.astype(object), np.maximum(power - grid, 0).astype(object)))


def _sums_fit(weights: np.ndarray) -> bool:
    return bool(float(weights.max(initial=0)) * weights.shape[-1] < 2.0**62)


def _lead(array: np.ndarray, point_shape: tuple[int, ...]) -> tuple[int, ...]:
    axes = array.ndim - len(point_shape)
    if axes < 0 or array.shape[axes:] != point_shape:
        raise InvalidArgument(f"a point must have shape {point_shape}", value=array.shape)
    return array.shape[:axes]


def _common(shapes: list[tuple[int, ...]]) -> tuple[tuple[int, ...], int]:
    """The leading axes that shapes (..., m) broadcast to, and their common m."""
    if any(len(shape) == 0 for shape in shapes):
        raise InvalidArgument("samples must have an axis of examples", value=shapes)
    if len({shape[-1] for shape in shapes}) > 1:
        raise InvalidArgument("points, labels and weights must be equally many", value=shapes)
    try:
        return np.broadcast_shapes(*(shape[:-1] for shape in shapes)), shapes[0][-1]
    except ValueError:
        raise InvalidArgument(
            "the shapes of points, labels and weights must broadcast", value=shapes
        ) from None


def _rows(array: np.ndarray, point_shape: tuple[int, ...], lead: tuple[int, ...], size: int) -> np.ndarray:
    row = (size, *point_shape)
    flat = (math.prod(lead), *row)
    if array.shape == row:  # shared by all samples: a broadcast view, where a reshape would copy
        return np.broadcast_to(array, flat)
    return np.broadcast_to(array, lead + row).reshape(flat)
