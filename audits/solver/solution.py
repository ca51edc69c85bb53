"""`solve`: how much the best adaptive adversary of a game learns, from below and from above."""

from __future__ import annotations

import math
from collections.abc import Sequence

import attrs
import numpy as np

from arena import Claim, InvalidArgument
from arena.settings import at_least, at_most, check_value, whole
from arena.testing.laws.goodness_of_fit import Comparison
from audits.exact_loss.answer_paths import MAX_ROUNDS
from audits.exact_loss.exact_report import EpsilonBracket
from audits.registry.tested_claim import read_claim
from audits.solver.belief_graph import GraphLimits, TooManyBeliefs
from audits.solver.bounds import FAR, Bounds, Watch, find_bounds, largest_loss
from audits.solver.decision_graph import DecisionGraph, Strategy, end_before_second_challenge
from audits.solver.linear_game import LinearGame, drop_dominated
from audits.solver.played_games import compare_solved_game
from audits.solver.posed_game import GameMoves, PosedGame
from audits.solver.search.point_search import SearchLimits
from audits.solver.solution_report import CurvePoint, Outcome, Solution

TOLERANCE = 1e-12  # a δ is proved or refuted up to this much: it cannot be told from rounding
_LARGEST = 700.0  # ε, whose exponential is finite; a claim of more is proved if this one is
_CURVE = 16  # further ε at which the curve is computed
_LAST = 500  # pairs that are solved in the second direction, if the search in the first is interrupted
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
    watch: Watch | None = None,
) -> Solution:
    """Solve a game of at most T rounds, and compare played games with the distribution that was solved.

    epsilons: also computed; the strategy is the best one at the first of them, by default near half of the
    least ε that holds. delta: at which the least ε is computed; default: the claim's. watch: receives a stage
    of the computation, how much of it is done, and the whole. search: whether bounds are searched for where
    there are too many beliefs to list them.

    If it is interrupted (KeyboardInterrupt), the result is that of the bounds so far, or of a shorter game
    that is quickly solved.

    Raises: InvalidArgument if a number is out of range, or the worlds differ in what the claim does not
        protect; NotConforming if games do not follow the distribution; Unsupported if the learner tells no
        distribution of what it shows, or the game is too large.
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
    own = float(epsilons[0]) if len(epsilons) else None
    if watch is not None:
        watch("matrices", 0, rounds)
    game, moves, unit = posed.build(rounds, watch and (lambda done: watch("matrices", done, rounds)))
    if not claim.empty and unit not in claim.protects:
        raise InvalidArgument(
            f"the worlds differ in {unit}, which {posed.learner.name} does not promise to protect",
            remedy=f"It protects {' and '.join(claim.protects)}.",
        )
    smaller, kept = drop_dominated(game)
    chosen = moves.select(kept)
    try:
        solver = _Solver(smaller, chosen, wanted, few, limits or GraphLimits(), watch)
    except KeyboardInterrupt:
        shorter = _solve_shorter(smaller, chosen, wanted)
        if shorter is None:
            raise
        solver = shorter
    solution = solver.solve(claim, delta, own, posed)
    if watch is not None:
        watch("games", 0, 1)
    comparison = compare_solved_game(posed, moves, solution.rounds, _renumber(solution.strategy.graph, kept))
    measured = tuple(text for text in (posed.measured, *solution.measured) if text)
    outcome = solution.outcome
    if outcome is Outcome.PROVED and measured:
        outcome = Outcome.BRACKETED
    return attrs.evolve(
        solution,
        moves=game.moves,
        asked=game.rounds,
        outcome=outcome,
        measured=measured,
        comparison=comparison,
    )


def _renumber(graph: DecisionGraph | None, kept: np.ndarray) -> DecisionGraph | None:
    """Decisions among some of the moves as decisions among all."""
    return None if graph is None else attrs.evolve(graph, move=kept[graph.move])


def _solve_shorter(game: LinearGame, moves: GameMoves, epsilons: np.ndarray) -> _Solver | None:
    """A game of fewer rounds that is quickly solved, after an interruption; None if there is none."""
    rounds = game.rounds // 2
    while rounds:
        try:
            return _Solver(
                attrs.evolve(game, rounds=rounds), moves, epsilons, None, GraphLimits(pairs=_QUICK), None
            )
        except TooManyBeliefs:
            rounds //= 2
    return None


@attrs.frozen(eq=False)
class _Bounds:
    """Bounds on δ* at some ε, and lines below δ* as a function of e^ε.

    Shapes: epsilons, lower and upper (e,); lines (2, e), of which a line is lines[0] - e^ε·lines[1].
    """

    epsilons: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    lines: np.ndarray

    def join(self, other: _Bounds) -> _Bounds:
        """The bounds at the ε of both, in order."""
        order = np.argsort(np.append(self.epsilons, other.epsilons), kind="stable")
        both = [
            np.concatenate([one, two], axis=-1) for one, two in zip(_parts(self), _parts(other), strict=True)
        ]
        return _Bounds(*(part[..., order] for part in both))


def _parts(bounds: _Bounds) -> tuple[np.ndarray, ...]:
    return bounds.epsilons, bounds.lower, bounds.upper, bounds.lines


class _Solver:
    """A game of so many rounds, in both directions of the worlds."""

    def __init__(
        self,
        game: LinearGame,
        moves: GameMoves,
        epsilons: np.ndarray,
        few: np.ndarray | None,
        limits: GraphLimits,
        watch: Watch | None,
    ) -> None:
        """epsilons, few: as of `find_bounds`."""
        self._moves, self._watch = moves, watch
        self._rounding = ROUNDING * game.rounds * len(game.halts)
        self._tolerance = max(TOLERANCE, 4 * self._rounding)
        self._largest = game.rounds * largest_loss(game)
        self._directions: list[Bounds] = []
        search_limits = SearchLimits(floor=_FLOOR)
        for direction in (game,) if game.mirrored_moves is not None else (game, game.exchanged):
            bounds = find_bounds(
                direction,
                epsilons,
                few=few,
                graph_limits=limits,
                search_limits=search_limits,
                watch=watch,
            )
            self._directions.append(bounds)
            if bounds.interrupted:  # who interrupts one direction does not want to wait for the other
                search_limits = attrs.evolve(search_limits, pairs=_LAST)
        self._epsilons = self._directions[0].epsilons

    def solve(self, claim: Claim, delta: float, own: float | None, posed: PosedGame) -> Solution:
        """own: the ε of the strategy; None for the one nearest to half of the least that holds."""
        bounds = self._bounds(self._epsilons)
        bracket, known = self._least_epsilon(bounds, delta), bounds
        for step in range(_REFINEMENTS if self._directions[0].exact else 0):
            finer = _finer(known, bracket)
            if not len(finer):
                break
            if self._watch is not None:
                self._watch("least ε", step, _REFINEMENTS)
            known = known.join(self._bounds(finer))
            bracket = self._least_epsilon(known, delta)
        upper = np.minimum.accumulate(bounds.upper)  # δ*(ε) decreases, and errors of merging grow with e^ε
        curve = tuple(
            CurvePoint(*map(float, point)) for point in zip(bounds.epsilons, bounds.lower, upper, strict=True)
        )
        return Solution(
            learner=posed.learner.name,
            worlds=posed.text,
            posed=posed,
            given=posed.learner.name,
            rounds=min(bounds.rounds for bounds in self._directions),
            asked=0,
            interrupted=any(bounds.interrupted for bounds in self._directions),
            moves=len(self._moves.names),
            claim=claim,
            outcome=_judge(claim, curve, self._tolerance),
            measured=tuple(sorted({bounds.measured for bounds in self._directions})),
            comparison=Comparison(games=0, events=0, rate=0.0),
            epsilon_at=bracket,
            curve=curve,
            rounding=self._rounding,
            strategy=self._strategy(bracket.lower / 2 if own is None else own, bounds.lower),
        )

    def _bounds(self, epsilons: np.ndarray) -> _Bounds:
        """Bounds at increasing ε."""
        found = [bounds.at(epsilons) for bounds in self._directions]
        # Bounds are differences of probabilities, each a sum of products.
        upper = np.max([upper for upper, _ in found], axis=0) + self._rounding
        if math.isfinite(self._largest):  # the privacy loss of a game is at most that
            upper = np.minimum(upper, -np.expm1(np.minimum(epsilons - self._largest, 0)) + self._rounding)
        # If one direction was interrupted, the other is of a longer game, whose lower bounds do not hold.
        rounds = min(bounds.rounds for bounds in self._directions)
        lines = np.array(
            [
                line
                for bounds, (_, line) in zip(self._directions, found, strict=True)
                if bounds.rounds == rounds
            ]
        )
        lines[:, 0] -= self._rounding
        lower = lines[:, 0] - np.exp(epsilons) * lines[:, 1]
        best, every = lower.argmax(axis=0), np.arange(len(epsilons))
        return _Bounds(
            epsilons, np.maximum(lower[best, every], 0), np.minimum(upper, 1), lines[best, :, every].T
        )

    def _least_epsilon(self, bounds: _Bounds, delta: float) -> EpsilonBracket:
        """Where δ*(ε), convex in e^ε, becomes at most δ: below by the lines, above by the chords."""
        z, goal = np.exp(bounds.epsilons), delta + self._tolerance
        accepts_0, accepts_1 = bounds.lines
        with np.errstate(divide="ignore", invalid="ignore"):
            # A line need not hold below its own ε, so it is of use if it is above the goal there.
            roots = np.where(accepts_0 - z * accepts_1 > goal, (accepts_0 - goal) / accepts_1, 0.0)
        lower = max(0.0, math.log(max(roots.max(), 1.0))) if np.isfinite(roots).all() else math.inf
        (reached,) = np.nonzero(bounds.upper <= goal)
        if not len(reached):
            return EpsilonBracket(lower, math.inf, delta)
        first = int(reached[0])
        upper = bounds.epsilons[first]
        if first:
            above, below = bounds.upper[first - 1], bounds.upper[first]
            part = (above - goal) / (above - below)
            upper = math.log(z[first - 1] + part * (z[first] - z[first - 1]))
        return EpsilonBracket(min(lower, float(upper)), float(upper), delta)

    def _strategy(self, wanted: float, lower: np.ndarray) -> Strategy:
        number = int(np.abs(self._epsilons - wanted).argmin())
        lines = [bounds.at(self._epsilons)[1][:, number] for bounds in self._directions]
        best = int(np.argmax([line @ (1, -np.exp(self._epsilons[number])) for line in lines]))
        graph = self._directions[best].decisions(number)
        if graph is not None:
            # Scores are of world 0 of its own game against world 1.
            graph = attrs.evolve(graph, score=graph.score if best else -graph.score)
            graph = end_before_second_challenge(graph, self._moves.differ)
        return Strategy(float(self._epsilons[number]), float(lower[number]), graph, self._moves)


def _finer(bounds: _Bounds, bracket: EpsilonBracket) -> np.ndarray:
    """Further ε near the least one: the crossing of the best line is a step of Newton's method."""
    if math.isinf(bracket.lower) or bracket.upper - bracket.lower <= TOLERANCE:
        return np.empty(0)
    end = bracket.upper if math.isfinite(bracket.upper) else max(2 * bracket.lower, bounds.epsilons[-1]) + 4
    end = min(end, _LARGEST)  # e^ε must be a number
    if end <= bracket.lower:
        return np.empty(0)
    steps = np.append(0, np.geomspace(1e-9, 1, _REFINE))
    return bracket.lower + steps * (end - bracket.lower)


def _judge(claim: Claim, curve: Sequence[CurvePoint], tolerance: float) -> Outcome:
    own = [point for point in curve if point.epsilon == min(claim.epsilon, _LARGEST)]
    if own and own[0].epsilon == claim.epsilon and own[0].lower > claim.delta + tolerance:
        return Outcome.REFUTED
    return Outcome.PROVED if own and own[0].upper <= claim.delta + tolerance else Outcome.OPEN
