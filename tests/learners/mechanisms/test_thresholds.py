"""AboveThreshold and BetweenThresholds: laws, naive references, privacy, halts, and what Lemma C.3 says."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.laws.mechanism_laws import (
    OF_ABOVE,
    OF_BETWEEN,
    RATE,
    Family,
    above_law,
    between_law,
    check_transcripts,
    transcribe,
)
from support.statistical import statistical

from arena.randomness import generator
from learners.mechanisms.accounting import compose_advanced
from learners.mechanisms.noise import laplace
from learners.mechanisms.sparse_vector import (
    AboveThreshold,
    BetweenThresholds,
    RestartBudget,
    delta_of_gap,
    gap_of_delta,
)

FAMILIES = [OF_ABOVE, OF_BETWEEN]
ANSWERS = [
    *((OF_ABOVE, {}, [query]) for query in (1.0, 2.8, 3.0, 5.0)),
    *((OF_BETWEEN, {}, [query]) for query in (-0.3, 0.4, 0.5, 0.55, 0.9)),
    *((OF_BETWEEN, {"size": size}, [0.45, 0.62]) for size in (40, 450)),
]


@pytest.mark.thorough
@pytest.mark.parametrize(("family", "change", "queries"), ANSWERS, ids=lambda value: str(value)[:12])
@statistical(rate=RATE)
def test_answers_follow_the_law(
    rng: np.random.Generator, family: Family, change: dict[str, int], queries: list[float]
) -> None:
    parameters = family.settings | change
    transcripts = transcribe(family.kind(600_000, rng, **parameters), np.array(queries))
    check_transcripts(transcripts, family.law(queries, **parameters), effect=0.008)


@pytest.mark.thorough
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.kind.__name__)
@statistical(rate=2 * RATE)
def test_transcripts_with_two_halts_follow_the_law(rng: np.random.Generator, family: Family) -> None:
    family.check(rng)


@pytest.mark.thorough
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.kind.__name__)
@statistical(rate=2 * RATE)
def test_neighbouring_games_are_independent_and_halt_by_the_law(
    rng: np.random.Generator, family: Family
) -> None:
    family.check_neighbours(rng)
    family.check_halting(rng)


OF_ONE_GAME = st.one_of(
    st.fixed_dictionaries(
        {"threshold": st.floats(-5, 5), "epsilon": st.floats(0.05, 5), "sensitivity": st.floats(0.1, 3)}
    ),
    st.builds(
        lambda lower, gap, **others: {"lower": lower, "upper": lower + gap, **others},
        lower=st.floats(0.1, 0.5),
        gap=st.floats(0.01, 0.4),
        epsilon=st.floats(0.05, 2),
        size=st.integers(1, 400),
    ),
)


@pytest.mark.thorough
@settings(max_examples=400, derandomize=True)
@given(
    parameters=OF_ONE_GAME,
    parts=st.lists(st.floats(0, 1), min_size=1, max_size=20),
    halts=st.integers(1, 4),
    seed=st.integers(0, 1000),
)
def test_one_game_is_the_naive_reference(
    parameters: dict[str, Any], parts: list[float], halts: int, seed: int
) -> None:
    family = OF_ABOVE if "threshold" in parameters else OF_BETWEEN
    queries = [20 * part - 10 for part in parts] if family is OF_ABOVE else parts
    coins, same_coins = (generator(np.random.SeedSequence(seed)) for _ in range(2))

    def noise(scale: float) -> float:
        return scale * float(laplace(same_coins, np.empty(1))[0])

    mechanism = family.kind(1, coins, **parameters, halts=halts)
    (transcript,) = transcribe(mechanism, np.array(queries))
    expected = family.naive(queries, noise, **parameters, halts=halts)
    assert transcript == expected
    assert mechanism.halted[0] == (expected.count("T") == halts)


@pytest.mark.parametrize("halts", [1, 2])
def test_the_law_of_above_threshold_is_private(halts: int) -> None:
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
