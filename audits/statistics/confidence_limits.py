"""Limits on a chance from a count: at one event, and at all events `score < threshold` at once.

At one event, k hits among n games give the Clopper-Pearson limits at one-sided level c,

    lower = Beta quantile of c at (k, n - k + 1),  0 if k = 0;
    upper = Beta quantile of 1 - c at (k + 1, n - k),  1 if k = n.

At all events at once. Let U_(1) <= ... <= U_(n) be n ordered uniform numbers and let

    l_i <= U_(i) <= u_i    for all i of a set I                                              (*)

hold with probability 1 - a. Any score is X = F^-1(U), F its distribution function and F^-1 its quantile
function, and F^-1(U) <= x if and only if U <= F(x). So if k of n scores are at most x, then U_(k) <= F(x) <
U_(k+1), and from (*)

    l_i <= F(x) <= u_j    for every i <= k and every j > k of I.

This holds for all x at once, jumps of F or not, and by passing to the limit for F(x-) and the number of
scores below x: the limits may be read at thresholds that the same scores suggested. The number of games must
not depend on the scores.

Which l and u. Those of Dvoretzky, Kiefer and Wolfowitz are equally wide everywhere, so that a chance of
0.001 drowns. Here each l_i and u_i has the same chance c of being wrong (U_(i) is Beta(i, n - i + 1)
distributed), which makes (*) Clopper-Pearson limits at level c at every count; this is the band of Berk and
Jones (1979) in the form of equal local levels. c is found so that (*) has its probability exactly, or a
hundredth more of a to spare: the number N(t) of uniforms up to t is a Poisson process given N(1) = n, its
constraints N(l_i) < i and N(u_i) >= i are met one after the other, and what is lost at each is added up (all
terms are positive, so that tiny a keep their digits).

I holds every i up to n = 4,000. Above, it holds about 4,000 of them, evenly spaced in arcsin sqrt(i / n) and
so in standard deviations, a quarter of one at n = 100,000, and where those begin to skip, in a tail, a
geometric sequence. (*) has its probability all the same; a limit between two indices is that of the next one
out.
"""

from __future__ import annotations

import math
from functools import lru_cache

import attrs
import numpy as np

from arena.errors import InvalidArgument

INDICES = 4_000
_SLACK = 0.01  # the share of the allowed error that may go unused
_SMALLEST = 1e-10  # below, rounding counts, and the union bound over indices loses little
_TRIM = 50.0  # minus the log of the Poisson tail that is left out
_DIRECT = 1 << 21  # multiplications from which a convolution is quicker by FFT


def clopper_pearson(counts: np.ndarray, pairs: int, level: float) -> tuple[np.ndarray, np.ndarray]:
    """The lower and upper limits, each at one-sided `level`, from counts (any shape) among `pairs` games.

    CountBounds need not be whole numbers, so that a limit that is expected can be asked for.
    """
    from scipy.special import betainccinv, betaincinv  # slow to import

    hits, misses = np.maximum(counts, 1e-9), np.maximum(np.subtract(pairs, counts), 1e-9)
    lower = np.where(np.equal(counts, 0), 0.0, betaincinv(hits, pairs - hits + 1, level))
    upper = np.where(np.equal(counts, pairs), 1.0, betainccinv(counts + 1, misses, level))
    return lower, upper


@attrs.frozen(eq=False)
class SimultaneousLimits:
    """Limits on the chances of all half-lines of scores of one world.

    Shapes: index (K,) int64, the set I, in order; lower and upper (K,), l and u. The set and the limits are
    the same seen from above: lower[j] = 1 - upper[-1 - j].
    """

    pairs: int
    index: np.ndarray
    lower: np.ndarray
    upper: np.ndarray

    def below(self, counts: np.ndarray) -> np.ndarray:
        """The lower limits on the chances of half-lines that hold `counts` scores."""
        return np.concatenate([[0.0], self.lower])[np.searchsorted(self.index, counts, side="right")]

    def above(self, counts: np.ndarray) -> np.ndarray:
        """The upper limits."""
        return np.concatenate([self.upper, [1.0]])[np.searchsorted(self.index, counts, side="right")]


@lru_cache(maxsize=64)
def simultaneous_limits(pairs: int, error: float) -> SimultaneousLimits:
    """The limits at all thresholds of one world, right together with probability at least 1 - error.

    The search for the level takes milliseconds for hundreds of pairs, about a second for a hundred thousand,
    ten for ten million; its result is kept.
    """
    if pairs < 1:
        raise InvalidArgument("limits need at least 1 pair", value=pairs)
    if not 0 < error < 1:
        raise InvalidArgument("error must lie between 0 and 1", value=error)
    index = _indices(pairs)
    return _at_level(pairs, index, _local_level(pairs, index, error))


def crossing_probability(limits: SimultaneousLimits) -> float:
    """The probability that n ordered uniform numbers leave the limits somewhere."""
    from scipy.special import gammaln, xlogy  # slow to import

    n, count = limits.pairs, len(limits.index)
    times = np.concatenate([limits.lower, limits.upper])
    is_floor = np.arange(2 * count) >= count
    state_at = np.concatenate([limits.index - 1, limits.index])
    order = np.argsort(times, kind="stable")
    law, lowest, now, lost = np.ones(1), 0, 0.0, 0.0
    end = xlogy(n, n) - n - gammaln(n + 1)
    for time, floor, state in zip(times[order], is_floor[order], state_at[order], strict=True):
        step, first = _poisson(n * (time - now))
        law, lowest, now = _convolve(law, step), lowest + first, float(time)
        law = law[: n + 1 - lowest]
        cut = max(state - lowest, 0) if floor else max(state - lowest + 1, 0)
        gone = law[:cut] if floor else law[cut:]
        if len(gone):
            left = n - lowest - np.arange(len(gone)) - (0 if floor else cut)
            rest = n * (1.0 - now)
            lost += float(gone @ np.exp(xlogy(left, rest) - rest - gammaln(left + 1) - end))
            law, lowest = (law[cut:], lowest + cut) if floor else (law[:cut], lowest)
        if not len(law):
            return 1.0
    return min(lost, 1.0)


def _indices(pairs: int) -> np.ndarray:
    if pairs <= INDICES:
        return np.arange(1, pairs + 1)
    even = pairs * np.sin(np.linspace(0, np.pi / 4, INDICES // 2 + 1)[1:]) ** 2
    tail = np.geomspace(1, pairs / 2, INDICES // 16)
    low = np.unique(np.maximum(1, np.round(np.concatenate([even, tail]))).astype(np.int64))
    return np.unique(np.concatenate([low, pairs + 1 - low]))


def _at_level(pairs: int, index: np.ndarray, level: float) -> SimultaneousLimits:
    lower, _ = clopper_pearson(index, pairs, level)
    _, upper = clopper_pearson(index - 1, pairs, level)
    return SimultaneousLimits(pairs, index, lower, upper)


def _local_level(pairs: int, index: np.ndarray, error: float) -> float:
    """The largest level, to within `_SLACK`, at which limits are left with probability `error` at most.

    By the secant method on the logarithms of level and probability, which are nearly in line.
    """
    least, most = error / (2 * len(index)), error / 2  # all indices apart, and one index alone
    if error < _SMALLEST:
        return least
    goal = math.log(error * (1 - _SLACK / 2))
    below, above = (math.log(least), -math.inf), (math.log(most), math.inf)
    guess = math.log(max(least, error / (2 + 4 * math.log(pairs))))
    for _ in range(40):
        reached = crossing_probability(_at_level(pairs, index, math.exp(guess)))
        if error * (1 - _SLACK) <= reached <= error:
            return math.exp(guess)
        found = (guess, math.log(max(reached, 1e-300)))
        below, above = (found, above) if found[1] < goal else (below, found)
        slope = 1.0
        if math.isfinite(below[1]) and math.isfinite(above[1]):
            slope = (above[1] - below[1]) / (above[0] - below[0])
        guess = found[0] + (goal - found[1]) / slope
        if not below[0] < guess < above[0]:
            guess = (below[0] + above[0]) / 2
        if above[0] - below[0] < 1e-12:
            break
    return math.exp(below[0])


def _poisson(mean: float) -> tuple[np.ndarray, int]:
    """The law of a Poisson number without its far tails, and the number at which it begins."""
    from scipy.special import gammaln, xlogy  # slow to import

    reach = _TRIM / 3 + math.sqrt((_TRIM / 3) ** 2 + 2 * _TRIM * mean)  # Bernstein's inequality
    numbers = np.arange(max(0, math.floor(mean - reach)), math.ceil(mean + reach) + 1)
    return np.exp(xlogy(numbers, mean) - mean - gammaln(numbers + 1)), int(numbers[0])


def _convolve(law: np.ndarray, step: np.ndarray) -> np.ndarray:
    if len(law) * len(step) <= _DIRECT:
        return np.convolve(law, step)
    from scipy.signal import oaconvolve  # slow to import

    return np.maximum(oaconvolve(law, step), 0.0)
