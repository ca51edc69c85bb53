"""Broken relatives of dp-sgd and dp-fedavg: a shipped adversary refutes each, and not the correct learner."""

from __future__ import annotations

import numpy as np
import pytest
from mutants.learners import run_audit
from mutants.training.learners import (
    BrokenDPFedAvg,
    BrokenDPSGD,
    ClipsExamples,
    ClipsTheMean,
    DividesByRealSize,
    DividesByRealUsers,
    FixedAsPoisson,
    FloatNoise,
    ForgetsClipping,
    ForgetsClippingUsers,
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
from arena import Adversary, Sample, TrainingRun
from arena.step_scores import SPREAD

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


@pytest.mark.thorough
@pytest.mark.parametrize(("slip", "adversary"), SLIPS, ids=lambda player: player.name)
def test_the_slip_is_refuted(slip: BrokenDPSGD | BrokenDPFedAvg, adversary: Adversary) -> None:
    assert run_audit(slip, adversary, TrainingRun(), games=200_000).refuted


@pytest.mark.thorough
@pytest.mark.parametrize(("slip", "adversary"), SLIPS, ids=lambda player: player.name)
def test_the_correct_learner_is_not(slip: BrokenDPSGD | BrokenDPFedAvg, adversary: Adversary) -> None:
    assert not run_audit(slip.twin, adversary, TrainingRun(), games=20_000).refuted


@pytest.mark.slow
def test_a_search_finds_that_examples_are_clipped_in_place_of_users() -> None:
    assert audits.search(ClipsExamples(noise=3.0, steps=3, size=4, batch=2), seed=0).refuted
