"""The checks of support.statistical have the rates and powers that they state; most of them are
enumerated."""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
from scipy import stats
from support.statistical import (
    SUITE_RATE,
    RateExceeded,
    Rejected,
    SampleTooSmall,
    check_cdf,
    check_counts,
    check_mean,
    expect_rejection,
    grant_rate,
    statistical,
    total_rate,
)

from arena.randomness import generator

HERE = pathlib.Path(__file__).parent
SMALL = {"rate": 1e-7, "power": 0.999999}


def accepts(check: object, *args: object, **options: object) -> bool:
    """Whether the check accepts these samples, which are not random."""
    with grant_rate(1.0):
        try:
            check(*args, **options)  # type: ignore[operator]
        except Rejected:
            return False
    return True


# --- the truth is accepted, and a small error is rejected ------------------------------------------------


@statistical(rate=3e-7)
def test_the_truth_is_accepted(rng: np.random.Generator) -> None:
    dice = np.bincount(rng.integers(0, 6, 400_000), minlength=6)
    check_counts(dice, np.full(6, 1 / 6), effect=0.01, **SMALL)
    check_cdf(rng.random(400_000), lambda x: x, effect=0.01, **SMALL)
    check_mean(rng.random(400_000), 0.5, bounds=(0, 1), effect=0.01, **SMALL)


@statistical(rate=1.1e-6)
def test_a_loaded_die_is_rejected(rng: np.random.Generator) -> None:
    loaded = np.bincount(rng.choice(6, 400_000, p=[1 / 6 + 0.01, 1 / 6 - 0.01, *[1 / 6] * 4]), minlength=6)
    with expect_rejection("cell "):
        check_counts(loaded, np.full(6, 1 / 6), effect=0.01, **SMALL)


@statistical(rate=1.1e-6)
def test_a_distribution_off_by_the_effect_is_rejected(rng: np.random.Generator) -> None:
    with expect_rejection("from the cdf"):
        check_cdf(rng.random(400_000) + 0.01, lambda x: np.clip(x, 0, 1), effect=0.01, **SMALL)


@statistical(rate=1.1e-6)
def test_a_mean_off_by_the_effect_is_rejected(rng: np.random.Generator) -> None:
    with expect_rejection("the mean of"):
        check_mean(rng.random(400_000) < 0.51, 0.5, bounds=(0, 1), effect=0.01, **SMALL)


# --- its rates and powers, enumerated -----------------------------------------------------------------------


@pytest.mark.parametrize("p", [0.02, 0.3, 0.5, 0.97])
def test_counts_keep_rate_and_power(p: float) -> None:
    size, rate, effect, power = 100, 0.05, 0.25, 0.9
    heads = np.arange(size + 1)
    options = {"rate": rate, "effect": effect, "power": power}
    kept = np.array([accepts(check_counts, [k, size - k], [p, 1 - p], **options) for k in heads])
    assert stats.binom.pmf(heads, size, p)[~kept].sum() <= rate
    for lie in (p - effect, p + effect, p - 2 * effect, p + 2 * effect):
        if 0 <= lie <= 1:
            assert stats.binom.pmf(heads, size, lie)[~kept].sum() >= power


@pytest.mark.thorough
def test_counts_of_three_cells_keep_the_rate_together() -> None:
    size, law, rate = 24, np.array([0.2, 0.3, 0.5]), 0.1
    wrong = 0.0
    for a in range(size + 1):
        for b in range(size + 1 - a):
            counts = [a, b, size - a - b]
            if not accepts(check_counts, counts, law, rate=rate, effect=0.5, power=0.5):
                wrong += stats.multinomial.pmf(counts, size, law)
    assert 0 < wrong <= rate


def test_means_keep_rate_and_power() -> None:
    size, rate, effect, power = 100, 0.05, 0.3, 0.9
    heads = np.arange(size + 1)
    options = {"bounds": (1, 3), "rate": rate, "effect": 2 * effect, "power": power}
    samples = [np.repeat([3.0, 1.0], [k, size - k]) for k in heads]
    kept = np.array([accepts(check_mean, sample, 2.0, **options) for sample in samples])
    assert stats.binom.pmf(heads, size, 0.5)[~kept].sum() <= rate
    assert stats.binom.pmf(heads, size, 0.5 + effect)[~kept].sum() >= power
    assert stats.binom.pmf(heads, size, 0.5 - effect)[~kept].sum() >= power


@pytest.mark.parametrize("size", [10, 1000])
@pytest.mark.parametrize("side", [-1, 1])
def test_the_distance_is_the_one_of_kolmogorov(size: int, side: int) -> None:
    rate = 0.05
    even = (np.arange(size) + 0.5) / size  # its distance to the uniform law is half a step
    limit = np.sqrt(np.log(2 / rate) / (2 * size))
    assert stats.kstwo.sf(limit, size) <= rate
    for extra, fine in ((-1e-9, True), (1e-9, False)):
        shifted = even + side * (limit - 0.5 / size + extra)
        options = {"rate": rate, "effect": 0.9, "power": 0.9}
        assert accepts(check_cdf, shifted, lambda x: np.clip(x, 0, 1), **options) == fine


def test_tiny_rates_are_kept() -> None:
    size, rate = 1_000_000, 1e-9
    for p in (1e-7, 1e-3, 0.5):
        options = {"rate": rate, "effect": 0.01, "power": 0.999}
        low, high = (
            int(dist(rate / 4 * 0.999, size, p)) for dist in (stats.binom.ppf, stats.binom.isf)
        )  # two cells, two sides
        assert accepts(check_counts, [low, size - low], [p, 1 - p], **options)
        assert accepts(check_counts, [high, size - high], [p, 1 - p], **options)
        assert not accepts(check_counts, [high + 1, size - high - 1], [p, 1 - p], **options)
        assert stats.binom.sf(high, size, p) <= rate / 4


# --- it refuses what it cannot promise ----------------------------------------------------------------------


def test_too_few_counts_are_refused_and_the_remedy_is_enough() -> None:
    with grant_rate(1.0), pytest.raises(SampleTooSmall, match=r"about [0-9,]+ would do") as refusal:
        check_counts([500, 500], [0.5, 0.5], effect=0.01, **SMALL)
    half = int(refusal.value.args[0].split("about ")[1].split()[0].replace(",", "")) // 2 + 1
    with grant_rate(1.0):
        check_counts([half, half], [0.5, 0.5], effect=0.01, **SMALL)


def test_too_few_samples_are_refused() -> None:
    samples = np.linspace(0, 1, 1000)
    for size, message in ((1_000, "1,000 samples miss the effect with probability"), (0, "0 samples")):
        with grant_rate(1.0), pytest.raises(SampleTooSmall, match=message):
            check_cdf(samples[:size], lambda x: x, effect=0.01, **SMALL)
        with grant_rate(1.0), pytest.raises(SampleTooSmall, match=message):
            check_mean(samples[:size], 0.5, bounds=(0, 1), effect=0.01, **SMALL)


def test_what_cannot_happen_is_rejected_at_once() -> None:
    assert accepts(check_counts, [5_000, 5_000, 0], [0.5, 0.5, 0], rate=1e-7, effect=0.2, power=0.99)
    assert not accepts(check_counts, [5_000, 4_999, 1], [0.5, 0.5, 0], rate=1e-7, effect=0.2, power=0.99)


def test_nan_and_samples_out_of_bounds_are_rejected() -> None:
    samples = np.linspace(0, 1, 10_000)
    samples[17] = np.nan
    options = {"rate": 1e-7, "effect": 0.2, "power": 0.99}
    assert not accepts(check_cdf, samples, lambda x: x, **options)
    assert not accepts(check_mean, samples, 0.5, bounds=(0, 1), **options)
    samples[17] = 1.1
    assert not accepts(check_mean, samples, 0.5, bounds=(0, 1), **options)


@pytest.mark.parametrize("law", [[0.5, 0.4], [1.5, -0.5], [0.5, 0.25, 0.25]])
def test_a_law_that_is_none_is_refused(law: list[float]) -> None:
    with grant_rate(1.0), pytest.raises(ValueError, match="is not a distribution on 2 cells"):
        check_counts([500, 500], law, rate=0.1, effect=0.3, power=0.9)


# --- who pays -----------------------------------------------------------------------------------------------


def test_a_check_outside_a_statistical_test_is_refused() -> None:
    with pytest.raises(RateExceeded, match="belongs in a test with @statistical"):
        check_counts([500, 500], [0.5, 0.5], rate=0.1, effect=0.3, power=0.9)


def test_a_test_cannot_spend_more_than_its_rate_and_gets_it_anew_each_time() -> None:
    @statistical(rate=0.2)
    def body(times: int) -> None:
        for _ in range(times):
            check_counts([500, 500], [0.5, 0.5], rate=0.1, effect=0.3, power=0.9)

    body(2)
    body(2)
    with pytest.raises(RateExceeded, match=r"granted a rate of 0\.2 and its checks have spent 0\.3"):
        body(3)


@contextmanager
def raises_from_rejected(message: str, match: str = "") -> Iterator[None]:
    with grant_rate(1.0), pytest.raises(AssertionError, match=message) as failure, expect_rejection(match):
        yield
    assert not isinstance(failure.value, Rejected)


def test_rejected_fails_where_the_lie_is_accepted_or_the_reason_is_another() -> None:
    options = {"rate": 0.01, "effect": 0.3, "power": 0.9}
    with raises_from_rejected("the check accepted a wrong distribution"):
        check_counts([500, 500], [0.5, 0.5], **options)
    with raises_from_rejected("rejected, but not for 'cell 7'", match="cell 7"):
        check_counts([1000, 0], [0.5, 0.5], **options)


def test_rejected_spends_the_chance_of_a_miss() -> None:
    with grant_rate(0.05), pytest.raises(RateExceeded), expect_rejection():
        check_counts([1000, 0], [0.5, 0.5], rate=0.01, effect=0.3, power=0.9)


# --- the suite ----------------------------------------------------------------------------------------------


def test_every_statistical_test_counts_towards_the_suite(request: pytest.FixtureRequest) -> None:
    own = [item for item in request.session.items if item.path == request.path]
    counted = [item for item in own if item.get_closest_marker("statistical")]
    rates = [item.get_closest_marker("statistical").kwargs["rate"] for item in counted]  # type: ignore[union-attr]
    assert total_rate(own) == pytest.approx(sum(rates))
    assert total_rate(request.session.items) <= SUITE_RATE


@pytest.mark.thorough
@pytest.mark.parametrize(("rate", "summary"), [(SUITE_RATE / 4, "4 passed"), (SUITE_RATE / 3, "1 failed")])
def test_a_suite_that_chance_would_fail_is_not_run(tmp_path: pathlib.Path, rate: float, summary: str) -> None:
    suite = tmp_path / "test_suite.py"
    suite.write_text(
        "import pytest\nfrom support.statistical import statistical\n"
        "@pytest.mark.parametrize('case', range(3))\n"
        f"@statistical(rate={rate})\ndef test_a(case, rng): rng.random()\n"
        f"@statistical(rate={rate})\ndef test_b(): pass\n"
    )
    command = [sys.executable, "-m", "pytest", "-p", "conftest", "-p", "no:cacheprovider", "-W", "error"]
    run = subprocess.run(
        [*command, str(suite)],
        capture_output=True,
        check=False,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE), str(HERE.parent)])},
    )
    assert re.search(f"=+ {summary} in ", run.stdout), run.stdout + run.stderr
    assert (run.returncode == 0) == ("passed" in summary)
    assert ("would fail by chance at a rate of 0.000133, more than 0.0001" in run.stdout) == (
        run.returncode != 0
    )


def test_a_generator_follows_from_the_name_of_its_test(rng: np.random.Generator) -> None:
    name = b"test_statistical.py::test_a_generator_follows_from_the_name_of_its_test"
    same = generator(np.random.SeedSequence(zlib.crc32(name)))
    assert rng.random() == same.random()
