"""Statistical tests with guaranteed error rates: they accept the truth and reject small errors.

Every check states the probability with which it may reject the truth (rate), the smallest error that it must
detect (effect), and the probability with which it must (power). These are guarantees for finite samples, not
approximations. A check whose sample is too small for them raises `SampleTooSmall`.

    @statistical(rate=2e-7)
    def test_coin(rng):
        heads = np.count_nonzero(rng.random(400_000) < 0.5)
        check_counts([heads, 400_000 - heads], [0.5, 0.5], rate=2e-7, effect=0.01, power=0.999999)

`@statistical` grants a rate to a test and the checks in it spend that rate. tests/conftest.py adds up the
rates of all collected tests: a suite that would fail by chance more often than `SUITE_RATE` is not run. A
test that a broken mechanism is caught wraps its check in `expect_rejection()`, which spends the probability
of a miss instead. Seeds are fixed: the fixture `rng` is seeded by the name of the test, so that nobody
chooses a seed.
"""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from typing import Any

import numpy as np
import pytest
from scipy import stats

SUITE_RATE = 1e-4
MARK = "statistical"


class Rejected(AssertionError):
    """The sample does not follow the stated distribution."""


class SampleTooSmall(Exception):
    """The sample is too small for the effect and the power of the check."""


class RateExceeded(Exception):
    """Checks spent a larger rate of false alarms than was granted."""


class _Allowance:
    def __init__(self, rate: float) -> None:
        self.rate = rate
        self.spent = 0.0
        self.expects_rejection = False

    def spend(self, *, rate: float, power: float) -> None:
        self.spent += 1 - power if self.expects_rejection else rate
        if self.spent > self.rate * (1 + 1e-9):
            raise RateExceeded(
                f"this test was granted a rate of {self.rate:g} and its checks have spent {self.spent:g}"
            )


_allowance: ContextVar[_Allowance | None] = ContextVar("allowance", default=None)


def statistical(*, rate: float) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Grant a test the probability `rate` of failing by chance, separately for each of its parameters."""

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)
        def run(*args: Any, **kwargs: Any) -> None:
            with grant_rate(rate):
                test(*args, **kwargs)

        marked: Callable[..., None] = getattr(pytest.mark, MARK)(rate=rate)(run)
        return marked

    return decorate


@contextlib.contextmanager
def grant_rate(rate: float) -> Iterator[None]:
    """Grant `rate` without counting it for the suite: only for samples that are not random."""
    token = _allowance.set(_Allowance(rate))
    try:
        yield
    finally:
        _allowance.reset(token)


@contextlib.contextmanager
def expect_rejection(match: str = "") -> Iterator[None]:
    """A context in which a check must reject with a message that contains `match`."""
    allowance = _current()
    allowance.expects_rejection = True
    try:
        yield
    except Rejected as verdict:
        if match not in str(verdict):
            raise AssertionError(f"rejected, but not for {match!r}: {verdict}") from verdict
    else:
        raise AssertionError("the check accepted a wrong distribution")
    finally:
        allowance.expects_rejection = False


def check_counts(
    observed: Sequence[int] | np.ndarray,
    probabilities: Sequence[float] | np.ndarray,
    *,
    rate: float,
    effect: float,
    power: float,
    names: Sequence[str] = (),
) -> None:
    """Check that counts of independent draws in m cells agree with the probabilities of the cells.

    Every cell gets an exact two-sided binomial test at rate/m. A distribution in which the probability of
    some cell is off by `effect` or more is rejected with probability at least `power`.

    Shapes: observed (m,) integers; probabilities (m,) of sum 1; names (m,) for the message.
    Raises: Rejected, SampleTooSmall; ValueError if the probabilities are invalid.
    """
    observed, law = np.asarray(observed), np.asarray(probabilities, dtype=float)
    if observed.shape != law.shape or law.min() < 0 or abs(law.sum() - 1) > 1e-9:
        raise ValueError(f"{law} is not a distribution on {observed.size} cells")
    size = int(observed.sum())
    _spend(rate=rate, power=power)
    _require(size, lambda n: _counts_power(law, n, rate=rate, effect=effect), power)
    low, high = _acceptance_region(law, size, rate=rate)
    excess = np.maximum(low - observed, observed - high)
    if excess.max() > 0:
        worst = int((excess / (high - low + 1)).argmax())
        raise Rejected(
            f"{names[worst] if names else f'cell {worst}'} occurred {observed[worst]:,} times in {size:,}, "
            f"outside {low[worst]:,.0f} to {high[worst]:,.0f} for a probability of {law[worst]:.6g} "
            f"(rate {rate:g})"
        )


@functools.lru_cache
def most_errors(trials: int, level: float, rate: float) -> int:
    """More errors have probability `rate` at most, where each trial errs with probability `level` at most."""
    return int(stats.binom.isf(rate, trials, level))


def check_errors(errors: int, trials: int, *, level: float, rate: float) -> None:
    """Reject more errors than `most_errors`, of all trials or of those so far."""
    if errors > most_errors(trials, level, rate):
        raise Rejected(f"{errors} errors in {trials} trials are too many for a rate of {level}")


def check_views(
    seen: Sequence[str] | np.ndarray, law: Mapping[str, float], *, rate: float, effect: float
) -> None:
    """Check as `check_counts` that strings follow a distribution, with power 1 - rate."""
    names, counts = np.unique(np.asarray(seen), return_counts=True)
    observed = dict(zip(names.tolist(), counts.tolist(), strict=True))
    cells = sorted({*law, *observed})
    check_counts(
        [observed.get(cell, 0) for cell in cells],
        [law.get(cell, 0.0) for cell in cells],
        names=cells,
        rate=rate,
        effect=effect,
        power=1 - rate,
    )


def check_cdf(
    samples: np.ndarray,
    cdf: Callable[[np.ndarray], np.ndarray],
    *,
    rate: float,
    effect: float,
    power: float,
) -> None:
    """Check that independent samples have the continuous distribution function `cdf`.

    Compares the Kolmogorov–Smirnov distance with the bound of Dvoretzky, Kiefer and Wolfowitz with Massart's
    constant. A distribution whose distribution function is off by `effect` or more somewhere is rejected with
    probability at least `power`, by Hoeffding's inequality at that place.

    Shapes: samples of any shape.
    Raises: Rejected, SampleTooSmall.
    """
    ordered = np.sort(samples, axis=None)
    size = ordered.size
    _spend(rate=rate, power=power)
    _require(size, lambda n: _deviation_power(_deviation(n, rate), n, effect=effect), power)
    expected = np.asarray(cdf(ordered))
    steps = np.arange(size + 1) / size
    distance = max(float((steps[1:] - expected).max()), float((expected - steps[:-1]).max()))
    if not distance <= _deviation(size, rate):
        raise Rejected(
            f"the distribution of {size:,} samples is {distance:.4g} from the cdf, more than "
            f"{_deviation(size, rate):.4g} (rate {rate:g})"
        )


def check_mean(
    samples: np.ndarray,
    mean: float,
    *,
    bounds: tuple[float, float],
    rate: float,
    effect: float,
    power: float,
) -> None:
    """Check that independent samples within `bounds` have this mean.

    Applies Hoeffding's inequality on both sides. A distribution within the bounds whose mean is off by
    `effect` or more is rejected with probability at least `power`.

    Shapes: samples of any shape.
    Raises: Rejected, also if a sample is out of bounds; SampleTooSmall.
    """
    samples = np.asarray(samples, dtype=float)
    low, high = bounds
    size, width = samples.size, high - low
    _spend(rate=rate, power=power)
    _require(size, lambda n: _deviation_power(_deviation(n, rate), n, effect=effect / width), power)
    if not (samples.min() >= low and samples.max() <= high):
        raise Rejected(f"samples reach from {samples.min():.6g} to {samples.max():.6g}, beyond {bounds}")
    error = abs(float(samples.mean()) - mean)
    if not error <= width * _deviation(size, rate):
        raise Rejected(
            f"the mean of {size:,} samples is {samples.mean():.6g}, more than "
            f"{width * _deviation(size, rate):.4g} from {mean:.6g} (rate {rate:g})"
        )


def total_rate(items: Iterable[pytest.Item]) -> float:
    """An upper bound on the probability that a test among `items` fails by chance."""
    return math.fsum(mark.kwargs["rate"] for item in items for mark in item.iter_markers(MARK))


def _current() -> _Allowance:
    allowance = _allowance.get()
    if allowance is None:
        raise RateExceeded("a statistical check belongs in a test with @statistical(rate=...)")
    return allowance


def _spend(*, rate: float, power: float) -> None:
    if not (0 < rate < 1 and 0 < power < 1):
        raise ValueError(f"rate and power must be probabilities, got {rate} and {power}")
    _current().spend(rate=rate, power=power)


def _require(size: int, power_at: Callable[[int], float], power: float) -> None:
    reached = power_at(size) if size else 0.0
    if reached >= power:
        return
    needed = max(size, 1)
    while power_at(needed) < power and needed < 1e12:
        needed += needed // 10 + 1
    raise SampleTooSmall(
        f"{size:,} samples miss the effect with probability {1 - reached:.3g}, more than {1 - power:.3g}; "
        f"about {needed:,} would do"
    )


def _acceptance_region(law: np.ndarray, size: int, *, rate: float) -> tuple[np.ndarray, np.ndarray]:
    tail = rate / law.size / 2
    return stats.binom.ppf(tail, size, law), stats.binom.isf(tail, size, law)


def _counts_power(law: np.ndarray, size: int, *, rate: float, effect: float) -> float:
    low, high = _acceptance_region(law, size, rate=rate)
    missed = [0.0]
    for wrong in (law - effect, law + effect):
        possible = (wrong >= 0) & (wrong <= 1)
        p, below, above = wrong[possible], low[possible], high[possible]
        missed.extend(stats.binom.cdf(above, size, p) - stats.binom.cdf(below - 1, size, p))
    return 1 - max(missed)


def _deviation(size: int, rate: float) -> float:
    # Both inequalities bound the probability of a deviation beyond t by 2·exp(-2·size·t²).
    return math.sqrt(math.log(2 / rate) / (2 * size))


def _deviation_power(accepted: float, size: int, *, effect: float) -> float:
    margin = effect - accepted
    return -math.expm1(-2 * size * margin**2) if margin > 0 else 0.0
