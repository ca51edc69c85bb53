"""What the mechanisms and their accounting refuse: a row for each function and kind of argument."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.laws.mechanism_laws import ABOVE, BETWEEN

from arena.errors import BudgetExceeded, InvalidArgument
from arena.randomness import generator
from learners.mechanisms import accounting, exponential_experts, lazy_experts
from learners.mechanisms.counters import (
    BinaryCounter,
    HistogramNoise,
    binary_counter_error,
    private_histogram,
)
from learners.mechanisms.noise import NoisyValues, gaussian_delta, gaussian_sigma, laplace, laplace_nodes
from learners.mechanisms.selection import EMCover, cover_epsilon, exponential_mechanism, largest_cover_rate
from learners.mechanisms.sparse_vector import (
    AboveThreshold,
    BetweenThresholds,
    RunningSum,
    delta_of_gap,
    gap_of_delta,
    running_sum_error,
)
from learners.mechanisms.steady_thresholds import SteadyThresholds, steady_thresholds_cost

RNG = generator(np.random.SeedSequence(1))
STEADY: dict[str, Any] = {"lower": 0.3, "upper": 0.6, "epsilon": 0.2, "size": 50, "halts": 1}
NOISE = HistogramNoise.calibrate(epsilon=1.0, delta=0.05)


def above(**change: Any) -> AboveThreshold:
    return AboveThreshold(rng=RNG, **{"games": 2, **ABOVE, **change})


def between(**change: Any) -> BetweenThresholds:
    return BetweenThresholds(rng=RNG, **{"games": 2, **BETWEEN, **change})


def steady(**change: Any) -> SteadyThresholds:
    return SteadyThresholds(3, RNG, **STEADY | change)


def choose(scores: Any, **options: Any) -> np.ndarray:
    return exponential_mechanism(RNG, np.array(scores), **{"epsilon": 1.0, "sensitivity": 1.0, **options})


def cover(**change: Any) -> EMCover:
    given = {"weights": np.ones((2, 1)), "rate": 1.0, **change}
    return EMCover(np.ones((2, 1)), given["weights"], np.full((1, 1), 0.5), rate=given["rate"])


def running_sum(**change: Any) -> RunningSum:
    return RunningSum(2, RNG, **{"thresholds": 1.0, "epsilon": 1.0, **change})


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: above(threshold=np.nan), "threshold must be finite, got nan"),
        (lambda: above(sensitivity=0), "sensitivity must be positive and finite, got 0"),
        (lambda: above(halts=2.0), "halts must be an integer, got 2.0"),
        (lambda: above(games=-1), "games must be at least 0, got -1"),
        (lambda: between(lower=0.6), "lower must be less than upper, both finite"),
        (lambda: between(upper=np.inf), "lower must be less than upper, both finite"),
        (lambda: between(size=0), "size must be positive and finite, got 0"),
        (lambda: between(halts=True), "halts must be an integer, got True"),
        (lambda: gap_of_delta(epsilon=1.5, delta=0.1, size=10), r"Lemma C\.3 needs an epsilon of at most 1"),
        (lambda: gap_of_delta(epsilon=1, delta=np.nan, size=10), "delta must be a probability between 0 and"),
        (lambda: delta_of_gap(epsilon=1.5, gap=0.1, size=10), r"Lemma C\.3 needs an epsilon of at most 1"),
        (lambda: delta_of_gap(epsilon=1, gap=0, size=10), "gap must be positive and finite"),
        (lambda: running_sum(epsilon=0), "epsilon must be positive and finite, got 0"),
        (lambda: running_sum(thresholds=np.inf), "thresholds must be finite, got inf"),
        (lambda: running_sum().observe([0.5, 1.5]), r"summed values must lie in \[0, 1\]"),
        (lambda: running_sum_error(10, 0, epsilon=1.0), "beta must be more than 0, got 0"),
        (lambda: steady(upper=0.5), "upper"),
        (lambda: steady(halts=0), "halts must be positive and finite, got 0"),
        (lambda: steady().respond(np.zeros((2, 1))), "values must have shape"),
        (lambda: steady().respond(np.full((3, 1), np.nan)), "must be finite"),
        (lambda: steady_thresholds_cost(1, 0.1, gap=0, slack=0.1), "gap"),
        (lambda: steady_thresholds_cost(1, 0.1, gap=9.0, slack=1), "slack"),
        (lambda: accounting.basic_composition(0, 0.1), "k must be at least 1, got 0"),
        (lambda: accounting.compose_advanced(True, 0.1, slack=0.1), "k must be an integer, got True"),
        (lambda: accounting.basic_composition(2, -0.1), "epsilon must be at least 0, got -0.1"),
        (lambda: accounting.label_boost_guarantee(np.nan), "epsilon must be at least 0, got nan"),
        (lambda: accounting.compose_advanced(2, 0.1, slack=0), "slack must be more than 0, got 0"),
        (lambda: accounting.best_composition(2, 0.1, slack=1.5), "slack must be at most 1, got 1.5"),
        (lambda: accounting.optimal_composition(2, 0.1, slack=1), "slack must be less than 1, got 1"),
        (lambda: accounting.zcdp_guarantee(0.0, slack=0.1), "rho must be positive and finite, got 0.0"),
        (lambda: accounting.amplify_by_subsampling(0.1, rate=1.01), "rate must be at most 1, got 1.01"),
        (lambda: accounting.bbl_subsampling_rate(0), "epsilon must be positive and finite, got 0"),
        (lambda: accounting.renyi_composition(-1, 1.0, slack=0), "draws must be at least 0, got -1"),
        (
            lambda: accounting.largest_affordable(lambda x: 1.0, 0.0),
            "every positive number exceeds",
        ),
        (lambda: accounting.largest_affordable(lambda x: 0.0, 1.0), "no positive number exceeds the budget"),
        (lambda: exponential_experts.largest_rate(1, epsilon=1, delta=0), "rounds must be at least 2"),
        (lambda: lazy_experts.largest_rate(1, epsilon=1, delta=0), "a single round costs nothing"),
        (lambda: BinaryCounter((1,), RNG, horizon=0, epsilon=1), "horizon must be at least 1, got 0"),
        (lambda: BinaryCounter((1,), RNG, horizon=1, epsilon=1).add(np.nan), r"must lie in \[0, 1\]"),
        (lambda: binary_counter_error(10, 0, epsilon=1), "beta must be a probability between 0 and 1, got 0"),
        (lambda: HistogramNoise.calibrate(epsilon=1, delta=0), "delta must be a probability between 0 and 1"),
        (
            lambda: HistogramNoise(scale=1.0, reach=3.0, sensitivity=2, key_sensitivity=3),
            "key_sensitivity must be at least 1 and at most",
        ),
        (lambda: private_histogram(RNG, [-1], NOISE), "counts must be integers ≥ 0"),
        (lambda: choose(np.zeros((2, 2)), allowed=np.eye(2) > 1), "needs an allowed option, got 'none in 2"),
        (lambda: choose(np.zeros((3, 0))), r"scores must have shape \(games, options\), options ≥ 1"),
        (
            lambda: choose(np.zeros((3, 2)), allowed=np.ones((3, 2), int)),
            "must hold one bool per score",
        ),
        (lambda: choose([[1e11, 0.0]]), r"allowed scores must be finite and at most 2\^32"),
        (lambda: choose([[0.0]], sensitivity=np.nan), "sensitivity must be positive and finite"),
        (lambda: cover(rate=0.0), "rate must be positive and finite, got 0.0"),
        (lambda: cover(weights=np.ones(2)), "shapes must be"),
        (lambda: cover().choose(np.zeros((1, 2))), r"scores must have shape \(1, 1, 1\), got \(1, 2\)"),
        (lambda: cover_epsilon(0.1, 1.0, rounds=0), "rounds must be at least 1, got 0"),
        (lambda: largest_cover_rate(2, epsilon=1.0, delta=1.0), "delta must be less than 1, got 1"),
        (lambda: gaussian_delta(epsilon=np.inf, sigma=1.0), "epsilon must be less than inf, got inf"),
        (lambda: gaussian_sigma(epsilon=1.0, delta=1.0), "delta must be a probability between 0 and 1"),
        (lambda: laplace_nodes(0.0), r"scale must be positive and finite, got 0\.0"),
        (lambda: laplace(RNG, np.empty(3), np.nan), "scale must be positive and finite"),
        (lambda: laplace(RNG, np.empty((4, 6))[:, ::2]), "C-contiguous, writeable float64 array"),
        (lambda: laplace(RNG, np.frombuffer(bytes(64))), "C-contiguous, writeable float64 array"),
        (lambda: laplace(RNG, np.empty(8, np.float32)), "C-contiguous, writeable float64 array"),
        (lambda: laplace(np.random.Generator(np.random.MT19937(1)), np.empty(8)), "64-bit words, got 'MT199"),
        (lambda: NoisyValues(4, RNG, scale=1).draw(np.zeros(3)), r"one per game, got .* of shape \(4,\)"),
        (lambda: NoisyValues(4, RNG, scale=1).draw(np.inf), "values of a query must be finite"),
    ],
)
def test_arguments_out_of_range_are_refused(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        call()


def test_nothing_is_given_beyond_a_horizon_or_all_rounds() -> None:
    counter, rounds = BinaryCounter((2,), RNG, horizon=1, epsilon=1), cover()
    counter.add(1)
    rounds.choose(rounds.sums)
    with pytest.raises(BudgetExceeded, match="the counter has published all 1 counts; set a larger horizon"):
        counter.add(1)
    with pytest.raises(InvalidArgument, match="all rounds or all sets of this cover are used up, got 1"):
        rounds.choose(np.zeros((1, 1, 1)))
