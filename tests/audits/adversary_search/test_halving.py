"""Successive halving: weak leaks, and the statement of power."""

from __future__ import annotations

import attrs
import numpy as np
import pytest

from arena import Claim, Learner, PrivacyUnit, Training
from audits.adversary_search import search
from audits.adversary_search.exploration import Rung, detectable_loss

CLAIM = Claim(epsilon=1, delta=0, protects=(PrivacyUnit.TRAINING_EXAMPLE,))
RUNGS = (Rung(1_024, 31, 0.5), Rung(4_096, 15, 0.5), Rung(16_384, 7, 1.0))


class FlipState:
    def __init__(self, loss: float, rng: np.random.Generator) -> None:
        self.loss, self.rng = loss, rng

    def release(self, training: Training) -> np.ndarray:
        first = np.array([sample.rows()[1][0] for sample in training.samples])[training.which]
        truth = self.rng.random(training.games) < 1 / (1 + np.exp(-self.loss))
        return np.where(truth, first, 1 - first).astype(float)


@attrs.frozen
class Flips(Learner):
    """Releases the first label by randomised response with a loss of `loss`, and claims ε = 1."""

    name = "flips"
    protocols = ("Release",)
    loss: float = 1.0
    claim = CLAIM

    def start(self, games: int, rng: np.random.Generator) -> FlipState:
        return FlipState(self.loss, rng)


def test_more_games_show_smaller_losses() -> None:
    losses = [
        detectable_loss(RUNGS[:rungs], CLAIM, pairs=256, threshold=10.0) for rungs in range(1, len(RUNGS) + 1)
    ]
    assert None not in losses
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < 0.3


def test_a_rung_that_nothing_reaches_leaves_no_power() -> None:
    assert detectable_loss((Rung(64, 8, 1e6), *RUNGS), CLAIM, pairs=64, threshold=10.0) is None


def test_a_search_that_finds_nothing_states_its_power() -> None:
    result = search(Flips(), examples=40, pairs=64)
    assert not result.refuted
    assert result.detectable is not None
    assert 0.05 < result.detectable < 2


@pytest.mark.thorough
def test_a_loss_little_above_the_claim_is_found() -> None:
    assert search(Flips(loss=1.05), seed=1).refuted


@pytest.mark.slow
def test_the_stated_loss_is_found_nine_times_in_ten() -> None:
    stated = search(Flips(), examples=60, pairs=64).detectable
    assert stated is not None
    leaky = Flips(loss=1 + stated)
    refuted = sum(search(leaky, examples=60, pairs=64, seed=seed).refuted for seed in range(40))
    assert refuted >= 29  # of 40 at 0.9, fewer by chance once in 10,000
