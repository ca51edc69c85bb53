"""What every concept class offers the algorithms, and the rules its arrays obey."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import attrs
import numpy as np

from arena.concepts.dichotomies import MOST_SOLUTIONS, Solutions, by_dichotomies
from arena.errors import InvalidArgument, Unsupported
from arena.points import as_labels, freeze

# Samples are minimised slab by slab: a slab stays in a core's cache, yet hides the cost of a numpy call.
SLAB_NUMBERS = 2**17
SLAB_SAMPLES = 2**14


@attrs.frozen(eq=False)
class Dichotomies:
    """The distinct labellings that a class realises on some points, each with one concept that realises it.

    Shapes: labels (d, m) bool, concepts (d,) in the terms of the class. Both are read-only.
    """

    labels: np.ndarray = attrs.field(converter=freeze)
    concepts: np.ndarray = attrs.field(converter=freeze)

    def __len__(self) -> int:
        return len(self.labels)


@attrs.frozen
class ConceptClass(ABC):
    """Spec of a concept class: hashable, printable, picklable.

    The public methods check shapes and values. A new class writes `vc_dimension`, `check`,
    `check_concepts`, `dichotomies` and the two hooks `_label` and `_minimise`, which are given checked
    arrays only; and `_solutions` where a closed form beats going through dichotomies.

    name: what the command line calls it. concept_ndim: the axes of one concept: 0 of a number.
    lists_minimisers: whether every concept that `erm` returns is listed, as the same numbers, by
        `dichotomies` of any points that include the sample's.
    """

    name: ClassVar[str] = ""
    concept_ndim: ClassVar[int] = 0
    lists_minimisers: ClassVar[bool] = True

    @property
    def domain(self) -> tuple[Any, ...] | None:
        """The points of a finite domain in order, vectors as tuples; None: the domain is not finite."""
        return None

    def place(self, points: np.ndarray) -> np.ndarray:
        """Where points of a finite domain stand in it, from 0; `check` must have passed them.

        Raises: Unsupported if the domain is not finite.
        """
        raise Unsupported(f"{self} has no finite domain", remedy="Give it one, as in thresholds:1..16.")

    @property
    @abstractmethod
    def vc_dimension(self) -> int:
        """The largest number of points on which the class realises every labelling."""

    @property
    def point_shape(self) -> tuple[int, ...]:
        """The shape of one point: () for numbers."""
        return ()

    @abstractmethod
    def check(self, x: Any) -> np.ndarray:
        """The points `x`, of any leading shape, as an array.

        Raises: InvalidArgument naming the first value that is no point of the domain.
        """

    @abstractmethod
    def check_concepts(self, concepts: Any) -> np.ndarray:
        """`concepts` as an array.

        Raises: InvalidArgument naming the first value that is no concept of the class.
        """

    @abstractmethod
    def dichotomies(self, points: Any) -> Dichotomies:
        """The distinct labellings that the class realises on `points`, in an order that the class documents.

        Shapes: points (m,), repeats allowed. No points have one labelling, the empty one.
        """

    def label(self, concepts: Any, x: Any) -> np.ndarray:
        """The label that each game's concept gives that game's point.

        Shapes: concepts (n,), x one point for all games or (n,); result (n,) bool.
        """
        concepts, points = self.check_concepts(concepts), self.check(x)
        lead = _lead(points, self.point_shape)
        if concepts.ndim <= self.concept_ndim:
            raise InvalidArgument("concepts need an axis of games", value=concepts.tolist())
        if lead not in ((), concepts.shape[:1]):
            raise InvalidArgument(f"{len(concepts)} games need one point or as many points", value=lead)
        return self._label(concepts, points)

    def agrees(self, concepts: Any, x: Any, y: np.ndarray) -> np.ndarray:
        """(n,) bool: whether each game's concept may be the target of a realizable game with this example.

        It is, if it labels the point so; classes with a margin ask for more. Shapes: as `label`, y (n,).
        """
        return np.asarray(self.label(concepts, x) == y)

    def agreement(self, concepts: Any) -> Callable[[Any, np.ndarray], np.ndarray]:
        """`agrees` of concepts that stay, as a function of the examples: what can be done once is done once.

        Raises: InvalidArgument if they are no concepts, the function as `agrees` does.
        """
        checked = self.check_concepts(concepts)
        return lambda x, y: self.agrees(checked, x, y)

    def labels(self, concepts: Any, points: Any) -> np.ndarray:
        """The label that every concept gives every point.

        Shapes: concepts (a,), points (b,); result (a, b) bool.
        """
        concepts, points = self.check_concepts(concepts), self._check_row(points)
        if concepts.ndim <= self.concept_ndim:
            raise InvalidArgument("concepts need an axis", value=concepts.tolist())
        return self._label(concepts[:, None], points[None])

    def vote(self, concepts: Any, points: Any) -> np.ndarray:
        """The share of the concepts that label each point 1.

        Shapes: concepts (a,), at least one, points (b,); result (b,) in [0, 1].
        """
        return self._vote(self.check_concepts(concepts), self._check_row(points))

    def erm(self, points: Any, labels: Any, weights: Any = None) -> np.ndarray:
        """An empirical risk minimiser of each sample: a concept with the least weight of wrong labels.

        The last axis of `labels` holds the examples of one sample, the leading axes as many samples as
        there are; points, labels and weights broadcast over these. An example of weight 0 is absent, so
        weights may count copies. Each result is a function of the multiset of its own examples: sums are
        exact, and ties are broken as the class documents, never by the order of the examples. It is a concept
        that `dichotomies` lists for any points that include the sample's, where `lists_minimisers` says so.

        Shapes: points (..., m), labels (..., m) of 0 and 1, weights (..., m) of at least 0 (default: ones);
        result (...).

        Raises: InvalidArgument if shapes do not fit or a point, label or weight is none.
        """
        arrays = [np.asarray(points), np.asarray(labels)]
        if weights is not None:
            arrays.append(np.asarray(weights))
        shapes = [self.point_shape, (), ()]
        lead, size = _common([_lead(a, s) for a, s in zip(arrays, shapes, strict=False)])
        rows = [_rows(a, s, lead, size) for a, s in zip(arrays, shapes, strict=False)]
        found = [self._minimise(*self._checked(*(r[slab] for r in rows))) for slab in self._slabs(lead, size)]
        joined = np.concatenate(found)
        return joined.reshape(lead + joined.shape[1:])

    def most_dichotomies(self, points: int) -> int:
        """A bound on the labellings of so many points, by Sauer's lemma: the sum of binom(points, i) for i up
        to the VC dimension.
        """
        return sum(math.comb(points, i) for i in range(min(self.vc_dimension, points) + 1))

    def solutions(self, points: Any, signs: Any, present: Any) -> Solutions:
        """For each of b samples one concept for each distinct labelling of its present points, and what it
        gains: the sum of `signs`, label 1 less label 0, over the points that it labels 1.

        Points that are not present make no labelling and their signs are not looked at. Which concept stands
        for a labelling depends on nothing but the set of points present.

        Shapes: points (b, m, ...), signs (b, m) of whole numbers, present (b, m) bool.

        Raises: InvalidArgument if shapes do not fit or a point is none; Unsupported if a sample may have more
        than `MOST_SOLUTIONS` labellings.
        """
        points, signs, there = np.asarray(points), np.asarray(signs), np.asarray(present)
        lead = _lead(points, self.point_shape)
        if len(lead) != 2 or signs.shape != lead or there.shape != lead or there.dtype != np.bool_:
            raise InvalidArgument(
                "samples are points, signs and bools (b, m)", value=(lead, signs.shape, there.shape)
            )
        given = self.check(points[there])
        # What is not present need not even be a point.
        filled = np.zeros(points.shape, given.dtype)
        filled[there] = given
        return self._solutions(filled, np.where(there, signs, 0), there)

    def check_solutions(self, points: int) -> None:
        """Raises: Unsupported if so many distinct points may have more than `MOST_SOLUTIONS` labellings."""
        most = self.most_dichotomies(points)
        if most > MOST_SOLUTIONS:
            raise Unsupported(
                f"{self} may label {points:,} points in {most:,} ways, more than the {MOST_SOLUTIONS:,} that "
                "are gone through",
                remedy="Take fewer points, or a class of smaller VC dimension.",
            )

    def points_at_random(self, rng: np.random.Generator, size: int) -> np.ndarray:
        """Independent points, uniform on a finite domain, else on the unit interval or cube.

        Shapes: result (size, ...).
        """
        if self.domain is None:
            return self.check(rng.random((size, *self.point_shape)))
        return self.check(np.array(self.domain)[rng.integers(0, len(self.domain), size)])

    def concept_at_random(self, rng: np.random.Generator) -> np.ndarray:
        """A concept that labels a fair part of the points of `points_at_random` 1; classes say which part.

        Shapes: result () or (k,), as the class has its concepts.

        Raises: Unsupported if the class has no such law.
        """
        raise Unsupported(f"{self} draws no targets", remedy="Name a concept of the class instead.")

    def _solutions(self, points: np.ndarray, signs: np.ndarray, present: np.ndarray) -> Solutions:
        """`solutions` of checked arrays, with sign 0 where nothing is present."""
        return by_dichotomies(self, points, signs, present)

    @abstractmethod
    def _label(self, concepts: np.ndarray, points: np.ndarray) -> np.ndarray:
        """Labels, bool, of concepts and points whose leading axes broadcast."""

    def _vote(self, concepts: np.ndarray, points: np.ndarray) -> np.ndarray:
        """`vote` of checked arrays."""
        step = max(1, SLAB_NUMBERS // len(concepts))
        slabs = [slice(start, start + step) for start in range(0, len(points), step)]
        return np.concatenate([self.labels(concepts, points[s]).mean(axis=0) for s in slabs])

    @abstractmethod
    def _minimise(self, points: np.ndarray, labels: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
        """`erm` of a slab of samples.

        Shapes: points (b, m), labels (b, m) int8, weights (b, m) of whole numbers (int64, or Python's
        where these are too small) or None for ones; b and m may be 0; result (b,).
        """

    def _numbers_a_sample(self, size: int) -> int:
        """How many numbers `_minimise` holds for one sample of `size` examples."""
        return size

    def _check_row(self, points: Any) -> np.ndarray:
        array = self.check(points)
        lead = _lead(array, self.point_shape)
        if len(lead) != 1:
            raise InvalidArgument("points need one axis", value=lead)
        return array

    def _checked(
        self, points: np.ndarray, labels: np.ndarray, weights: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        whole = None if weights is None else whole_weights(weights)
        return self.check(points), as_labels(labels), whole

    def _slabs(self, lead: tuple[int, ...], size: int) -> Iterator[slice]:
        samples = math.prod(lead)
        step = min(SLAB_SAMPLES, max(1, SLAB_NUMBERS // max(1, self._numbers_a_sample(size))))
        # One slab even of no samples, so that the result has the dtype of the class.
        return (slice(start, start + step) for start in range(0, max(samples, 1), step))


def whole_weights(weights: np.ndarray) -> np.ndarray:
    """Whole numbers in exact proportion to `weights`, so that sums of them depend on no order.

    They are int64 where the sum along the last axis fits it, Python's integers (dtype object) otherwise.

    Shapes: weights (..., m); result the same.

    Raises: InvalidArgument if a weight is negative, infinite or not a number.
    """
    if weights.dtype.kind not in "biuf":
        raise InvalidArgument("weights must be numbers", value=weights.dtype.name)
    if weights.dtype.kind == "f":
        weights = weights.astype(np.float64)
    good = np.isfinite(weights) & (weights >= 0)
    if not good.all():
        raise InvalidArgument("weights must be finite and at least 0", value=weights[~good].flat[0].item())
    if weights.dtype.kind == "f":
        return _scaled(weights)
    return np.asarray(weights, np.int64 if _sums_fit(weights) else object)


def _scaled(weights: np.ndarray) -> np.ndarray:
    mantissa, exponent = np.frexp(weights)
    digits = np.ldexp(mantissa, 53).astype(np.int64)
    lowest = digits & -digits
    # weights = odd * 2**power, so the least power is a grid that holds them all.
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
    """The leading axes of an array of points."""
    axes = array.ndim - len(point_shape)
    if axes < 0 or array.shape[axes:] != point_shape:
        raise InvalidArgument(f"a point has shape {point_shape}", value=array.shape)
    return array.shape[:axes]


def _common(shapes: list[tuple[int, ...]]) -> tuple[tuple[int, ...], int]:
    """The leading axes that shapes (..., m) broadcast to, and their m."""
    if any(len(shape) == 0 for shape in shapes):
        raise InvalidArgument("samples need an axis of examples", value=shapes)
    if len({shape[-1] for shape in shapes}) > 1:
        raise InvalidArgument("every example needs a point, a label and a weight", value=shapes)
    try:
        return np.broadcast_shapes(*(shape[:-1] for shape in shapes)), shapes[0][-1]
    except ValueError:
        raise InvalidArgument("points, labels and weights must broadcast", value=shapes) from None


def _rows(array: np.ndarray, point_shape: tuple[int, ...], lead: tuple[int, ...], size: int) -> np.ndarray:
    """`array` with its leading axes as one: (samples, m, ...)."""
    row = (size, *point_shape)
    flat = (math.prod(lead), *row)
    if array.shape == row:  # shared by all samples: a view, where a reshape would copy
        return np.broadcast_to(array, flat)
    return np.broadcast_to(array, lead + row).reshape(flat)
