"""statdp: its patterns, its neighbours, its refusals."""

from __future__ import annotations

import numpy as np
import pytest

from adversaries.release.statdp import ALL_DIFFER, StatDP, list_statdp_inputs
from arena import InvalidArgument, PrivacyUnit, Release, play
from arena.testing import check_adversary
from learners.releases.laplace_count import LaplaceCount
from learners.zoo.laplace_mechanisms import NoisyHist1, ZooLaplace
from learners.zoo.svt import Svt1

FIVE = Svt1(queries=5)
PATTERNS = {
    "one-above": ([1, 1, 1, 1, 1], [0, 1, 1, 1, 1]),
    "one-below": ([1, 1, 1, 1, 1], [2, 1, 1, 1, 1]),
    "one-above-rest-below": ([1, 1, 1, 1, 1], [2, 0, 0, 0, 0]),
    "one-below-rest-above": ([1, 1, 1, 1, 1], [0, 2, 2, 2, 2]),
    "half-half": ([1, 1, 1, 1, 1], [2, 2, 0, 0, 0]),
    "all-above": ([1, 1, 1, 1, 1], [2, 2, 2, 2, 2]),
    "all-below": ([1, 1, 1, 1, 1], [0, 0, 0, 0, 0]),
    "x-shape": ([1, 1, 0, 0, 0], [0, 0, 1, 1, 1]),
}


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("pattern", ALL_DIFFER)
def test_the_queries_have_the_values_of_the_pattern(pattern: str, swapped: bool) -> None:
    samples = StatDP(pattern=pattern, swapped=swapped, learner=FIVE).samples()
    values = [FIVE.counts(sample).tolist() for sample in samples]
    assert values == list(PATTERNS[pattern])[:: -1 if swapped else 1]
    assert samples[0].differences(samples[1]) == 1


@pytest.mark.parametrize("queries", [1, 2, 10])
def test_every_pattern_fits_any_number_of_queries(queries: int) -> None:
    for adversary in list_statdp_inputs(queries, all_differ=True):
        first, second = adversary.samples()
        assert first.differences(second) == 1
        assert first.points.shape == (queries + 1, queries)
        assert set(np.unique(np.concatenate([first.points, second.points]))) <= {0.0, 1.0}


def test_the_inputs_of_the_literature() -> None:
    few, many = list_statdp_inputs(3, all_differ=False), list_statdp_inputs(3, all_differ=True)
    assert [(a.pattern, a.swapped) for a in few] == [
        ("one-above", False),
        ("one-above", True),
        ("one-below", False),
        ("one-below", True),
    ]
    assert len(set(many)) == 16
    assert {a.pattern for a in many} == set(PATTERNS)
    assert {a.queries for a in many} == {3}


@pytest.mark.parametrize("pattern", ALL_DIFFER)
def test_it_conforms_and_challenges_a_training_example(pattern: str) -> None:
    adversary = StatDP(pattern=pattern, learner=FIVE)
    check_adversary(adversary, FIVE, Release())
    played = play(FIVE, adversary, Release(), games=4, seed=1)
    assert played.score is None
    assert played.flag.all()
    assert played.challenges == {PrivacyUnit.TRAINING_EXAMPLE}


def test_people_of_a_histogram_stay_in_one_bin_unless_all_differ() -> None:
    learner = NoisyHist1()
    for adversary in list_statdp_inputs(5, all_differ=False):
        play(learner, adversary, Release(), games=2, seed=1)
    with pytest.raises(InvalidArgument, match="the points of noisy-hist-1 must have L1 norm at most 1"):
        play(learner, StatDP(pattern="all-above", learner=learner), Release(), games=2, seed=1)


def test_the_setting_comes_before_the_learner() -> None:
    first, _ = StatDP(queries=3, learner=ZooLaplace()).samples()
    assert first.points.shape[1:] == (3,)


@pytest.mark.parametrize("learner", [None, LaplaceCount()], ids=["none", "of numbers"])
def test_the_number_of_queries_must_be_known(learner: LaplaceCount | None) -> None:
    with pytest.raises(InvalidArgument) as caught:
        StatDP(learner=learner).samples()
    assert str(caught.value) == (
        "statdp needs the number of counting queries, which the learner's points do not determine, got (). "
        "Set queries, or choose a learner whose points are vectors."
    )


def test_patterns_and_numbers_that_are_refused() -> None:
    with pytest.raises(InvalidArgument) as caught:
        StatDP(pattern="one")
    assert str(caught.value) == f"pattern must be one of {', '.join(ALL_DIFFER)}, got 'one'"
    with pytest.raises(InvalidArgument, match="queries must be at least 1, got 0"):
        StatDP(queries=0)
