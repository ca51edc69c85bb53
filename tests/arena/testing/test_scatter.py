"""The scatter test holds its rate on independent games, and finds random numbers that a batch shares."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from support.statistical import statistical

from arena.testing.batches import BatchScatter, _log_tail
from audits.statistics.score_histogram import BlockScatter
from audits.statistics.score_pairs import PairCounts


@pytest.mark.parametrize(("hits", "all_hits", "games", "all_games"), [(5, 20, 30, 300), (30, 40, 50, 90)])
def test_the_bound_on_a_tail_is_at_least_the_tail(
    hits: int, all_hits: int, games: int, all_games: int
) -> None:
    exact = stats.hypergeom.logsf(hits - 1, all_games, all_hits, games)
    bound = float(_log_tail(np.array([hits]), np.array([all_hits]), games, all_games)[0])
    assert exact <= bound <= min(0.0, exact + math.log(30.0))


@pytest.mark.thorough
@statistical(rate=1e-7)
def test_p_values_of_independent_games_are_not_too_small(rng: np.random.Generator) -> None:
    small = 0
    repetitions = 4_000
    for _ in range(repetitions):
        scatter, share = BatchScatter(1), rng.choice([0.5, 0.1, 0.01])
        for _ in range(int(rng.integers(2, 12))):
            games = int(rng.integers(1, 100))
            scatter.update(np.array([rng.binomial(games, share)]), games)
        small += scatter.p_value() <= 0.05
    assert stats.binom.sf(small - 1, repetitions, 0.05) > 1e-7


def make_blocks(rng: np.random.Generator, blocks: int, shared: float) -> list[PairCounts]:
    """Blocks of 500 pairs; a standard normal number times `shared` is common to the scores of a block."""
    noise = rng.normal(size=(blocks, 2, 500)) + shared * rng.normal(size=(blocks, 1, 1))
    return [PairCounts.of(*each) for each in noise]


@pytest.mark.parametrize("blocks", [2, 5, 31, 32, 33, 70])
def test_noise_that_a_block_shares_is_suspected(blocks: int, rng: np.random.Generator) -> None:
    for shared in (0.0, 1.0):
        scatter = BlockScatter()
        for block in make_blocks(rng, blocks, shared):
            scatter.update(block)
        assert scatter.suspected == bool(shared)


def test_blocks_that_begin_to_share_late_are_suspected(rng: np.random.Generator) -> None:
    scatter = BlockScatter()
    for block in make_blocks(rng, 40, 0.0) + make_blocks(rng, 20, 1.0):
        scatter.update(block)
    assert scatter.suspected


def test_scores_of_another_distinguisher_are_compared_anew(rng: np.random.Generator) -> None:
    scatter = BlockScatter()
    for block in make_blocks(rng, 40, 1.0):
        scatter.update(block)
    scatter.start_again(make_blocks(rng, 10, 0.0))
    assert not scatter.suspected


@pytest.mark.parametrize("blocks", [0, 1, 40])
def test_equal_scores_are_not_suspected(blocks: int) -> None:
    scatter = BlockScatter()
    for _ in range(blocks):
        scatter.update(PairCounts.of(np.zeros(50), np.zeros(50)))
    assert not scatter.suspected
