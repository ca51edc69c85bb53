"""RunningSum: its law, its privacy and accuracy by enumeration, a naive reference, refusals."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from support.laws.mechanism_laws import RATE, Law, check_transcripts, sparse_vector_law
from support.statistical import expect_rejection, statistical

from arena.errors import InvalidArgument
from arena.randomness import generator
from learners.mechanisms.noise import laplace, laplace_nodes
from learners.mechanisms.sparse_vector import RunningSum, running_sum_error, running_sum_lag

# Small enough that the threshold is often crossed early, late and never.
SUMS: dict[str, Any] = {"threshold": 2.0, "epsilon": 1.5}


def sum_law(values: Sequence[float], *, threshold: float, epsilon: float) -> Law:
    """Answers, a point for ⊥ and T for ⊤, after which there are none."""
    sums = np.cumsum(values)

    def answers(total: float, noise: np.ndarray) -> Mapping[str, np.ndarray]:
        above = stats.laplace.sf((threshold + noise - total) * epsilon)
        return {"T": above, ".": 1 - above}

    kinks = [total - threshold for total in sums]
    return sparse_vector_law(sums.tolist(), answers, scale=1 / epsilon, kinks=kinks, halts=1)


def transcripts(mechanism: RunningSum, games: int, values: Sequence[Any]) -> np.ndarray:
    """(games,) of strings: the answers of one instance."""
    ended, letters = np.zeros(games, bool), []
    for value in values:
        fired = mechanism.observe(value)
        letters.append(np.where(ended, "", np.where(fired, "T", ".")))
        ended = ended | fired
    joined = letters[0]
    for row in letters[1:]:
        joined = np.char.add(joined, row)
    return joined


def naive(values: Sequence[float], noise: Callable[[], float], *, threshold: float, epsilon: float) -> str:
    """One instance for one game."""
    limit, total, said = threshold + noise() / epsilon, 0.0, ""
    for value in values:
        total += value
        if total + noise() / epsilon >= limit:
            return said + "T"
        said += "."
    return said


@statistical(rate=2 * RATE)
def test_answers_follow_the_law_also_after_a_restart(rng: np.random.Generator) -> None:
    games, first, second = 600_000, [1, 0.5, 1], [0, 1, 1, 0.25]
    mechanism = RunningSum(games, rng, thresholds=SUMS["threshold"], epsilon=SUMS["epsilon"])
    check_transcripts(transcripts(mechanism, games, first), sum_law(first, **SUMS), effect=0.008)
    mechanism.restart(np.arange(games), 1.0)
    law = sum_law(second, threshold=1.0, epsilon=SUMS["epsilon"])
    check_transcripts(transcripts(mechanism, games, second), law, effect=0.008)


@statistical(rate=RATE)
def test_a_tenth_less_noise_would_be_noticed(rng: np.random.Generator) -> None:
    mechanism = RunningSum(600_000, rng, thresholds=2.0, epsilon=1.65)
    with expect_rejection():
        check_transcripts(
            transcripts(mechanism, 600_000, [1, 0.5, 1]), sum_law([1, 0.5, 1], **SUMS), effect=0.008
        )


@pytest.mark.thorough
@settings(max_examples=200, derandomize=True)
@given(
    values=st.lists(st.floats(0, 1), min_size=1, max_size=20),
    threshold=st.floats(-2, 12),
    epsilon=st.floats(0.05, 5),
    seed=st.integers(0, 1000),
)
def test_one_game_is_the_naive_reference(
    values: list[float], threshold: float, epsilon: float, seed: int
) -> None:
    coins, same_coins = (generator(np.random.SeedSequence(seed)) for _ in range(2))
    mechanism = RunningSum(1, coins, thresholds=threshold, epsilon=epsilon)
    expected = naive(
        values, lambda: float(laplace(same_coins, np.empty(1))[0]), threshold=threshold, epsilon=epsilon
    )
    assert transcripts(mechanism, 1, values)[0] == expected


def loss(one: Law, other: Law) -> float:
    return max(abs(math.log(one[said] / other[said])) for said in one)


@pytest.mark.parametrize("place", [0, 2, 5])
@pytest.mark.parametrize("threshold", [-2.0, 1.0, 4.0])
def test_a_replaced_element_costs_epsilon(place: int, threshold: float) -> None:
    values = [0.5, 1.0, 0.0, 1.0, 0.5, 0.0]
    for replaced in (0.0, 0.3, 1.0):
        other = [*values[:place], replaced, *values[place + 1 :]]
        parameters = {"threshold": threshold, "epsilon": 0.7}
        assert loss(sum_law(values, **parameters), sum_law(other, **parameters)) <= 0.7 + 1e-9


def test_the_cost_is_reached() -> None:
    one, other = (sum_law([b, 0.0], threshold=40.0, epsilon=0.7) for b in (0.0, 1.0))
    assert 0.67 < loss(one, other) <= 0.7


@pytest.mark.parametrize("beta", [0.01, 0.3])
def test_errors_beyond_alpha_are_as_rare_as_stated(rng: np.random.Generator, beta: float) -> None:
    """40,000 games of 30 rounds: more failures than a binomial of β has but with chance 1e-9."""
    games, rounds, epsilon = 40_000, 30, 0.8
    alpha = running_sum_error(rounds, beta, epsilon=epsilon)
    assert alpha <= 8 * (math.log(rounds) + math.log(2 / beta)) / epsilon  # Theorem 2.5
    threshold = rounds / 2.0
    mechanism = RunningSum(games, rng, thresholds=threshold, epsilon=epsilon)
    failed, ended = np.zeros(games, bool), np.zeros(games, bool)
    for total in range(1, rounds + 1):
        fired = mechanism.observe(1)
        failed |= fired & (total < threshold - alpha)
        ended |= fired
        failed |= ~ended & (total > threshold + alpha)
    assert failed.sum() <= stats.binom.isf(1e-9, games, beta)


def test_half_the_error_would_be_exceeded(rng: np.random.Generator) -> None:
    games, rounds = 40_000, 30
    alpha = running_sum_error(rounds, 0.3, epsilon=0.8) / 2
    mechanism = RunningSum(games, rng, thresholds=alpha, epsilon=0.8)
    early = np.zeros(games, bool)
    for _ in range(rounds):
        early |= mechanism.observe(0)  # while the sum 0 is alpha short of the threshold
    assert early.sum() > stats.binom.isf(1e-9, games, 0.3)


@pytest.mark.parametrize("beta", [0.3, 1e-3, 1e-7])
def test_the_lag_is_the_tail_of_two_laplace_numbers(beta: float) -> None:
    lag = running_sum_lag(beta, epsilon=0.7)
    nodes, weights = laplace_nodes(1 / 0.7, [lag])
    assert weights @ stats.laplace.sf(lag - nodes, scale=1 / 0.7) == pytest.approx(beta)
    with pytest.raises(InvalidArgument, match=r"beta must be less than 0\.5"):
        running_sum_lag(0.5, epsilon=0.7)


@statistical(rate=2 * RATE)
def test_elements_in_a_row_follow_the_law(rng: np.random.Generator) -> None:
    """Rows end with the first game that answers ⊤, so what follows is asked in the next."""
    games, values = 300_000, [1, 0, 1, 1]
    table = RunningSum(games, rng, thresholds=SUMS["threshold"], epsilon=SUMS["epsilon"])
    ended, letters = np.zeros(games, bool), np.full(games, "", "U4")
    while (asked := int(np.char.str_len(letters).max(initial=0))) < len(values):
        fired = table.observe_many(np.broadcast_to(np.array(values[asked:]), (games, len(values) - asked)))
        assert fired[:, :-1].sum() == 0
        for column in fired.T:
            letters = np.char.add(letters, np.where(ended, "", np.where(column, "T", ".")))
            ended |= column
    check_transcripts(letters, sum_law(values, **SUMS), effect=0.012)
    with expect_rejection():
        check_transcripts(letters, sum_law([1, 1, 1, 0], **SUMS), effect=0.012)


def test_an_ended_game_says_nothing_until_it_starts_again(rng: np.random.Generator) -> None:
    mechanism = RunningSum(3, rng, thresholds=[-1e6, 1e6, -1e6], epsilon=1.0)
    assert mechanism.observe(1).tolist() == [True, False, True]
    assert not mechanism.observe(1).any()
    mechanism.restart(np.array([2]), -1e6)
    assert mechanism.observe(0).tolist() == [False, False, True]
