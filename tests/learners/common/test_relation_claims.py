"""Claims for several neighbouring relations, beside exact losses."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import audits
from adversaries.release.cover_swap import CoverSwap
from adversaries.release.statdp import StatDP
from arena import BLANK, InvalidArgument, Learner, Sample
from arena.concepts import DecisionLists, Thresholds
from arena.concepts.cube.features import Variables
from arena.neighbours import Neighbours
from audits.adversary_search.script_strategies import neighbours
from learners.lists.private_decision_list import ListChoice
from learners.releases.choices import ExponentialChoice
from learners.releases.counts import GeometricCount
from learners.zoo.counting_queries import NoisyHist1, ZooLaplace
from learners.zoo.svt import Svt1

ADD, ZERO, REPLACE = Neighbours.ADD_OR_REMOVE_ONE, Neighbours.ZERO_OUT_ONE, Neighbours.REPLACE_ONE
CHOICES = [(kind, share) for kind, share in ((REPLACE, 1.0), (ADD, 0.5), (ZERO, 0.5))]


@pytest.mark.parametrize(("kind", "epsilon"), [(ADD, 0.4), (ZERO, 0.4), (REPLACE, 0.8)])
def test_a_histogram_costs_its_epsilon_for_each_bin_that_changes(kind: Neighbours, epsilon: float) -> None:
    learner = NoisyHist1(epsilon=0.4, neighbours=kind)
    assert learner.claim.epsilon == epsilon
    for swapped in (False, True):  # one bin changes by one, also where an example is replaced
        exact = audits.exact(learner, StatDP(swapped=swapped, learner=learner))
        assert exact.epsilon == pytest.approx(0.4, rel=1e-6)


@pytest.mark.parametrize("kind", [ADD, ZERO, REPLACE])
@pytest.mark.parametrize("pattern", ["one-above", "all-below"])
def test_counting_queries_cost_the_same_for_each_relation(kind: Neighbours, pattern: str) -> None:
    for learner in (ZooLaplace(epsilon=0.5, neighbours=kind), Svt1(epsilon=0.5, queries=4, neighbours=kind)):
        assert learner.claim.epsilon == 0.5
        exact = audits.exact(learner, StatDP(pattern=pattern, learner=learner))
        assert 0.05 < exact.epsilon <= 0.5 + 1e-6


def test_patterns_that_replace_an_example_are_refused_elsewhere() -> None:
    learner = Svt1(neighbours=ADD)
    with pytest.raises(InvalidArgument, match="one example replaces another, got 'neighbours that add"):
        StatDP(pattern="half-half", learner=learner).samples()


def loss_of(learner: Learner, pair: tuple[Sample, Sample]) -> float:
    first, second = (learner.law(sample).probabilities for sample in pair)
    return float(np.abs(np.log(first) - np.log(second)).max())


@pytest.mark.thorough
@pytest.mark.parametrize(("kind", "share"), CHOICES)
def test_no_neighbours_exceed_the_claim_of_a_choice(kind: Neighbours, share: float) -> None:
    learner = ExponentialChoice(concepts=Thresholds(range(4)), epsilon=0.8, neighbours=kind)
    assert learner.claim.epsilon == 0.8 * share

    @settings(max_examples=25)
    @given(neighbours(learner))
    def check(pair: tuple[Sample, Sample]) -> None:
        assert loss_of(learner, pair) <= learner.claim.epsilon + 1e-12

    check()


def test_the_claims_of_a_choice_are_nearly_attained() -> None:
    """Nearly all mass is on the threshold that 40 examples agree with, and the example errs there or not."""
    learner = ExponentialChoice(concepts=Thresholds(range(4)), epsilon=0.8, neighbours=ADD)
    without = Sample([1.0, 2.0], [0, 1], [40, 40])
    pair = without, without.add_one(0, 1.0, 1)
    assert loss_of(learner, pair) > 0.999 * learner.claim.epsilon
    blank = without, without.add_one(0, 0.0, BLANK)
    assert loss_of(learner, blank) == 0


@pytest.mark.thorough
@pytest.mark.parametrize(("kind", "share"), CHOICES)
def test_cover_swap_draws_the_neighbours_of_the_claim(kind: Neighbours, share: float) -> None:
    learner = ListChoice(concepts=DecisionLists(Variables(2)), epsilon=1.0, neighbours=kind)
    exact = audits.exact(learner, CoverSwap(learner=learner, background=4))
    assert 0.5 * share < exact.epsilon <= share + 1e-9


@given(ones=st.integers(0, 9))
def test_a_count_of_fixed_size_has_blank_examples_but_no_missing_ones(ones: int) -> None:
    learner = GeometricCount(neighbours=ZERO)
    assert learner.claim.epsilon == GeometricCount().claim.epsilon
    sample = Sample([0.0, 0.0], [0, 1], [9 - ones + 1, ones]) if ones else Sample([0.0], [0], [10])
    pair = sample.replace_one(0, 0.0, 1), sample.blank_one(0)
    assert loss_of(learner, pair) <= learner.claim.epsilon + 1e-12
    with pytest.raises(InvalidArgument, match="says nothing about 'add or remove one'"):
        GeometricCount(neighbours=ADD).claim
