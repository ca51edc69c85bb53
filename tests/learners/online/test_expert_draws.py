"""Draws of merged experts: distributions, and privacy by enumeration, given the candidates."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.laws.learner_laws import view_delta
from support.laws.mechanism_laws import RATE, SURE
from support.laws.transition_laws import Examples, Sets, fresh_law, hedge, lazy_law
from support.statistical import check_counts, expect_rejection, statistical

from arena.concepts import FiniteClass
from arena.littlestone import soa
from learners.mechanisms import exponential_experts, lazy_experts
from learners.mechanisms.lazy_experts import LazyParameters
from learners.online.merged_experts import FreshDraws, LazyDraws, MergedExperts, build_transitions

ALL = soa(FiniteClass([[0, 0], [0, 1], [1, 0], [1, 1]]))
CLASSES = [ALL, soa(FiniteClass([[0, 0], [0, 1], [1, 1]]))]
SETS: list[Sets] = [
    [[[0, 1]], [[0, 1], [0, 1]], [[0, 1], [0, 1], [0, 1]]],
    [[[0]], [[0, 1], [1]], [[1], [0], []]],
    [[[1]], [[1], []], [[0, 1], [0], [1]]],
]
PLAYED = [(0, 1), (1, 0), (1, 1), (0, 0)]


def oblivious(examples: list[tuple[int, int]]) -> Examples:
    return lambda view: examples[len(view) - 1]


def adaptive(seed: int, replaced: int, by: tuple[int, int]) -> Examples:
    """Examples that depend on the draws, except in the round that is replaced."""

    def examples(view: tuple[int, ...]) -> tuple[int, int]:
        if len(view) - 1 == replaced:
            return by
        x, y = np.random.default_rng([seed, *view]).integers(0, 2, size=2)
        return int(x), int(y)

    return examples


def candidates_of(sets: Sets, e: int, games: int) -> np.ndarray:
    """The candidates at an end, (games, e, 2), the same in all games."""
    candidates = np.zeros((games, e, 2), bool)
    for i, points in enumerate(sets[e - 1]):
        candidates[:, i, list(points)] = True
    return candidates


def states_of(automaton) -> list[int]:
    return build_transitions(automaton, 2, 9).states.tolist()


# --- fresh --------------------------------------------------------------------------------------------------


def fresh_views(rng: np.random.Generator, games: int, rate: float) -> np.ndarray:
    """(games,) the states of four rounds with an end after each of the first two, as a number."""
    table = build_transitions(ALL, 2, 9)
    experts = MergedExperts(table, games, ends=2, rate=rate, move_probability=0.4)
    draws = FreshDraws(experts, games, rng)
    seen = np.zeros(games, int)
    for t, (x, y) in enumerate(PLAYED, start=1):
        seen = len(table.states) * seen + draws.draw()
        draws.observe(experts.observe(np.full(games, x), np.full(games, y)))
        if t <= 2:
            draws.end_stretch(candidates_of(SETS[1], t, games))
            experts.end_stretch(candidates_of(SETS[1], t, games))
    return seen


def fresh_cells() -> list[float]:
    law = fresh_law(ALL, SETS[1][:2], oblivious(PLAYED), 4, length=1, rate=1.2, change=0.4)
    return [law.get(view, 0.0) for view in itertools.product(states_of(ALL), repeat=4)]


@pytest.mark.thorough
@statistical(rate=RATE)
def test_fresh_draws_follow_the_law(rng: np.random.Generator) -> None:
    cells = fresh_cells()
    observed = np.bincount(fresh_views(rng, 400_000, 1.2), minlength=len(cells))
    check_counts(observed, cells, effect=0.01, **SURE)


@pytest.mark.thorough
@statistical(rate=2 * RATE)
def test_fresh_draws_at_another_rate_is_detected(rng: np.random.Generator) -> None:
    cells = fresh_cells()
    with expect_rejection():
        observed = np.bincount(fresh_views(rng, 400_000, 1.05), minlength=len(cells))
        check_counts(observed, cells, effect=0.01, **SURE)


def test_before_the_first_end_no_random_numbers_are_drawn(rng: np.random.Generator) -> None:
    table = build_transitions(ALL, 2, 9)
    experts = MergedExperts(table, 3, ends=2, rate=1.0, move_probability=0.4)
    state = str(rng.bit_generator.state)
    for draws in (
        FreshDraws(experts, 3, rng),
        LazyDraws(experts, 3, rng, lazy=LazyParameters(1.0, redraw=0.5, max_draws=3)),
    ):
        draws.observe(experts.observe(np.zeros(3, int), np.ones(3, int)))
        assert draws.draw().tolist() == [0, 0, 0]
    assert str(rng.bit_generator.state) == state


@pytest.mark.parametrize("sets", SETS)
@pytest.mark.parametrize("automaton", CLASSES, ids=["all", "chain"])
@pytest.mark.parametrize(("rounds", "rate", "length"), [(3, 0.5, 1), (4, 0.8, 1), (4, 0.7, 2)])
def test_neighbours_are_as_close_as_fresh_draws_claim(
    automaton, sets: Sets, rounds: int, rate: float, length: int
) -> None:
    """Given the candidates; losses of the first stretch cost nothing."""
    examples = list(itertools.product((0, 1), (0, 1)))
    sets = sets[: (rounds - 1) // length]
    for s in range(rounds):
        played = [oblivious([*PLAYED[:s], example, *PLAYED[s + 1 :]]) for example in examples]
        laws = [
            fresh_law(automaton, sets, game, rounds, length=length, rate=rate, change=0.3) for game in played
        ]
        for slack in (0.0, 1e-3, 0.05):
            claim = exponential_experts.cost(rounds - length, rate, slack=slack)
            worst = max(view_delta(a, b, claim.epsilon) for a, b in itertools.permutations(laws, 2))
            assert worst <= (claim.delta if s >= length else 0) + 1e-12


def test_fresh_draws_nearly_attain_their_claim() -> None:
    """A loss changes the probability most for experts with a small prior, which move at one end."""
    sets: Sets = [[[0]], [[], []], [[], [], []]]
    laws = [
        fresh_law(ALL, sets, oblivious([(0, 0), by, (0, 0), (0, 0)]), 4, length=1, rate=0.8, change=0.001)
        for by in ((0, 0), (0, 1))
    ]
    claim = exponential_experts.cost(3, 0.8, slack=0).epsilon
    assert max(view_delta(a, b, 0.95 * claim) for a, b in itertools.permutations(laws)) > 0


@pytest.mark.thorough
@settings(max_examples=40)
@given(
    seed=st.integers(0, 10**6),
    replaced=st.integers(0, 2),
    sets=st.sampled_from(SETS),
    automaton=st.sampled_from(CLASSES),
)
def test_adaptive_examples_cost_no_more(seed: int, replaced: int, sets: Sets, automaton) -> None:
    laws = [
        fresh_law(automaton, sets, adaptive(seed, replaced, by), 4, length=1, rate=0.7, change=0.3)
        for by in itertools.product((0, 1), (0, 1))
    ]
    for slack in (0.0, 0.01):
        claim = exponential_experts.cost(3, 0.7, slack=slack)
        for law, other in itertools.permutations(laws, 2):
            assert view_delta(law, other, claim.epsilon) <= claim.delta + 1e-12


# --- lazy ---------------------------------------------------------------------------------------------------


@pytest.mark.thorough
@pytest.mark.parametrize("redraw", [0.0, 0.3])
@settings(max_examples=40)
@given(
    seed=st.integers(0, 10**6),
    rate=st.floats(0.01, 3),
    change=st.floats(0.05, 0.95),
    sets=st.sampled_from(SETS),
    automaton=st.sampled_from(CLASSES),
    length=st.integers(1, 2),
)
def test_each_lazy_round_has_the_distribution_of_hedge(
    seed: int, rate: float, change: float, sets: Sets, automaton, length: int, redraw: float
) -> None:
    examples = [(int(x), int(y)) for x, y in np.random.default_rng(seed).integers(0, 2, size=(5, 2))]
    sets = sets[: 4 // length][:3]
    run = {"length": length, "rate": rate, "change": change}
    law = lazy_law(automaton, sets, oblivious(examples), 5 if length > 1 else 4, **run, redraw=redraw, most=9)
    for t in range(4):
        marginal: dict[tuple[int, int], float] = {}
        for view, mass in law.items():
            marginal[view[t]] = marginal.get(view[t], 0.0) + mass
        expected = hedge(automaton, sets, examples[:t], length, rate, change)
        assert marginal == pytest.approx(expected)


def check_lazy(rng: np.random.Generator, most: int, redraw: float) -> None:
    games, table = 400_000, build_transitions(ALL, 2, 9)
    numbers = {state: s for s, state in enumerate(table.states.tolist())}
    experts = MergedExperts(table, games, ends=2, rate=1.2, move_probability=0.4)
    lazy = LazyParameters(1.2, redraw=redraw, max_draws=most)
    draws = LazyDraws(experts, games, rng, lazy=lazy)
    seen = np.zeros(games, int)
    for t, (x, y) in enumerate(PLAYED, start=1):
        seen = 3 * len(numbers) * seen + 3 * draws.draw() + draws._last_move
        draws.observe(experts.observe(np.full(games, x), np.full(games, y)))
        if t <= 2:
            draws.end_stretch(candidates_of(SETS[0], t, games))
            experts.end_stretch(candidates_of(SETS[0], t, games))
    law = lazy_law(
        ALL, SETS[0][:2], oblivious(PLAYED), 4, length=1, rate=1.2, change=0.4, redraw=0.2, most=most
    )
    cells = np.zeros((3 * len(numbers)) ** 4)
    for view, mass in law.items():
        place = 0
        for state, since in view:
            place = 3 * len(numbers) * place + 3 * numbers[state] + since
        cells[place] += mass
    observed = np.bincount(seen, minlength=len(cells))
    possible = cells > 0
    assert not observed[~possible].any()
    check_counts(observed[possible], cells[possible], effect=0.01, **SURE)


@pytest.mark.thorough
@pytest.mark.parametrize("most", [1, 9])
@statistical(rate=RATE)
def test_lazy_games_follow_the_law(rng: np.random.Generator, most: int) -> None:
    check_lazy(rng, most, redraw=0.2)


@pytest.mark.thorough
@statistical(rate=2 * RATE)
def test_lazy_games_that_draw_more_often_is_detected(rng: np.random.Generator) -> None:
    with expect_rejection():
        check_lazy(rng, 9, redraw=0.3)


@pytest.mark.thorough
@pytest.mark.parametrize("sets", SETS)
@pytest.mark.parametrize(
    ("rounds", "lazy"),
    [
        (3, LazyParameters(1.0, redraw=0.1, max_draws=1)),
        (4, LazyParameters(0.5, redraw=0.2, max_draws=2)),
        (4, LazyParameters(0.6, redraw=0.05, max_draws=1)),
    ],
    ids=str,
)
def test_neighbours_are_as_close_as_lazy_draws_claim(sets: Sets, rounds: int, lazy: LazyParameters) -> None:
    """Given the candidates; the views compared show every pair, which is more than an adversary sees."""
    examples = list(itertools.product((0, 1), (0, 1)))
    run = {"length": 1, "rate": lazy.rate, "change": 0.3, "redraw": lazy.redraw, "most": lazy.max_draws}
    for s, automaton in itertools.product(range(1, rounds), CLASSES):
        played = [oblivious([*PLAYED[:s], by, *PLAYED[s + 1 :]]) for by in examples]
        laws = [lazy_law(automaton, sets[: rounds - 1], game, rounds, **run) for game in played]
        for slack in (0.0, 1e-3, 0.05):
            claim = lazy_experts.cost(rounds - 1, lazy, slack=slack)
            worst = max(view_delta(a, b, claim.epsilon) for a, b in itertools.permutations(laws, 2))
            assert worst <= claim.delta + 1e-12
