"""laplace-count, static-erm, between-thresholds, noisy-majority: laws, claims, refusals, conformance."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from support.simple_players import Scripted, script
from support.statistical import check_cdf, check_counts, expect_rejection, statistical

from adversaries.online.adaptive import Contrarian
from adversaries.online.random_sequences import CommittedExamples
from adversaries.online.special_swap import SpecialSwap
from adversaries.release.point_swap import CountSwap
from arena import (
    Adaptive,
    BudgetExceeded,
    Commit,
    Example,
    Figure1,
    Hypothesis,
    InvalidArgument,
    Learner,
    Moves,
    Oblivious,
    PrivacyUnit,
    Query,
    Ready,
    Release,
    Sample,
    SpecialRound,
    Train,
    Unsupported,
    play,
)
from arena.testing import check_adversary, check_learner
from learners.everlasting.everlasting_v1 import EverlastingV1
from learners.everlasting.everlasting_v2 import EverlastingV2
from learners.mechanisms.sparse_vector import delta_of_gap
from learners.online.noisy_majority import NoisyMajority
from learners.predictors.static_erm import StaticErm
from learners.predictors.vote_predictors import BetweenThresholdsPredictor
from learners.releases.counts import LaplaceCount

RATE = 1e-8
EVERY = [
    LaplaceCount(),
    StaticErm(),
    BetweenThresholdsPredictor(),
    NoisyMajority(rounds=12),
    EverlastingV1(),
    EverlastingV2(),
]


@pytest.mark.thorough
@pytest.mark.parametrize("learner", EVERY, ids=lambda learner: learner.name)
def test_every_shipped_learner_conforms(learner: Learner) -> None:
    check_learner(learner)


# --- laplace-count ------------------------------------------------------------------------------------


@statistical(rate=2 * RATE)
def test_laplace_count_has_its_law() -> None:
    learner = LaplaceCount(epsilon=0.5)
    sample = Sample([0.0, 0.0], [0, 1], [4, 3])
    seen = play(learner, Scripted(release(sample)), Release(), games=400_000, seed=1).score
    assert seen is not None
    law = stats.laplace(loc=3, scale=2)
    check_cdf(seen, law.cdf, rate=RATE, effect=0.01, power=1 - 1e-8)


@statistical(rate=2 * RATE)
def test_laplace_count_with_other_noise_would_be_noticed() -> None:
    sample = Sample([0.0, 0.0], [0, 1], [4, 3])
    seen = play(LaplaceCount(epsilon=0.55), Scripted(release(sample)), Release(), games=400_000, seed=1).score
    assert seen is not None
    with expect_rejection():
        check_cdf(seen, stats.laplace(loc=3, scale=2).cdf, rate=RATE, effect=0.01, power=1 - 1e-8)


def release(sample: Sample):  # type: ignore[no-untyped-def]
    def moves(games: int, rng: np.random.Generator) -> Moves:
        reply = yield Train(sample)
        return reply.value

    return moves


def test_count_swap_conforms() -> None:
    check_adversary(CountSwap(), LaplaceCount(), Release())


# --- static-erm -----------------------------------------------------------------------------------------


def test_static_erm_answers_from_its_minimiser_for_ever() -> None:
    sample = Sample([0.0, 1.0, 2.0], [0, 1, 1])
    asked = script(Train(sample), *[Query(x) for x in (0.0, 0.9, 1.0, 5.0)] * 3)
    played = play(StaticErm(), asked, Figure1(), games=3, seed=1, record=True)
    labels = [int(reply.label[0]) for reply in played.replies[1:]]
    assert labels == [0, 0, 1, 1] * 3
    assert StaticErm().claim.empty


# --- between-thresholds ---------------------------------------------------------------------------------


@statistical(rate=2 * RATE)
def test_between_thresholds_answers_as_its_mechanism_does() -> None:
    """One query at vote v: the chance of label 0 is P[v + Lap(6/(εn)) < 1/2 − α + Lap(2/(εn))]."""
    learner = BetweenThresholdsPredictor(size=40, epsilon=0.5, alpha=0.1)
    sample = Sample([0.0, 1.0], [1, 1], [18, 22])
    games = 300_000

    def moves(games: int, rng: np.random.Generator) -> Moves:
        yield Train(sample)
        reply = yield Query(0.5)  # 18 of 40 vote 1
        return reply.label

    label = play(learner, Scripted(moves), Figure1(), games=games, seed=1).score
    assert label is not None
    wide, narrow, gap = 6 / 20, 2 / 20, 18 / 40 - 0.4
    # A difference of Laplace variables exceeds g with chance (w² e^{−g/w} − n² e^{−g/n}) / 2(w² − n²).
    zero = (wide**2 * np.exp(-gap / wide) - narrow**2 * np.exp(-gap / narrow)) / (2 * (wide**2 - narrow**2))
    ones = int(label.sum())
    check_counts([games - ones, ones], [zero, 1 - zero], rate=RATE, effect=0.012, power=1 - 1e-8)


def test_between_thresholds_claims_what_its_gap_allows() -> None:
    learner = BetweenThresholdsPredictor()
    claim = learner.claim
    assert claim.epsilon == 0.5
    assert claim.delta == delta_of_gap(epsilon=0.5, gap=0.5, size=1_000)
    assert claim.protects == (PrivacyUnit.TRAINING_EXAMPLE,)
    assert BetweenThresholdsPredictor(size=20).claim.empty
    assert BetweenThresholdsPredictor(halts=50).claim.epsilon > 5


def test_between_thresholds_is_sized_for_data() -> None:
    assert BetweenThresholdsPredictor().adapt_to(77).sample_size == 77


def test_between_thresholds_wants_the_size_it_is_set_for() -> None:
    with pytest.raises(Unsupported, match=r"is configured for 1,000 examples, got 5\. Set size"):
        play(BetweenThresholdsPredictor(), script(Train(Sample([0.0], [0], [5]))), Figure1(), games=2, seed=1)


# --- noisy-majority -----------------------------------------------------------------------------------------


@statistical(rate=2 * RATE)
def test_noisy_majority_follows_the_labels_with_noise() -> None:
    learner = NoisyMajority(epsilon=4.0, rounds=4)  # noise Lap(2)
    games = 300_000

    def moves(games: int, rng: np.random.Generator) -> Moves:
        stream = yield Commit([0.0] * 4, [1, 1, 1, 0])
        return stream.hypotheses[3](0.0)

    said = play(learner, Scripted(moves), Oblivious(4), games=games, seed=1).score
    assert said is not None
    one = stats.laplace(scale=2).cdf(3)
    ones = int(said.sum())
    check_counts([games - ones, ones], [1 - one, one], rate=RATE, effect=0.01, power=1 - 1e-8)


def test_noisy_majority_plays_no_longer_than_its_budget() -> None:
    with pytest.raises(BudgetExceeded, match="has spent its 2 rounds"):
        play(NoisyMajority(rounds=2), script(*[Example(0.0, 1)] * 3), Adaptive(3), games=2, seed=1)


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
    played = play(
        NoisyMajority(rounds=1),
        script(Ready(), Example(0.0, 1)),
        SpecialRound(1),
        games=2,
        seed=1,
        record=True,
    )
    assert isinstance(played.replies[0].hypothesis, Hypothesis)


@pytest.mark.parametrize("bad", [{"epsilon": 0.0}, {"epsilon": -1.0}, {"epsilon": "much"}])
@pytest.mark.parametrize("spec", [LaplaceCount, NoisyMajority])
def test_settings_out_of_range_are_refused(spec: type, bad: dict) -> None:
    with pytest.raises(InvalidArgument, match="epsilon must be more than 0"):
        spec(**bad)
