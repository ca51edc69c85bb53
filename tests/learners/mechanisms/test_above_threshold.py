from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.laws.mechanism_laws import (
    ABOVE,
    RATE,
    above_law,
    above_transcripts,
    check_above,
    check_above_halting,
    check_above_neighbours,
    check_transcripts,
    naive_above,
)
from support.statistical import statistical

from arena.randomness import generator
from learners.mechanisms.noise import laplace
from learners.mechanisms.sparse_vector import AboveThreshold, RestartBudget

# --- the law ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("query", [1.0, 2.8, 3.0, 5.0])
@statistical(rate=RATE)
def test_one_answer_follows_the_law(rng: np.random.Generator, query: float) -> None:
    transcripts = above_transcripts(AboveThreshold(600_000, rng, **ABOVE), np.array([query]))
    check_transcripts(transcripts, above_law([query], **ABOVE), effect=0.008)


@pytest.mark.thorough
@statistical(rate=2 * RATE)
def test_transcripts_with_two_halts_follow_the_law(rng: np.random.Generator) -> None:
    check_above(rng)


@statistical(rate=RATE)
def test_neighbouring_games_are_independent(rng: np.random.Generator) -> None:
    check_above_neighbours(rng)


@statistical(rate=RATE)
def test_the_halting_time_follows_the_law(rng: np.random.Generator) -> None:
    check_above_halting(rng)


@pytest.mark.thorough
@settings(max_examples=200, derandomize=True)
@given(
    queries=st.lists(st.floats(-10, 10), min_size=1, max_size=20),
    threshold=st.floats(-5, 5),
    epsilon=st.floats(0.05, 5),
    sensitivity=st.floats(0.1, 3),
    halts=st.integers(1, 4),
    seed=st.integers(0, 1000),
)
def test_one_game_is_the_naive_reference(
    queries: list[float], threshold: float, epsilon: float, sensitivity: float, halts: int, seed: int
) -> None:
    parameters: dict[str, Any] = {"threshold": threshold, "epsilon": epsilon, "sensitivity": sensitivity}
    coins, same_coins = (generator(np.random.SeedSequence(seed)) for _ in range(2))

    def noise(scale: float) -> float:
        return scale * float(laplace(same_coins, np.empty(1))[0])

    mechanism = AboveThreshold(1, coins, **parameters, halts=halts)
    (transcript,) = above_transcripts(mechanism, np.array(queries))
    expected = naive_above(queries, noise, **parameters, halts=halts)
    assert transcript == expected
    assert mechanism.halted[0] == (expected.count("T") == halts)


@pytest.mark.parametrize("halts", [1, 2])
def test_the_law_is_private(halts: int) -> None:
    epsilon, sensitivity = 0.7, 2.0
    parameters: dict[str, Any] = {
        "threshold": 3.0,
        "epsilon": epsilon,
        "sensitivity": sensitivity,
        "halts": halts,
    }
    queries = [3.0, 1.0, 6.0]
    law = above_law(queries, **parameters)
    for moves in itertools.product([-sensitivity, sensitivity], repeat=3):
        other = above_law([q + move for q, move in zip(queries, moves, strict=True)], **parameters)
        assert max(abs(math.log(law[t] / other[t])) for t in law) <= halts * epsilon


# --- tables -------------------------------------------------------------------------------------------------


def test_clear_values_are_told_and_halted_games_say_nothing(rng: np.random.Generator) -> None:
    mechanism = AboveThreshold(2, rng, threshold=0.0, epsilon=1.0)
    for _ in range(3):
        assert mechanism.respond(-1e6).tolist() == [False, False]
    assert mechanism.respond([1e6, -1e6]).tolist() == [True, False]
    assert mechanism.halted.tolist() == [True, False]
    assert mechanism.respond([1e200 / 1e60, -1e6]).tolist() == [False, False]
    assert mechanism.halted.tolist() == [True, False]


def test_a_budget_tells_who_starts_again_and_who_has_halted() -> None:
    budget = RestartBudget(3, 2)
    assert budget.spend(np.array([True, False, True])).tolist() == [0, 2]
    assert not budget.halted.any()
    assert budget.spend(np.array([True, True, False])).tolist() == [1]
    assert budget.halted.tolist() == [True, False, False]
