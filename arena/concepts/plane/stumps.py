"""Decision stumps: thresholds of one feature, either way round."""

from __future__ import annotations

from itertools import count
from math import comb
from typing import Any, ClassVar

import attrs
import numpy as np

from arena.concepts.base import ConceptClass, Dichotomies
from arena.concepts.dichotomies import Ordered, Solutions, signs_of
from arena.concepts.line.domain import as_vectors, at_least_one
from arena.errors import InvalidArgument


@attrs.frozen
class Stumps(ConceptClass):
    """The concepts 1[x_j >= t] and 1[x_j < t] of points in R^d.

    A concept is (j, t, s): s = 1 for x_j >= t, s = -1 for x_j < t. The order of concepts: all 0, which is
    (0, inf, 1), and all 1, which is (0, -inf, 1); then by j, s = 1 before s = -1, and t. ERM picks the first
    of the best with t among the sample's coordinates, and `dichotomies` the first concept for each labelling.
    m points have at most min(2^m, 2d(m - 1) + 2) labellings.

    features: d.

    >>> Stumps(2).erm([[0, 5], [1, 3], [2, 4]], [0, 1, 1])
    array([0., 1., 1.])
    """

    name: ClassVar[str] = "stumps"
    concept_ndim: ClassVar[int] = 1

    features: int = attrs.field(validator=at_least_one)

    @property
    def point_shape(self) -> tuple[int, ...]:
        return (self.features,)

    @property
    def vc_dimension(self) -> int:
        """The largest m with binom(m, r) <= 2d, r = m/2 rounded down (Gey 2018).

        A feature orders m points; its labellings are the beginnings of this order, and their complements. So
        among the sets of r points there are at most two of each feature, and for m = 2r these two are a set
        and its complement: no more points are shattered. As many are: by Hall's theorem every set of fewer
        than r points lies in one of binom(m, r) chains of sets that grow point by point, each up to a set of
        r points of its own. A feature can begin with such a chain up to A, and end with one up to B, if A and
        B have no point in common. For m = 2r let B be the complement of A. For m = 2r + 1 pair all sets of r
        points, but for one if they are odd in number, as disjoint A and B: which can be done, as in every
        connected graph in which all vertices are alike.
        """
        # binom(m, r) grows with m, so that the first m beyond ends the search.
        return next(m for m in count(2) if comb(m + 1, (m + 1) // 2) > 2 * self.features)

    def check(self, x: Any) -> np.ndarray:
        """The points as floats (..., d).

        Raises: InvalidArgument for a value that is not finite, or a vector of another length.
        """
        return as_vectors(x, self.point_shape)

    def check_concepts(self, concepts: Any) -> np.ndarray:
        """The concepts as floats (..., 3)."""
        array = np.asarray(concepts)
        if array.dtype.kind not in "biuf" or array.shape[-1:] != (3,):
            raise InvalidArgument("a stump is (feature, t, sign)", value=(array.dtype.name, array.shape))
        array = array.astype(np.float64, copy=False)
        feature, threshold, sign = np.moveaxis(array, -1, 0)
        good = np.isin(feature, np.arange(self.features)) & ~np.isnan(threshold) & (np.abs(sign) == 1)
        if not good.all():
            raise InvalidArgument(
                f"a stump has a feature, 0 to {self.features - 1}, a number t and a sign of 1 or -1",
                value=array[~good][0].tolist(),
            )
        return array

    def dichotomies(self, points: Any) -> Dichotomies:
        """The labellings in the order of the concepts, each with its first."""
        row = self._check_row(points)
        self.check_solutions(len(row))
        cuts = _Cuts.of(row[None], np.zeros((1, len(row))), np.ones((1, len(row)), bool))
        places = np.flatnonzero((cuts.allowed & _first_of_equals(cuts.labels(row[None])))[0])
        concepts = cuts.named(np.zeros(len(places), np.intp), places)
        return Dichotomies(self._label(concepts[:, None], row[None]), concepts)

    def most_dichotomies(self, points: int) -> int:
        """m points have at most 2 constant labellings, and 2(m - 1) others of each feature."""
        if points == 0:
            return 1
        return min(2 + 2 * self.features * (points - 1), 1 << points)

    def concept_at_random(self, rng: np.random.Generator) -> np.ndarray:
        """A uniform feature and sign, and t uniform between 1/4 and 3/4."""
        return np.array(
            [rng.integers(self.features), rng.uniform(0.25, 0.75), rng.choice([-1, 1])], np.float64
        )

    def _label(self, concepts: np.ndarray, points: np.ndarray) -> np.ndarray:
        feature, threshold, sign = np.moveaxis(concepts, -1, 0)
        lead = np.broadcast_shapes(feature.shape, points.shape[:-1])
        asked = np.broadcast_to(feature.astype(np.intp), lead)[..., None]
        x = np.take_along_axis(np.broadcast_to(points, (*lead, self.features)), asked, axis=-1)[..., 0]
        return np.asarray((x >= threshold) == (sign > 0))

    def _solutions(self, points: np.ndarray, signs: np.ndarray, present: np.ndarray) -> Solutions:
        self.check_solutions(points.shape[1])
        cuts = _Cuts.of(points, signs, present)
        return Solutions(
            cuts.gains,
            cuts.allowed & _first_of_equals(cuts.labels(points) & present[:, None]),
            lambda which: cuts.named(np.arange(len(which)), which),
        )

    def _numbers_a_sample(self, size: int) -> int:
        return 2 * size * self.features

    def _minimise(self, points: np.ndarray, labels: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
        signs = signs_of(labels, weights)
        cuts = _Cuts.of(points, signs, signs != 0)
        # The first place gains 0, so that no other is chosen for that.
        best = np.where(cuts.allowed, cuts.gains, 0).argmax(axis=1)
        return cuts.named(np.arange(len(points)), best)


@attrs.frozen(eq=False)
class _Cuts:
    """Places for the concepts of b samples in their order, k = 2 + 2·d·m: all 0, all 1, and then for each
    feature, sign and place i among the m ordered values the concept with t = the i-th value.

    Shapes: values (b, d, m), increasing; gains (b, k); allowed (b, k) bool: whether t is the first of equal
    values that are present, and not the least, of which the labelling is constant.
    """

    values: np.ndarray
    gains: np.ndarray
    allowed: np.ndarray

    @classmethod
    def of(cls, points: np.ndarray, signs: np.ndarray, present: np.ndarray) -> _Cuts:
        samples, size, features = points.shape
        flat = (samples * features, size)
        ordered = Ordered.of(
            points.transpose(0, 2, 1).reshape(flat),
            np.repeat(signs, features, axis=0),
            np.repeat(present, features, axis=0),
        )
        total = signs.sum(axis=1)[:, None]
        below, first = ordered.before[:, :-1], ordered.first.copy()
        first[:, :1] = False
        gains = np.stack([ordered.from_here, below], axis=1).reshape(samples, 2 * features * size)
        allowed = np.stack([first, first], axis=1).reshape(gains.shape)
        constant = np.ones((samples, 2), bool)
        return cls(
            ordered.points.reshape(samples, features, size),
            np.concatenate([np.zeros_like(total), total, gains], axis=1),
            np.concatenate([constant, allowed], axis=1),
        )

    def labels(self, points: np.ndarray) -> np.ndarray:
        """(b, k, m) bool: the labels at all places of the sample's points (b, m, d)."""
        samples, size, _ = points.shape
        above = points.transpose(0, 2, 1)[:, :, None] >= self.values[..., None]
        cuts = np.stack([above, ~above], axis=2).reshape(samples, self.gains.shape[1] - 2, size)
        constant = np.broadcast_to([[False], [True]], (samples, 2, size))
        return np.concatenate([constant, cuts], axis=1)

    def named(self, samples: np.ndarray, places: np.ndarray) -> np.ndarray:
        """The concepts (n, 3) at places (n,) of samples (n,)."""
        _, features, size = self.values.shape
        found = np.ones((len(places), 3))
        found[:, 0] = 0
        found[:, 1] = np.where(places == 0, np.inf, -np.inf)
        cuts = np.flatnonzero(places > 1)
        feature, way, i = np.unravel_index(places[cuts] - 2, (features, 2, max(1, size)))
        found[cuts, 0] = feature
        found[cuts, 1] = self.values[samples[cuts], feature, i]
        found[cuts, 2] = 1 - 2 * way
        return found


def _first_of_equals(labels: np.ndarray) -> np.ndarray:
    """(b, k) bool: whether no row of labels (b, k, m) before this one of its sample is equal."""
    bits = np.packbits(labels, axis=2)
    words = np.zeros((*bits.shape[:2], max(1, -(-bits.shape[2] // 8)) * 8), np.uint8)
    words[..., : bits.shape[2]] = bits
    keys = np.moveaxis(words.view(np.uint64), -1, 0)
    order = np.lexsort(keys, axis=-1)  # stable: of equal rows the first comes first
    changes = np.ones(order.shape, bool)
    ordered = np.take_along_axis(keys, order[None], axis=2)
    changes[:, 1:] = (ordered[:, :, 1:] != ordered[:, :, :-1]).any(axis=0)
    first = np.empty(order.shape, bool)
    np.put_along_axis(first, order, changes, axis=1)
    return first
