"""Poisoning: doses, errors by rounds, and that fresh points are not poisoned; limits of medians."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from support.statistical import check_mean, expect_rejection, statistical

from audits.api.race import build_predictor, find_entrants
from benchmarks.papers.limits import MedianAndMean, Proportion
from benchmarks.papers.poison import measure_errors, plan_poisoning
from learners.everlasting.paper_versions import EverlastingFresh, EverlastingV2

SIZES: dict[str, Any] = {
    "teachers": 31,
    "chunk": 40,
    "rate": 1.0,
    "training_rate": 1.0,
    "noise": 1.0,
    "answers": None,
    "alpha_1": 0.05,
}


@pytest.mark.thorough
def test_chosen_queries_move_the_next_round_of_v2_only() -> None:
    learners = [("v2", EverlastingV2(**SIZES)), ("fresh", EverlastingFresh(**SIZES))]
    doses = {"aims": ("crowd", "repeat"), "fractions": (0.0, 0.9)}
    plan = plan_poisoning(learners, **doses, rounds=2, games=16, tested=1_000)
    errors = measure_errors(plan)
    names = ["v2", "v2 crowd 0.9", "v2 repeat 0.9", "fresh", "fresh crowd 0.9", "fresh repeat 0.9"]
    assert list(errors) == names
    alone, repeat = errors["v2"], errors["v2 repeat 0.9"]
    assert alone[1].mean.upper < repeat[1].mean.lower
    assert errors["fresh repeat 0.9"][1].mean.median < 2 * errors["fresh"][1].mean.median
    assert repeat[0].mean.median < 2 * alone[0].mean.median  # round 1 has learned from no query
    for first, second in errors.values():
        assert math.isnan(first.moved.median)  # no concept labels the examples of round 1
        assert 0 <= second.moved.median < 0.05
        assert first.halted == second.halted == 0


def test_the_figures_of_before() -> None:
    player = dict(find_entrants(["everlasting-v2"]))["everlasting-v2"]
    learner, _ = build_predictor("everlasting-v2", player, {}, 2, as_set=False)
    plan = plan_poisoning([("v2", learner)], aims=("shift",), fractions=(0.5,), rounds=2, games=2)
    first, second = measure_errors(plan)["v2 shift 0.5"]
    assert (first.mean.mean, second.mean.mean) == pytest.approx((0.009202731830331701, 0.007865025312005187))
    assert second.moved.mean == pytest.approx(0.0, abs=1e-3)


# Limits miss the truth in one of a hundred sets of games at most; a rate of 0.2 is noticed in 1,200 of them.
@statistical(rate=4e-7)
def test_limits_hold_as_often_as_they_say() -> None:
    rng = np.random.default_rng(7)
    median = 1 - 0.5 ** (1 / 3)
    middles = [MedianAndMean.of(rng.beta(1, 3, 40), 0.01) for _ in range(1_200)]
    shares = [Proportion.of(rng.random(40) < 0.1, 0.01) for _ in range(1_200)]
    missed = [not one.lower <= median <= one.upper for one in middles]
    wrong = [not one.lower <= 0.1 <= one.upper for one in shares]
    promise = {"bounds": (0, 1), "rate": 1e-7, "effect": 0.18, "power": 1 - 1e-7}
    for figures in (missed, wrong):
        check_mean(np.array(figures, float), 0.01, **promise)
    with expect_rejection():
        check_mean(np.array(missed, float), 0.2, **promise)


def test_limits_of_nothing_and_of_all() -> None:
    assert math.isnan(MedianAndMean.of(np.zeros(0), 0.1).median)
    assert str(MedianAndMean.of(np.zeros(0), 0.1)) == "?"
    assert Proportion.of(np.ones(5, bool), 0.1).upper == 1.0
    assert Proportion.of(np.zeros(5, bool), 0.1).lower == 0.0
    assert Proportion.of(np.zeros(5, bool), 0.1).upper == pytest.approx(1 - 0.05 ** (1 / 5))
