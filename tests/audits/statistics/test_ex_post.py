"""Bets against odometers: true ones are rarely refuted, false ones soon."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from arena.randomness import block_seed, generator
from audits.statistics.ex_post import ExPostBetting, ExPostPairs

BLOCKS = (32, 32, 64, 128, 256, 512)


def draw_views(world: int, games: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """The log-likelihood ratios and the true losses of games whose second query depends on the first answer.

    Counts differ by 1. The first answer has noise Lap(1); if it exceeds 0.5, a second follows with Lap(2).
    """
    first = world + rng.laplace(size=games)
    second = world + rng.laplace(scale=2.0, size=games)
    more = first > 0.5
    ratio = np.abs(first) - np.abs(first - 1)
    ratio += np.where(more, (np.abs(second) - np.abs(second - 1)) / 2, 0.0)
    return ratio, 1.0 + 0.5 * more


def audit(seed: int, *, share: float = 1.0, delta: float = 0.0, confidence: float = 0.95) -> ExPostBetting:
    """An audit of an odometer that reports this share of its loss."""
    rng = generator(block_seed(seed, 0))
    betting = ExPostBetting(confidence=confidence)
    for games in BLOCKS:
        views = [draw_views(world, games, rng) for world in range(2)]
        scores, losses = (np.stack(each) for each in zip(*views, strict=True))
        betting.update(ExPostPairs(scores, share * losses, np.full_like(losses, delta), np.ones(games)))
        if betting.refuted:
            break
    return betting


def count_refuted(audits: int) -> int:
    return sum(audit(seed).refuted for seed in range(audits))


@pytest.mark.thorough
def test_a_true_odometer_is_rarely_refuted() -> None:
    assert count_refuted(100) <= binom.ppf(1 - 1e-6, 100, 0.05)


@pytest.mark.slow
def test_true_odometers_are_refuted_at_most_as_often_as_stated() -> None:
    assert count_refuted(10_000) <= binom.ppf(1 - 1e-6, 10_000, 0.05)


@pytest.mark.thorough
def test_half_of_the_loss_is_refuted_within_two_thousand_games() -> None:
    results = [audit(seed, share=0.5) for seed in range(20)]
    assert all(result.refuted for result in results)
    # What is missing is at most 0.75 nats.
    assert all(0 <= result.shortfall <= 0.75 for result in results)
    assert max(result.shortfall for result in results) > 0


def test_a_delta_pays_for_what_is_missing() -> None:
    # A share of 0.9 is missing at most 0.15 nats, which no view shows with probability above 0.15.
    assert not any(audit(seed, share=0.9, delta=0.15).refuted for seed in range(20))


def test_bets_follow_the_weights_of_views() -> None:
    """A game that loses ln 4 wins a quarter; worlds that agree win nothing on average."""
    betting = ExPostBetting(confidence=0.95)
    losses = np.full((2, 4), np.log(4.0))
    separated = ExPostPairs(np.array([[-9.0] * 4, [9.0] * 4]), losses, 0 * losses, np.array([25, 25, 25, 25]))
    betting.update(separated)
    betting.update(separated)
    assert betting.log_evidence == pytest.approx(100 * np.log1p(0.5 / 4))
