"""Broken relatives of dp-sgd: each is refuted by a shipped adversary, and the correct learner is not."""

from __future__ import annotations

import attrs
import numpy as np
import pytest
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

from adversaries.training.gradient_canary import OPPOSITE, SPREAD, GradientCanaryAttack
from adversaries.training.model_low_bits import ModelLowBits
from adversaries.training.update_scale import UpdateScale
from arena import Adversary, Learner, Sample, TrainingRun
from audits.runs.plan import Plan
from audits.runs.run import run
from audits.runs.verdict import Verdict

PEOPLE = Sample(np.eye(4, 50), [0, 1, 0, 1])
SLIPS: list[tuple[BrokenDPSGD, Adversary]] = [
    (FixedAsPoisson(), GradientCanaryAttack(others=OPPOSITE)),
    (ShufflingAsPoisson(), GradientCanaryAttack(others=OPPOSITE)),
    (ForgetsClipping(), GradientCanaryAttack()),
    (ClipsTheMean(), GradientCanaryAttack()),
    (NoiseWithoutClip(), GradientCanaryAttack()),
    (ReusesNoise(), GradientCanaryAttack(score=SPREAD)),
    (DividesByRealSize(), UpdateScale()),
    (DividesByRealSize(), UpdateScale(sample=PEOPLE)),
    (WrongRate(), GradientCanaryAttack()),
    (FloatNoise(), ModelLowBits()),
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
@pytest.mark.parametrize(("slip", "adversary"), SLIPS, ids=str)
def test_the_slip_is_refuted(slip: BrokenDPSGD, adversary: Adversary) -> None:
    assert run_audit(slip, adversary, 200_000).refuted


@pytest.mark.thorough
@pytest.mark.parametrize(("slip", "adversary"), SLIPS, ids=str)
def test_the_correct_learner_is_not(slip: BrokenDPSGD, adversary: Adversary) -> None:
    assert not run_audit(slip.twin, adversary, 20_000).refuted
