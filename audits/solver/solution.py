"""`solve`: how much the best adaptive adversary of a game learns, from below and from above."""

from __future__ import annotations

import math
from collections.abc import Sequence

import attrs
import numpy as np

from arena import InvalidArgument
from arena.settings import at_least, at_most, check_value, whole
from audits.exact_loss.answer_paths import MAX_ROUNDS
from audits.exact_loss.exact_audit import EpsilonBracket
from audits.interrupts import acknowledge_interrupt
from audits.registry.match import read_claim
from audits.solver.belief_graph import GraphLimits, TooManyBeliefs
from audits.solver.bounds import FAR, Bounds, GraphBounds, GridBounds, RestartBounds
from audits.solver.game_value import DecisionGraph, end_before_second_challenge
from audits.solver.linear_game import MOST_ROUNDS, LinearGame, Watch, drop_dominated, ignore_progress
from audits.solver.played_games import compare_solved_game
from audits.solver.point_search import SearchBounds, SearchLimits
from audits.solver.posed_games import PosedGame
from audits.solver.solution_report import CurvePoint, Outcome, Solution, Strategy

TOLERANCE = 1e-12  # a δ is proved or refuted up to this much: it cannot be told from rounding
_LARGEST = 700.0  # ε, whose exponential is finite; a claim of more is proved if this one is
_CURVE = 16  # further ε at which the curve is computed
_LAST = 500  # pairs that are solved in the second direction, if the search in the first is interrupted
_FEW = 16  # rounds in which log ratios of games without hidden states may be listed
_QUICK = 5_000  # pairs of beliefs of a game that is solved within a second
_FLOOR = 2e-4  # a gap between bounds on δ that is small enough, where they are searched for
_REFINE, _REFINEMENTS = 12, 8  # ε by which the least ε is narrowed down, and how often at most
ROUNDING = 2.0**-49  # of a probability, for each round and outcome: sixteen times the unit of rounding


def solve(
    posed: PosedGame,
    *,
    rounds: int,
    epsilons: Sequence[float] = (),
    delta: float | None = None,
    limits: GraphLimits | None = None,
    search: bool = True,
    watch: Watch = ignore_progress,
) -> Solution:
    """Solve a game of at most T rounds, and compare played games with the distribution that was solved.

    epsilons: also computed; the strategy is the best one at the first of them, by default near half of the
    least ε that holds. delta: at which the least ε is computed; default: the claim's. search: whether bounds
    are searched for where there are too many beliefs to list. After a KeyboardInterrupt, the result is that
    of the bounds so far, or of a shorter game that is quickly solved.

    Raises: InvalidArgument, also if the worlds differ in what the claim does not protect; NotConforming if
        games do not follow the distribution; Unsupported if none is declared, or the game is too large.
    """
    check_value("rounds", rounds, whole, at_least(1), at_most(MAX_ROUNDS))
    for epsilon in epsilons:
        check_value("epsilon", epsilon, at_least(0), at_most(_LARGEST))
    claim = read_claim(posed.learner)
    if delta is None:
        delta = 0.0 if claim.empty else claim.delta
    check_value("delta", delta, at_least(0), at_most(1))
    given = {*map(float, epsilons), *([] if claim.empty else [min(claim.epsilon, _LARGEST)])}
    drawn = np.linspace(0, max(1.0, min(max(given, default=0), FAR)), _CURVE)
    wanted = np.array(sorted(given.union(drawn.tolist())))
    unasked = [] if len(epsilons) else [max(given) / 2] if given else [0.0, 0.5]
    few = np.unique([*given, *unasked]) if search else None
    watch("matrices", 0, rounds)
    game, moves, unit = posed.build(rounds, watch)
    if not claim.empty and unit not in claim.protects:
        raise InvalidArgument(
            f"the worlds differ in {unit}, which {posed.learner.own_name} does not promise to protect",
            remedy=f"It protects {' and '.join(claim.protects)}.",
        )
    smaller, kept = drop_dominated(game)
    try:
        solver = _Solver(smaller, wanted, few, limits or GraphLimits(), watch)
    except KeyboardInterrupt:
        acknowledge_interrupt()
        shorter = _solve_shorter(smaller, wanted)
        if shorter is None:
            raise
        solver = shorter
    bounds = solver.bound(solver.epsilons)
    bracket = solver.find_least_epsilon(bounds, delta, watch)
    upper = np.minimum.accumulate(bounds[2])  # δ*(ε) decreases, and errors of merging grow with e^ε
    curve = tuple(CurvePoint(*map(float, point)) for point in zip(bounds[0], bounds[1], upper, strict=True))
    number = int(np.abs(solver.epsilons - (epsilons[0] if len(epsilons) else bracket.lower / 2)).argmin())
    graph = solver.find_decisions(number)
    if graph is not None:
        graph = end_before_second_challenge(attrs.evolve(graph, move=kept[graph.move]), moves.differ)
    watch("games", 0, 1)
    comparison = compare_solved_game(posed, moves, solver.rounds, graph)
    measured = tuple(text for text in (posed.measured, *solver.measured) if text)
    outcome = Outcome.OPEN
    for point in curve:
        if point.epsilon == min(claim.epsilon, _LARGEST):
            if point.epsilon == claim.epsilon and point.lower > claim.delta + solver.tolerance:
                outcome = Outcome.REFUTED
            elif point.upper <= claim.delta + solver.tolerance:
                outcome = Outcome.BRACKETED if measured else Outcome.PROVED
    return Solution(
        learner=posed.learner.own_name,
        worlds=posed.text,
        posed=posed,
        given=posed.learner.name,
        rounds=solver.rounds,
        asked=game.rounds,
        interrupted=solver.interrupted,
        moves=game.moves,
        claim=claim,
        outcome=outcome,
        measured=measured,
        comparison=comparison,
        epsilon_at=bracket,
        curve=curve,
        rounding=solver.rounding,
        strategy=Strategy(float(bounds[0, number]), float(bounds[1, number]), graph, moves),
    )


def _solve_shorter(game: LinearGame, epsilons: np.ndarray) -> _Solver | None:
    """A game of fewer rounds that is quickly solved, after an interruption; None if there is none."""
    rounds = game.rounds // 2
    while rounds:
        try:
            limits = GraphLimits(pairs=_QUICK)
            return _Solver(attrs.evolve(game, rounds=rounds), epsilons, None, limits, ignore_progress)
        except TooManyBeliefs:
            rounds //= 2
    return None


class _Solver:
    """A game in both directions of the worlds. epsilons: (e,) at which bounds are known. rounds: that were
    solved. rounding: an allowance in every bound. tolerance: for a δ."""

    def __init__(
        self,
        game: LinearGame,
        epsilons: np.ndarray,
        few: np.ndarray | None,
        limits: GraphLimits,
        watch: Watch,
    ) -> None:
        """epsilons, few: as of `find_bounds`."""
        self.rounding = ROUNDING * game.rounds * len(game.halts)
        self.tolerance = max(TOLERANCE, 4 * self.rounding)
        self._largest = math.inf  # the privacy loss of a game, at most, where nothing is remembered
        if len(game.masses) == 1:
            first, second = (game.kernels[which, :, 0, 0] for which in game.which)
            with np.errstate(divide="ignore", invalid="ignore"):
                losses = np.where(first == second, 0.0, np.log(first / second))
            self._largest = game.rounds * float(np.abs(losses).max())
        self._directions: list[Bounds] = []
        search_limits = SearchLimits(floor=_FLOOR)
        for direction in (game,) if game.mirrored_moves is not None else (game, game.exchanged):
            bounds = find_bounds(
                direction, epsilons, few=few, graph_limits=limits, search_limits=search_limits, watch=watch
            )
            self._directions.append(bounds)
            if bounds.interrupted:  # who interrupts one direction does not want to wait for the other
                search_limits = attrs.evolve(search_limits, pairs=_LAST)
        self.epsilons = self._directions[0].epsilons
        self.rounds = min(bounds.rounds for bounds in self._directions)
        self.interrupted = any(bounds.interrupted for bounds in self._directions)
        self.measured = sorted({bounds.measured for bounds in self._directions})

    def bound(self, epsilons: np.ndarray) -> np.ndarray:
        """(5, e): increasing ε, bounds below and above δ* there, and the probabilities of the best line. A
        line is below δ* from its own ε on: accepts_0 - e^ε·accepts_1."""
        found = [bounds.at(epsilons) for bounds in self._directions]
        # Bounds are differences of probabilities, each a sum of products.
        upper = np.max([upper for upper, _ in found], axis=0) + self.rounding
        if math.isfinite(self._largest):
            upper = np.minimum(upper, -np.expm1(np.minimum(epsilons - self._largest, 0)) + self.rounding)
        # If one direction was interrupted, the other is of a longer game, whose lower bounds do not hold.
        directions = zip(self._directions, found, strict=True)
        lines = np.array([line for bounds, (_, line) in directions if bounds.rounds == self.rounds])
        lines[:, 0] -= self.rounding
        lower = lines[:, 0] - np.exp(epsilons) * lines[:, 1]
        best, every = lower.argmax(axis=0), np.arange(len(epsilons))
        ends = np.maximum(lower[best, every], 0), np.minimum(upper, 1)
        return np.array([epsilons, *ends, *lines[best, :, every].T])

    def find_least_epsilon(self, bounds: np.ndarray, delta: float, watch: Watch) -> EpsilonBracket:
        """Where δ*(ε) becomes at most δ; bounds: as of `bound`, to which others are added."""
        bracket = self._bracket(bounds, delta)
        for step in range(_REFINEMENTS if self._directions[0].exact else 0):
            finer = _choose_finer(bounds[0], bracket)
            if not len(finer):
                break
            try:
                watch("least ε", step, _REFINEMENTS)
                bounds = np.hstack([bounds, self.bound(finer)])
            except KeyboardInterrupt:  # the bracket so far holds
                acknowledge_interrupt()
                self.interrupted = True
                break
            bounds = bounds[:, np.argsort(bounds[0], kind="stable")]
            bracket = self._bracket(bounds, delta)
        return bracket

    def _bracket(self, bounds: np.ndarray, delta: float) -> EpsilonBracket:
        """The same from these bounds alone, since δ* is convex in e^ε: by the lines, and by the chords."""
        epsilons, _, highest, accepts_0, accepts_1 = bounds
        z, goal = np.exp(epsilons), delta + self.tolerance
        with np.errstate(divide="ignore", invalid="ignore"):
            # A line need not hold below its own ε, so it is of use if it is above the goal there.
            roots = np.where(accepts_0 - z * accepts_1 > goal, (accepts_0 - goal) / accepts_1, 0.0)
        lower = max(0.0, math.log(max(roots.max(), 1.0))) if np.isfinite(roots).all() else math.inf
        (reached,) = np.nonzero(highest <= goal)
        if not len(reached):
            return EpsilonBracket(lower, math.inf, delta)
        first = int(reached[0])
        upper = epsilons[first]
        if first:
            above, below = highest[first - 1], highest[first]
            part = (above - goal) / (above - below)
            upper = math.log(z[first - 1] + part * (z[first] - z[first - 1]))
        return EpsilonBracket(min(lower, float(upper)), float(upper), delta)

    def find_decisions(self, number: int) -> DecisionGraph | None:
        """Those of the best adversary at the ε of this number; its scores are of world 1 against world 0."""
        z = np.exp(self.epsilons[number])
        lines = [bounds.at(self.epsilons)[1][:, number] for bounds in self._directions]
        best = int(np.argmax([line @ (1, -z) for line in lines]))
        graph = self._directions[best].decisions(number)
        # Scores are of world 0 of its own game against world 1.
        return graph if graph is None or best else attrs.evolve(graph, score=-graph.score)


def _choose_finer(epsilons: np.ndarray, bracket: EpsilonBracket) -> np.ndarray:
    """Further ε near the least one: the crossing of the best line is a step of Newton's method."""
    if math.isinf(bracket.lower) or bracket.upper - bracket.lower <= TOLERANCE:
        return np.empty(0)
    end = bracket.upper if math.isfinite(bracket.upper) else max(2 * bracket.lower, epsilons[-1]) + 4
    end = min(end, _LARGEST)  # e^ε must be a number
    if end <= bracket.lower:
        return np.empty(0)
    steps = np.append(0, np.geomspace(1e-9, 1, _REFINE))
    return bracket.lower + steps * (end - bracket.lower)


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
