"""The search against brute force over all decision trees, and against the graph of all beliefs."""

from __future__ import annotations

import attrs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audits.solver.belief_graph import BeliefGraph, GraphLimits, TooManyBeliefs
from audits.solver.belief_points import BeliefPoints, FinalRounds
from audits.solver.bounds import Bounds, GraphBounds, RestartBounds, find_restart
from audits.solver.game_value import END, DecisionGraph, FamilyValues
from audits.solver.games.query_game import answer_game
from audits.solver.linear_game import LinearGame
from audits.solver.point_search import SearchBounds, SearchLimits
from audits.solver.solution import find_bounds
from tests.audits.solver.test_game_value import (
    EPSILONS,
    best,
    best_at_each,
    draw_games,
    random_game,
    weigh_states,
)
from tests.audits.solver.test_solution import FIVE, posed


def add_mirrored_moves(game: LinearGame) -> LinearGame:
    """The game with one start, and with each move also with the worlds exchanged."""
    start = np.repeat(game.start[:1], 2, axis=0)
    return attrs.evolve(game, start=start, which=np.unique(np.hstack([game.which, game.which[::-1]]), axis=1))


games = draw_games(4, 2).map(weigh_states)
games = games | games.filter(lambda game: game.rounds < 4).map(add_mirrored_moves)


@attrs.frozen(eq=False)
class Found:
    """Bounds (e,) at some ε, and what they were found by."""

    lower: np.ndarray
    upper: np.ndarray
    bounds: Bounds

    @staticmethod
    def of(bounds: Bounds) -> Found:
        upper, lines = bounds.at(bounds.epsilons)
        return Found(lines[0] - np.exp(bounds.epsilons) * lines[1], upper, bounds)


def search(game: LinearGame, epsilons: np.ndarray = EPSILONS, **limits: float) -> Found:
    return Found.of(SearchBounds(game, epsilons, SearchLimits(**limits)))  # type: ignore[arg-type]


def gain(game: LinearGame, decisions: DecisionGraph, epsilon: float) -> float:
    """Of an adversary that guesses world 0 where its score exceeds ε."""
    waiting, total = [(0, game.start)], 0.0
    for node, measures in waiting:
        for outcome, after in enumerate(decisions.after[node]):
            kernels = game.kernels[game.which[:, decisions.move[node]], outcome]
            own = np.array([kernel @ measure for kernel, measure in zip(kernels, measures, strict=True)])
            if after != END:
                waiting.append((after, own))
            elif decisions.score[node, outcome] > epsilon:
                mass_0, mass_1 = own @ game.masses
                total += mass_0 - np.exp(epsilon) * mass_1
    return total


@given(games, st.integers(1, 60))
@settings(deadline=None, max_examples=40)
@pytest.mark.thorough
def test_the_bounds_contain_the_value_of_the_best_adversary(game: LinearGame, few: int) -> None:
    """Also those of a search that ends early."""
    expected = best_at_each(game)
    bracket, early = search(game, pairs=2_000), search(game, pairs=few)
    for found in (bracket, early):
        assert (found.lower <= expected + 1e-9).all()
        assert (found.upper >= expected - 1e-12).all()
    assert (bracket.upper - bracket.lower <= np.maximum(0.011 * bracket.upper, 1.1e-5)).all()


@given(games)
@settings(deadline=None, max_examples=20)
@pytest.mark.thorough
def test_the_adversary_reaches_the_lower_bound(game: LinearGame) -> None:
    bracket = search(game, pairs=100)
    for number, epsilon in enumerate(EPSILONS):
        exact = gain(game, bracket.bounds.decisions(number), epsilon)
        assert exact == pytest.approx(bracket.lower[number], abs=1e-12)


@given(games)
@settings(deadline=None, max_examples=20)
def test_the_last_rounds_have_the_values_of_all_adversaries(game: LinearGame) -> None:
    final = FinalRounds(game)
    left = min(game.rounds, 2)
    for epsilon in EPSILONS:
        first, second = final.start[:1], np.exp(epsilon) * final.start[1:]
        expected = best(attrs.evolve(game, rounds=left), epsilon)
        assert final.values(left, first, second) == pytest.approx(expected, abs=1e-12)
        line = final.best_line(left, first[0], second[0])[1]
        assert line[0] @ first[0] - line[1] @ second[0] == pytest.approx(expected, abs=1e-12)


@given(games, st.integers(0, 2**32))
@settings(deadline=None, max_examples=20)
def test_the_value_of_a_remainder_is_at_most_its_bound(game: LinearGame, seed: int) -> None:
    final = FinalRounds(game)
    remainders = np.random.default_rng(seed).standard_normal((5, 2, len(game.masses)))
    first, second = remainders.swapaxes(0, 1)
    halves = np.stack([first + second, first - second], axis=1) / 2
    mirrored = game.mirrored_moves
    moves = None if mirrored is None else np.flatnonzero(mirrored <= np.arange(game.moves))
    for left, weights in enumerate(final.bound_coordinates(4, moves)):
        bounds = (np.abs(halves) * weights).sum(axis=(1, 2)) + (first - second) @ final.masses / 2
        assert (final.deep_values(left, first, second) <= bounds + 1e-12).all()


@pytest.mark.parametrize(
    ("name", "halts", "rounds"),
    [("above-threshold", 1, 5), ("above-threshold", 2, 4), ("between-thresholds", 2, 3)],
)
@pytest.mark.thorough
def test_the_bounds_contain_those_of_the_graph(name: str, halts: int, rounds: int) -> None:
    game = build_five(name, halts, rounds)
    epsilons = np.array([0.0, 0.2])
    exact = Found.of(GraphBounds(game, epsilons, GraphLimits()))
    bracket = search(game, epsilons)
    assert exact.upper == pytest.approx(exact.lower, abs=1e-12)
    assert (bracket.lower <= exact.upper + 1e-9).all()
    assert (exact.lower <= bracket.upper).all()
    assert (bracket.upper - bracket.lower <= 0.011 * bracket.upper).all()


def test_a_remainder_that_is_forgotten_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BeliefPoints, "_bound_remainders", lambda points, parts: np.zeros(parts.shape[:-2]))
    game = weigh_states(random_game(1, rounds=4, moves=2, states=3, outcomes=2, zeros=False))
    bracket = search(game, pairs=200)
    assert (bracket.upper < best_at_each(game) - 1e-3).any()


def largest_excess(game: LinearGame) -> float:
    """By how much a lower bound that a search keeps is above a value, or an upper one below it, at most."""
    search = SearchBounds(game, EPSILONS, SearchLimits(pairs=100))
    excess = [0.0]
    for left, level in search._levels.items():
        values = search._final.deep_values(left, *level.pairs.swapaxes(0, 1))
        excess += [*(values - level.bound(level.pairs)), *(level.best_lines(level.pairs)[0] - values)]
    return max(excess)


@given(games)
@settings(deadline=None, max_examples=20)
@pytest.mark.thorough
def test_all_bounds_that_a_search_keeps_hold(game: LinearGame) -> None:
    assert largest_excess(game) < 1e-12


def test_mirrored_pairs_without_the_difference_of_the_masses_are_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def add_mirrored(search: SearchBounds, left: int, pairs: np.ndarray, *bounds: np.ndarray) -> None:
        search._levels[left].add_bounds(pairs[:, ::-1], *bounds)

    monkeypatch.setattr(SearchBounds, "_add_mirrored", add_mirrored)
    game = random_game(1, rounds=4, moves=2, states=3, outcomes=2, zeros=False)
    assert largest_excess(add_mirrored_moves(weigh_states(game))) > 1e-3


def restart_at(game: LinearGame, outcome: int) -> LinearGame:
    """The game in which an outcome leads to the same belief, whatever precedes it."""
    fresh = np.random.default_rng(0).dirichlet(np.ones(len(game.masses))) / game.masses
    kernels = game.kernels.copy()
    kernels[:, outcome] = fresh[:, None] * (game.masses @ kernels[:, outcome])[:, None]
    return attrs.evolve(game, kernels=kernels)


def solve_restarts(game: LinearGame) -> Found:
    return Found.of(RestartBounds(game, EPSILONS, GraphLimits()))


def build_five(name: str, halts: int, rounds: int) -> LinearGame:
    """The game of a learner of five teachers on every pair of votes."""
    posing = posed(name, **FIVE, halts=halts)
    return answer_game(posing.learner, posing.samples, posing.points, rounds)[0]


@given(games.filter(lambda game: game.rounds > 1))
@settings(deadline=None, max_examples=20)
@pytest.mark.thorough
def test_the_bounds_of_a_game_with_restarts_contain_its_value(game: LinearGame) -> None:
    game = restart_at(game, 1)
    solution = solve_restarts(game)
    expected = best_at_each(game)
    lower, upper = solution.lower, solution.upper
    assert (lower <= expected + 1e-9).all()
    assert (upper >= expected - 1e-9).all()
    assert (upper - lower <= 0.01).all()
    for number, epsilon in enumerate(EPSILONS):
        decisions = solution.bounds.decisions(number)
        assert decisions is not None
        assert lower[number] - 1e-9 <= gain(game, decisions, epsilon) <= expected[number] + 1e-9


@pytest.mark.thorough
@pytest.mark.parametrize("rounds", [3, pytest.param(4, marks=pytest.mark.slow)])
def test_restarts_of_above_threshold_have_the_values_of_the_graph(rounds: int) -> None:
    game = build_five("above-threshold", 2, rounds)
    exact, bracket = Found.of(GraphBounds(game, EPSILONS, GraphLimits())), solve_restarts(game)
    assert bracket.lower == pytest.approx(exact.lower, abs=2e-4)
    assert bracket.upper == pytest.approx(exact.upper, abs=2e-4)
    assert (bracket.lower <= exact.upper + 1e-12).all()
    assert (bracket.upper >= exact.lower - 1e-12).all()


@pytest.mark.slow
def test_a_game_that_is_too_large_for_the_graph_is_solved_by_its_restarts() -> None:
    game = build_five("above-threshold", 2, 5)
    few = GraphLimits(pairs=1_000)
    with pytest.raises(TooManyBeliefs):
        BeliefGraph(game, EPSILONS, few)
    found = find_bounds(game, EPSILONS, few=EPSILONS, graph_limits=few)
    assert isinstance(found, RestartBounds)
    bracket = Found.of(found)
    assert (bracket.upper - bracket.lower <= 0.01 * bracket.upper + 1e-9).all()


@pytest.mark.thorough
def test_a_hidden_restart_is_not_taken_for_one() -> None:
    """After an answer 1 of between-thresholds, the hidden number may or may not be a new one."""
    assert find_restart(build_five("between-thresholds", 2, 3)) is None


def test_restarts_that_forget_the_log_ratio_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    right = FamilyValues.split_values
    monkeypatch.setattr(
        FamilyValues, "split_values", lambda known, masses, own: right(known, masses, np.ones(own.shape))
    )
    game = restart_at(weigh_states(random_game(1, rounds=4, moves=2, states=3, outcomes=2, zeros=False)), 1)
    upper = solve_restarts(game).upper
    assert np.abs(upper - best_at_each(game)).max() > 1e-2
