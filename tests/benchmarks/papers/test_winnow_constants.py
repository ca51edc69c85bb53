"""The printed constants of Theorem 4.5, and the composition of its proof."""

from __future__ import annotations

import math

import attrs
import pytest

from arena import InvalidArgument
from benchmarks.papers.winnow_constants import paper_epsilon, winnow_constants
from learners.halfspaces.dp_winnow import DpWinnow
from learners.mechanisms.accounting import compose_advanced


def test_the_printed_constants_are_reconstructed() -> None:
    constants = winnow_constants(1024, 0.2, c=0.5, epsilon=1, delta=1e-6, beta=0.05, rounds=1_000)
    assert constants.draws == math.ceil(2 * math.log(2_000 / 0.05) / 0.01)
    assert constants.updates == math.ceil(2 * math.log(1024) / (constants.rate * 0.1))
    half = {"slack": 5e-7}
    assert compose_advanced(
        int(constants.updates * constants.draws), 4 * constants.rate, **half
    ).epsilon == pytest.approx(0.5)
    assert compose_advanced(int(constants.updates), constants.watch_epsilon, **half).epsilon == pytest.approx(
        0.5
    )
    assert constants.mistakes > 1e20
    assert f"{constants.updates:.2g} {constants.draws:.2g}" == "7.8e+10 2.1e+03"
    with pytest.raises(InvalidArgument, match="dimension must be at least 2, got 1"):
        winnow_constants(1, 0.2, c=0.5, epsilon=1, delta=1e-6, beta=0.05, rounds=1_000)
    with pytest.raises(InvalidArgument, match="delta must be more than 0, got 0"):
        winnow_constants(4, 0.2, c=0.5, epsilon=1, delta=0, beta=0.05, rounds=1_000)


def test_the_composition_of_the_paper() -> None:
    learner = DpWinnow(epsilon=1.0, delta=1e-6, watching=0.4, updates=10, draws=7, rate=0.5, cached=50)
    paper = compose_advanced(10, 0.4, slack=5e-7).epsilon + compose_advanced(70, 0.04, slack=5e-7).epsilon
    assert paper_epsilon(learner) == pytest.approx(paper)
    assert paper_epsilon(attrs.evolve(learner, delta=0.0)) == pytest.approx(10 * 0.4 + 70 * 0.04)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_claims_are_below_it(epsilon: float) -> None:
    for settings in ({}, {"cached": 1}, {"cached": 500}):
        learner = DpWinnow(epsilon=epsilon, **settings)
        assert learner.claim.epsilon < paper_epsilon(learner)
