"""Games of online learners against brute force, real games along every path, and their claims."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.exact_games import best_online, delta_of_scores

from arena import Learner, Unsupported
from audits.registry.players import configure_learner
from audits.solver import matrix_games
from audits.solver.belief_graph import BeliefGraph, GraphLimits
from audits.solver.game_value import GameSolution, end_before_second_challenge, extract_decisions
from audits.solver.matrix_games import online_game
from audits.solver.played_games import BestAdversary, ExampleGame

EPSILONS = np.array([0.0, 0.1, 0.5])
TWO, THREE = {"concepts": "thresholds:1..2"}, {"concepts": "thresholds:1..3"}
LEARNERS: list[tuple[str, dict[str, Any]]] = [
    ("noisy-majority", {"rounds": 4}),
    ("weighted-majority", TWO | {"rounds": 4}),
    ("halving", TWO),
    ("soa", TWO),
    ("sparse-majority", TWO),
    ("agnostic-experts", TWO | {"rounds": 3, "stretches": 3, "share": 0.0, "epsilon": 2.0}),
]


def configure(name: str, settings: dict[str, Any]) -> Learner:
    return configure_learner(name, settings)


def solve(learner: Learner, rounds: int, epsilons: np.ndarray = EPSILONS) -> GameSolution:
    return GameSolution(BeliefGraph(online_game(learner, rounds)[0], epsilons, GraphLimits()))


@pytest.mark.parametrize(("name", "settings"), LEARNERS)
@pytest.mark.parametrize("rounds", [1, 2, 3])
def test_the_value_is_that_of_the_best_of_all_adversaries(
    name: str, settings: dict[str, Any], rounds: int
) -> None:
    learner = configure(name, settings)
    root = solve(learner, rounds).root
    expected = [best_online(learner.online_law(), rounds, epsilon) for epsilon in EPSILONS]  # type: ignore[attr-defined]
    assert root.values.upper == pytest.approx(expected, abs=1e-12)
    assert root.lower() == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(("name", "settings"), LEARNERS)
def test_the_exact_loss_of_the_strategy_is_the_lower_bound(name: str, settings: dict[str, Any]) -> None:
    learner, rounds = configure(name, settings), 3
    posed = ExampleGame(learner=learner, text="")
    _, moves, _ = posed.build(rounds)
    solution = solve(learner, rounds)
    for root, epsilon in enumerate(EPSILONS):
        graph = end_before_second_challenge(extract_decisions(solution, root), moves.differ)
        adversary = BestAdversary.of(posed, moves, graph, rounds)
        exact = delta_of_scores(learner, adversary, rounds, epsilon)
        assert exact == pytest.approx(solution.root.lower()[root], abs=1e-12)
    assert solution.root.lower()[0] > 0.05


@pytest.mark.parametrize(("epsilon", "rounds"), [(1.0, 6), (0.5, 4)])
def test_the_claim_of_noisy_majority_holds_and_half_of_it_does_not(epsilon: float, rounds: int) -> None:
    learner = configure("noisy-majority", {"rounds": rounds, "epsilon": epsilon})
    epsilons = np.array([epsilon / 2, epsilon])
    root = solve(learner, rounds, epsilons).root
    assert root.values.upper[1] <= 1e-12
    assert learner.claim.curve is not None
    assert (root.values.upper <= learner.claim.curve.deltas(epsilons) + 1e-12).all()
    assert root.lower()[0] > 1e-4


@pytest.mark.thorough
def test_the_claim_of_agnostic_experts_holds() -> None:
    learner = configure("agnostic-experts", THREE | {"rounds": 4, "share": 0.0})
    root = solve(learner, 4, np.array([learner.claim.epsilon])).root
    assert root.values.upper[0] <= learner.claim.delta + 1e-12


def test_one_example_stands_for_all_with_the_same_effect() -> None:
    """Labels alone matter to noisy-majority, and one round shows nothing of any example."""
    _, _, labels = online_game(configure("noisy-majority", {"rounds": 4}), 3)
    assert labels.tolist() == [[0, 0], [1, 1], [0, 1], [1, 0]]
    _, _, labels = online_game(configure("weighted-majority", THREE | {"rounds": 4}), 1)
    assert len(labels) == 1


def test_a_game_that_is_too_large_is_refused_with_a_size_that_works(monkeypatch: pytest.MonkeyPatch) -> None:
    learner = configure("weighted-majority", THREE | {"rounds": 4})
    monkeypatch.setattr(matrix_games, "MOST_STATES", 30)
    with pytest.raises(Unsupported, match="63 states within 4 rounds") as error:
        online_game(learner, 4)
    assert "Solve at most 3 rounds" in str(error.value)
    online_game(learner, 3)


def test_learners_without_a_distribution_are_refused() -> None:
    with pytest.raises(Unsupported, match="realizable does not declare the distribution"):
        online_game(configure("realizable", THREE), 3)
    with pytest.raises(Unsupported, match="fresh draws without counters only"):
        online_game(configure("agnostic-experts", THREE | {"rounds": 4}), 3)
    with pytest.raises(Unsupported, match="at most 4 rounds"):
        online_game(configure("noisy-majority", {"rounds": 4}), 5)
