"""Flaws of many kinds, which a search with its defaults finds without knowing them."""

from __future__ import annotations

import pytest
from mutants.planted import online, predictors, releases

from arena import Learner
from audits.adversary_search import search

FLAWS: tuple[tuple[Learner, str], ...] = (
    (predictors.BareAfterRun(), "Figure1"),
    (predictors.BareAtOddParity(), "Figure1"),
    (predictors.BareAfterPattern(), "Figure1"),
    (predictors.BareAtTheEnd(), "Figure1"),
    (predictors.ChargesOnes(), "Figure1"),
    (predictors.OneAnswerUnpaid(), "Figure1"),
    (predictors.CarriesOver(), "Figure1"),
    (predictors.HaltsOnTrueLead(), "Figure1"),
    (predictors.BareAtTie(), "Figure1"),
    (predictors.HeavyOnes(), "Figure1"),
    (predictors.BareForDuplicates(), "Figure1"),
    (predictors.BareForEmptyClass(), "Figure1"),
    (predictors.KeepsTheQuery(), "Figure1"),
    (predictors.UnclippedAnswers(), "Figure1"),
    (predictors.MirrorsNoise(), "Figure1"),
    (predictors.SlightlyLessNoise(), "Figure1"),
    (online.RestartRepeatsNoise(), "SpecialRound"),
    (online.ClippedBelowOnly(), "SpecialRound"),
    (online.FractionShows(), "SpecialRound"),
    (online.BareWhenAllOnes(), "SpecialRound"),
    (online.SettlesAfterMistakes(), "SpecialRound"),
    (online.LateCounter(), "SpecialRound"),
    (releases.AlmostEnoughNoise(), "Release"),
    (releases.SortedByTruth(), "Release"),
    (releases.ReleasesMaximum(), "Release"),
    (releases.TailLosesClipping(), "Release"),
    (releases.DistinctPoints(), "Release"),
    (releases.RunningSums(), "Release"),
    (releases.PublishesSubsample(), "Release"),
    (releases.ShowsARecord(), "Release"),
    (releases.KeepsARecord(), "Release"),
)
# The correct learners behind them.
TWINS: tuple[tuple[Learner, str], ...] = (
    (predictors.Votes(answers=10), "Figure1"),
    (online.Counter(), "SpecialRound"),
)
# Searches of over three seconds.
LONG = {
    "bare-at-tie",
    "carries-over",
    "keeps-a-record",
    "keeps-the-query",
    "late-counter",
    "publishes-subsample",
    "settles-after-mistakes",
    "shows-a-record",
}
SEARCHED = [
    pytest.param(*flaw, id=flaw[0].name, marks=[pytest.mark.slow] * (flaw[0].name in LONG)) for flaw in FLAWS
]
SEEDS = range(3)  # what a seed leads to changes with the release of Hypothesis


@pytest.mark.thorough
@pytest.mark.parametrize(("learner", "protocol"), SEARCHED)
def test_the_flaw_is_found(learner: Learner, protocol: str) -> None:
    searches = (search(learner, protocol=protocol, seed=seed) for seed in SEEDS)
    found = next((result for result in searches if result.refuted), None)
    bound = max(found.verdict.epsilon_lower, found.verdict.curve_epsilon_lower or 0.0)
    assert bound >= learner.claim.epsilon - 1e-9  # refuted as soon as it is reached


@pytest.mark.slow
@pytest.mark.parametrize(("learner", "protocol"), TWINS, ids=lambda value: getattr(value, "name", ""))
def test_the_correct_learner_behind_it_is_not_refuted(learner: Learner, protocol: str) -> None:
    for seed in SEEDS:
        assert not search(learner, protocol=protocol, seed=seed).refuted
