from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.laws.mechanism_laws import (
    BETWEEN,
    RATE,
    between_law,
    between_transcripts,
    check_between,
    check_between_halting,
    check_between_neighbours,
    check_transcripts,
    naive_between,
)
from support.statistical import statistical

from arena.randomness import generator
from learners.mechanisms.accounting import compose_advanced
from learners.mechanisms.noise import laplace
from learners.mechanisms.sparse_vector import BetweenThresholds, delta_of_gap, gap_of_delta

# --- the law ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("query", [-0.3, 0.4, 0.5, 0.55, 0.9])
@statistical(rate=RATE)
def test_one_answer_follows_the_law(rng: np.random.Generator, query: float) -> None:
    transcripts = between_transcripts(BetweenThresholds(600_000, rng, **BETWEEN), np.array([query]))
    check_transcripts(transcripts, between_law([query], **BETWEEN), effect=0.008)


@pytest.mark.parametrize("size", [40, 450])
@statistical(rate=RATE)
def test_two_answers_follow_the_law(rng: np.random.Generator, size: int) -> None:
    parameters, queries = {**BETWEEN, "size": size}, [0.45, 0.62]
    transcripts = between_transcripts(BetweenThresholds(600_000, rng, **parameters), np.array(queries))
    check_transcripts(transcripts, between_law(queries, **parameters), effect=0.008)


@statistical(rate=2 * RATE)
def test_transcripts_with_two_halts_follow_the_law(rng: np.random.Generator) -> None:
    check_between(rng)


@statistical(rate=RATE)
def test_neighbouring_games_are_independent(rng: np.random.Generator) -> None:
    check_between_neighbours(rng)


@statistical(rate=RATE)
def test_the_halting_time_follows_the_law(rng: np.random.Generator) -> None:
    check_between_halting(rng)


@pytest.mark.thorough
@settings(max_examples=200, derandomize=True)
@given(
    queries=st.lists(st.floats(0, 1), min_size=1, max_size=20),
    lower=st.floats(0.1, 0.5),
    gap=st.floats(0.01, 0.4),
    epsilon=st.floats(0.05, 2),
    size=st.integers(1, 400),
    halts=st.integers(1, 4),
    seed=st.integers(0, 1000),
)
def test_one_game_is_the_naive_reference(
    queries: list[float], lower: float, gap: float, epsilon: float, size: int, halts: int, seed: int
) -> None:
    parameters: dict[str, Any] = {"lower": lower, "upper": lower + gap, "epsilon": epsilon, "size": size}
    coins, same_coins = (generator(np.random.SeedSequence(seed)) for _ in range(2))

    def noise(scale: float) -> float:
        return scale * float(laplace(same_coins, np.empty(1))[0])

    mechanism = BetweenThresholds(1, coins, **parameters, halts=halts)
    (transcript,) = between_transcripts(mechanism, np.array(queries))
    expected = naive_between(queries, noise, **parameters, halts=halts)
    assert transcript == expected
    assert mechanism.halted[0] == (expected.count("T") == halts)


# --- tables -------------------------------------------------------------------------------------------------


def test_clear_values_are_labelled_and_ties_halt(rng: np.random.Generator) -> None:
    mechanism = BetweenThresholds(3, rng, lower=0.4, upper=0.6, epsilon=1, size=100_000)
    for _ in range(5):
        assert mechanism.respond([0.0, 1.0, 1.0]).tolist() == [False, True, True]
        assert not mechanism.between.any()
        assert not mechanism.halted.any()
    assert mechanism.respond([0.0, 0.5, 1.0]).tolist() == [False, True, True]
    assert mechanism.between.tolist() == [False, True, False]
    assert mechanism.halted.tolist() == [False, True, False]


def test_a_game_that_has_halted_never_says_top_and_stays_halted(rng: np.random.Generator) -> None:
    mechanism = BetweenThresholds(1000, rng, lower=0.4, upper=0.6, epsilon=1, size=100_000, halts=2)
    for _ in range(2):
        mechanism.respond(0.5)
        assert mechanism.between.all()
    assert mechanism.halted.all()
    for value in (0.5, -1e12, 1e12):
        mechanism.respond(value)
        assert not mechanism.between.any()
        assert mechanism.halted.all()


# --- what the lemma says ------------------------------------------------------------------------------------


def test_the_gap_and_the_delta_of_lemma_c3_are_inverse() -> None:
    assert gap_of_delta(epsilon=0.5, delta=1e-6, size=1000) == pytest.approx(
        12 / 500 * (math.log(20) + math.log(1e6) + 1)
    )
    for epsilon, delta, size in itertools.product([0.03, 0.5, 1.0], [1e-12, 1e-3, 0.5], [1, 450, 20_001]):
        gap = gap_of_delta(epsilon=epsilon, delta=delta, size=size)
        assert delta_of_gap(epsilon=epsilon, gap=gap, size=size) == pytest.approx(delta)


def test_the_delta_of_a_narrow_gap_exceeds_1_and_of_a_wide_one_is_not_0() -> None:
    assert delta_of_gap(epsilon=0.5, gap=0.01, size=10) > 1
    assert delta_of_gap(epsilon=1, gap=0.9, size=10**9) > 0


def test_the_exact_law_keeps_the_promise_of_the_lemma() -> None:
    parameters: dict[str, Any] = {"lower": 0.4, "upper": 0.6, "epsilon": 1.0, "size": 300}
    delta = delta_of_gap(epsilon=1.0, gap=0.2, size=300)
    step = 1 / 300
    lost = []
    for queries in ([0.5], [0.4, 0.4], [0.38, 0.5, 0.62], [0.4, 0.6, 0.4, 0.6]):
        law = between_law(queries, **parameters)
        for moves in itertools.product([-step, step], repeat=len(queries)):
            other = between_law([q + move for q, move in zip(queries, moves, strict=True)], **parameters)
            lost.append(sum(max(0.0, law[t] - math.e * other[t]) for t in law))
    assert max(lost) <= delta < 0.2


def test_observation_2_is_advanced_composition_with_a_slack_of_c_delta() -> None:
    c, epsilon, delta = 8, 0.03, 1e-7
    printed = math.sqrt(2 * c * math.log(1 / (c * delta))) * epsilon + c * epsilon * (math.exp(epsilon) - 1)
    assert compose_advanced(c, epsilon, delta, slack=c * delta) == pytest.approx((printed, 2 * c * delta))
