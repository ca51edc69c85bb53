"""Learners that say they are in step are, and those with a second hidden number are not."""

from __future__ import annotations

import pytest
from support.laws.learner_laws import check_common_random_numbers

from arena import Learner, Sample
from arena.concepts import Thresholds
from learners.everlasting.everlasting_v1 import EverlastingV1
from learners.online.noisy_majority import NoisyMajority
from learners.predictors.static_erm import StaticErm
from learners.predictors.vote_predictors import (
    AboveThresholdPredictor,
    BetweenThresholdsPredictor,
    NoisyVotes,
)
from learners.releases.choices import ExponentialChoice, RandomisedResponse
from learners.releases.counts import GaussianCount, LaplaceCount

CLEAR = Sample([0.0], [0], [20])
TIED = Sample([0.0, 0.0], [0, 1], [10, 10])
POINTS = [0.0, 1.0, 0.0, 0.0, 2.0, 0.0, 0.0, 1.0]

COMMON_RANDOM_NUMBERS = [
    LaplaceCount(),
    GaussianCount(),
    RandomisedResponse(size=20),
    ExponentialChoice(concepts=Thresholds([0.0, 1.0])),
    NoisyMajority(epsilon=50.0, rounds=20),
    StaticErm(),
    NoisyVotes(size=20, epsilon=0.5),
    BetweenThresholdsPredictor(size=20),
    AboveThresholdPredictor(size=20),
]


@pytest.mark.parametrize("learner", COMMON_RANDOM_NUMBERS, ids=lambda learner: learner.name)
@pytest.mark.parametrize("turned", [False, True], ids=["", "turned"])
def test_learners_that_say_so_are_in_step(learner: Learner, turned: bool) -> None:
    assert learner.common_random_numbers
    first, second = (TIED, CLEAR) if turned else (CLEAR, TIED)
    check_common_random_numbers(learner, first, second, POINTS)


@pytest.mark.parametrize(
    "learner",
    [BetweenThresholdsPredictor(size=20, halts=2), AboveThresholdPredictor(size=20, halts=2)],
    ids=lambda learner: learner.name,
)
def test_a_second_halt_puts_games_out_of_step(learner: Learner) -> None:
    assert not learner.common_random_numbers
    with pytest.raises(AssertionError, match=f"{learner.name}: "):
        check_common_random_numbers(learner, CLEAR, TIED, POINTS)


def test_what_shows_nowhere_checks_nothing() -> None:
    with pytest.raises(AssertionError, match="nothing was checked"):
        check_common_random_numbers(LaplaceCount(), CLEAR, CLEAR)


def test_a_learner_that_does_not_say_so_is_not_taken_to_be_in_step() -> None:
    assert not EverlastingV1().common_random_numbers
