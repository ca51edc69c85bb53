"""Bounds on the value of a game at any log ratio, by the computation that suits the game."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

import numpy as np

from audits.solver.belief_graph import BeliefGraph, GraphLimits, TooManyBeliefs
from audits.solver.decision_graph import DecisionGraph, extract_decisions
from audits.solver.game_value import GameSolution, Values
from audits.solver.linear_game import MOST_ROUNDS, LinearGame, Watch, ignore_progress
from audits.solver.ratio_grid import RatioGrid
from audits.solver.restarts import RestartSolution, find_restart
from audits.solver.search.point_search import DROPPED, PointSearch, SearchLimits

_FEW = 16  # rounds in which log ratios of games without hidden states may be listed
FAR = 12.0  # ε beyond which no bounds are of interest

# At increasing ε: upper bounds (e,), and lines (2, e). From its own ε on, the line lines[0] - e^ε·lines[1] is
# below δ*(ε).
UpperAndLines = tuple[np.ndarray, np.ndarray]


class Bounds(ABC):
    """Bounds on δ* in one direction of the worlds.

    epsilons: (e,) those at which bounds are known, in order. rounds: those that are solved. exact: whether
    bounds at further ε are quickly found. interrupted: whether a search for bounds was ended early.
    measured: which part of the computation is measured and not proved; empty: none.
    """

    epsilons: np.ndarray
    rounds: int
    exact = True
    interrupted = False
    measured = ""

    @abstractmethod
    def at(self, epsilons: np.ndarray) -> UpperAndLines:
        """The bounds at increasing ε; only at `epsilons` if not `exact`."""

    @abstractmethod
    def decisions(self, number: int) -> DecisionGraph | None:
        """The adversary of the lower bound at epsilons[number]; None if it decides too much to be listed."""


class GraphBounds(Bounds):
    """From a graph of all beliefs."""

    def __init__(
        self, game: LinearGame, epsilons: np.ndarray, limits: GraphLimits, watch: Watch = ignore_progress
    ) -> None:
        """Raises: TooManyBeliefs."""
        self.epsilons, self.rounds = epsilons, game.rounds
        self._game, self._limits, self._watch = game, limits, watch
        # Values at further log ratios follow from those of later rounds, unless those are at a few only.
        self._few = len(game.masses) == 1
        graph = self._build_graph(epsilons)
        if self._few and any(len(family.ratios) > limits.knots for family in graph.families):
            raise TooManyBeliefs("there are too many log ratios", remedy="Allow fewer rounds.")
        self._solution = GameSolution(graph, watch=watch)

    def at(self, epsilons: np.ndarray) -> UpperAndLines:
        if np.array_equal(epsilons, self.epsilons):
            values = self._solution.root.values
        elif self._few:
            values = GameSolution(self._build_graph(epsilons), watch=self._watch).root.values
        else:
            values = self._solution.stage_values(0, epsilons)[0]
        return _read_values(values)

    def decisions(self, number: int) -> DecisionGraph | None:
        return extract_decisions(self._solution, number)

    def _build_graph(self, epsilons: np.ndarray) -> BeliefGraph:
        return BeliefGraph(self._game, epsilons, self._limits, watch=self._watch)


def _read_values(values: Values) -> UpperAndLines:
    lines = [(values.accepts_0 - values.error).reshape(-1), values.accepts_1.reshape(-1)]
    return values.upper.reshape(-1), np.array(lines)


class GridBounds(Bounds):
    """From a uniform grid of log ratios, for games in which nothing is remembered."""

    def __init__(self, game: LinearGame, epsilons: np.ndarray, watch: Watch = ignore_progress) -> None:
        """If it is interrupted, fewer rounds are solved. Raises: KeyboardInterrupt if none is."""
        self.epsilons, self._grid = epsilons, RatioGrid(game, min(float(epsilons[-1]), FAR))
        try:
            for done in range(game.rounds):
                watch("rounds", done, game.rounds)
                self._grid.add_round()
        except KeyboardInterrupt:
            if not self._grid.rounds:
                raise
        self.rounds = self._grid.rounds

    def at(self, epsilons: np.ndarray) -> UpperAndLines:
        return self._grid.bounds(epsilons)

    def decisions(self, number: int) -> DecisionGraph | None:
        return None


class RestartBounds(Bounds):
    """From graphs of the beliefs up to a restart of the learner, and after it."""

    exact = False
    measured = (
        "the learner is taken to start afresh where its states agree to ten digits, and parts of them below "
        "1e-13 are left out"
    )

    def __init__(
        self, game: LinearGame, epsilons: np.ndarray, limits: GraphLimits, watch: Watch = ignore_progress
    ) -> None:
        """Raises: TooManyBeliefs, also if no outcome makes the learner start afresh."""
        self.epsilons, self.rounds = epsilons, game.rounds
        restart = find_restart(game)
        if restart is None:
            raise TooManyBeliefs("no outcome makes the learner start afresh", remedy="Search for bounds.")
        self._solution = RestartSolution(restart, epsilons, limits, watch=watch)

    def at(self, epsilons: np.ndarray) -> UpperAndLines:
        return _read_values(self._solution.root.values)

    def decisions(self, number: int) -> DecisionGraph | None:
        return self._solution.extract_decisions(number)


class SearchBounds(Bounds):
    """From a search, for games with too many beliefs for a graph."""

    exact = False
    measured = f"the search for bounds leaves out parts of the learner's states below {DROPPED:.0e}"

    def __init__(
        self, game: LinearGame, epsilons: np.ndarray, limits: SearchLimits, watch: Watch = ignore_progress
    ) -> None:
        self.epsilons, self.rounds = epsilons, game.rounds
        search = PointSearch(game, epsilons, limits, watch=watch)
        self._upper, self.interrupted = search.upper, search.interrupted
        self._played = []
        for number in range(len(epsilons)):
            watch("adversaries", number, len(epsilons))
            self._played.append(search.play(number))

    def at(self, epsilons: np.ndarray) -> UpperAndLines:
        gains = np.array([gain for gain, _ in self._played])
        # The adversary accepts with probability at most 1 in world 0, so with (1 - gain)/e^ε in world 1.
        return self._upper, np.array([np.ones_like(gains), (1 - gains) / np.exp(epsilons)])

    def decisions(self, number: int) -> DecisionGraph | None:
        return self._played[number][1]


def find_bounds(
    game: LinearGame,
    epsilons: np.ndarray,
    *,
    few: np.ndarray | None = None,
    graph_limits: GraphLimits | None = None,
    search_limits: SearchLimits | None = None,
    watch: Watch = ignore_progress,
) -> Bounds:
    """The bounds of a game at increasing ε.

    few: fewer ε, in order, for a search, in which each takes its time; None: there is no search.

    Raises: TooManyBeliefs if there are too many for a graph and there is no search.
    """
    remembers = len(game.masses) > 1
    if remembers or game.rounds <= _FEW:
        try:
            return GraphBounds(game, epsilons, graph_limits or GraphLimits(), watch)
        except TooManyBeliefs:
            if remembers and few is None:
                raise
            if remembers and game.rounds > MOST_ROUNDS:
                raise TooManyBeliefs(
                    "a game of so many rounds has too many beliefs to list, and too many histories to search",
                    value=game.rounds,
                    remedy=f"Allow at most {MOST_ROUNDS} rounds.",
                ) from None
    if not remembers:
        return GridBounds(game, epsilons, watch)
    assert few is not None
    try:
        return RestartBounds(game, few, graph_limits or GraphLimits(), watch)
    except TooManyBeliefs:
        pass
    return SearchBounds(game, few, search_limits or SearchLimits(), watch)


def largest_loss(game: LinearGame) -> float:
    """The largest privacy loss of one answer, in either direction; infinite where there are hidden states."""
    if len(game.masses) > 1:
        return math.inf
    first, second = (game.kernels[which, :, 0, 0] for which in game.which)
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.abs(np.where(first == second, 0.0, np.log(first / second))).max())
