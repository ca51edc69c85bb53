"""Measurements of theorems: kept on disk, and powers with limits that hold."""

from __future__ import annotations

import importlib
import linecache
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks.theorems import measurement
from benchmarks.theorems.measurement import Mean, fit_power, measure_cases

CASES = [{"scale": 1.0}, {"scale": 10.0}]


def measure_sum(seed: int, scale: float) -> tuple[float, float]:
    with (measurement.KEPT / "calls").open("a") as file:
        print(seed, scale, file=file)
    return scale + seed, scale * seed


def count_calls() -> int:
    path = measurement.KEPT / "calls"
    return len(path.read_text().splitlines()) if path.exists() else 0


def test_what_was_measured_is_not_measured_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measurement, "KEPT", tmp_path)
    found = measure_cases(measure_sum, CASES, 3, jobs=1)
    np.testing.assert_array_equal(found[1], [[10, 0], [11, 10], [12, 20]])
    assert count_calls() == 6
    (kept,) = tmp_path.glob("*.jsonl")
    kept.write_text(kept.read_text()[:-5])  # killed while it wrote
    np.testing.assert_array_equal(measure_cases(measure_sum, CASES, 3, jobs=1), found)
    assert count_calls() == 7
    np.testing.assert_array_equal(measure_cases(measure_sum, CASES, 4, jobs=1)[:, :3], found)
    assert count_calls() == 9


def test_a_change_of_the_code_that_measures_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(measurement, "KEPT", tmp_path / "kept")

    def found(factor: int, title: str) -> float:
        (tmp_path / "own_figure.py").write_text(
            f"FACTOR = {factor}\n\ndef measure(seed):\n    return [scale(seed)]\n\n"
            f'def scale(seed):\n    """By {title}."""\n    return FACTOR * (seed + 1)\n\n'
            f"def draw():\n    return {title!r}\n"
        )
        sys.modules.pop("own_figure", None)
        importlib.invalidate_caches()
        linecache.checkcache()
        return float(measure_cases(importlib.import_module("own_figure").measure, [{}], 1, jobs=1)[0, 0, 0])

    assert [found(2, "one"), found(2, "another"), found(345, "one")] == [2, 2, 345]
    (kept,) = (tmp_path / "kept").glob("*.jsonl")
    assert len([line for line in kept.read_text().splitlines() if line]) == 2


@pytest.mark.thorough
def test_the_limits_of_a_power_contain_it() -> None:
    """In at least 93 % of 1,000 fits; at 95 % fewer than 93 % have a chance of 0.3 %."""
    rng, x = np.random.default_rng(0), np.array([10.0, 20.0, 40.0, 80.0])
    fits = [fit_power(x, (3 * x**-0.5)[:, None] * rng.gamma(4, 0.25, (4, 40))) for _ in range(1_000)]
    assert np.mean([fit.lower <= -0.5 <= fit.upper for fit in fits]) >= 0.93
    assert np.mean([fit.lower <= -0.3 <= fit.upper for fit in fits]) < 0.1


def test_what_is_no_power_has_wide_limits() -> None:
    x = np.array([1.0, 10.0, 100.0, 1_000.0])
    bent = np.repeat(np.log(x + 1)[:, None], 5, axis=1) * np.linspace(0.99, 1.01, 5)
    fit = fit_power(x, bent)
    assert fit.upper - fit.lower > 0.2


@pytest.mark.parametrize("means", [[1.0, 2.0], [1.0, -2.0, 4.0]])
def test_a_power_needs_three_positive_means(means: list[float]) -> None:
    with pytest.raises(ValueError, match="three positive means"):
        fit_power(range(1, len(means) + 1), np.array(means)[:, None] + [[-0.1, 0.1]])


def test_the_limits_of_a_mean_are_students() -> None:
    mean = Mean.of(np.array([1.0, 2.0, 3.0]))
    assert (mean.value, mean.lower, mean.upper) == pytest.approx((2.0, -0.4841, 4.4841), abs=1e-4)
    assert Mean.of(np.array([2.0, 2.0])).lower == 2.0
