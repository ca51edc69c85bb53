"""Every planted flaw, by the protocol under which it shows."""

from __future__ import annotations

from mutants.planted import online, predictors, releases

from arena import Learner

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
