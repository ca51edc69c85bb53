"""Logistic regressions: of numbers, and of bins, which are counted."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize, stats

from audits.statistics.logistic import expit, fit_bins, fit_logistic, fit_ordered


def test_the_loss_is_the_least(rng: np.random.Generator) -> None:
    terms = rng.normal(size=(300, 3))
    times = rng.integers(1, 5, 300)
    ones = rng.binomial(times, expit(terms @ [1.0, -2.0, 0.0] + 0.5))

    def loss(weights: np.ndarray) -> float:
        margins = terms @ weights[:3] + weights[3]
        return float(times @ np.logaddexp(0, margins) - ones @ margins + (weights[:3] ** 2).sum() / 2)

    weights, constant = fit_logistic(terms, ones, times)
    assert np.append(weights, constant) == pytest.approx(optimize.minimize(loss, np.zeros(4)).x, abs=1e-3)


def test_worlds_that_are_apart_have_finite_weights() -> None:
    weights, constant = fit_logistic(np.array([[-1.0], [1.0]]), np.array([0, 50]), np.array([50, 50]))
    assert 2.0 < weights[0] < 10.0
    assert constant == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize("sizes", [(2, 3, 2), (40, 30)], ids=["a table", "counts"])
def test_bins_are_terms_of_their_own(sizes: tuple[int, ...], rng: np.random.Generator) -> None:
    bins = [rng.integers(size, size=500) for size in sizes]
    times = rng.integers(1, 4, 500)
    ones = rng.binomial(times, np.where(bins[0] == 0, 0.8, 0.4))
    rows = np.concatenate([np.eye(size)[own] for size, own in zip(sizes, bins, strict=True)], axis=1)
    tables = fit_bins(bins, sizes, ones, times)
    assert [len(table) for table in tables] == list(sizes)
    weights = np.concatenate(tables)
    chances = expit(rows @ weights)
    assert rows.T @ (ones - times * chances) == pytest.approx(weights, abs=2e-2)  # where the slope is 0


def test_probabilities_do_not_overflow() -> None:
    with np.errstate(over="raise", invalid="raise"):
        assert expit(np.array([-1e3, 0.0, 1e3])).tolist() == pytest.approx([0.0, 0.5, 1.0])


def test_log_odds_are_followed_into_both_tails() -> None:
    """Of normal numbers that differ by 1, from the expected counts of bins with more than 1,000 of 2 million
    games. Without squares of the tails, the outermost are wrong by 1."""
    edges = np.concatenate([[-np.inf], np.linspace(-5.0, 6.0, 56), [np.inf]])
    in_0, in_1 = 1e6 * np.diff(stats.norm.cdf(edges, [[0.0], [1.0]]), axis=1)
    found, exact = fit_ordered(in_1, in_0 + in_1), np.log(in_1 / in_0)
    often = in_0 + in_1 > 1_000
    assert np.ptp(exact[often]) > 6.0
    assert found[often] == pytest.approx(exact[often], abs=0.2)
