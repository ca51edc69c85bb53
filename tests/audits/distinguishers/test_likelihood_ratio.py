"""Likelihood ratios by level: of released values of every kind of law, and of answers."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import pytest

from adversaries.figure1.swaps import HaltCounter, TrainingSwap
from adversaries.release.point_swap import CountSwap
from adversaries.release.statdp import StatDP
from arena import (
    Adversary,
    Figure1,
    Finite,
    GameAdversary,
    Learner,
    Moves,
    Query,
    Referee,
    Release,
    Sample,
    SpecialRound,
    Train,
    Training,
    Transformed,
    Unsupported,
    ValueLaw,
    play,
)
from audits.distinguishers.likelihood_ratio import MAX_LEVELS, build_likelihood_ratio, likelihood_ratios
from audits.exact_loss.exact_audit import exact
from audits.exact_loss.view_laws import value_laws, view_law
from audits.registry.players import LEARNERS
from audits.runs.plan import LIKELIHOOD, Plan
from audits.runs.run import run
from audits.runs.verdict import Verdict
from learners.predictors.vote_predictors import (
    AboveThresholdPredictor,
    BetweenThresholdsPredictor,
    NoisyVotes,
)
from learners.releases.counts import LaplaceCount

PATTERNS = {
    "noisy-hist-1": "one-above",
    "report-noisy-max-1": "all-above",
    "report-noisy-max-3": "all-below",
    "report-noisy-max-4": "all-above",
    "svt-1": "half-half",
    "svt-3": "all-below",
    "svt-6": "x-shape",
}
ZOO = [(LEARNERS.find(name)(), pattern) for name, pattern in PATTERNS.items()]
RELEASED = [
    (LaplaceCount(), CountSwap()),
    *((learner, StatDP(pattern=pattern, learner=learner)) for learner, pattern in ZOO),
]


def ratios(learner: Learner, adversary: Adversary, referee: Referee, games: int = 4_000) -> np.ndarray:
    """(games,) the levels' ratios, and those of the laws beside them."""
    played = play(learner, adversary, referee, games=games, seed=1, record=True)
    found = likelihood_ratios(learner, adversary, referee, played)
    assert (np.diff(found.levels) > 0).all()
    assert len(found.levels) <= MAX_LEVELS
    return found.levels[found.of_game]


@pytest.mark.parametrize(("learner", "adversary"), RELEASED, ids=lambda player: player.name)
def test_levels_are_near_the_ratio_of_the_laws(learner: Learner, adversary: Adversary) -> None:
    played = play(learner, adversary, Release(), games=4_000, seed=1, record=True)
    values = played.replies[0].value
    laws = value_laws(learner, adversary, Release())
    with np.errstate(invalid="ignore"):
        true = np.nan_to_num(laws[1].log_density(values) - laws[0].log_density(values))
    found = np.nan_to_num(ratios(learner, adversary, Release()))
    apart = np.abs(found - true)
    # Rare views may share a level with others; most must be told to within a twentieth of the loss.
    assert np.mean(apart <= 0.05 * np.abs(true).max() + 1e-9) > 0.97


def test_a_vector_that_differs_in_several_coordinates_sums_them() -> None:
    found = ratios(LEARNERS.find("noisy-hist-1")(epsilon=1.0), Moved(), Release())
    assert np.abs(found).max() == pytest.approx(2.0, abs=0.02)


@attrs.frozen
class Moved(Adversary):
    """One person moves from the first bin to the second."""

    name = "moved"
    protocols = ("Release",)

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        bins = np.eye(5)
        sample = Sample(bins, np.zeros(5))
        yield Train(sample, sample.replace_one(0, bins[1], 0))


@pytest.mark.parametrize(
    "learner",
    [
        BetweenThresholdsPredictor(size=40, halts=2),
        AboveThresholdPredictor(size=6, epsilon=1.0),
        NoisyVotes(size=4, epsilon=0.2, answers=3),
    ],
    ids=lambda learner: learner.name,
)
def test_the_ratio_of_answers_is_that_of_the_listed_views(learner: Learner) -> None:
    attack = TrainingSwap(queries=5, learner=learner)
    found = ratios(learner, attack, Figure1())
    law = view_law(learner, attack, Figure1())
    losses = np.log(law.loss.p1 / law.loss.p0)
    assert np.isin(np.round(found, 9), np.round(losses, 9)).all()
    # The mean of e^ratio over world 0 is 1.
    worlds = np.zeros(40_000, bool)
    played = play(learner, attack, Figure1(), games=40_000, seed=2, record=True, worlds=worlds)
    ratio = likelihood_ratios(learner, attack, Figure1(), played)
    weights = np.exp(ratio.levels[ratio.of_game])
    assert weights.mean() == pytest.approx(1.0, abs=6 * weights.std() / 200)


def run_audit(learner: Learner, adversary: Adversary, referee: Referee, **settings: Any) -> Verdict:
    players = {"learner": learner, "adversary": adversary, "referee": referee}
    return run(Plan(**players, delta=0.0, distinguisher=LIKELIHOOD, **settings))


def test_what_is_certified_does_not_exceed_the_exact_loss() -> None:
    learner = AboveThresholdPredictor(size=4, epsilon=2.0)
    adversary = TrainingSwap(queries=3, learner=learner)
    truth = exact(learner, adversary, Figure1()).epsilon
    claimed = learner.claim.epsilon
    verdict = run_audit(learner, adversary, Figure1(), epsilon=claimed, games=60_000, confidence=1 - 1e-6)
    assert 0.6 * truth < verdict.epsilon_lower <= truth
    assert not verdict.refuted


def test_where_there_is_none_it_is_said() -> None:
    with pytest.raises(
        Unsupported, match="under Figure1, Voting, Release and FixedStream, not under SpecialRound"
    ):
        build_likelihood_ratio(LaplaceCount(), CountSwap(), SpecialRound(T=5))
    learner = LEARNERS.find("everlasting-v1")()
    rule = "everlasting-v1 declares its output distribution for its first round only"
    with pytest.raises(Unsupported, match=rule):
        build_likelihood_ratio(learner, HaltCounter(learner=learner), Figure1())


@attrs.frozen(eq=False)
class OwnLaw(ValueLaw):
    """Laplace noise around a count, as a distribution that nothing here knows."""

    count: float

    def log_density(self, values: np.ndarray) -> np.ndarray:
        return -np.abs(values.reshape(len(values)) - self.count)


@attrs.frozen
class OwnLearner(LaplaceCount):
    """Releases the count on another scale."""

    name = "own-learner"
    kind: str = "own"

    def release(self, training: Training, rng: np.random.Generator) -> np.ndarray:
        released = super().release(training, rng)
        return released if self.kind == "own" else np.exp(released)

    def law(self, sample: Sample) -> ValueLaw:
        law = OwnLaw(float(sample.counts @ sample.labels))
        return law if self.kind == "own" else Transformed(law, inverse=np.log)


@pytest.mark.parametrize("kind", ["own", "transformed"])
def test_a_distribution_of_the_users_own_is_a_distinguisher(kind: str) -> None:
    learner = OwnLearner(epsilon=1.0, kind=kind)
    found = ratios(learner, CountSwap(), Release())
    assert found.max() == pytest.approx(1.0, rel=0.06)
    assert found.min() == pytest.approx(-1.0, rel=0.06)
    assert np.mean(np.abs(found) > 0.94) > 0.5


def test_worlds_need_distributions_of_one_kind() -> None:
    @attrs.frozen
    class Odd(OwnLearner):
        def law(self, sample: Sample) -> ValueLaw:
            return OwnLaw(0.0) if sample.labels.any() else Finite([0], [1])

    with pytest.raises(Unsupported, match="State a Mixture in both worlds"):
        build_likelihood_ratio(Odd(), CountSwap(), Release())


@attrs.frozen
class OneGame(GameAdversary):
    """Swaps an example; whether it asks again depends on the first answer. It returns no score."""

    name = "one-game"
    protocols = ("Figure1", "Release")

    def play_one(self, rng: np.random.Generator) -> Moves:
        reply = yield Train(Sample([0.0, 0.0], [0, 1], [4, 6]), Sample([0.0, 0.0], [0, 1], [5, 5]))
        if hasattr(reply, "value"):
            return
        reply = yield Query(0.0)
        for _ in range(2 if reply.label else 0):
            yield Query(0.0)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("learner", "referee"), [(LaplaceCount(), Release()), (BetweenThresholdsPredictor(size=10), Figure1())]
)
def test_games_that_are_played_alone_have_ratios(learner: Learner, referee: Referee) -> None:
    adversary = OneGame()
    players = (learner, adversary, referee)
    ratio = build_likelihood_ratio(*players)
    played = play(*players, games=40, seed=1, record=True)
    scores = likelihood_ratios(*players, played)
    for game, alone in enumerate(played.single_games):
        assert scores.of_game[game] == likelihood_ratios(*players, alone).of_game[0]
    assert len(np.unique(scores.of_game)) > 1
    assert len(ratio.levels) >= len(np.unique(scores.of_game))
    assert not run_audit(*players, epsilon=5.0, games=100).refuted
