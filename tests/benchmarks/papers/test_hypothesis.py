"""Hypotheses learned from answers: the figures of Theorem 3.3."""

from __future__ import annotations

import attrs
import numpy as np
import pytest

from adversaries.figure1.hypothesis_learner import HypothesisLearner
from arena import InvalidArgument, Learner
from arena.concepts import Thresholds
from benchmarks.papers.hypothesis import ExtractionFigures, extract_hypotheses
from learners.everlasting.everlasting_v2 import EverlastingV2
from learners.predictors.noisy_votes import NoisyVotes
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


WRONG = Wrong(concepts=ERM.concepts)


def extract(
    learner: Learner, games: int = 80, boost: int = 20, number: int = 0, **settings
) -> ExtractionFigures:
    adversary = HypothesisLearner(learner=learner, **settings)
    return extract_hypotheses(learner, adversary, games=games, boost=boost, seed=0, number=number)


def test_claims_hold_of_predictors_that_never_learn() -> None:
    erm, wrong = extract(ERM), extract(WRONG, number=1)
    assert erm.alpha == erm.boosted.median == 0
    assert not erm.broken
    assert erm.failed <= 0.125 + 0.15
    assert 0.05 < wrong.alpha < 0.25
    assert not wrong.broken
    assert wrong.boosted.median < wrong.error.median  # the vote mends what single answers spoil


def test_the_figures_of_before() -> None:
    learner = NoisyVotes(concepts=Thresholds(range(1, 17)))
    figures = extract(learner, boost=40, number=1)
    assert (figures.points, figures.queries, figures.failed) == (16, 78, 0.075)
    assert (figures.alpha, figures.error.median, figures.error.mean) == pytest.approx(
        (0.5128205128205128, 0.4375, 0.453125)
    )


def test_everlasting_predictors_answer_too() -> None:
    spec = EverlastingV2(
        concepts=ERM.concepts, teachers=51, chunk=20, training_rate=1.0, rate=1.0, noise=1.0, answers=None
    )
    figures = extract(spec)
    assert (figures.points, figures.queries) == (12, 55)
    assert not figures.broken


def test_the_printed_rule_fails_if_errors_are_rare_and_everywhere() -> None:
    fair, printed = (extract(WRONG, as_printed=kind, asked=2_000) for kind in (False, True))
    assert fair.error.median < 0.25
    assert printed.error.median > 0.4  # every L_x holds both labels


def test_infinite_domains_and_odd_numbers_of_games_are_refused() -> None:
    with pytest.raises(InvalidArgument, match="static-erm has no class with a finite domain"):
        extract(StaticErm())
    with pytest.raises(InvalidArgument, match="80 games, boost 30"):
        extract(ERM, boost=30)
