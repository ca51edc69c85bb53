"""opacus-sgd: audits of training runs of Opacus, where it is installed."""

from __future__ import annotations

import attrs
import numpy as np
import pytest

from adversaries.training.canaries import GradientCanaryAttack, UpdateScale
from arena import Adversary, InvalidArgument, Sample, TrainingRun, play
from arena.testing import check_learner
from audits.runs.plan import Plan
from audits.runs.run import run
from audits.runs.verdict import Verdict
from learners.foreign.library_training import OpacusSGD

installed = pytest.mark.filterwarnings("ignore")
SMALL = OpacusSGD()


def run_audit(learner: OpacusSGD, adversary: Adversary, games: int) -> Verdict:
    claim = learner.claim
    plan = Plan(
        learner=learner,
        adversary=attrs.evolve(adversary, learner=learner),
        referee=TrainingRun(),
        epsilon=claim.epsilon,
        delta=claim.delta,
        confidence=0.999,
        games=games,
    )
    return run(plan)


def test_a_batch_larger_than_the_data_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="a batch must not be larger than the data"):
        OpacusSGD(size=2, batch=3)


@installed
@pytest.mark.slow
def test_the_number_of_examples_shows_in_the_length_of_an_update() -> None:
    accountants = pytest.importorskip("opacus.accountants")
    accountant = accountants.create_accountant("prv")
    accountant.history = [(SMALL.noise, SMALL.rate, SMALL.steps)]
    assert SMALL.claim.epsilon == pytest.approx(accountant.get_epsilon(SMALL.delta), rel=0.02)
    verdict = run_audit(SMALL, UpdateScale(), 600)
    assert verdict.refuted
    assert verdict.epsilon_lower == pytest.approx(3.966, abs=0.02)
    assert verdict.clopper_pearson == pytest.approx(4.124, abs=0.02)


@installed
@pytest.mark.slow
def test_where_the_divisor_does_not_change_it_is_not_refuted() -> None:
    """A third of 8 examples and a third of 7 are 2, rounded down."""
    pytest.importorskip("opacus")
    learner = OpacusSGD(size=8, batch=3, features=20)
    assert not run_audit(learner, UpdateScale(), 300).refuted
    assert not run_audit(learner, GradientCanaryAttack(), 300).refuted


@installed
@pytest.mark.slow
def test_it_conforms_and_seeds_repeat_its_games() -> None:
    pytest.importorskip("opacus")
    learner = OpacusSGD(features=2, size=6, batch=2, steps=2)
    check_learner(learner, games=200)
    attack = GradientCanaryAttack(learner=learner, sample=Sample([[0.0, 0.0], [1.0, 0.0]], [0, 1], [5, 1]))
    first, second = (play(learner, attack, TrainingRun(), games=4, seed=5).score for _ in range(2))
    assert np.array_equal(first, second)
