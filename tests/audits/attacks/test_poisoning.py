"""Poisoning: doses, errors by rounds, and that fresh points are not poisoned."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from support.statistical import check_mean, expect_rejection, statistical
from support.waiting import interrupt_at

from adversaries.figure1.poison import Poison
from arena import Adversary, InvalidArgument, Learner
from arena.concepts import Thresholds
from audits.attacks.attack_text import attack_json, attack_text
from audits.attacks.poisoning import PoisoningPlan, PoisoningResult, plan_poisoning, run_poisoning
from audits.statistics.quantiles import MedianAndMean, Proportion
from learners.everlasting.everlasting_fresh import EverlastingFresh
from learners.everlasting.everlasting_v2 import EverlastingV2
from learners.predictors.static_erm import StaticErm

SIZES: dict[str, Any] = {
    "teachers": 31,
    "chunk": 40,
    "rate": 1.0,
    "training_rate": 1.0,
    "noise": 1.0,
    "answers": None,
    "alpha_1": 0.05,
}
QUERIED, FRESH = EverlastingV2(**SIZES), EverlastingFresh(**SIZES)


def plan(*learners: Learner, aims: tuple[str, ...] = ("repeat",), **others: Any) -> PoisoningPlan:
    def make_adversary(learner: Learner, aim: str, fraction: float) -> Adversary:
        return Poison(learner=learner, aim=aim, fraction=fraction)

    settings = {"fractions": (0.0, 0.9), "rounds": 2, "games": 8, "tested": 1_000} | others
    return plan_poisoning([(one.name, one) for one in learners], make_adversary, aims=aims, **settings)


@pytest.fixture(scope="module")
def result() -> PoisoningResult:
    return run_poisoning(plan(QUERIED, FRESH, aims=("crowd", "repeat"), games=16))


def test_nothing_chosen_is_played_once_whatever_the_aims(result: PoisoningResult) -> None:
    doses = [(one.label, one.aim, one.fraction) for one in result.doses]
    assert doses[:3] == [
        ("everlasting-v2", None, 0.0),
        ("everlasting-v2", "crowd", 0.9),
        ("everlasting-v2", "repeat", 0.9),
    ]
    assert len(doses) == 6


def test_chosen_queries_move_the_next_round_of_v2_only(result: PoisoningResult) -> None:
    alone, _, repeat, fresh, _, fresh_repeat = result.doses
    assert alone.mean[1].upper < repeat.mean[1].lower
    assert fresh_repeat.mean[1].median < 2 * fresh.mean[1].median
    assert repeat.mean[0].median < 2 * alone.mean[0].median  # round 1 has learned from no query
    assert result.find_worst()["everlasting-v2"].fraction == 0.9


def test_no_concept_labels_the_examples_of_round_1(result: PoisoningResult) -> None:
    for one in result.doses:
        assert math.isnan(one.moved[0].median)
        assert 0 <= one.moved[1].median < 0.05
        assert one.halted == (0, 0)


def test_figures_do_not_depend_on_processes(result: PoisoningResult) -> None:
    small = plan(QUERIED, games=4)
    assert attack_json(run_poisoning(small)) == attack_json(run_poisoning(small, jobs=2))


def test_text_and_json_say_the_same(result: PoisoningResult) -> None:
    data, report = json.loads(attack_json(result)), attack_text(result)
    assert data["doses"][0]["moved"][0]["median"] is None
    assert data["doses"][0]["aim"] is None
    assert data["doses"][2]["fraction"] == 0.9
    assert f"{data['doses'][2]['mean'][1]['median']:.4f}" in report
    assert "The error of everlasting-v2 in its last round is largest after" in report


@pytest.mark.parametrize(
    ("bad", "match"),
    [
        ({"fractions": (0.0, 1.5)}, "a fraction must be between 0 and 1, got 1.5"),
        ({"fractions": (0.1, 0.1)}, "give at least one fraction, and each only once"),
        ({"aims": ()}, "give at least one aim"),
    ],
)
def test_bad_doses_are_refused(bad: dict, match: str) -> None:
    with pytest.raises(InvalidArgument, match=match):
        plan(QUERIED, **bad)


def test_learners_without_rounds_are_refused() -> None:
    with pytest.raises(InvalidArgument, match="static-erm has no rounds"):
        plan(StaticErm(concepts=Thresholds()))


# --- limits -------------------------------------------------------------------------------------------------


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


def test_an_interrupted_attack_has_the_figures_of_the_doses_that_were_played() -> None:
    asked = plan(QUERIED, FRESH)
    result = run_poisoning(asked, watch=interrupt_at(3 * asked.block))
    assert [dose.label for dose in result.doses] == ["everlasting-v2", "everlasting-v2", "everlasting-fresh"]
    told = json.loads(attack_json(result))
    assert (told["interrupted"], told["games"]) == (True, asked.block)
    assert " ".join(attack_text(result).split()).endswith(
        f"the first {asked.block} of 8 games. No games of everlasting-fresh repeat 0.9 were finished."
    )
