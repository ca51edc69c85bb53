"""Confidence limits on probabilities from counts: at one event, and at all events `score < t` at once.

Derivation: docs/proofs/confidence_limits.md.
"""

from __future__ import annotations

import math
from functools import lru_cache

import attrs
import numpy as np

from arena.settings import at_least, check_value, less_than, more_than
from audits.statistics.estimates import clopper_pearson

MAX_INDICES = 4_000  # order statistics that get limits of their own
_SLACK = 0.01  # the part of the allowed error that may go unused
_SMALLEST_ERROR = 1e-10  # below it rounding matters, and a union bound over the indices loses little
_TRIM = 50.0  # minus the logarithm of the Poisson tail that is left out
# The first guess of the level is a polynomial within these ranges: a search takes up to ten seconds, and
# checking one guess takes about one.
_FITTED_PAIRS, _FITTED_ERRORS = (20_000, 31_000_000), (0.0005, 0.05)
# Its coefficients, from benchmarks/local_levels.py: log(error / level) by powers of log10(pairs) - 6 (rows)
# and of log10(error) + 2.
_LOG_LOOKS = np.array(
    [
        [5.707803e00, -2.711788e-01, -6.095189e-02, -2.231104e-02, -5.696405e-03],
        [1.614997e-01, 1.043217e-02, 1.897984e-03, 2.523550e-04, -1.735180e-05],
        [-2.637222e-02, 3.636607e-04, 3.159923e-05, 3.363885e-05, 1.060096e-05],
        [5.429875e-03, -4.194862e-04, -5.378548e-05, -1.251244e-05, -1.308817e-06],
    ]
)
_LARGE = 64  # from which on the remainder of three terms of Stirling's series is below 1e-15
_MAX_DIRECT = 1 << 21  # multiplications above which a convolution is faster by FFT


@attrs.frozen(eq=False)
class SimultaneousLimits:
    """Limits on the probabilities of all half-lines of scores of one world.
    Shapes: index (K,), the set I, increasing; lower and upper (K,), l and u, lower[j] = 1 − upper[−1 − j]."""

    pairs: int
    index: np.ndarray
    lower: np.ndarray
    upper: np.ndarray

    def below(self, counts: np.ndarray) -> np.ndarray:
        """The lower limits on the probabilities of half-lines that contain `counts` scores."""
        return np.concatenate([[0.0], self.lower])[np.searchsorted(self.index, counts, side="right")]

    def above(self, counts: np.ndarray) -> np.ndarray:
        """The upper limits on the probabilities of half-lines that contain `counts` scores."""
        return np.concatenate([self.upper, [1.0]])[np.searchsorted(self.index, counts, side="right")]


@lru_cache(maxsize=64)
def simultaneous_limits(pairs: int, error: float) -> SimultaneousLimits:
    """The limits at all thresholds of one world, which hold together with probability at least 1 − error.
    Source: Berk and Jones (1979), with equal local levels. Raises: InvalidArgument."""
    check_value("pairs", pairs, at_least(1))
    check_value("error", error, more_than(0), less_than(1))
    index = _choose_indices(pairs)
    return _limits_at_level(pairs, index, _find_local_level(pairs, index, error))


def crossing_probability(limits: SimultaneousLimits) -> float:
    """The probability that `limits.pairs` ordered uniform random numbers leave the limits somewhere."""
    mirrored = SimultaneousLimits(
        limits.pairs,
        limits.pairs + 1 - limits.index[::-1],
        1.0 - limits.upper[::-1],
        1.0 - limits.lower[::-1],
    )
    lost, law, lowest = _go_halfway(limits)
    other, lowest_other = law, lowest
    symmetric = np.array_equal(limits.index, mirrored.index)
    if not (symmetric and np.allclose(limits.lower, mirrored.lower, rtol=0.0, atol=1e-12)):
        _, other, lowest_other = _go_halfway(mirrored)
    if not (len(law) and len(other)):
        return 1.0
    # Those that are within the limits up to 1/2 and leave them after it, which from above is before it.
    beyond = limits.pairs - lowest - np.arange(len(law))
    place = beyond - lowest_other
    inside = np.where((place >= 0) & (place < len(other)), other[place.clip(0, len(other) - 1)], 0.0)
    leaving = np.maximum(np.exp(_log_poisson(beyond, limits.pairs / 2)) - inside, 0.0)
    return min(lost + float(law @ leaving) / math.exp(_log_poisson(limits.pairs, limits.pairs)), 1.0)


def _go_halfway(limits: SimultaneousLimits) -> tuple[float, np.ndarray, int]:
    """The probability that the limits are left up to 1/2, and the law of the numbers up to 1/2 of a Poisson
    process that stays within them: probabilities (k,), and the smallest number that has one."""
    n, count = limits.pairs, len(limits.index)
    times = np.concatenate([limits.lower, limits.upper])
    is_floor = np.arange(2 * count) >= count
    state_at = np.concatenate([limits.index - 1, limits.index])
    order = np.argsort(times, kind="stable")
    order = order[times[order] <= 0.5]
    law, lowest, now, lost = np.ones(1), 0, 0.0, 0.0
    end = _log_poisson(n, n)
    for time, floor, state in zip(times[order], is_floor[order], state_at[order], strict=True):
        step, first = _poisson_masses(n * (time - now))
        law, lowest, now = _convolve(law, step), lowest + first, float(time)
        law = law[: n + 1 - lowest]
        cut = max(state - lowest, 0) if floor else max(state - lowest + 1, 0)
        gone = law[:cut] if floor else law[cut:]
        if len(gone):
            left = n - lowest - np.arange(len(gone)) - (0 if floor else cut)
            lost += float(gone @ np.exp(_log_poisson(left, n * (1.0 - now)) - end))
            law, lowest = (law[cut:], lowest + cut) if floor else (law[:cut], lowest)
        if not len(law):
            return 1.0, law, lowest
    step, first = _poisson_masses(n * (0.5 - now))
    return lost, _convolve(law, step)[: n + 1 - lowest - first], lowest + first


def _log_poisson(numbers: np.ndarray | int, mean: float) -> np.ndarray:
    """The logarithms of Poisson probabilities, to 12 digits of the probabilities. Source: Loader (2000)."""
    from scipy.special import gammaln, xlogy  # slow to import

    k, inverse = np.asarray(numbers, float), 1.0 / np.maximum(numbers, 1.0)
    excess = np.maximum(k, 1.0) / max(mean, 1e-300) - 1.0
    deviance = mean * ((1.0 + excess) * np.log1p(excess) - excess)
    stirling = inverse / 12 - inverse**3 / 360 + inverse**5 / 1260
    large = np.log(inverse / (2 * math.pi)) / 2 - stirling - deviance
    return np.where(k < _LARGE, xlogy(k, mean) - mean - gammaln(k + 1.0), large)


def _choose_indices(pairs: int) -> np.ndarray:
    """The set I: every index up to 4,000 pairs, and about 4,000 indices of more."""
    if pairs <= MAX_INDICES:
        return np.arange(1, pairs + 1)
    even = pairs * np.sin(np.linspace(0, np.pi / 4, MAX_INDICES // 2 + 1)[1:]) ** 2
    tail = np.geomspace(1, pairs / 2, MAX_INDICES // 16)
    low = np.unique(np.maximum(1, np.round(np.concatenate([even, tail]))).astype(np.int64))
    return np.unique(np.concatenate([low, pairs + 1 - low]))


def _limits_at_level(pairs: int, index: np.ndarray, level: float) -> SimultaneousLimits:
    lower, _ = clopper_pearson(index, pairs, level)
    _, upper = clopper_pearson(index - 1, pairs, level)
    return SimultaneousLimits(pairs, index, lower, upper)


def _guess_local_level(pairs: int, error: float) -> float:
    """A level for so many pairs at which the limits are left with a probability of about `error`."""
    fewest, most = _FITTED_PAIRS
    least, largest = _FITTED_ERRORS
    if fewest <= pairs <= most and least <= error <= largest:
        place = math.log10(pairs) - 6, math.log10(error) + 2
        return error * math.exp(-float(np.polynomial.polynomial.polyval2d(*place, _LOG_LOOKS)))
    return error / (2 + 4 * math.log(pairs))


def _find_local_level(pairs: int, index: np.ndarray, error: float) -> float:
    """The largest level, to within `_SLACK`, with a crossing probability of at most `error`, by secants."""
    smallest, largest = error / (2 * len(index)), error / 2  # a union bound, and a single index
    if error < _SMALLEST_ERROR:
        return smallest
    goal = math.log(error * (1 - _SLACK / 2))
    below, above = (math.log(smallest), -math.inf), (math.log(largest), math.inf)
    guess = math.log(max(smallest, _guess_local_level(pairs, error)))
    for _ in range(40):
        reached = crossing_probability(_limits_at_level(pairs, index, math.exp(guess)))
        if error * (1 - _SLACK) <= reached <= error:
            return math.exp(guess)
        point = (guess, math.log(max(reached, 1e-300)))
        below, above = (point, above) if point[1] < goal else (below, point)
        slope = 1.0
        if math.isfinite(below[1]) and math.isfinite(above[1]):
            slope = (above[1] - below[1]) / (above[0] - below[0])
        guess = point[0] + (goal - point[1]) / slope
        if not below[0] < guess < above[0]:
            guess = (below[0] + above[0]) / 2
        if above[0] - below[0] < 1e-12:
            break
    return math.exp(below[0])


def _poisson_masses(mean: float) -> tuple[np.ndarray, int]:
    """The probabilities of a Poisson number without its far tails, and the number of the first of them."""
    reach = _TRIM / 3 + math.sqrt((_TRIM / 3) ** 2 + 2 * _TRIM * mean)  # Bernstein's inequality
    numbers = np.arange(max(0, math.floor(mean - reach)), math.ceil(mean + reach) + 1)
    masses = np.exp(_log_poisson(numbers, mean))
    return masses / masses.sum(), int(numbers[0])


def _convolve(law: np.ndarray, step: np.ndarray) -> np.ndarray:
    """The convolution of two laws; of long ones by overlap-add, since importing SciPy's takes a second."""
    if len(law) * len(step) <= _MAX_DIRECT:
        return np.convolve(law, step)
    size = 1 << (4 * len(step)).bit_length()  # of the Fourier transforms
    part, over = size - len(step) + 1, len(step) - 1
    parts = np.pad(law, (0, -len(law) % part)).reshape(-1, part)
    found = np.fft.irfft(np.fft.rfft(parts, size) * np.fft.rfft(step, size), size)
    total = np.zeros((len(parts) + 1, part))
    total[:-1] += found[:, :part]
    total[1:, :over] += found[:, part:]
    return np.maximum(total.reshape(-1)[: len(law) + over], 0.0)
