"""Searches find every broken relative of dp-sgd, and attacks refute correct learners no more often than
stated."""

from __future__ import annotations

import attrs
import pytest
from mutants.small_searches import ERROR, SMALL, TRAINING, Correct
from mutants.training.learners import (
    BrokenDPSGD,
    ClipsEachCoordinate,
    ClipsTheMean,
    DividesByRealSize,
    FixedAsPoisson,
    FloatNoise,
    ForgetsClipping,
    HalvesLateNoise,
    NoiseOfParticipants,
    NoiseWithoutClip,
    OneStepShort,
    ReusesNoise,
    ShufflingAsPoisson,
    WrongRate,
)
from scipy.stats import binom

from arena import ArenaError, play
from arena.step_scores import LAST_BITS, RATIO, SPREAD, SUM, StepScore
from audits.adversary_search import search
from audits.registry.match import Match, build_match
from audits.registry.players import ADVERSARIES
from audits.runs.plan import LEARNED, SCORE, Plan
from audits.runs.run import run

SEEDS = range(3)
CLEAR = (
    ForgetsClipping(),
    ClipsTheMean(),
    NoiseWithoutClip(),
    ReusesNoise(),
    DividesByRealSize(),
    WrongRate(),
    FloatNoise(),
)
# What the claim's curve forbids; the best event at its (ε, δ) is too rare for an exploration.
BY_CURVE = HalvesLateNoise(), ClipsEachCoordinate(), NoiseOfParticipants(), OneStepShort()
FAINT = FixedAsPoisson(), ShufflingAsPoisson()  # tens of thousands of games show them
# The settings with which shipped adversaries do something else.
VARIANTS: dict[str, list[dict[str, str]]] = {
    "gradient-canary": [{"others": "opposite"}, {"score": SPREAD}, {"every": "0"}],
    "input-canary": [{"kind": "mislabelled"}, {"kind": "blank"}],
}
FEWEST = {"TrainingRun": 9, "Release": 1}  # attacks; other adversaries of Release send no vectors
AUDITS, GAMES = 20, 400
RATE = 1e-7  # the chance that a learner which just keeps its claim fails its test


@pytest.mark.slow
@pytest.mark.parametrize("slip", CLEAR, ids=lambda slip: slip.name)
def test_a_small_search_finds_a_clear_slip(slip: BrokenDPSGD) -> None:
    searches = (search(slip, error=1e-6, seed=seed, **SMALL) for seed in SEEDS)
    assert any(found.refuted for found in searches)


@pytest.mark.slow
@pytest.mark.parametrize("slip", BY_CURVE, ids=lambda slip: slip.name)
def test_a_search_finds_what_only_the_curve_forbids(slip: BrokenDPSGD) -> None:
    found = next(
        (one for one in (search(slip, examples=250, seed=seed) for seed in SEEDS) if one.refuted), None
    )
    # It stops where the curve forbids what was seen.
    assert found.verdict.epsilon_lower < slip.claim.epsilon <= found.verdict.curve_epsilon_lower


@pytest.mark.slow
@pytest.mark.parametrize("slip", FAINT, ids=lambda slip: slip.name)
def test_a_search_finds_a_faint_slip(slip: BrokenDPSGD) -> None:
    found = next((one for one in (search(slip, seed=seed) for seed in SEEDS) if one.refuted), None)
    assert isinstance(found.adversary.score, StepScore)
    assert found.adversary.score.kind in (SUM, RATIO)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("slip", "kind"), [(ReusesNoise(), SPREAD), (FloatNoise(), LAST_BITS)], ids=[SPREAD, LAST_BITS]
)
def test_the_score_shows_the_slip(slip: BrokenDPSGD, kind: str) -> None:
    found = search(slip)
    assert isinstance(found.adversary.score, StepScore)
    assert found.adversary.score.kind == kind


@pytest.mark.slow
@pytest.mark.parametrize("slip", [*CLEAR, *BY_CURVE, *FAINT], ids=lambda slip: slip.name)
def test_the_twin_is_not_refuted(slip: BrokenDPSGD) -> None:
    assert not any(search(slip.twin, claim=slip.claim, seed=seed, **SMALL).refuted for seed in SEEDS)


def list_attacks(correct: Correct) -> dict[str, Match]:
    """The games against every shipped adversary that plays with the learner, by adversary and settings."""
    attacks = {}
    for name in ADVERSARIES.list_names():
        for settings in ({}, *VARIANTS.get(name, ())):
            both = {"learner": {}, "adversary": settings}
            try:
                match = build_match(
                    correct.spec, name, settings=both, data=None, protocol=correct.protocol, rounds=None
                )
                play(match.learner, match.adversary, match.referee, games=2, seed=0)
            except ArenaError:  # another protocol, or points of another shape
                continue
            attacks[f"{name} {settings}"] = match
    return attacks


@pytest.mark.slow
@pytest.mark.parametrize("correct", TRAINING, ids=lambda correct: f"{correct.name}-{correct.spec.claim}")
def test_no_shipped_adversary_refutes_what_holds(correct: Correct) -> None:
    claim = correct.spec.claim
    attacks = list_attacks(correct)
    assert len(attacks) >= FEWEST[correct.protocol]
    for name, match in attacks.items():
        plan = Plan(
            learner=match.learner,
            adversary=match.adversary,
            referee=match.referee,
            epsilon=claim.epsilon,
            delta=claim.delta,
            confidence=1 - ERROR,
            games=GAMES,
            distinguisher=SCORE if match.adversary.returns_score else LEARNED,
        )
        refuted = sum(run(attrs.evolve(plan, seed=seed)).refuted for seed in range(AUDITS))
        assert refuted <= binom.isf(RATE, AUDITS, ERROR), name
