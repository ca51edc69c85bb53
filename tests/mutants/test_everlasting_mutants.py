"""Everlasting predictors that count by halves: each slip is refuted, and the correct predictor is not."""

from __future__ import annotations

import attrs
import numpy as np
import pytest
from mutants.everlasting import (
    LOOSE,
    MARKED,
    QUIET,
    ROUND,
    STEADY,
    AsksOnePoint,
    AsksTheChallengeAgain,
    CounterRefreshes,
    CounterRefreshesLate,
    CountsHalf,
    DrawsAgain,
    NeverHalts,
    NoiseByVotes,
    PaysForOneMark,
    RemembersMarked,
    TrueTopsPredictor,
    WaitsForTheHalt,
)
from mutants.refuting_adversaries import AskQueries, last

from adversaries.figure1.swaps import StaleThresholds, TrainingSwap
from arena import Adversary, Figure1, Learner, Sample
from audits.runs.plan import Plan
from audits.runs.run import run
from audits.runs.verdict import Verdict


def first_two_differ(values: np.ndarray) -> np.ndarray:
    return values[:, 0] != values[:, 1]


def settings(learner: Learner) -> dict:
    return {field.name: getattr(learner, field.name) for field in attrs.fields(type(learner))}


AT_THE_EDGE = Sample([0.0, 0.0], [0, 1], [181, 19])  # one vote short of the lower threshold of STEADY
TIED = Sample([0.5, 0.5], [1, 0], [1_001, 1_000])
ONE_HALT = attrs.evolve(STEADY, halts=1)
# The slip, the correct one, the adversary, games.
SLIPS: list[tuple[Learner, Learner, Adversary, int]] = [
    (CounterRefreshes(**settings(ROUND)), ROUND, StaleThresholds(), 8_000),
    (CounterRefreshesLate(**settings(ROUND)), ROUND, StaleThresholds(), 8_000),
    (CountsHalf(**settings(ROUND)), ROUND, WaitsForTheHalt(before=92, after=5), 32_000),
    (PaysForOneMark(**settings(MARKED)), MARKED, TrainingSwap(queries=800), 8_000),
    (DrawsAgain(**settings(LOOSE)), LOOSE, AsksOnePoint(times=5_000), 2_000),
    (
        NoiseByVotes(**settings(MARKED)),
        MARKED,
        AskQueries(TIED, TIED.replace_one(0, 0.6, 1), first_two_differ, queries=(0.55, 0.65)),
        2_000,
    ),
    (RemembersMarked(**settings(QUIET)), QUIET, AsksTheChallengeAgain(times=6), 8_000),
    (NeverHalts(**settings(STEADY)), STEADY, TrainingSwap(queries=800), 4_000),
    (
        TrueTopsPredictor(**settings(ONE_HALT)),
        ONE_HALT,
        AskQueries(AT_THE_EDGE, AT_THE_EDGE.replace_one(0, 0.0, 1), last, queries=(0.0,)),
        2_000,
    ),
]
NAMES = [slip.name for slip, *_ in SLIPS]


def run_audit(learner: Learner, adversary: Adversary, games: int) -> Verdict:
    plan = Plan(
        learner=learner,
        adversary=attrs.evolve(adversary, learner=learner),
        referee=Figure1(),
        epsilon=learner.claim.epsilon,
        delta=learner.claim.delta,
        confidence=1 - 1e-6,
        games=games,
        until_refuted=True,
    )
    return run(plan)


@pytest.mark.thorough
@pytest.mark.parametrize(("slip", "twin", "adversary", "games"), SLIPS, ids=NAMES)
def test_the_slip_is_refuted(slip: Learner, twin: Learner, adversary: Adversary, games: int) -> None:
    assert slip.claim.epsilon == pytest.approx(twin.claim.epsilon, abs=0.001)
    assert slip.claim.delta == twin.claim.delta
    assert run_audit(slip, adversary, games).refuted


@pytest.mark.thorough
@pytest.mark.parametrize(("slip", "twin", "adversary", "games"), SLIPS, ids=NAMES)
def test_the_twin_is_not(slip: Learner, twin: Learner, adversary: Adversary, games: int) -> None:
    assert not run_audit(twin, adversary, games).refuted


@pytest.mark.thorough
def test_the_steady_predictor_survives_what_refutes_the_printed_thresholds() -> None:
    """The same votes, the same questions: no more is seen of the query than the count shows."""
    for learner in (ROUND, attrs.evolve(ROUND, noise=0.03, training_rate=0.001)):
        verdict = run_audit(learner, StaleThresholds(firing=0.5), 4_000)
        assert not verdict.refuted
        assert verdict.epsilon_lower < 0.1
