"""Our arithmetic of privacy against dp-accounting's, an extra of its own: `pip install dp-arena[accounting]`.

It rounds privacy losses up to a grid, so that its ε and δ are a little too large, never too small.
"""

from __future__ import annotations

import math

import pytest

from learners.mechanisms.accounting import basic_composition, optimal_composition, zcdp_guarantee
from learners.mechanisms.noise import gaussian_delta, gaussian_sigma
from learners.pate.independent_answers import PateGaussian, sigma_of_step_1

pld = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution", reason="dp-accounting is an extra")
rdp = pytest.importorskip("dp_accounting.rdp")
dp = pytest.importorskip("dp_accounting")

GRID = 1e-4  # of privacy losses, in nats


@pytest.mark.parametrize("answers", [1, 49, 163])
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_many_gaussian_answers_are_one_of_larger_sensitivity(answers: int, epsilon: float) -> None:
    delta = 1 / 6_499
    sigma = gaussian_sigma(epsilon=epsilon, delta=delta, sensitivity=math.sqrt(answers))
    one = pld.from_gaussian_mechanism(sigma, value_discretization_interval=GRID / math.sqrt(answers))
    all_of_them = one.self_compose(answers)
    assert all_of_them.get_epsilon_for_delta(delta) == pytest.approx(epsilon, rel=5e-3)
    assert all_of_them.get_delta_for_epsilon(epsilon) == pytest.approx(delta, rel=2e-2)
    assert gaussian_delta(epsilon=epsilon, sigma=sigma / math.sqrt(answers)) <= delta * (1 + 1e-9)


@pytest.mark.parametrize("runs", [1, 3, 20, 300])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.05, 0.0), (0.3, 1e-7), (1.0, 0.0)])
def test_what_is_known_by_epsilon_and_delta_alone_composes_as_theirs(
    runs: int, epsilon: float, delta: float
) -> None:
    slack = 1e-6
    ours = optimal_composition(runs, epsilon, delta, slack=slack)
    one = pld.from_privacy_parameters(
        pld.common.DifferentialPrivacyParameters(epsilon, delta), value_discretization_interval=epsilon / 8
    )
    theirs = one.self_compose(runs).get_epsilon_for_delta(ours.delta)
    assert ours.epsilon == pytest.approx(theirs, rel=1e-3, abs=1e-9)
    assert ours.epsilon <= basic_composition(runs, epsilon).epsilon


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_the_printed_sigma_is_enough_by_their_renyi_accountant(epsilon: float) -> None:
    """Whose conversion to ε is sharper than the paper's; the exact one is sharper still."""
    delta, answers = 1e-5, 100
    sigma = sigma_of_step_1(epsilon=epsilon, delta=delta, answers=answers)
    accountant = rdp.RdpAccountant([1 + x / 10 for x in range(1, 3_000)])
    accountant.compose(dp.GaussianDpEvent(sigma), answers)
    theirs = accountant.get_epsilon(delta)
    spec = PateGaussian(queries=answers, epsilon=epsilon, delta=delta, sigma=sigma)
    assert zcdp_guarantee(answers / (2 * sigma**2), slack=delta).epsilon == pytest.approx(epsilon)
    assert theirs < epsilon
    assert gaussian_delta(epsilon=theirs, sigma=sigma / math.sqrt(answers)) < delta
    assert spec.claim.delta < delta
