"""Bounds on the value of a game, by a graph of all beliefs where that is small enough, else by a search."""

from __future__ import annotations

from collections.abc import Callable

import attrs
import numpy as np

from audits.solver.belief_graph import BeliefGraph, GraphLimits, TooManyBeliefs
from audits.solver.decision_graph import DecisionGraph, extract_decisions
from audits.solver.game_value import GameSolution
from audits.solver.linear_game import LinearGame
from audits.solver.point_search import PointSearch, SearchLimits
from audits.solver.restarts import RestartSolution, find_restart


@attrs.frozen(eq=False)
class Bracket:
    """Bounds (e,) on the value of a game at log ratios (e,), in order: at log ratio ε it is δ*(ε).

    extract_decisions: from the number of a log ratio, an adversary whose gain is at least the lower bound;
    None if it has too many nodes.
    """

    ratios: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    extract_decisions: Callable[[int], DecisionGraph | None]


def bracket_value(
    game: LinearGame,
    ratios: np.ndarray,
    *,
    graph_limits: GraphLimits | None = None,
    search_limits: SearchLimits | None = None,
    watch: Callable[[str, int, int], None] | None = None,
) -> Bracket:
    """Bracket the value of a game, exactly if its beliefs are few.

    watch: receives a stage of the computation, how much of it is done, and the whole.
    """

    def watch_stage(stage: str) -> Callable[[int, int], None] | None:
        return None if watch is None else lambda done, whole: watch(stage, done, whole)

    ratios = np.sort(ratios)
    rounds = None if watch is None else lambda done, _: watch("rounds", done, game.rounds)
    try:
        graph = BeliefGraph(game, ratios, graph_limits or GraphLimits(), watch=rounds)
    except TooManyBeliefs:
        restarted = _solve_restarts(game, ratios, graph_limits or GraphLimits(), watch)
        if restarted is not None:
            return restarted
        search = PointSearch(game, ratios, search_limits or SearchLimits(), watch=watch_stage("pairs"))
        played = [search.play(root) for root in range(len(ratios))]
        lower = np.array([gain for gain, _ in played])
        return Bracket(ratios, lower, search.upper, lambda root: played[root][1])
    solution = GameSolution(graph, watch=watch_stage("values"))
    root = solution.root
    return Bracket(
        ratios, root.lower(), root.values.upper, lambda number: extract_decisions(solution, number)
    )


def _solve_restarts(
    game: LinearGame, ratios: np.ndarray, limits: GraphLimits, watch: Callable[[str, int, int], None] | None
) -> Bracket | None:
    """A bracket by the restarts of a game; None if it has none, or is too large all the same."""
    restart = find_restart(game)
    if restart is None:
        return None
    try:
        solution = RestartSolution(restart, ratios, limits, watch=watch)
    except TooManyBeliefs:
        return None
    root = solution.root
    return Bracket(ratios, root.lower(), root.values.upper, solution.extract_decisions)
