"""Laplace and Gaussian noise for batches of games, densities and quadrature, and random functions of points.

The low bits of a *released* floating-point number can reveal the true one (Mironov 2012). Do not use this
code on real people's data.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import lru_cache
from math import ceil
from typing import Any

import attrs
import numpy as np

from arena.errors import InvalidArgument
from arena.laws import Density
from arena.privacy_curves import gaussian_curves
from arena.settings import at_least, check_value, less_than
from learners.mechanisms.accounting import least_sufficient
from learners.mechanisms.parameter_checks import check_positive, check_probability

_FAR = 1_000.0  # in scales; the probability of lying beyond is 0 in doubles


def laplace(rng: np.random.Generator, out: np.ndarray, scale: float = 1.0) -> np.ndarray:
    """Fill `out` with independent Laplace noise of mean 0, scale b, and return it, faster than
    `Generator.laplace`.

    Raises: InvalidArgument also unless `out` is a C-contiguous float64 array, or for MT19937, whose raw words
    of 32 bits give too few signs.
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
    """`values` plus Laplace noise of scale sensitivity/epsilon: (epsilon, 0)-DP."""
    check_positive(sensitivity=sensitivity, epsilon=epsilon)
    noise = laplace(rng, np.empty(np.shape(values)), sensitivity / epsilon)
    noise += values
    return noise


class NoisyValues:
    """Adds fresh Laplace noise to one value per game, in preallocated buffers."""

    def __init__(self, games: int, rng: np.random.Generator, *, scale: float) -> None:
        check_value("games", games, at_least(0))
        check_positive(scale=scale)
        self._rng = rng
        self._per_scale = 1 / scale
        self._noise = np.empty(games)
        self._noisy = np.empty(games)
        self.noise = self._noise  # the noise of the last draw, in units of its scale
        self._finite = np.empty(games, bool)

    def draw(self, values: Any) -> np.ndarray:
        """values/scale + Lap(1), (n,) float64, overwritten by the next call; values: (n,), or one number.

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
    """P[Lap(1) ≤ x], with small relative error in the lower tail; the upper tail is laplace_cdf(-x).

    >>> laplace_cdf(np.array([0.0, -1000.0, 1000.0])).tolist()
    [0.5, 0.0, 1.0]
    """
    tail = np.exp(-np.abs(x)) / 2
    return np.where(x < 0, tail, 1 - tail)


def laplace_between(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """P[low ≤ Lap(1) ≤ high], 0 where high < low, with small relative error everywhere."""
    low = np.clip(low, -_FAR, _FAR)  # inf - inf would be NaN
    high = np.maximum(low, high)
    # An interval on one side of 0 is a difference of tails, computed as a product; one across 0 lacks both.
    beside = -np.exp(-np.maximum(np.maximum(low, -high), 0)) * np.expm1(low - high) / 2
    across = -(np.expm1(-np.maximum(-low, 0)) + np.expm1(-np.maximum(high, 0))) / 2
    return np.where((low < 0) & (high > 0), across, beside)


def discrete_laplace(rng: np.random.Generator, games: int, *, epsilon: float) -> np.ndarray:
    """(n,) whole numbers k with probabilities proportional to e^(-ε|k|): the noise of the geometric mechanism
    (Ghosh, Roughgarden, Sundararajan 2009)."""
    check_positive(epsilon=epsilon)
    first, second = rng.geometric(-np.expm1(-epsilon), size=(2, games))
    return np.asarray(first - second)


def discrete_laplace_tail(k: np.ndarray, *, epsilon: float) -> np.ndarray:
    """P[`discrete_laplace` ≥ k] for whole numbers, with small relative error where it is small.

    >>> discrete_laplace_tail(np.array([-1, 0, 1, 2]), epsilon=np.log(2)).round(9).tolist()
    [0.833333333, 0.666666667, 0.333333333, 0.166666667]
    """
    tail = np.exp(-epsilon * np.where(k > 0, k, 1 - k)) / (1 + np.exp(-epsilon))
    return np.where(k > 0, tail, 1 - tail)


def _describe(out: object) -> str:
    if not isinstance(out, np.ndarray):
        return type(out).__name__
    return f"{out.dtype} array of shape {out.shape} with strides {out.strides}"


def gaussian_delta(*, epsilon: float, sigma: float, sensitivity: float = 1.0) -> float:
    """The least delta, never 0, for which adding N(0, sigma²) to a number is (epsilon, delta)-DP."""
    check_positive(sigma=sigma, sensitivity=sensitivity)
    check_value("epsilon", epsilon, at_least(0), less_than(math.inf))
    return gaussian_curves.gaussian_delta(epsilon, sensitivity / sigma)


@lru_cache(maxsize=1_024)
def gaussian_sigma(*, epsilon: float, delta: float, sensitivity: float = 1.0) -> float:
    """The least standard deviation with which a noisy number is (epsilon, delta)-DP (Balle and Wang 2018)."""
    check_probability(delta=delta)
    return least_sufficient(
        lambda sigma: gaussian_delta(epsilon=epsilon, sigma=sigma, sensitivity=sensitivity) <= delta
    )


_MULTIPLIERS = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_WEYL = np.uint64(0x9E3779B9), np.uint64(0xBB67AE85)  # added to the key after every step
_STEPS = 10
_WORD, _LOW = np.uint64(32), np.uint64(2**32 - 1)
_DIGITS = 52  # of a number in (0, 1), so that its middle of a cell is exact


class RandomFunction:
    """Two uniform numbers for every point of each of n games: equal points of a game have equal numbers.

    Philox4x32-10 of Salmon, Moraes, Dror, Shaw (2011), with a random key for each game and the point as
    counter.
    """

    def __init__(self, games: int, rng: np.random.Generator) -> None:
        self._key = tuple(rng.integers(0, 2**32, (2, games, 1), dtype=np.uint64))

    def draw(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Two numbers in (0, 1), each (n, k), for points (n, k) or vectors (n, k, d)."""
        bits = point_bits(points)
        words: tuple[np.ndarray, ...] = (np.zeros((), np.uint64),) * 4
        for coordinate in np.moveaxis(bits, -1, 0):  # the words of one coordinate begin those of the next
            words = philox((coordinate & _LOW, coordinate >> _WORD, words[0], words[1]), self._key)
        return _uniform(words[0], words[1]), _uniform(words[2], words[3])


def point_bits(points: np.ndarray) -> np.ndarray:
    """(n, k, d) uint64: the bits of points (n, k) or (n, k, d) as float64, in which 0 and −0 are equal."""
    values = np.asarray(points, np.float64) + 0.0
    return (values if values.ndim == 3 else values[..., None]).view(np.uint64)


def philox(counter: Sequence[np.ndarray], key: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
    """Four words for four words of a counter and two of a key, all of 32 bits in arrays of uint64."""
    first, second, third, fourth = counter
    key_0, key_1 = key
    for _ in range(_STEPS):
        left, right = _MULTIPLIERS[0] * first, _MULTIPLIERS[1] * third
        first, second, third, fourth = (
            (right >> _WORD) ^ second ^ key_0,
            right & _LOW,
            (left >> _WORD) ^ fourth ^ key_1,
            left & _LOW,
        )
        key_0, key_1 = (key_0 + _WEYL[0]) & _LOW, (key_1 + _WEYL[1]) & _LOW
    return first, second, third, fourth


def _uniform(high: np.ndarray, low: np.ndarray) -> np.ndarray:
    digits = (high << np.uint64(_DIGITS - 32)) | (low >> np.uint64(64 - _DIGITS))
    return np.asarray((digits + 0.5) * 2.0**-_DIGITS)


REACH = 40.0  # in scales; the mass beyond is exp(-40), less than 1e-17
_ORDER = 12  # nodes per panel
_PANELS = 80  # on each side of 0, half a scale wide


def laplace_nodes(scale: float, kinks: Iterable[float] = ()) -> tuple[np.ndarray, np.ndarray]:
    """Nodes t (m,) and weights w (m,) such that the sum of w·f(t) is E f(Lap(scale)), to about 1e-15.

    kinks: where f or one of its derivatives jumps. Between kinks f must vary no faster than exp(t / scale).

    >>> t, w = laplace_nodes(2.0, [1.0])
    >>> round(float(w @ (t >= 1.0)), 12), round(float(np.exp(-0.5)) / 2, 12)
    (0.303265329856, 0.303265329856)
    """
    check_positive(scale=scale)
    even = scale * np.linspace(-REACH, REACH, 2 * _PANELS + 1)
    cuts = np.unique(np.concatenate([even, np.fromiter(kinks, float)]))
    cuts = cuts[np.abs(cuts) <= REACH * scale]
    points, masses = np.polynomial.legendre.leggauss(_ORDER)
    middle, half = (cuts[1:] + cuts[:-1]) / 2, np.diff(cuts) / 2
    nodes = middle[:, None] + half[:, None] * points
    weights = half[:, None] * masses * np.exp(-np.abs(nodes) / scale) / (2 * scale)
    return nodes.ravel(), weights.ravel()


_PER_PANEL = 12.0  # growth rate per scale at which a panel's Gauss rule has an error below 1e-17
_DEGREE = 12  # of a spline's pieces
_RISE = 1.5  # log growth of the function over one piece, at which the spline's error is below 1e-15


def laplace_log_pdf(u: np.ndarray) -> np.ndarray:
    """log f(u) of Lap(1)."""
    return -np.abs(u) - np.log(2)


def laplace_log_cdf(u: np.ndarray) -> np.ndarray:
    """log F(u) of Lap(1), finite everywhere."""
    tail = np.exp(-np.abs(u)) / 2
    return np.where(u < 0, u - np.log(2), np.log1p(-tail))


def laplace_density(location: float, scale: float) -> Density:
    def log(x: np.ndarray) -> np.ndarray:
        return laplace_log_pdf((x - location) / scale) - np.log(scale)

    reach = REACH * scale
    return Density(log=log, kinks=(location,), low=location - reach, high=location + reach, scale=scale)


def fine_laplace_nodes(scale: float, kinks: Iterable[float], rate: float) -> tuple[np.ndarray, np.ndarray]:
    """As `laplace_nodes`, for integrands that vary as fast as exp(rate · t) between kinks."""
    parts = ceil(scale * rate / _PER_PANEL)
    even = scale * np.linspace(-REACH, REACH, 4 * int(REACH) * parts + 1)
    return laplace_nodes(scale, np.concatenate([even, np.fromiter(kinks, float)]))


@attrs.frozen(eq=False)
class HiddenBelow:
    """G(x) = P(ρ ≤ x and v_j + Lap(b) < ρ for all j), with ρ ~ Lap(h): all hidden noisy values are below ρ.

    first, least: the first kink, left of which G is proportional to exp(rate · x), and G there. rate: 1/h +
    i/b for i values v_j. rise: the spline of G - least right of it, to 1e-14. total: G(∞).
    """

    first: float
    least: float
    rate: float
    rise: Any
    total: float

    @classmethod
    def of(cls, hidden: float, values: np.ndarray, scale: float) -> HiddenBelow:
        """hidden: h. scale: b. values (i,): the v_j."""
        from scipy.interpolate import PPoly  # slow to import, and games do not need it

        def density(t: np.ndarray) -> np.ndarray:
            logs = laplace_log_cdf((t - np.reshape(values, (-1, *[1] * t.ndim))) / scale).sum(axis=0)
            return np.exp(logs + laplace_log_pdf(t / hidden)) / hidden

        rate = 1 / hidden + len(values) / scale
        kinks = np.append(values, 0.0)
        first, last = kinks.min(), kinks.max() + REACH * hidden
        panels = ceil((last - first) * rate / _RISE)
        cuts = np.unique(np.concatenate([np.linspace(first, last, panels + 1), kinks]))
        widths = np.diff(cuts)
        at = (1 - np.cos(np.pi * (np.arange(_DEGREE + 1) + 0.5) / (_DEGREE + 1))) / 2
        powers = np.linalg.solve(np.vander(at), density(cuts[:-1] + widths * at[:, None]))
        powers /= widths ** np.arange(_DEGREE, -1, -1)[:, None]
        rise = PPoly(powers, cuts).antiderivative()
        least = float(density(first)) / rate
        return cls(first, least, rate, rise, least + float(rise(last)))

    def log(self, x: np.ndarray) -> np.ndarray:
        """log G(x), finite everywhere."""
        inside = np.clip(x, self.first, self.rise.x[-1])
        return np.log(self.least + self.rise(inside)) + self.rate * np.minimum(x - self.first, 0)
