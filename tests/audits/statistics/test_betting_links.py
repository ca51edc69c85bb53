"""The betting test where the games of a pair hang together, where the distinguisher changes, and its grid."""

from __future__ import annotations

import math
import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audits.statistics.bets import (
    Bets,
    best_stake,
    double_cells,
    double_returns,
    overlap_chances,
    single_cells,
)
from audits.statistics.betting import Betting
from audits.statistics.score_pairs import Events, PairCounts, join_blocks

LEVELS = st.sampled_from([-math.inf, -1.0, 0.0, 1.0, 2.0])
BLOCKS = st.lists(st.lists(st.tuples(LEVELS, LEVELS), min_size=1, max_size=20), min_size=1, max_size=4)


def block_of(pairs: list[tuple[float, float]]) -> PairCounts:
    return PairCounts.of(*np.array(pairs, float).T)


def repeat_pair(score_0: float, score_1: float, pairs: int) -> PairCounts:
    return PairCounts.of(np.array([score_0]), np.array([score_1]), np.array([pairs]))


def pairs_until_refuted(rng: np.random.Generator, *, linked: bool, truth: float, claim: float) -> int:
    """The pairs after which Laplace scores of ε = truth refute a claim, with and without shared noise."""
    test = Betting(delta=0.0, confidence=0.99, epsilon_claim=claim, epsilon_max=claim)
    while not test.refuted:
        noise = rng.laplace(0, 1 / truth, (2, 2_048))
        test.update(PairCounts.of(noise[0], noise[0 if linked else 1] + 1))
        assert test.pairs < 4_000_000
    return test.pairs


@pytest.mark.thorough
def test_a_small_loss_shows_in_fewer_pairs_where_noise_is_shared(rng: np.random.Generator) -> None:
    linked = [pairs_until_refuted(rng, linked=True, truth=0.2, claim=0.18) for _ in range(5)]
    apart = [pairs_until_refuted(rng, linked=False, truth=0.2, claim=0.18) for _ in range(5)]
    assert 2 * statistics.median(linked) < statistics.median(apart)


@pytest.mark.thorough
@given(blocks=BLOCKS)
def test_every_cell_has_a_chance_whatever_was_seen(blocks: list[list[tuple[float, float]]]) -> None:
    seen = [block_of(pairs) for pairs in blocks]
    events = Events(np.array([-1.0, 0.0, 1.0, 2.0]))
    pairs = sum(one.pairs for one in seen)
    loss = (sum(events.count(one).world for one in seen) + 0.5) / (pairs + 1)
    cells = single_cells(loss, overlap_chances(events, seen, loss))
    assert (cells > 0).all()
    assert cells.sum(axis=0) == pytest.approx(1.0)
    assert (cells[0] + cells[2])[::-1] == pytest.approx(loss)
    assert (cells[1] + cells[2]) == pytest.approx(loss)


def test_the_overlap_is_the_one_that_was_seen() -> None:
    events = Events(np.array([1.0]))
    scores = np.repeat([0.0, 1.0], 5_000)
    loss = np.full((2, 2), 0.5)
    alike = overlap_chances(events, [PairCounts.of(scores, scores)], loss)
    apart = overlap_chances(events, [PairCounts.of(scores, np.tile([0.0, 1.0], 5_000))], loss)
    opposed = overlap_chances(events, [PairCounts.of(scores, 1 - scores)], loss)
    assert alike == pytest.approx(0.5, abs=1e-3)
    assert apart == pytest.approx(0.25, abs=1e-3)
    assert opposed == pytest.approx(0.0, abs=1e-3)


@pytest.mark.thorough
@given(blocks=BLOCKS)
def test_joined_blocks_count_what_each_counted(blocks: list[list[tuple[float, float]]]) -> None:
    whole = join_blocks(block_of(pairs) for pairs in blocks)
    expected = block_of([pair for pairs in blocks for pair in pairs])
    assert np.array_equal(whole.scores, expected.scores)
    assert np.array_equal(whole.counts, expected.counts)


def kind(events: Events, couple: np.ndarray, score: float) -> int:
    first, second = ((score >= events[int(e)].threshold) == events[int(e)].upper for e in couple)
    return first + 2 * second


@pytest.mark.thorough
@given(blocks=BLOCKS)
def test_cells_and_kinds_are_those_of_counting_one_by_one(blocks: list[list[tuple[float, float]]]) -> None:
    events = Events(np.array([-1.0, 0.5, 2.0]))
    couples = np.array([[0, 4], [2, 3], [1, 1], [0, 5], [3, 5], [4, 1]])
    pairs = [pair for block in blocks for pair in block]
    whole = block_of(pairs)
    cells, expected = events.count_cells(whole, couples), np.zeros((len(couples), 16))
    for row, couple in zip(expected, couples, strict=True):
        for v0, v1 in pairs:
            row[4 * kind(events, couple, v0) + kind(events, couple, v1)] += 1
    assert np.array_equal(cells, expected)
    kinds = events.count_kinds(couples, events.count(whole).world, whole.pairs)
    assert np.array_equal(kinds[0], expected.reshape(-1, 4, 4).sum(axis=2))
    assert np.array_equal(kinds[1], expected.reshape(-1, 4, 4).sum(axis=1))


@pytest.mark.thorough
@given(blocks=BLOCKS)
def test_every_cell_of_a_couple_has_a_chance_and_the_margins_are_right(
    blocks: list[list[tuple[float, float]]],
) -> None:
    seen = [block_of(pairs) for pairs in blocks]
    events, couples = Events(np.array([-1.0, 0.5, 2.0])), np.array([[0, 4], [2, 3], [4, 1]])
    counts = sum(events.count(one).world for one in seen)
    pairs = sum(one.pairs for one in seen)
    chances = double_cells(events, couples, counts, pairs, seen)
    assert (chances > 0).all()
    assert chances.sum(axis=1) == pytest.approx(1.0)
    margins = (events.count_kinds(couples, counts, pairs) + 0.5) / (pairs + 2)
    assert chances.reshape(-1, 4, 4).sum(axis=1) == pytest.approx(margins[1])


def test_a_stake_on_both_directions_is_the_best_one(rng: np.random.Generator) -> None:
    chances = rng.dirichlet(np.ones(16), 50).T
    returns = double_returns(np.linspace(0, 5, 50), 1e-3)
    stake = best_stake(chances, returns, 0.99)
    stakes = np.linspace(0, 0.99, 2_001)[:, None, None]
    growth = (chances * np.log1p(stakes * returns)).sum(axis=1)
    assert (chances * np.log1p(stake * returns)).sum(axis=0) == pytest.approx(growth.max(axis=0), abs=1e-6)
    assert stake.max() > 0
    assert (stake == 0).any()


def test_both_directions_tell_more_than_one(rng: np.random.Generator) -> None:
    """Laplace noise loses as much in one direction as in the other."""
    test = Betting(delta=0.0, confidence=0.99, epsilon_claim=0.9)
    for _ in range(10):
        test.update(PairCounts.of(*rng.laplace([[0.0], [1.0]], 1.0, (2, 4_096))))
    claim = int(np.searchsorted(test.hypotheses.epsilons, 0.9))
    bets = test._bets[0][1]
    assert isinstance(bets, Bets)
    factors = bets.log_factors[:, np.searchsorted(np.cumsum(bets.parts) + bets.span.start, claim, "right")]
    # A game in the event of the other world loses in either direction.
    assert factors[4] < 0
    assert factors[2] < 0
    assert factors[9] > max(factors[1], factors[8]) > 0


def test_the_wealth_survives_another_distinguisher_and_the_old_scores_do_not() -> None:
    test = Betting(delta=0.0, confidence=0.95, epsilon_claim=0.5)
    for _ in range(3):
        test.update(repeat_pair(0.0, 1.0, 100))
    wealth = test.log_wealth
    test.start_again([repeat_pair(7.0, 3.0, 50)])
    assert np.array_equal(test.log_wealth, wealth)
    assert test.pairs == 50
    # The old scores would lose now; the bets know the new ones alone.
    test.update(repeat_pair(7.0, 3.0, 10))
    stands = int((wealth < test.threshold).argmax())
    assert test.log_wealth[stands] > wealth[stands]


def test_a_distinguisher_that_separates_nothing_bets_nothing() -> None:
    test = Betting(delta=0.0, confidence=0.95, epsilon_claim=0.5)
    test.start_again([repeat_pair(1.0, 1.0, 50)])
    test.update(repeat_pair(0.0, 1.0, 50))
    assert not test.log_wealth.any()


@pytest.mark.parametrize("top", [0.0, 0.0005, 0.5, 1.0, 3.0, 20.0])
def test_the_grid_is_fine_for_small_and_for_large_losses(top: float) -> None:
    grid = Betting(delta=0.0, confidence=0.95, epsilon_max=top).hypotheses.epsilons
    assert grid[0] == 0.0
    assert grid[-1] <= top
    steps = np.diff(grid[1:])
    assert (steps > 0).all()
    assert (steps <= 0.00101 * grid[1:-1]).all()
    if top >= 0.001:
        assert grid[-1] == pytest.approx(top)


def test_bets_rest_where_the_null_has_fallen() -> None:
    test = Betting(delta=0.0, confidence=0.95)
    for _ in range(4):
        test.update(repeat_pair(0.0, 1.0, 4_000))
    assert test.epsilon_lower > 5
    [(_, bets)] = test._bets
    assert isinstance(bets, Bets)
    assert test.hypotheses.epsilons[bets.span.start - 1] == test.epsilon_lower
    assert bets.log_factors.any()
