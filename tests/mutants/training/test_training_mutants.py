"""Broken relatives of dp-sgd and dp-fedavg: a shipped adversary refutes each, and not the correct learner."""

from __future__ import annotations

import attrs
import numpy as np
import pytest
from mutants.training.broken_dp_fedavg import (
    BrokenDPFedAvg,
    ClipsExamples,
    DividesByRealUsers,
    ForgetsClippingUsers,
)
from mutants.training.broken_dp_sgd import (
    BrokenDPSGD,
    ClipsTheMean,
    DividesByRealSize,
    FixedAsPoisson,
    FloatNoise,
    ForgetsClipping,
    NoiseWithoutClip,
    ReusesNoise,
    ShufflingAsPoisson,
    WrongRate,
)

import audits
from adversaries.training.canaries import (
    OPPOSITE,
    GradientCanaryAttack,
    InputCanary,
    ModelLowBits,
    UpdateScale,
)
from arena import Adversary, Learner, Sample, TrainingRun
from arena.step_scores import SPREAD
from audits.runs.plan import Plan
from audits.runs.run import run
from audits.runs.verdict import Verdict

PEOPLE = Sample(np.eye(4, 50), [0, 1, 0, 1])
SLIPS: list[tuple[BrokenDPSGD | BrokenDPFedAvg, Adversary]] = [
    (FixedAsPoisson(), GradientCanaryAttack(others=OPPOSITE)),
    (FixedAsPoisson(neighbours="zero out one"), GradientCanaryAttack(others=OPPOSITE)),
    (ShufflingAsPoisson(), GradientCanaryAttack(others=OPPOSITE)),
    (ForgetsClipping(), GradientCanaryAttack()),
    (ClipsTheMean(), GradientCanaryAttack()),
    (NoiseWithoutClip(), GradientCanaryAttack()),
    (ReusesNoise(), GradientCanaryAttack(score=SPREAD)),
    (DividesByRealSize(), UpdateScale()),
    (DividesByRealSize(), UpdateScale(sample=PEOPLE)),
    (WrongRate(), GradientCanaryAttack()),
    (FloatNoise(), ModelLowBits()),
    (ClipsExamples(), GradientCanaryAttack()),
    (ClipsExamples(local_steps=1, clip=0.5), InputCanary()),
    (DividesByRealUsers(), UpdateScale()),
    (ForgetsClippingUsers(), InputCanary()),
]


def run_audit(learner: Learner, adversary: Adversary, games: int) -> Verdict:
    plan = Plan(
        learner=learner,
        adversary=attrs.evolve(adversary, learner=learner),
        referee=TrainingRun(),
        epsilon=learner.claim.epsilon,
        delta=learner.claim.delta,
        confidence=1 - 1e-6,
        games=games,
        until_refuted=True,
    )
    return run(plan)


@pytest.mark.thorough
@pytest.mark.parametrize(("slip", "adversary"), SLIPS, ids=lambda player: player.name)
def test_the_slip_is_refuted(slip: BrokenDPSGD | BrokenDPFedAvg, adversary: Adversary) -> None:
    assert run_audit(slip, adversary, 200_000).refuted


@pytest.mark.thorough
@pytest.mark.parametrize(("slip", "adversary"), SLIPS, ids=lambda player: player.name)
def test_the_correct_learner_is_not(slip: BrokenDPSGD | BrokenDPFedAvg, adversary: Adversary) -> None:
    assert not run_audit(slip.twin, adversary, 20_000).refuted


@pytest.mark.slow
def test_a_search_finds_that_examples_are_clipped_in_place_of_users() -> None:
    assert audits.search(ClipsExamples(noise=3.0, steps=3, size=4, batch=2), seed=0).refuted
