"""opacus-sgd and jax-privacy-sgd: audits of training runs of the libraries, where they are installed."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest
from support.simple_players import run_audit

from adversaries.training.canaries import GradientCanaryAttack, InputCanary, ModelLowBits, UpdateScale
from arena import Adversary, InvalidArgument, Neighbours, Sample, TrainingRun, Unsupported, play
from arena.testing import check_learner
from audits.runs.verdict import Verdict
from learners.foreign.library_training import JaxPrivacySGD, LibrarySGD, OpacusSGD
from learners.mechanisms.factorisations import BANDED, ROOT, factorise

installed = pytest.mark.filterwarnings("ignore")


def audit(learner: LibrarySGD, adversary: Adversary, games: int) -> Verdict:
    return run_audit(learner, adversary, TrainingRun(), confidence=0.999, games=games)


@pytest.mark.parametrize("kind", [OpacusSGD, JaxPrivacySGD])
def test_a_batch_larger_than_the_data_is_refused(kind: type[LibrarySGD]) -> None:
    with pytest.raises(InvalidArgument, match="a batch must not be larger than the data"):
        kind(size=2, batch=3)


@installed
@pytest.mark.slow
@pytest.mark.parametrize(("kind", "library"), [(OpacusSGD, "opacus"), (JaxPrivacySGD, "jax_privacy")])
def test_they_conform_and_seeds_repeat_their_games(kind: type[LibrarySGD], library: str) -> None:
    pytest.importorskip(library)
    learner = kind(features=2, size=6, batch=2, steps=2)
    check_learner(learner, games=200)
    attack = GradientCanaryAttack(learner=learner, sample=Sample([[0.0, 0.0], [1.0, 0.0]], [0, 1], [5, 1]))
    first, second = (play(learner, attack, TrainingRun(), games=4, seed=5).score for _ in range(2))
    assert np.array_equal(first, second)


@installed
@pytest.mark.slow
def test_the_number_of_examples_shows_in_the_length_of_an_update() -> None:
    accountants = pytest.importorskip("opacus.accountants")
    small = OpacusSGD()
    accountant = accountants.create_accountant("prv")
    accountant.history = [(small.noise, small.rate, small.steps)]
    assert small.claim.epsilon == pytest.approx(accountant.get_epsilon(small.delta), rel=0.02)
    verdict = audit(small, UpdateScale(), 600)
    assert verdict.refuted
    assert verdict.epsilon_lower == pytest.approx(3.966, abs=0.02)
    assert verdict.clopper_pearson == pytest.approx(4.124, abs=0.02)


@installed
@pytest.mark.slow
def test_where_the_divisor_does_not_change_it_is_not_refuted() -> None:
    """A third of 8 examples and a third of 7 are 2, rounded down."""
    pytest.importorskip("opacus")
    learner = OpacusSGD(size=8, batch=3, features=20)
    assert not audit(learner, UpdateScale(), 300).refuted
    assert not audit(learner, GradientCanaryAttack(), 300).refuted


def test_rate_and_divisor_are_public_numbers() -> None:
    learner = JaxPrivacySGD(size=10, batch=4, learning_rate=2.0)
    assert (learner.rate, learner.step_size) == (0.4, 0.5)
    assert learner.claim.neighbours.kind is Neighbours.ADD_OR_REMOVE_ONE


@pytest.mark.skipif(importlib.util.find_spec("jax_privacy") is not None, reason="JAX Privacy is installed")
def test_a_missing_library_is_named() -> None:
    with pytest.raises(Unsupported, match=r"Run pip install 'dp-arena\[jax-privacy\]'\."):
        play(JaxPrivacySGD(), UpdateScale(learner=JaxPrivacySGD()), TrainingRun(), games=1, seed=1)


@installed
@pytest.mark.slow
@pytest.mark.parametrize("learner", [JaxPrivacySGD(), JaxPrivacySGD(size=100, batch=10, steps=50, noise=1.0)])
def test_the_claim_is_that_of_its_accountant(learner: JaxPrivacySGD) -> None:
    pytest.importorskip("jax_privacy")
    import dp_accounting

    step = dp_accounting.PoissonSampledDpEvent(learner.rate, dp_accounting.GaussianDpEvent(learner.noise))
    accountant = dp_accounting.pld.PLDAccountant()  # for an example that is added or removed
    accountant.compose(dp_accounting.SelfComposedDpEvent(step, learner.steps))
    assert learner.claim.epsilon == pytest.approx(accountant.get_epsilon(learner.delta), rel=1e-4)


@installed
@pytest.mark.slow
@pytest.mark.parametrize("attack", [GradientCanaryAttack(), InputCanary(), UpdateScale(), ModelLowBits()])
def test_no_attack_refutes_it(attack: Adversary) -> None:
    """A correct claim is refuted with probability 0.1 % in each audit."""
    pytest.importorskip("jax_privacy")
    verdict = audit(JaxPrivacySGD(features=2, size=8, batch=4, steps=4, noise=1.0), attack, 500)
    assert not verdict.refuted
    assert (verdict.epsilon_lower > 0) == isinstance(attack, GradientCanaryAttack | InputCanary)


@installed
@pytest.mark.slow
def test_last_bits_refute_noise_that_is_added_without_compilation() -> None:
    """6 % of the models of world 0 have bits that none of world 1 has, of 800: fewer than 20 with 10^-5."""
    pytest.importorskip("jax_privacy")
    learner = JaxPrivacySGD(features=2, size=4, batch=4, compiled=False)
    assert audit(learner, ModelLowBits(), 800).refuted


@installed
@pytest.mark.slow
def test_a_step_is_the_clipped_sum_and_noise() -> None:
    """With hardly any noise, one step on all data gives the mean of the clipped gradients, computed here."""
    pytest.importorskip("jax_privacy")
    learner = JaxPrivacySGD(features=2, size=3, batch=3, noise=1e-6, clip=1.0)
    sample = Sample([[10.0, 0.0], [0.0, 1.0]], [1, 0], [1, 2])
    run_of_library = learner.open_run(sample, np.array([1, 2]))
    run_of_library.make_step([(np.array([0.0, 1.0]), 0, np.array([0.0, 7.0]))])
    # The gradient of the first, -5 along its point, is clipped to 1, and the two that are chosen from 7.
    assert run_of_library.read_model() == pytest.approx([1 / 3, -2 / 3], abs=1e-4)


@pytest.mark.thorough
@pytest.mark.parametrize("rounds", [16, 37])
def test_factorisations_are_those_of_jax_privacy(rounds: int) -> None:
    toeplitz = pytest.importorskip("jax_privacy.matrix_factorization.toeplitz")
    sensitivity = pytest.importorskip("jax_privacy.matrix_factorization.sensitivity")
    root = toeplitz.optimal_max_error_strategy_coefs(rounds)
    for kind, coefficients in ((ROOT, root), (BANDED, root[:8])):
        ours = factorise(kind, rounds, bands=8)
        theirs = np.asarray(toeplitz.materialize_lower_triangular(coefficients, rounds))
        assert ours.encoder == pytest.approx(theirs, abs=1e-5)  # they compute in single precision
        assert ours.sensitivity() == pytest.approx(
            float(sensitivity.single_participation_sensitivity(theirs)), rel=1e-5
        )
        assert (ours.decoder**2).sum(axis=1) == pytest.approx(
            np.asarray(toeplitz.per_query_error(strategy_coef=coefficients, n=rounds)), rel=1e-4
        )
        for users in (2, 5):
            bound = float(sensitivity.get_min_sep_sensitivity_upper_bound(theirs, 1, users))
            assert ours.sensitivity(users) == pytest.approx(bound, rel=1e-4)
