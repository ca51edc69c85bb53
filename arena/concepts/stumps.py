"""Decision stumps: thresholds of one feature, in either direction."""

from __future__ import annotations

from itertools import count
from math import comb
from typing import Any, ClassVar

import attrs
import numpy as np

from arena.concepts.base import ConceptClass, as_numbers
from arena.concepts.dichotomies import CandidateConcepts, Dichotomies, SortedSamples, apply_signs
from arena.sample import check_each
from arena.settings import at_least, whole

_MANY = 64  # points, of which there are more labellings than any number of stumps gives them


@attrs.frozen
class Stumps(ConceptClass):
    """The concepts 1[x_j >= t] and 1[x_j < t] of points in R^d.

    A concept is (j, t, s), with s = 1 for x_j >= t and s = -1 for x_j < t. The constant concepts come first:
    all 0 is (0, inf, 1) and all 1 is (0, -inf, 1). The others are ordered by j, then s = 1 before s = -1,
    then t. ERM returns the first of the best with t among the sample's coordinates.

    >>> Stumps(2).erm([[0, 5], [1, 3], [2, 4]], [0, 1, 1])
    array([0., 1., 1.])
    """

    name: ClassVar[str] = "stumps"
    concept_ndim: ClassVar[int] = 1

    features: int = attrs.field(validator=[whole, at_least(1)])

    @property
    def point_shape(self) -> tuple[int, ...]:
        return (self.features,)

    @property
    def vc_dimension(self) -> int:
        """The largest m with binom(m, ⌊m/2⌋) <= 2d (Gey 2018). Proof: docs/proofs/concept_classes.md."""
        # binom(m, ⌊m/2⌋) grows with m, so the search ends at the first m that is too large.
        return next(m for m in count(2) if comb(m + 1, (m + 1) // 2) > 2 * self.features)

    def check_concepts(self, concepts: Any) -> np.ndarray:
        array = as_numbers(concepts, "a stump must be (feature, t, sign)", (3,)).astype(np.float64)
        feature, threshold, sign = np.moveaxis(array, -1, 0)
        good = np.isin(feature, np.arange(self.features)) & ~np.isnan(threshold) & (np.abs(sign) == 1)
        rule = f"a stump must have a feature from 0 to {self.features - 1}, a number t and a sign 1 or -1"
        check_each(good, array, rule)
        return array

    def dichotomies(self, points: Any) -> Dichotomies:
        """The labellings in the order of the concepts, each with its first concept."""
        row = self._check_row(points)
        self.check_growth(len(row))
        cuts = _Cuts.sort(row[None], np.zeros((1, len(row))), np.ones((1, len(row)), bool))
        places = np.flatnonzero(_first_labellings(cuts, row[None], np.ones((1, len(row)), bool))[0])
        concepts = cuts.concepts_at(np.zeros(len(places), np.intp), places)
        return Dichotomies(self._label(concepts[:, None], row[None]), concepts)

    def growth_bound(self, points: int) -> int:
        """m points have at most 2 constant labellings and 2(m - 1) others for each feature."""
        if points == 0:
            return 1
        return min(2 + 2 * self.features * (points - 1), 1 << min(points, _MANY))

    def draw_concept(self, rng: np.random.Generator) -> np.ndarray:
        """A uniform feature and sign, and t uniform between 1/4 and 3/4."""
        drawn = rng.integers(self.features), rng.uniform(0.25, 0.75), rng.choice([-1, 1])
        return np.array(drawn, np.float64)

    def _label(self, concepts: np.ndarray, points: np.ndarray) -> np.ndarray:
        feature, threshold, sign = np.moveaxis(concepts, -1, 0)
        lead = np.broadcast_shapes(feature.shape, points.shape[:-1])
        column = np.broadcast_to(feature.astype(np.intp), lead)[..., None]
        x = np.take_along_axis(np.broadcast_to(points, (*lead, self.features)), column, axis=-1)[..., 0]
        return np.asarray((x >= threshold) == (sign > 0))

    def _candidate_concepts(
        self, points: np.ndarray, signs: np.ndarray, present: np.ndarray
    ) -> CandidateConcepts:
        self.check_growth(points.shape[1])
        cuts = _Cuts.sort(points, signs, present)
        return CandidateConcepts(
            cuts.gains,
            _first_labellings(cuts, points, present),
            lambda which: cuts.concepts_at(np.arange(len(which)), which),
        )

    def _numbers_a_sample(self, size: int) -> int:
        return 2 * size * self.features

    def _minimise(self, points: np.ndarray, labels: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
        signs = apply_signs(labels, weights)
        cuts = _Cuts.sort(points, signs, signs != 0)
        # The first slot, all 0, gains 0, so that no other concept is chosen for a gain of 0.
        best = np.where(cuts.allowed, cuts.gains, 0).argmax(axis=1)
        return cuts.concepts_at(np.arange(len(points)), best)


@attrs.frozen(eq=False)
class _Cuts:
    """Slots for the concepts of b samples in order, k = 2 + 2·d·m: by feature, sign and sorted values t (b,
    d, m).

    allowed (b, k) bool: True if t is present, the first of equal values, and not the least value, for which
    the labelling is constant.
    """

    values: np.ndarray
    gains: np.ndarray
    allowed: np.ndarray

    @classmethod
    def sort(cls, points: np.ndarray, signs: np.ndarray, present: np.ndarray) -> _Cuts:
        samples, size, features = points.shape
        flat = (samples * features, size)
        ordered = SortedSamples.sort(
            points.transpose(0, 2, 1).reshape(flat),
            np.repeat(signs, features, axis=0),
            np.repeat(present, features, axis=0),
        )
        total = signs.sum(axis=1)[:, None]
        below, first = ordered.prefix_sums[:, :-1], ordered.first.copy()
        first[:, :1] = False
        gains = np.stack([ordered.suffix_sums, below], axis=1).reshape(samples, 2 * features * size)
        allowed = np.stack([first, first], axis=1).reshape(gains.shape)
        constant = np.ones((samples, 2), bool)
        return cls(
            ordered.points.reshape(samples, features, size),
            np.concatenate([np.zeros_like(total), total, gains], axis=1),
            np.concatenate([constant, allowed], axis=1),
        )

    def concepts_at(self, samples: np.ndarray, slots: np.ndarray) -> np.ndarray:
        _, features, size = self.values.shape
        concepts = np.ones((len(slots), 3))
        concepts[:, 0] = 0
        concepts[:, 1] = np.where(slots == 0, np.inf, -np.inf)
        cuts = np.flatnonzero(slots > 1)
        feature, direction, i = np.unravel_index(slots[cuts] - 2, (features, 2, max(1, size)))
        concepts[cuts, 0] = feature
        concepts[cuts, 1] = self.values[samples[cuts], feature, i]
        concepts[cuts, 2] = 1 - 2 * direction
        return concepts


def _first_labellings(cuts: _Cuts, points: np.ndarray, present: np.ndarray) -> np.ndarray:
    """(b, k) bool: whether an allowed slot labels the present points like no allowed one before it, by sums
    of two random words a point, which collide with chance 2^-128."""
    words = np.random.default_rng(0).integers(-(2**63), 2**63 - 1, (2, 1, points.shape[1]))
    sums = [_Cuts.sort(points, np.where(present, word, 0), present).gains for word in words]
    keys = np.stack([*sums, ~cuts.allowed])
    order = np.lexsort(keys, axis=-1)  # stable, so the first of equal labellings comes first
    changes = np.ones(order.shape, bool)
    ordered = np.take_along_axis(keys, order[None], axis=2)
    changes[:, 1:] = (ordered[:, :, 1:] != ordered[:, :, :-1]).any(axis=0)
    first = np.empty(order.shape, bool)
    np.put_along_axis(first, order, changes, axis=1)
    return cuts.allowed & first
