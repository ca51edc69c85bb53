"""Laplace noise for batches of games: sampling, the Laplace mechanism, and the distribution function.

All numbers are floating point. The low bits of a *released* noisy number can reveal the true one (Mironov
2012); mechanisms that release only comparisons are far less exposed. Do not use this code on real people's
data.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from arena.errors import InvalidArgument
from arena.settings import at_least, check_value
from learners.mechanisms.parameter_checks import check_positive

_FAR = 1_000.0  # in scales; the probability of lying beyond is 0 in doubles


def laplace(rng: np.random.Generator, out: np.ndarray, scale: float = 1.0) -> np.ndarray:
    """Fill `out` with independent Laplace noise of mean 0 and return it.

    The absolute value of Laplace noise is exponential and its sign is a fair coin, so each number takes one
    exponential number and one random bit. This is faster than `Generator.laplace` (benchmarks/noise.py).

    Shapes: out is any C-contiguous float64 array, possibly empty.
    Units: scale is the mean absolute value, the b of Lap(b).
    Raises: InvalidArgument if the scale is not positive and finite, if `out` cannot be filled in place, or
    if the generator is MT19937, whose raw words have 32 bits and so give too few signs.
    """
    check_positive(scale=scale)
    if not (isinstance(out, np.ndarray) and out.dtype == np.float64 and out.flags.carray):
        raise InvalidArgument(
            "noise needs a C-contiguous, writeable float64 array",
            value=_describe(out),
            remedy="Draw into np.empty(shape) and copy from there.",
        )
    bits = rng.bit_generator
    if isinstance(bits, np.random.MT19937):
        raise InvalidArgument(
            "noise needs a generator of 64-bit words",
            value="MT19937",
            remedy="Use arena.randomness.generator.",
        )
    flat = out.reshape(-1)
    rng.standard_exponential(out=flat)
    # The sign bit of a random byte is a fair coin in either byte order; copysign makes no temporary array.
    signs = bits.random_raw((flat.size + 7) // 8).view(np.int8)
    np.copysign(flat, signs[: flat.size], out=flat)
    if scale != 1.0:
        flat *= scale
    return out


def laplace_mechanism(
    rng: np.random.Generator, values: Any, *, sensitivity: float, epsilon: float
) -> np.ndarray:
    """`values` plus Laplace noise of scale sensitivity/epsilon: (epsilon, 0)-DP.

    Definition 2.7 of Naor, Nissim, Stemmer, Yan (NeurIPS 2023), after Dwork, McSherry, Nissim, Smith (2006).

    Shapes: values has any shape; the result is a new float64 array of that shape. If several values of one
    game are released, sensitivity is the L1 distance between neighbours' vectors.
    Units: epsilon in nats; sensitivity in those of values.
    Raises: InvalidArgument if sensitivity or epsilon is not positive and finite.
    """
    check_positive(sensitivity=sensitivity, epsilon=epsilon)
    noise = laplace(rng, np.empty(np.shape(values)), sensitivity / epsilon)
    noise += values
    return noise


class NoisyValues:
    """Adds fresh Laplace noise to one value per game, in preallocated buffers.

    Results are in units of the noise: values/scale + Lap(1). Comparing them with thresholds in the same units
    saves one pass over the batch.
    """

    def __init__(self, games: int, rng: np.random.Generator, *, scale: float) -> None:
        """Raises: InvalidArgument if games is negative or scale is not positive and finite."""
        check_value("games", games, at_least(0))
        check_positive(scale=scale)
        self._rng = rng
        self._per_scale = 1 / scale
        self._noise = np.empty(games)
        self._noisy = np.empty(games)
        self.noise = self._noise  # the noise of the last draw, in units of its scale
        self._finite = np.empty(games, bool)

    def draw(self, values: Any) -> np.ndarray:
        """values/scale + Lap(1), (n,) float64, overwritten by the next call.

        Shapes: values is one number for all games or (n,).
        Raises: InvalidArgument if values has another shape or is not finite.
        """
        values = np.asarray(values)
        noisy = self._noisy
        if values.ndim and values.shape != noisy.shape:
            raise InvalidArgument(
                "a query has one value for all games or one per game",
                value=values.shape,
                remedy=f"Pass a number or an array of shape {noisy.shape}.",
            )
        np.multiply(values, self._per_scale, out=noisy)
        noisy += laplace(self._rng, self._noise)
        # Checking a sum of squares would also do, but BLAS waits for other threads if batches are large.
        if not np.isfinite(noisy, out=self._finite).all():
            raise InvalidArgument("the values of a query must be finite", value=values)
        return noisy


def laplace_cdf(x: np.ndarray) -> np.ndarray:
    """P[Lap(1) ≤ x] for x of any shape, with small relative error in the lower tail.

    The upper tail is laplace_cdf(-x).

    >>> laplace_cdf(np.array([0.0, -1000.0, 1000.0])).tolist()
    [0.5, 0.0, 1.0]
    """
    tail = np.exp(-np.abs(x)) / 2
    return np.where(x < 0, tail, 1 - tail)


def laplace_between(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """P[low ≤ Lap(1) ≤ high], 0 where high < low, with small relative error everywhere.

    Shapes: low and high broadcast; they may be infinite.
    """
    low = np.clip(low, -_FAR, _FAR)  # inf - inf would be NaN
    high = np.maximum(low, high)
    # An interval on one side of 0 is a difference of tails, computed as a product; one across 0 lacks both
    # tails.
    beside = -np.exp(-np.maximum(np.maximum(low, -high), 0)) * np.expm1(low - high) / 2
    across = -(np.expm1(-np.maximum(-low, 0)) + np.expm1(-np.maximum(high, 0))) / 2
    return np.where((low < 0) & (high > 0), across, beside)


def _describe(out: object) -> str:
    if not isinstance(out, np.ndarray):
        return type(out).__name__
    return f"{out.dtype} array of shape {out.shape} with strides {out.strides}"
