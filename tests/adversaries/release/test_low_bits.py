"""low-bits: the place of the last bit, its proof by example, and who is caught by it."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adversaries.release.point_swap import CountSwap, LowBits
from arena import Adversary, Learner, Release, Sample
from arena.step_scores import find_last_bits
from arena.testing import check_adversary
from audits.runs.plan import Plan
from audits.runs.run import run
from audits.runs.verdict import Verdict
from learners.releases.gaussian_count import GaussianCount
from learners.releases.geometric_count import GeometricCount
from learners.releases.laplace_count import LaplaceCount

FINITE = st.floats(allow_nan=False, allow_infinity=False)
MODEST = st.floats(min_value=-1e200, max_value=1e200, allow_nan=False)


def last_bit(y: float) -> int:
    """The z of y = odd·2^z, by fractions."""
    number = Fraction(y)
    z = -(number.denominator.bit_length() - 1)
    over = number.numerator
    while over % 2 == 0:
        over, z = over // 2, z + 1
    return z


def audit(learner: Learner, adversary: Adversary = LowBits(), games: int = 10_000) -> Verdict:  # noqa: B008
    claim = learner.claim
    return run(
        Plan(
            learner=learner,
            adversary=adversary,
            referee=Release(),
            epsilon=claim.epsilon,
            delta=claim.delta,
            confidence=1 - 1e-6,
            games=games,
            seed=2,
        )
    )


@given(FINITE.filter(lambda y: y != 0))
def test_the_last_bit_is_that_of_the_fraction(y: float) -> None:
    assert find_last_bits(np.array([y])).tolist() == [last_bit(y)]


def test_numbers_without_a_last_bit_have_the_largest_score() -> None:
    odd = np.array([0.0, -0.0, np.inf, -np.inf, np.nan])
    assert find_last_bits(odd).tolist() == [2000.0] * 5
    assert find_last_bits(np.array([5e-324, 1.7976931348623157e308, 3])).tolist() == [-1074, 971, 0]


@given(MODEST.filter(lambda x: abs(x) > 1e-200), MODEST, st.floats(min_value=-2, max_value=2))
def test_noise_leaves_multiples_of_half_the_spacing(x: float, far: float, near: float) -> None:
    """The lemma of the docstring, for noise of any size and for noise of the size of x."""
    for noise in (far, near * x):
        released = x + noise
        assert (Fraction(released) / (Fraction(math.ulp(x)) / 2)).denominator == 1


def test_it_is_an_adversary_like_others() -> None:
    check_adversary(LowBits(), LaplaceCount(), Release())


@pytest.mark.parametrize("learner", [LaplaceCount(), LaplaceCount(epsilon=0.1), GaussianCount(epsilon=0.5)])
def test_noise_in_floating_point_is_caught(learner: Learner) -> None:
    """In a sound game ε = 0.1 would not be refuted by 10,000 games; the other adversary refutes none."""
    verdict = audit(learner)
    assert verdict.refuted
    assert verdict.epsilon_lower > 2.5
    assert not audit(learner, CountSwap()).refuted


def test_noise_in_whole_numbers_is_not() -> None:
    verdict = audit(GeometricCount(), games=100_000)
    assert not verdict.refuted
    assert 0.9 < verdict.epsilon_lower <= 1


def test_counts_of_one_spacing_are_not_told_apart() -> None:
    """2 and 3 have one spacing; 1 and 2 have not."""
    one, two = (Sample([0.0, 1.0], [0, 1], [5, ones]) for ones in (1, 2))
    assert audit(LaplaceCount(), LowBits(sample=two)).epsilon_lower < 1
    assert audit(LaplaceCount(), LowBits(sample=one)).refuted
