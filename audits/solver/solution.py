"""`solve`: how much the best adaptive adversary of a game learns, from below and from above."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import ClassVar

import attrs
import numpy as np

from arena import Claim
from arena.settings import at_least, at_most, check_value, less_than, whole
from audits.exact_loss.answer_paths import AnswerLaws
from audits.exact_loss.exact_audit import EpsilonBracket
from audits.registry.tested_claim import read_claim
from audits.solver.answer_games import answer_game
from audits.solver.belief_graph import BeliefGraph, GraphLimits
from audits.solver.decision_graph import DecisionGraph, extract_decisions
from audits.solver.every_vote import PosedGame
from audits.solver.game_value import GameSolution
from audits.solver.linear_game import LinearGame, drop_dominated

TOLERANCE = 1e-12  # a δ is proved or refuted up to this much: it cannot be told from rounding
_FAR = 12.0  # ε above which the curve is not drawn, as all of interest is far below
_CURVE = 16  # further ε at which the curve is computed
_STEPS = 64  # of a grid of log ratios, for the largest loss of one answer
_KNOTS = 20_000  # of a grid at least
_DEVIATIONS = 7  # by which the privacy loss of a game is followed
_REFINE, _REFINEMENTS = 12, 3  # ε by which the least ε is narrowed down, and how often
ROUNDING = 2.0**-49  # of a probability, for each round and outcome: sixteen times the unit of rounding

Watch = Callable[[str, int, int], None]


class Outcome(StrEnum):
    """What a solved game says about a claim."""

    PROVED = "proved"
    REFUTED = "refuted"
    OPEN = "open"


@attrs.frozen
class CurvePoint:
    """δ*(ε), the least δ for which ε holds against every adversary of the game, is in [lower, upper]."""

    epsilon: float
    lower: float
    upper: float


@attrs.frozen(eq=False)
class Strategy:
    """The best adversary that was found for one ε, in nats: it reaches the lower bound delta there.

    graph: its decisions, None if there are more than 2,000; the scores are log-likelihood ratios of world 1 against world 0. points: that it
    queries (moves, ...). names: what they are. outcomes: the label of each, and whether the learner halts.
    """

    epsilon: float
    delta: float
    graph: DecisionGraph | None
    points: np.ndarray
    names: tuple[str, ...]
    outcomes: tuple[tuple[int, bool], ...]


@attrs.frozen(kw_only=True, eq=False)
class Solution:
    """How much the best adversary of a game learns.

    learner: its name. samples: what the two samples are. rounds: T, of the game that is solved; asked: the
    rounds asked for, which are more if the computation was interrupted. queries: how many ways there are to
    query. claim: under test. outcome: whether the claim is proved for these two samples against every
    adversary of at most T queries, refuted, or neither. epsilon_at: the least ε in nats that holds at the δ
    asked for. curve: δ*(ε) at increasing ε, the claim's among them, where it is finite. rounding: an
    allowance in every bound for the errors of floating point.
    """

    kind: ClassVar[str] = "solution"

    learner: str
    samples: str
    rounds: int
    asked: int
    queries: int
    claim: Claim
    outcome: Outcome
    epsilon_at: EpsilonBracket
    curve: tuple[CurvePoint, ...]
    rounding: float
    strategy: Strategy = attrs.field(repr=False)


def solve(
    posed: PosedGame,
    *,
    rounds: int,
    epsilons: Sequence[float] = (),
    delta: float | None = None,
    limits: GraphLimits | None = None,
    watch: Watch | None = None,
) -> Solution:
    """Solve the game in which two neighbouring samples are given and up to T of the points are queried.

    epsilons: also computed; the strategy is the best one at the first of them, by default near half of the
    least ε that holds. delta: at which the least ε is computed; default: the claim's. watch: receives a stage
    of the computation, how much of it is done, and the whole.

    If it is interrupted (KeyboardInterrupt) after a game of fewer rounds was solved, that is the result.

    Raises: InvalidArgument if a number is out of range; Unsupported if the learner tells no distribution of
        answers, or the game is too large.
    """
    check_value("rounds", rounds, whole, at_least(1))
    for epsilon in epsilons:
        check_value("epsilon", epsilon, at_least(0), less_than(math.inf))
    claim = read_claim(posed.learner)
    if delta is None:
        delta = 0.0 if claim.empty else claim.delta
    check_value("delta", delta, at_least(0), at_most(1))
    given = {*map(float, epsilons), *([] if claim.empty else [claim.epsilon])}
    drawn = np.linspace(0, max(1.0, min(max(given, default=0), _FAR)), _CURVE)
    wanted = np.array(sorted(given.union(drawn.tolist())))
    solution = None
    try:
        for fewer in _shorter_games(rounds):
            if watch is not None:
                watch(f"{fewer} of {rounds} rounds", 0, 1)
            solver = _Solver(posed, fewer, wanted, limits or GraphLimits(), watch)
            solution = solver.solve(claim, delta, float(epsilons[0]) if len(epsilons) else None)
    except KeyboardInterrupt:
        if solution is None:
            raise
    assert solution is not None
    return attrs.evolve(solution, asked=rounds)


def _shorter_games(rounds: int) -> list[int]:
    """The rounds of games that are solved one after the other: short ones take a small part of the time."""
    return sorted({max(1, rounds // 8), max(1, min(rounds - 2, 8)), rounds})


@attrs.frozen(eq=False)
class _Bounds:
    """Bounds on δ* at some ε, of the worlds as they are or exchanged, and lines below δ* as a function of e^ε.

    Shapes (e,); a line is accepts_0 - e^ε·accepts_1 - error.
    """

    epsilons: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    lines: np.ndarray

    def join(self, other: _Bounds) -> _Bounds:
        """The bounds at the ε of both, in order."""
        order = np.argsort(np.append(self.epsilons, other.epsilons), kind="stable")
        both = [np.concatenate([one, two], axis=-1) for one, two in zip(_parts(self), _parts(other), strict=True)]
        return _Bounds(*(part[..., order] for part in both))


def _parts(bounds: _Bounds) -> tuple[np.ndarray, ...]:
    return bounds.epsilons, bounds.lower, bounds.upper, bounds.lines


class _Solver:
    """A game of so many rounds, in both directions of the worlds."""

    def __init__(
        self, posed: PosedGame, rounds: int, epsilons: np.ndarray, limits: GraphLimits, watch: Watch | None
    ) -> None:
        """epsilons: at which bounds are computed first, in order."""
        self._posed, self._epsilons = posed, epsilons
        game, points = answer_game(posed.learner, posed.samples, posed.points, rounds)
        self._queries = game.moves
        game, kept = drop_dominated(game)
        self._points = points[kept]
        self._rounding = ROUNDING * rounds * len(game.halts)
        self._tolerance = max(TOLERANCE, 4 * self._rounding)
        self._largest = rounds * _largest_loss(game)
        self._directions = (game,) if game.is_symmetric else (game, game.exchanged)
        self._limits, self._watch = limits, watch
        graphs = self._build_graphs(epsilons)
        families = [family for graph in graphs for family in graph.families]
        # Without hidden states, the log ratios of a few rounds are few, and values are computed at all.
        self._few = len(game.masses) == 1 and all(len(family.ratios) <= limits.knots for family in families)
        if len(game.masses) == 1 and not self._few:
            self._limits = _choose_grid(game, epsilons[-1], limits)
            graphs = self._build_graphs(epsilons)
        self._solutions = self._solve(graphs)

    def _build_graphs(self, epsilons: np.ndarray) -> list[BeliefGraph]:
        watch, rounds = self._watch, self._directions[0].rounds
        report = None if watch is None else lambda done, _: watch("rounds", done, rounds)
        return [BeliefGraph(game, epsilons, self._limits, watch=report) for game in self._directions]

    def _solve(self, graphs: list[BeliefGraph]) -> list[GameSolution]:
        watch = self._watch
        report = None if watch is None else lambda *done: watch("values", *done)
        return [GameSolution(graph, watch=report) for graph in graphs]

    def solve(self, claim: Claim, delta: float, own: float | None) -> Solution:
        """own: the ε of the strategy; None for the one nearest to half of the least that holds."""
        bounds = self._bounds(self._epsilons)
        bracket, known = self._least_epsilon(bounds, delta), bounds
        for _ in range(_REFINEMENTS):
            finer = _finer(known, bracket)
            if not len(finer):
                break
            known = known.join(self._bounds(finer))
            bracket = self._least_epsilon(known, delta)
        upper = np.minimum.accumulate(bounds.upper)  # δ*(ε) decreases, and errors of merging grow with e^ε
        curve = tuple(
            CurvePoint(*map(float, point)) for point in zip(bounds.epsilons, bounds.lower, upper, strict=True)
        )
        return Solution(
            learner=self._posed.learner.name,
            samples=self._posed.text,
            rounds=self._directions[0].rounds,
            asked=self._directions[0].rounds,
            queries=self._queries,
            claim=claim,
            outcome=_judge(claim, curve, self._tolerance),
            epsilon_at=bracket,
            curve=curve,
            rounding=self._rounding,
            strategy=self._strategy(bracket.lower / 2 if own is None else own),
        )

    def _bounds(self, epsilons: np.ndarray) -> _Bounds:
        """Bounds at increasing ε."""
        if epsilons is self._epsilons or self._few:
            solutions = self._solutions if epsilons is self._epsilons else self._solve(self._build_graphs(epsilons))
            found = [solution.root.values for solution in solutions]
        else:
            found = [solution.stage_values(0, epsilons)[0] for solution in self._solutions]
        # Bounds are differences of probabilities, each a sum of products.
        upper = np.max([values.upper.reshape(-1) for values in found], axis=0) + self._rounding
        if math.isfinite(self._largest):  # the privacy loss of a game is at most that
            upper = np.minimum(upper, -np.expm1(np.minimum(epsilons - self._largest, 0)) + self._rounding)
        lines = np.array(
            [
                (
                    (values.accepts_0 - values.error).reshape(-1) - self._rounding,
                    values.accepts_1.reshape(-1),
                )
                for values in found
            ]
        )
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
            roots = np.where(accepts_0 > goal, (accepts_0 - goal) / accepts_1, 0.0)
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

    def _strategy(self, wanted: float) -> Strategy:
        number = int(np.abs(self._epsilons - wanted).argmin())
        lower = [float(solution.root.lower()[number]) for solution in self._solutions]
        best = int(np.argmax(lower))
        graph = extract_decisions(self._solutions[best], number)
        # Scores are of world 0 of its own game against world 1.
        if graph is not None and not best:
            graph = attrs.evolve(graph, score=-graph.score)
        names = dict(zip(map(_key, self._posed.points), self._posed.names, strict=True))
        return Strategy(
            epsilon=float(self._epsilons[number]),
            delta=max(lower[best] - self._rounding, 0.0),
            graph=graph,
            points=self._points,
            names=tuple(names[_key(point)] for point in self._points),
            outcomes=AnswerLaws(self._posed.learner).of(self._posed.samples[0]).outcomes,
        )


def _largest_loss(game: LinearGame) -> float:
    """The largest privacy loss of one answer, in either direction; infinite where there are hidden states."""
    if len(game.masses) > 1:
        return math.inf
    return float(np.abs(_losses(game)).max())


def _losses(game: LinearGame) -> np.ndarray:
    """(moves, k): the privacy loss of each answer of a game without hidden states."""
    first, second = (game.kernels[which, :, 0, 0] for which in game.which)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(first == second, 0.0, np.log(first / second)))


def _choose_grid(game: LinearGame, epsilon: float, limits: GraphLimits) -> GraphLimits:
    """Log ratios so fine that the errors of T rounds add up to some 0.1 %, and so far that no more matter."""
    losses = np.abs(_losses(game))
    loss = float(losses[np.isfinite(losses)].max(initial=0.0)) or 1.0
    reach = min(epsilon, _FAR) + _DEVIATIONS * loss * math.sqrt(game.rounds)
    step = min(loss / _STEPS, 2 * reach / _KNOTS)
    return attrs.evolve(limits, offsets=1, knots=_STEPS, step=step, reach=reach)


def _key(point: np.ndarray) -> bytes:
    return np.asarray(point, float).tobytes()


def _finer(bounds: _Bounds, bracket: EpsilonBracket) -> np.ndarray:
    """Further ε near the least one: the crossing of the best line is a step of Newton's method."""
    if math.isinf(bracket.lower) or bracket.upper - bracket.lower <= TOLERANCE:
        return np.empty(0)
    end = bracket.upper if math.isfinite(bracket.upper) else max(2 * bracket.lower, bounds.epsilons[-1]) + 4
    steps = np.append(0, np.geomspace(1e-9, 1, _REFINE))
    return bracket.lower + steps * (end - bracket.lower)


def _judge(claim: Claim, curve: Sequence[CurvePoint], tolerance: float) -> Outcome:
    own = [point for point in curve if point.epsilon == claim.epsilon]
    if own and own[0].lower > claim.delta + tolerance:
        return Outcome.REFUTED
    return Outcome.PROVED if own and own[0].upper <= claim.delta + tolerance else Outcome.OPEN
