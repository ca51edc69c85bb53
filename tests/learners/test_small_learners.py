"""Small learners: conformance; laplace-count, between-thresholds and noisy-majority: laws and claims."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from support.players.simple_players import Scripted, script
from support.statistical import check_cdf, expect_rejection, statistical

from adversaries.online.adaptive import Contrarian
from adversaries.online.random_sequences import CommittedExamples
from adversaries.online.special_swap import SpecialSwap
from adversaries.release.point_swap import CountSwap
from arena import (
    Adaptive,
    Example,
    Hypothesis,
    Learner,
    Moves,
    Oblivious,
    PrivacyUnit,
    Ready,
    Release,
    Sample,
    SpecialRound,
    Train,
    play,
)
from arena.testing import check_adversary, check_learner
from learners.everlasting.paper_versions import EverlastingV1, EverlastingV2
from learners.mechanisms.between_thresholds import delta_of_gap
from learners.online.noisy_majority import NoisyMajority
from learners.predictors.vote_predictors import (
    AboveThresholdPredictor,
    BetweenThresholdsPredictor,
    NoisyVotes,
    StaticErm,
    SteadyThresholdsPredictor,
)
from learners.releases.laplace_count import LaplaceCount

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


# --- laplace-count ------------------------------------------------------------------------------------


@statistical(rate=3 * RATE)
def test_laplace_count_has_its_law() -> None:
    learner = LaplaceCount(epsilon=0.5)
    sample = Sample([0.0, 0.0], [0, 1], [4, 3])
    seen = play(learner, Scripted(release(sample)), Release(), games=400_000, seed=1).score
    assert seen is not None
    law = stats.laplace(loc=3, scale=2)
    check_cdf(seen, law.cdf, rate=RATE, effect=0.01, power=1 - 1e-8)
    seen = play(LaplaceCount(epsilon=0.55), Scripted(release(sample)), Release(), games=400_000, seed=1).score
    assert seen is not None
    with expect_rejection():
        check_cdf(seen, law.cdf, rate=RATE, effect=0.01, power=1 - 1e-8)


def release(sample: Sample):  # type: ignore[no-untyped-def]
    def moves(games: int, rng: np.random.Generator) -> Moves:
        reply = yield Train(sample)
        return reply.value

    return moves


def test_count_swap_conforms() -> None:
    check_adversary(CountSwap(), LaplaceCount(), Release())


# --- between-thresholds ---------------------------------------------------------------------------------


def test_between_thresholds_claims_what_its_gap_allows() -> None:
    learner = BetweenThresholdsPredictor()
    claim = learner.claim
    assert claim.epsilon == 0.5
    assert claim.delta == delta_of_gap(epsilon=0.5, gap=0.5, size=1_000)
    assert claim.protects == (PrivacyUnit.TRAINING_EXAMPLE,)
    assert BetweenThresholdsPredictor(size=20).claim.empty
    assert BetweenThresholdsPredictor(halts=50).claim.epsilon > 5


# --- noisy-majority -----------------------------------------------------------------------------------------


def test_noisy_majority_makes_few_mistakes_on_one_label_and_many_against_a_contrarian() -> None:
    learner = NoisyMajority(epsilon=200.0)
    easy = play(learner, script(*[Example(0.0, 1)] * 100), Adaptive(100), games=50, seed=1)
    hard = play(learner, Contrarian(), Adaptive(100), games=50, seed=1)
    assert easy.mistakes is not None
    assert hard.mistakes is not None
    assert easy.mistakes.mean() < 5
    assert hard.mistakes.mean() > 40


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


def test_special_swap_shows_in_a_learner_with_little_noise() -> None:
    played = play(NoisyMajority(epsilon=1e4), SpecialSwap(), SpecialRound(100), games=200, seed=1)
    assert played.score is not None
    assert played.score[~played.worlds].max() < played.score[played.worlds].min()


def test_special_round_shows_h_1_first() -> None:
    moves = script(Ready(), Example(0.0, 1))
    played = play(NoisyMajority(rounds=1), moves, SpecialRound(1), games=2, seed=1, record=True)
    assert isinstance(played.replies[0].hypothesis, Hypothesis)
