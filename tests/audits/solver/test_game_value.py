"""The solver against brute force over all decision trees, closed forms and adversaries drawn at random."""

from __future__ import annotations

from math import comb, exp

import attrs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arena import Unsupported
from audits.solver.belief_graph import BeliefGraph, GraphLimits
from audits.solver.game_value import GameSolution
from audits.solver.linear_game import LinearGame

EPSILONS = np.array([-1.0, -0.3, 0.0, 0.4, 1.1])


def random_game(seed: int, *, rounds: int, moves: int, states: int, outcomes: int, zeros: bool) -> LinearGame:
    """Kernels with probabilities of many sizes; with zeros, some outcomes reveal the world."""
    rng = np.random.default_rng(seed)
    kernels = rng.uniform(size=(2 * moves, outcomes, states, states)) ** 3
    if zeros:
        kernels[rng.uniform(size=kernels.shape) < 0.3] = 0
        kernels[:, 0] += 1e-3
    kernels /= kernels.sum(axis=(1, 2), keepdims=True)
    return LinearGame(
        rounds=rounds,
        start=rng.dirichlet(np.ones(states), size=2),
        kernels=kernels,
        which=np.arange(2 * moves).reshape(2, moves),
        masses=np.ones(states),
        halts=np.arange(outcomes) == outcomes - 1 if outcomes > 2 else np.zeros(outcomes, bool),
    )


def best(game: LinearGame, epsilon: float) -> float:
    """The value of the best adversary, by trying all of them."""

    def value(first: np.ndarray, second: np.ndarray, left: int) -> float:
        if not left:
            return max(0.0, float(game.masses @ first - exp(epsilon) * (game.masses @ second)))
        return max(
            sum(
                value(own @ first, other @ second, 0 if halts else left - 1)
                for own, other, halts in zip(*game.kernels[kernels], game.halts, strict=True)
            )
            for kernels in game.which.T
        )

    return value(*game.start, game.rounds)


def best_at_each(game: LinearGame) -> np.ndarray:
    return np.array([best(game, epsilon) for epsilon in EPSILONS])


def solve(game: LinearGame, **limits: float) -> GameSolution:
    return GameSolution(BeliefGraph(game, EPSILONS, GraphLimits(**limits)))  # type: ignore[arg-type]


def weigh_states(game: LinearGame) -> LinearGame:
    """The game in coordinates in which no l1 norm exceeds the l2 norm."""
    scale = np.sqrt(len(game.masses))
    return attrs.evolve(game, start=game.start * scale, masses=game.masses / scale)


def draw_games(rounds: int, moves: int) -> st.SearchStrategy[LinearGame]:
    return st.builds(
        random_game,
        st.integers(0, 2**32),
        rounds=st.integers(1, rounds),
        moves=st.integers(1, moves),
        states=st.integers(1, 3),
        outcomes=st.integers(2, 3),
        zeros=st.booleans(),
    )


@pytest.mark.thorough
@given(draw_games(3, 3))
@settings(deadline=None)
def test_the_value_is_that_of_the_best_of_all_adversaries(game: LinearGame) -> None:
    root = solve(game).root
    expected = best_at_each(game)
    assert root.values.upper == pytest.approx(expected, abs=1e-12)
    assert root.lower() == pytest.approx(expected, abs=1e-12)


@pytest.mark.thorough
@given(
    draw_games(3, 3).map(weigh_states),
    st.sampled_from([{"tolerance": 0.1}, {"knots": 1, "offsets": 1, "step": 0.3}, {"reach": 0.2}]),
)
@settings(deadline=None)
def test_a_coarse_graph_still_contains_the_value(game: LinearGame, limits: dict[str, float]) -> None:
    solution = solve(game, **limits)
    expected = best_at_each(game)
    assert (solution.root.values.upper >= expected - 1e-12).all()
    assert (solution.root.lower() <= expected + 1e-12).all()


def test_a_wrong_recursion_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Guesses that forget the log ratio of the histories."""
    game = random_game(1, rounds=2, moves=2, states=2, outcomes=2, zeros=False)
    right = GameSolution._guess_after
    monkeypatch.setattr(
        GameSolution,
        "_guess_after",
        lambda solution, stage, *rest: right(solution, attrs.evolve(stage, offset=0 * stage.offset), *rest),
    )
    assert np.abs(solve(game).root.values.upper - best_at_each(game)).max() > 1e-3


def test_fewer_moves_are_worth_less() -> None:
    game = random_game(1, rounds=2, moves=2, states=2, outcomes=2, zeros=False)
    fewer = attrs.evolve(game, which=game.which[:, 1:])
    assert (solve(fewer).root.values.upper < best_at_each(game) - 1e-3).any()


@pytest.mark.parametrize("rounds", [1, 2, 7, 50])
def test_randomised_response_has_the_closed_form_of_optimal_composition(rounds: int) -> None:
    """Theorem 3.3 of Kairouz, Oh, Viswanath (2015): l of k answers lie: C(k, l)·e^((k-l)ε)/(1 + e^ε)^k."""
    epsilon = 0.3
    truth = 1 / (1 + exp(-epsilon))
    kernel = np.array([truth, 1 - truth])[:, None, None]
    game = LinearGame(
        rounds=rounds,
        start=np.ones((2, 1)),
        kernels=np.array([kernel, kernel[::-1]]),
        which=np.array([[0], [1]]),
        masses=np.ones(1),
        halts=np.zeros(2, bool),
    )
    root = solve(game, knots=1_000).root
    expected = [
        sum(
            comb(rounds, lies)
            * max(0.0, exp((rounds - lies) * epsilon) - exp(one + lies * epsilon))
            / (1 + exp(epsilon)) ** rounds
            for lies in range(rounds + 1)
        )
        for one in EPSILONS
    ]
    assert root.values.upper == pytest.approx(expected, abs=1e-12)
    assert root.lower() == pytest.approx(expected, abs=1e-12)


def test_too_many_beliefs_are_refused() -> None:
    game = random_game(3, rounds=3, moves=3, states=3, outcomes=2, zeros=False)
    with pytest.raises(Unsupported, match="about 36 pairs of beliefs, more than 20"):
        solve(game, pairs=20)
