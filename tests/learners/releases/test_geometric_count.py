"""geometric-count: its probabilities as integers, its output distribution, its claim."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from math import exp, log

import numpy as np
import pytest
from support.common_random_numbers import check_common_random_numbers
from support.players.foreign_mechanisms import play_releases
from support.statistical import check_counts, expect_rejection, statistical

from arena import InvalidArgument, Sample, Unsupported
from arena.testing import check_learner
from learners.releases.geometric_count import GeometricCount, answer_weights

RATE = 1e-8
SURE = {"rate": RATE, "power": 1 - 1e-8}
THREE = Sample([0.0, 0.0], [1, 0], [3, 2])


def paper_probability(size: int, epsilon: float, count: int, answer: int) -> float:
    """The chance of an answer in the truncated geometric mechanism: what lies beyond an end falls to it."""
    a = exp(-epsilon)

    def noise(k: int) -> float:
        return (1 - a) / (1 + a) * a ** abs(k)

    if 0 < answer < size:
        return noise(answer - count)
    beyond = range(10_000)
    return sum(noise(answer - count + (-k if answer == 0 else k)) for k in beyond)


@pytest.mark.parametrize(("size", "epsilon"), [(1, 1.0), (5, 0.3), (12, 2.0)])
def test_chances_are_those_of_the_paper(size: int, epsilon: float) -> None:
    table = answer_weights(size, epsilon)
    assert [sum(map(int, row)) for row in table] == [2**63] * (size + 1)
    for count in range(size + 1):
        for answer in range(size + 1):
            wanted = paper_probability(size, epsilon, count, answer)
            assert int(table[count, answer]) / 2**63 == pytest.approx(wanted, rel=1e-6)


@pytest.mark.thorough
@pytest.mark.parametrize(("size", "epsilon"), [(10, 1.0), (400, 0.1), (13, 3.0), (1, 40.0)])
def test_the_claim_is_the_largest_ratio(size: int, epsilon: float) -> None:
    table = answer_weights(size, epsilon)
    ratios = [
        Fraction(int(one), int(other))
        for above, below in pairwise(table)
        for pair in zip(above, below, strict=True)
        for one, other in (pair, pair[::-1])
    ]
    claim = GeometricCount(size=size, epsilon=epsilon).claim
    assert claim.epsilon == pytest.approx(log(max(ratios)), abs=1e-12)
    rounded = 1 / int(table.min())
    assert epsilon - 1e-12 <= claim.epsilon <= epsilon + 1e-12 + 3 * rounded
    assert claim.delta == 0


def test_chances_that_would_vanish_are_refused() -> None:
    with pytest.raises(InvalidArgument) as refused:
        GeometricCount(size=50, epsilon=1.0)
    assert str(refused.value) == (
        "the noise must reach from one end of 0..n to the other with a probability of at least 2^-63, "
        "got 'n = 50, ε = 1'. Choose size and epsilon such that n·ε is at most 40."
    )


def test_another_size_is_refused() -> None:
    with pytest.raises(Unsupported, match="geometric-count is configured for 10 examples, got 5"):
        GeometricCount().law(THREE)
    assert GeometricCount().adapt_to(5).law(THREE).probabilities.argmax() == 3


@statistical(rate=3 * RATE)
def test_it_has_the_law_that_it_tells() -> None:
    learner = GeometricCount(size=5, epsilon=0.5)
    seen = np.bincount(play_releases(learner, THREE, 400_000), minlength=6)
    check_counts(seen, learner.law(THREE).probabilities, effect=0.01, **SURE)
    with expect_rejection():
        check_counts(seen, GeometricCount(size=5, epsilon=0.55).law(THREE).probabilities, effect=0.01, **SURE)


@pytest.mark.parametrize("learner", [GeometricCount(), GeometricCount(size=1, epsilon=3.0)], ids=str)
def test_it_conforms(learner: GeometricCount) -> None:
    check_learner(learner)


def test_it_is_in_step() -> None:
    check_common_random_numbers(
        GeometricCount(size=20), Sample([0.0], [0], [20]), Sample([0.0, 0.0], [0, 1], [10, 10])
    )
