"""Learners solved on every pair of votes."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import pytest
from scipy.special import gammaln

import audits
from arena import Unsupported
from audits.registry.players import configure_learner
from audits.solver.belief_graph import GraphLimits
from audits.solver.choice_of_samples import pose_every_vote
from audits.solver.games.query_game import QueryGame
from audits.solver.solution import solve
from audits.solver.solution_report import Outcome

FIVE = {"size": 5, "epsilon": 1.0}


def posed(name: str, **settings: Any) -> QueryGame:
    return pose_every_vote(configure_learner(name, settings))


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("noisy-votes", FIVE | {"answers": 3}),
        ("above-threshold", FIVE),
        ("pate-gaussian", {"teachers": 5, "queries": 3}),
        ("distance-to-instability", {"teachers": 31, "queries": 3}),
        ("pate-svt", {"teachers": 5, "queries": 3, "threshold": 1.0, "scale": 2.0}),
        ("sparse-vector", {"teachers": 5, "queries": 3, "threshold": 1.0, "scale": 2.0}),
        ("steady-thresholds", FIVE | {"halts": 2}),
    ],
)
@pytest.mark.thorough
def test_correct_claims_are_proved(name: str, settings: dict[str, Any]) -> None:
    solution = solve(posed(name, **settings), rounds=3)
    assert solution.outcome is Outcome.PROVED
    assert all(0 <= point.lower <= point.upper <= point.lower + 1e-6 for point in solution.curve)
    assert solution.epsilon_at.upper <= solution.claim.epsilon + 1e-9
    assert solution.epsilon_at.lower >= 0.99 * solution.epsilon_at.upper


def test_a_claim_below_the_truth_is_refuted() -> None:
    """One answer of noisy-votes that claims half of its ε."""
    game = posed("noisy-votes", size=5, epsilon=1.0, answers=1)
    truth = type(game.learner)
    weak = type("Weak", (truth,), {"_cost": lambda learner: (0.5, 0.0)})
    learner = weak(**attrs.asdict(game.learner, recurse=False))
    assert solve(attrs.evolve(game, learner=learner), rounds=1).outcome is Outcome.REFUTED


@pytest.mark.thorough
def test_an_interrupted_computation_gives_the_shorter_game_that_was_solved() -> None:
    def interrupt(stage: str, done: int, total: int) -> None:
        if (stage, total) == ("rounds", 4):
            raise KeyboardInterrupt

    solution = solve(posed("above-threshold", **FIVE), rounds=4, watch=interrupt)
    assert (solution.rounds, solution.asked) == (2, 4)
    with pytest.raises(KeyboardInterrupt):
        solve(posed("above-threshold", **FIVE), rounds=1, watch=lambda *_: interrupt("rounds", 0, 4))


@pytest.mark.thorough
def test_an_interrupted_search_gives_its_bounds_so_far() -> None:
    def interrupt(stage: str, done: int, total: int) -> None:
        if stage == "pairs of beliefs":
            raise KeyboardInterrupt

    game, few = posed("between-thresholds", **FIVE, halts=2), GraphLimits(pairs=100)
    solution = solve(game, rounds=3, epsilons=[0.0, 2.0], limits=few, watch=interrupt)
    exact = solve(game, rounds=3, epsilons=[0.0, 2.0])
    assert solution.interrupted
    assert not exact.interrupted
    assert "interrupted" in solution.explain()
    bounds = {point.epsilon: point for point in exact.curve}
    for point in solution.curve:
        assert point.lower <= bounds[point.epsilon].upper + 1e-9
        assert bounds[point.epsilon].lower <= point.upper + 1e-9
    assert solution.epsilon_at.lower <= exact.epsilon_at.upper + 1e-9


def test_a_learner_without_votes_is_refused() -> None:
    with pytest.raises(Unsupported, match="static-erm does not train one teacher"):
        posed("static-erm")


@pytest.mark.thorough
def test_an_interrupted_long_game_is_solved_up_to_the_round_that_is_done() -> None:
    def interrupt(stage: str, done: int, total: int) -> None:
        if (stage, done) == ("rounds", 20):
            raise KeyboardInterrupt

    game = posed("noisy-votes", **FIVE, answers=40)
    solution, short = solve(game, rounds=40, watch=interrupt), solve(game, rounds=20)
    assert (solution.rounds, solution.asked) == (20, 40)
    for found, expected in zip(solution.curve, short.curve, strict=True):
        assert found.lower <= expected.upper
        assert expected.lower <= found.upper <= found.lower + 1e-3


@pytest.mark.thorough
def test_fifty_answers_of_one_teacher_are_optimal_composition() -> None:
    """The closed form of Kairouz, Oh and Viswanath is between the bounds, which hardly differ."""
    game = posed("noisy-votes", size=1, epsilon=0.3, answers=50)
    solution = solve(game, rounds=50)
    p = 1 - np.exp(-0.15) / 2  # of the answer of the vote, with Laplace noise: randomised response
    loss = np.arange(-50, 51, 2) * np.log(p / (1 - p))
    heads = np.arange(51)
    log_mass = gammaln(51) - gammaln(heads + 1) - gammaln(51 - heads) + heads * np.log(p)
    mass = np.exp(log_mass + (50 - heads) * np.log1p(-p))
    for point in solution.curve:
        exact = (mass * np.maximum(-np.expm1(point.epsilon - loss), 0)).sum()
        assert point.lower - 1e-15 <= exact <= point.upper + 1e-15
        assert point.upper - point.lower < 1e-12


@pytest.mark.thorough
def test_the_least_epsilon_is_found_near_a_kink_of_the_curve() -> None:
    game = posed("sparse-vector-printed", teachers=15, queries=3, threshold=3.0, scale=2.0, unstable=2)
    bracket = solve(game, rounds=3, delta=1.44e-4).epsilon_at
    assert bracket.upper - bracket.lower < 1e-9
    curve = solve(game, rounds=3, epsilons=[bracket.upper]).curve
    (point,) = (point for point in curve if point.epsilon == bracket.upper)
    assert point.upper == pytest.approx(1.44e-4, abs=1e-11)


@pytest.mark.thorough
@pytest.mark.parametrize("epsilon", [20.0, 50.0, 200.0, 700.0])
def test_long_games_of_large_losses_are_solved_without_overflow(epsilon: float) -> None:
    """Warnings are errors here: e^ε of the grid, and of what an answer multiplies it by, stays a number."""
    settings = {"size": 5, "epsilon": epsilon, "answers": 20}
    report = audits.solve("noisy-votes", rounds=20, settings=settings)
    assert report.epsilon_at.lower <= report.epsilon_at.upper
    assert all(0 <= point.lower <= point.upper <= 1 for point in report.curve)
    assert report.epsilon_at.lower > epsilon
