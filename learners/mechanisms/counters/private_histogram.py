"""A private histogram whose error is bounded with probability 1."""

from __future__ import annotations

import math
from typing import Any

import attrs
import numpy as np

from arena.errors import InvalidArgument
from learners.mechanisms.accounting.composition import Guarantee
from learners.mechanisms.parameter_checks import check_positive


@attrs.frozen(kw_only=True)
class HistogramNoise:
    """Laplace noise cut to [-reach, reach], and the threshold that noisy counts must pass.

    Theorem 2.6 of Li, Wang, Ye, after Aliakbarpour et al. (2024). A count of at least 1 gets noise; what is
    then at most reach + most becomes 0, as are the counts of all that does not occur. So noisy counts are
    never off by more than 2·reach + most, the `error`.

    scale: b, noise has a density proportional to exp(-|x|/b). reach: where it is cut.
    moved: by how much neighbours' counts differ in all: 2 where one element is replaced, 1 where one is added
    or removed. most: by how much they differ for one key.

    Units: scale, reach, most and error in counts.
    """

    scale: float
    reach: float
    moved: int = 2
    most: int = 1

    def __attrs_post_init__(self) -> None:
        check_positive(scale=self.scale, reach=self.reach)
        if not 1 <= self.most <= min(self.moved, self.reach):
            raise InvalidArgument(
                "one key moves by at least 1, and by no more than all that moves or than the noise reaches",
                value=self.most,
            )

    @classmethod
    def of(cls, *, epsilon: float, delta: float, moved: int = 2, most: int = 1) -> HistogramNoise:
        """The noise with the least reach that is (epsilon, delta)-DP: b = moved/ε.

        For a replaced element, reach = (2/ε) ln(1 + (exp(ε/2) - 1)/(2m)) where m = 1 - √(1 - δ), and the
        error is below 8 ln(8/δ)/ε for every ε ≤ 1. A reach below `most` is raised to it.

        Raises: InvalidArgument if a parameter is out of range.
        """
        check_positive(epsilon=epsilon)
        if not 0 < delta < 1:
            raise InvalidArgument("delta must be a probability between 0 and 1", value=delta)
        scale = moved / epsilon
        low, high = float(most), most + scale * (math.log(2 * moved / delta) + moved / scale + 1)
        for _ in range(200):
            middle = (low + high) / 2
            fine = cls(scale=scale, reach=middle, moved=moved, most=most).guarantee.delta <= delta
            low, high = (low, middle) if fine else (middle, high)
        return cls(scale=scale, reach=high, moved=moved, most=most)

    @property
    def threshold(self) -> float:
        """What a noisy count must exceed: no key that neighbours lack can."""
        return self.reach + self.most

    @property
    def error(self) -> float:
        """The most by which any count is off: that of one that fell just short of the threshold."""
        return self.threshold + self.reach

    @property
    def guarantee(self) -> Guarantee:
        """What it costs: ε = moved/b, and the exact δ at this ε for whole counts.

        Where both neighbours' counts are at least 1, a key whose counts differ by k has a likelihood ratio of
        at most exp(k/b), but for outcomes that only one of them can have: a mass of
        m_k = (exp(k/b) - 1)/(2 (exp(reach/b) - 1)). Where one count is 0 the other is at most `most`, and
        both show 0. Keys are independent, so δ = 1 - ∏ (1 - m_k); -ln(1 - m_k) is convex in k and 0 at 0, so
        it is largest where as few keys as possible differ: by `most` each, and one by the rest.
        """
        full, rest = divmod(self.moved, self.most)
        kept = full * math.log1p(-self._beyond(self.most)) + math.log1p(-self._beyond(rest))
        return Guarantee(self.moved / self.scale, -math.expm1(kept))

    def _beyond(self, k: int) -> float:
        """m_k: the mass of outcomes that a count k lower cannot have."""
        if self.reach / self.scale > 700:  # whose exponential is no double
            return 0.0
        return math.expm1(k / self.scale) / (2 * math.expm1(self.reach / self.scale))


def private_histogram(rng: np.random.Generator, counts: Any, noise: HistogramNoise) -> np.ndarray:
    """The noisy counts; 0 exactly where a count is 0. Each game (any leading axes) has its own keys.

    `noise.guarantee` is the (ε, δ) of one game's histogram. One number is drawn for each key that occurs.

    Shapes: counts (..., keys), whole numbers of at least 0; result the same, float64.
    Raises: InvalidArgument if a count is negative or no whole number.
    """
    counts = np.asarray(counts)
    if counts.dtype.kind not in "iu" or (counts < 0).any():
        raise InvalidArgument("counts are whole numbers of at least 0", value=counts.ravel()[:5].tolist())
    noisy = np.zeros(counts.shape)
    occurs = counts > 0
    noisy[occurs] = counts[occurs] + draw_truncated_laplace(rng, int(occurs.sum()), noise)
    noisy[noisy <= noise.threshold] = 0.0
    return noisy


def draw_truncated_laplace(rng: np.random.Generator, size: int, noise: HistogramNoise) -> np.ndarray:
    """(size,): independent Laplace noise given that it lies within ±reach."""
    sides = rng.random(size) * 2 - 1  # the sign, and where within the cut half the number lies
    inside = -np.log1p(np.abs(sides) * math.expm1(-noise.reach / noise.scale))
    return np.copysign(np.minimum(inside * noise.scale, noise.reach), sides)
