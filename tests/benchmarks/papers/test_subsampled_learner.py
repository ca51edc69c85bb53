"""Algorithm 4: its output distribution, and its privacy on tiny instances."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from support.laws.mechanism_laws import RATE, SURE
from support.laws.sanitiser_laws import DATA, FUNCTIONS, algorithm_4_law, furthest, learn_repeatedly
from support.statistical import check_counts, statistical

from arena.errors import InvalidArgument
from benchmarks.papers.subsampled_learner import SubsampledLearner


@pytest.mark.thorough
@statistical(rate=RATE)
def test_algorithm_4_follows_its_distribution(rng: np.random.Generator) -> None:
    """Two of 12 examples are drawn."""
    found = learn_repeatedly(SubsampledLearner(0.09), rng, 30_000)
    law = algorithm_4_law(FUNCTIONS, DATA, 0.09, 1.0)
    check_counts(np.bincount(found, minlength=4), list(law.values()), effect=0.04, **SURE)


def test_functions_that_are_not_allowed_are_never_learned(rng: np.random.Generator) -> None:
    found = learn_repeatedly(SubsampledLearner(0.1), rng, 200, np.array([False, True, False, True]))
    assert set(found.tolist()) == {1, 3}


@pytest.mark.parametrize("size", [10, 11])
def test_algorithm_4_is_as_private_as_claimed(size: int) -> None:
    """All neighbours of a dataset, by enumeration of the draws. The proof is far from tight."""
    examples = list(itertools.product(range(3), range(2)))
    claim = SubsampledLearner(0.1).guarantee(size)
    assert claim.delta == 0
    data = [DATA[i % len(DATA)] for i in range(size)]
    laws = [algorithm_4_law(FUNCTIONS, [first, *data[1:]], 0.1, 1.0) for first in examples]
    assert 0.01 < furthest(laws) <= claim.epsilon


def test_the_claim_of_algorithm_4_is_below_the_one_printed_in_its_proof() -> None:
    for rate, size in itertools.product([0.1, 0.05, 0.001], [1_000, 10_000]):
        printed = math.log(math.exp(rate) + 24 * math.e**3 * rate)
        assert rate < SubsampledLearner(rate).guarantee(size).epsilon <= printed
    small = SubsampledLearner(1e-4).guarantee(10**6).epsilon
    assert small == pytest.approx((1 + 4 * math.e**2) * 1e-4, rel=0.01)


def test_bad_parameters_are_refused(rng: np.random.Generator) -> None:
    for rate in (0.0, 0.2, math.nan):
        with pytest.raises(InvalidArgument, match=r"rate must be (more than 0|at most 0.1), got"):
            SubsampledLearner(rate)
    with pytest.raises(InvalidArgument, match=r"rate=0.05 needs at least 20 examples, got 12"):
        learn_repeatedly(SubsampledLearner(0.05), rng, 1)
