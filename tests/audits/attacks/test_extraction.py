"""Hypotheses learned from answers: the figures of Theorem 3.3."""

from __future__ import annotations

import json
from typing import Any

import attrs
import numpy as np
import pytest
from support.waiting import interrupt_at

from adversaries.figure1.hypothesis_learner import HypothesisLearner
from arena import InvalidArgument, Learner
from arena.concepts import Thresholds
from audits.attacks.attack_text import attack_json, attack_text
from audits.attacks.extraction import ExtractionPlan, boost_in_paper, plan_extraction, run_extraction
from learners.everlasting.everlasting_v2 import EverlastingV2
from learners.predictors.static_erm import StaticErm

ERM = StaticErm(concepts=Thresholds(range(12)))


@attrs.frozen
class Wrong(StaticErm):
    """Answers a tenth of the queries wrongly, at random."""

    name = "wrong"

    def start(self, games: int, rng: np.random.Generator):  # type: ignore[no-untyped-def]
        state = super().start(games, rng)
        right = state.predict
        state.predict = lambda x: right(x) ^ (rng.random(games) < 0.1)  # type: ignore[method-assign]
        return state


def plan(*learners: Learner, settings: dict | None = None, **others: Any) -> ExtractionPlan:
    return plan_extraction(
        [(one.name, one) for one in learners],
        lambda learner: HypothesisLearner(learner=learner, **(settings or {})),
        **({"games": 80, "boost": 20} | others),
    )


def test_claims_hold_of_predictors_that_never_learn() -> None:
    erm, wrong = run_extraction(plan(ERM, Wrong(concepts=ERM.concepts))).learners
    assert erm.alpha == 0
    assert erm.boosted.median == 0
    assert not erm.broken
    assert erm.failed <= 0.125 + 0.15
    assert 0.05 < wrong.alpha < 0.25
    assert not wrong.broken
    assert wrong.boosted.median < wrong.error.median  # the vote mends what single answers spoil


def test_everlasting_predictors_answer_too() -> None:
    spec = EverlastingV2(
        concepts=ERM.concepts, teachers=51, chunk=20, training_rate=1.0, rate=1.0, noise=1.0, answers=None
    )
    (figures,) = run_extraction(plan(spec)).learners
    assert (figures.points, figures.queries) == (12, 55)
    assert not figures.broken


def test_the_printed_rule_fails_if_errors_are_rare_and_everywhere() -> None:
    fair, printed = (
        run_extraction(
            plan(Wrong(concepts=ERM.concepts), settings={"as_printed": kind, "asked": 2_000})
        ).learners[0]
        for kind in (False, True)
    )
    assert fair.error.median < 0.25
    assert printed.error.median > 0.4  # every L_x holds both labels


@pytest.mark.thorough
def test_figures_do_not_depend_on_processes() -> None:
    wrong = plan(Wrong(concepts=ERM.concepts), games=40)
    assert run_extraction(wrong).learners == run_extraction(wrong, jobs=2).learners


def test_text_and_json_say_the_same() -> None:
    result = run_extraction(plan(ERM))
    data = json.loads(attack_json(result))
    assert data["boost"] == 20
    assert data["learners"][0]["bound"] == 0
    assert "static-erm" in attack_text(result)
    assert boost_in_paper(0.125) == 217


def test_infinite_domains_and_odd_numbers_of_games_are_refused() -> None:
    with pytest.raises(InvalidArgument, match="static-erm has no class with a finite domain"):
        plan(StaticErm())
    with pytest.raises(InvalidArgument, match=r"80 games, boost 30'\. Give --games 90"):
        plan(ERM, boost=30)


def test_an_interrupted_attack_has_the_figures_of_equally_many_games() -> None:
    result = run_extraction(plan(ERM, Wrong(concepts=ERM.concepts)), watch=interrupt_at(60))
    whole = run_extraction(attrs.evolve(plan(ERM, Wrong(concepts=ERM.concepts)), games=20))
    assert json.loads(attack_json(result)) == json.loads(attack_json(whole)) | {"interrupted": True}
    assert attack_text(result).endswith("\n\nInterrupted: figures rest on the first 20 of 80 games.")
