"""Hypotheses learned from answers: the figures of Theorem 3.3."""

from __future__ import annotations

import attrs
import numpy as np
import pytest
from support.statistical import check_mean, expect_rejection, statistical

from arena import Figure1, InvalidArgument, Learner, play
from arena.concepts import Thresholds
from arena.testing import check_adversary
from benchmarks.papers.hypothesis import ExtractionFigures, HypothesisLearner, extract_hypotheses
from learners.everlasting.paper_versions import EverlastingFresh, EverlastingV2
from learners.predictors.vote_predictors import NoisyVotes, StaticErm

SIZES = {"teachers": 21, "answers": 60, "rate": 0.5, "training_rate": 0.5, "pool": 100}
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


@pytest.mark.thorough
def test_the_printed_rule_fails_if_errors_are_rare_and_everywhere() -> None:
    fair, printed = (extract(WRONG, as_printed=kind, asked=2_000) for kind in (False, True))
    assert fair.error.median < 0.25
    assert printed.error.median > 0.4  # every L_x holds both labels


def test_infinite_domains_and_odd_numbers_of_games_are_refused() -> None:
    with pytest.raises(InvalidArgument, match="static-erm has no class with a finite domain"):
        extract(StaticErm())
    with pytest.raises(InvalidArgument, match="80 games, boost 30"):
        extract(ERM, boost=30)


LINE = Thresholds(range(9))


@pytest.mark.parametrize(
    "learner", [StaticErm(concepts=LINE), EverlastingFresh(concepts=LINE, **SIZES)], ids=str
)
def test_it_conforms(learner: Learner) -> None:
    check_adversary(HypothesisLearner(learner=learner), learner, Figure1())


def test_a_predictor_that_never_changes_gives_its_hypothesis_away() -> None:
    learner = StaticErm(concepts=LINE)
    score = play(learner, HypothesisLearner(learner=learner, asked=500), Figure1(), games=50, seed=1).score
    assert score is not None
    assert (score == 0).all()


# A mean error that is off by 0.02 is noticed with near certainty in 4,000 games of nine points.
@pytest.mark.thorough
@statistical(rate=2e-7)
def test_each_round_counts_equally_unlike_in_the_printed_set() -> None:
    """The claim: the expected error of h is the mean error of the hypotheses. Of sets it is far above."""
    learner = Wrong(concepts=LINE)
    promise = {"bounds": (0, 1), "rate": 1e-7, "effect": 0.12, "power": 1 - 1e-7}
    for as_printed in (False, True):
        adversary = HypothesisLearner(learner=learner, asked=300, as_printed=as_printed)
        score = play(learner, adversary, Figure1(), games=3_000, seed=1).score
        assert score is not None
        if as_printed:
            with expect_rejection():
                check_mean(score, 0.1, **promise)
        else:
            check_mean(score, 0.1, **promise)


# A chance of failing that is 0.05 above what is promised is noticed with near certainty in 8,000 games.
@pytest.mark.thorough
@statistical(rate=2e-7)
def test_it_fails_no_more_often_than_beta_and_as_printed_it_may() -> None:
    """|X| = 2: the printed R fails with a chance of 2 · 2^(-R), R = 3; the corrected one has R = 6."""
    pair = StaticErm(concepts=Thresholds(range(2)))
    promise = {"bounds": (0, 1), "rate": 1e-7, "effect": 0.12, "power": 1 - 1e-7}
    for as_printed, rounds in ((False, 6), (True, 3)):
        adversary = HypothesisLearner(learner=pair, as_printed=as_printed)
        assert adversary.rounds(2) == rounds
        for seed in range(2):
            play(pair, adversary, Figure1(), games=3_000, seed=seed)
        failed = np.concatenate([learned.failed for learned in adversary.learned]).astype(float)
        if as_printed:
            with expect_rejection():
                check_mean(failed, 0.125, **promise)
        else:
            check_mean(failed, 2 * 0.5**6, **promise)


def test_silence_is_no_answer() -> None:
    learner = EverlastingV2(concepts=LINE, teachers=21, training_rate=0.5, answers=5, rounds=1)
    score = play(learner, HypothesisLearner(learner=learner), Figure1(), games=50, seed=1).score
    assert score.min() > 0  # five answers do not cover nine points, so all of them fail
