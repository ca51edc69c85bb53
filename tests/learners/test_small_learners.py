"""Small learners: conformance, common random numbers, laws and claims."""

from __future__ import annotations

import pytest
from support.laws.learner_laws import check_common_random_numbers

from adversaries.online.adaptive import Contrarian
from adversaries.online.random_sequences import CommittedExamples
from adversaries.online.special_swap import SpecialSwap
from adversaries.release.point_swap import CountSwap
from arena import Adaptive, Learner, Oblivious, PrivacyUnit, Release, Sample, SpecialRound
from arena.concepts import Thresholds
from arena.testing import check_adversary, check_learner
from learners.everlasting.paper_versions import EverlastingV1, EverlastingV2
from learners.mechanisms.sparse_vector import delta_of_gap
from learners.online.noisy_majority import NoisyMajority
from learners.predictors.vote_predictors import (
    AboveThresholdPredictor,
    BetweenThresholdsPredictor,
    NoisyVotes,
    StaticErm,
    SteadyThresholdsPredictor,
)
from learners.releases.choices import ExponentialChoice, RandomisedResponse
from learners.releases.counts import GaussianCount, LaplaceCount

RATE = 1e-8
EVERY = [
    LaplaceCount(),
    StaticErm(),
    BetweenThresholdsPredictor(),
    NoisyMajority(rounds=12),
    EverlastingV1(),
    EverlastingV2(),
    *(NoisyVotes(answers=answers) for answers in (4, 1_000)),
    *(AboveThresholdPredictor(halts=halts) for halts in (1, 3)),
    *(SteadyThresholdsPredictor(size=20, epsilon=0.3, halts=halts) for halts in (1, 4)),
]


@pytest.mark.thorough
@pytest.mark.parametrize("learner", EVERY, ids=lambda learner: learner.name)
def test_every_shipped_learner_conforms(learner: Learner) -> None:
    check_learner(learner)


def test_count_swap_conforms() -> None:
    check_adversary(CountSwap(), LaplaceCount(), Release())


def test_between_thresholds_claims_what_its_gap_allows() -> None:
    learner = BetweenThresholdsPredictor()
    claim = learner.claim
    assert claim.epsilon == 0.5
    assert claim.delta == delta_of_gap(epsilon=0.5, gap=0.5, size=1_000)
    assert claim.protects == (PrivacyUnit.TRAINING_EXAMPLE,)
    assert BetweenThresholdsPredictor(size=20).claim.empty
    assert BetweenThresholdsPredictor(halts=50).claim.epsilon > 5


@pytest.mark.parametrize(
    ("adversary", "referee"),
    [
        (CommittedExamples(noise=0.1), Oblivious(100)),
        (Contrarian(), Adaptive(100)),
        (SpecialSwap(), SpecialRound(100)),
    ],
    ids=lambda spec: spec.name,
)
def test_online_adversaries_conform(adversary, referee) -> None:  # type: ignore[no-untyped-def]
    check_adversary(adversary, NoisyMajority(), referee)


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
    *(SteadyThresholdsPredictor(size=20, epsilon=0.3, halts=halts) for halts in (1, 4)),
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
