"""Bounds on the value of a game at any log ratio: from a graph of its beliefs, or a grid of log ratios.

Where an outcome makes the learner start afresh, the value of what follows is a function of the ratio of the
masses alone, and a graph of beliefs needs to hold only what precedes it. See docs/proofs/solver.md.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

import attrs
import numpy as np

from audits.interrupts import acknowledge_interrupt
from audits.solver.belief_graph import NEGLIGIBLE, BeliefGraph, GraphLimits, Stage, TooManyBeliefs
from audits.solver.game_value import END, DecisionGraph, GameSolution, Values, extract_decisions
from audits.solver.linear_game import LinearGame, Watch, ignore_progress, project_game, span_game

FAR = 12.0  # ε beyond which no bounds are of interest
_STEPS = 64  # of the grid at least, for the largest privacy loss of one answer
_POINTS, _WORK = 100_000, 1e7  # of the grid, where few rounds make that cheap, and times rounds
_DEVIATIONS = 7  # by which the privacy loss of a game is followed
_REACH = 600.0  # nats at most, since e^ε must be a number; the bounds hold whatever the reach
_LARGE = 1e40  # a factor by which e^ε may still be multiplied
_DROPPED = 1e-13  # of a measure that has mass 1, as when hidden states are compressed
_SAME = 1e-10  # of the largest measure after a restart: how far others may be from its multiples
_SIZES = 2**17, 2**20  # pairs of beliefs in one stage, up to which there is a smaller step
_KNOT_STEPS = 0.01, 0.05, 0.1  # nats between the log ratios at which the value after a restart is computed
_LARGER = 10  # times as many pairs of beliefs as elsewhere are allowed: what follows a restart is left out

# At increasing ε: upper bounds (e,), and lines (2, e). From its own ε on, the line lines[0] - e^ε·lines[1] is
# below δ*(ε).
UpperAndLines = tuple[np.ndarray, np.ndarray]


class Bounds(ABC):
    """Bounds on δ* in one direction of the worlds, known at `epsilons` (e,), in order, for so many rounds.
    exact: whether bounds at further ε are quickly found. interrupted: whether a search was ended early.
    measured: which part of the computation is measured and not proved; empty: none."""

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
        return read_values(values)

    def decisions(self, number: int) -> DecisionGraph | None:
        return extract_decisions(self._solution, number)

    def _build_graph(self, epsilons: np.ndarray) -> BeliefGraph:
        return BeliefGraph(self._game, epsilons, self._limits, watch=self._watch)


def read_values(values: Values) -> UpperAndLines:
    """The bounds (e,) and lines (2, e) that the values of one pair of beliefs give."""
    lines = [(values.accepts_0 - values.error).reshape(-1), values.accepts_1.reshape(-1)]
    return values.upper.reshape(-1), np.array(lines)


class GridBounds(Bounds):
    """From a uniform grid of log ratios, for games in which nothing is remembered: an answer moves all points
    alike, so that a round is a few additions of shifted arrays. Bounds are as in `game_value`: chords above,
    and below lines, each of which is an adversary."""

    def __init__(self, game: LinearGame, epsilons: np.ndarray, watch: Watch = ignore_progress) -> None:
        """If it is interrupted, fewer rounds are solved. Raises: KeyboardInterrupt if none is."""
        self.epsilons, epsilon = epsilons, min(float(epsilons[-1]), FAR)
        self._game = game
        self._chances = np.array([game.kernels[which, :, 0, 0] for which in game.which])  # (2, moves, k)
        p, q = self._chances[:, (self._chances > 0).all(axis=0)]
        loss = float(np.abs(np.log(p) - np.log(q)).max(initial=0.0)) or 1.0
        reach = min(epsilon + _DEVIATIONS * loss * math.sqrt(game.rounds), _REACH)
        points = min(_POINTS, _WORK / game.rounds)
        # A divisor of the loss: then the grid is exact where all losses are multiples of it.
        self._step = loss / max(_STEPS, math.ceil(points * loss / (2 * reach)))
        half = math.ceil(reach / self._step)
        self._ratios = self._step * np.arange(-half, half + 1)
        self._z = np.exp(self._ratios)
        self._pad = math.ceil(loss / self._step) + 1
        self._upper = np.maximum(1 - self._z, 0)
        self._accepts = np.array([self._z < 1, self._z < 1], float)
        self.rounds = 0
        try:
            for done in range(game.rounds):
                watch("rounds", done, game.rounds)
                self._add_round()
        except KeyboardInterrupt:
            if not self.rounds:
                raise
            acknowledge_interrupt()

    def at(self, epsilons: np.ndarray) -> UpperAndLines:
        z = np.exp(np.minimum(epsilons, _REACH))  # beyond it, bounds at a smaller ε
        right = np.clip(np.searchsorted(self._ratios, epsilons), 1, len(self._ratios) - 1)
        lines = [self._accepts[:, right - 1], self._accepts[:, right]]
        first, second = (line[0] - z * line[1] for line in lines)
        return np.interp(z, self._z, self._upper), np.where(first > second, *lines)

    def decisions(self, number: int) -> DecisionGraph | None:
        return None

    def _add_round(self) -> None:
        """Compute the values of games of one more round."""
        # Beyond the grid: a chord from the value 1 at z = 0, and at most the last value, since it decreases.
        before = np.exp(self._step * np.arange(-self._pad, 0))
        upper = np.concatenate(
            [1 - (1 - self._upper[0]) * before, self._upper, np.full(self._pad, self._upper[-1])]
        )
        accepts = np.pad(self._accepts, ((0, 0), (self._pad, self._pad)), mode="edge")
        best, lower = np.zeros_like(self._upper), np.full_like(self._upper, -np.inf)
        lines = np.zeros_like(self._accepts)
        for first, second in self._chances.swapaxes(0, 1):
            total, line = np.zeros_like(best), np.zeros_like(lines)
            for outcome, halts in enumerate(self._game.halts):
                p, q = first[outcome], second[outcome]
                if halts or not q:
                    accept = p > self._z * q
                    total += np.where(accept, p - self._z * q, 0)
                    line += np.multiply.outer((p, q), accept)
                elif p:
                    self._go_on(upper, accepts, p, q, total, line)
            np.maximum(best, total, out=best)
            value = line[0] - self._z * line[1]
            better = value > lower
            np.copyto(lower, value, where=better)
            np.copyto(lines, line, where=better)
        self._upper, self._accepts = best, lines
        self.rounds += 1

    def _go_on(
        self, upper: np.ndarray, accepts: np.ndarray, p: float, q: float, total: np.ndarray, line: np.ndarray
    ) -> None:
        """Add what an outcome with probabilities p and q contributes to upper bounds and lines."""
        steps = (math.log(q) - math.log(p)) / self._step
        shift, size = math.floor(steps), len(self._z)
        weight = math.expm1((steps - shift) * self._step) / math.expm1(self._step)
        near = slice(self._pad + shift, self._pad + shift + size)
        far = slice(near.start + 1, near.stop + 1)
        total += p * ((1 - weight) * upper[near] + weight * upper[far])
        z = self._z * (q / p if q < _LARGE * p else _LARGE)  # only chooses between two adversaries
        other = accepts[0, far] - z * accepts[1, far] > accepts[0, near] - z * accepts[1, near]
        line[0] += p * np.where(other, accepts[0, far], accepts[0, near])
        line[1] += q * np.where(other, accepts[1, far], accepts[1, near])


def find_restart(game: LinearGame) -> tuple[int, LinearGame, LinearGame] | None:
    """The first outcome that always leads to the same belief in both worlds, whatever precedes it.
    Also the game up to the first time that it occurs, which it ends, and the game after it."""
    if game.rounds < 2:
        return None
    used = np.unique(game.which)
    for outcome in np.flatnonzero(~game.halts):
        others = ~game.halts & (np.arange(len(game.halts)) != outcome)
        basis = span_game(game, game.kernels[used][:, others], _DROPPED)
        restarted = (game.kernels[used, outcome] @ basis.T).swapaxes(-1, -2).reshape(-1, len(game.masses))
        _, sizes, axes = np.linalg.svd(restarted, full_matrices=False)
        mass = float(axes[0] @ game.masses)
        if sizes[0] < _DROPPED or sizes[1:].max(initial=0) > _SAME * sizes[0] or not abs(mass) > _SAME:
            continue
        fresh = np.repeat(axes[:1] / mass, 2, axis=0)
        rest = attrs.evolve(game, rounds=game.rounds - 1, start=fresh)
        halts = game.halts.copy()
        halts[outcome] = True
        before = attrs.evolve(project_game(game, basis), halts=halts)
        # Of an outcome that ends the game, only the probability matters; the basis may not hold what follows.
        after = game.masses @ game.kernels @ basis.T
        unit = before.masses / (before.masses @ before.masses)
        before.kernels[:, halts] = unit[:, None] * after[:, halts, None]
        rest = project_game(rest, span_game(rest, game.kernels[used], _DROPPED))
        return int(outcome), before, rest
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
        limits = attrs.evolve(limits, pairs=_LARGER * limits.pairs)
        self._outcome, game, rest_of_game = restart
        graph = BeliefGraph(game, epsilons, limits, watch=watch)
        knots = []
        for left in range(1, game.rounds):
            early = graph.stages[min(left, len(graph.stages)) - 1]  # about as large as the last of the rest
            step = _KNOT_STEPS[np.searchsorted(_SIZES, early.beliefs.shape[1])]
            stages = graph.stages[game.rounds - left - 1 :][:1]
            knots.append(_choose_knots(graph, stages, self._outcome, step))
        rest = BeliefGraph(rest_of_game, np.unique(np.concatenate(knots)), limits)
        self._rests = []
        for left, grid in enumerate(knots, 1):
            watch("restarts", left, game.rounds)
            self._rests.append(GameSolution(rest.shorten(left, grid)))
        ends = {self._outcome: [rest.root for rest in self._rests]}
        self._solution = GameSolution(graph, ends=ends)

    def at(self, epsilons: np.ndarray) -> UpperAndLines:
        return read_values(self._solution.root.values)

    def decisions(self, number: int) -> DecisionGraph | None:
        first = extract_decisions(self._solution, number)
        if first is None:
            return None
        parts, after, size = [first], first.after.copy(), len(first.move)
        left = np.full(len(first.move), self._solution.graph.game.rounds - 1)  # rounds after each node
        for node, following in enumerate(first.after):
            left[following[following != END]] = left[node] - 1
            score = first.score[node, self._outcome]
            if not left[node] or not np.isfinite(score):
                continue
            rest = self._rests[left[node] - 1]
            ratio = self._solution.root.ratios[number] - score
            later = extract_decisions(rest, int(rest.root.best_line(np.array([ratio]))[0]))
            if later is None:
                return None
            following = np.where(later.after == END, END, later.after + size)
            parts.append(attrs.evolve(later, after=following, score=later.score + score))
            after[node, self._outcome] = size
            size += len(later.move)
        parts[0] = attrs.evolve(first, after=after)
        return DecisionGraph(
            *(np.concatenate([getattr(part, name) for part in parts]) for name in ("move", "after", "score"))
        )


def _choose_knots(graph: BeliefGraph, stages: list[Stage], outcome: int, step: float) -> np.ndarray:
    """Log ratios on a grid, around all that pairs of some stages can have after an outcome."""
    cells = [np.zeros(1)]
    for stage in stages:
        for family in np.unique(stage.family):
            low, high = np.inf, -np.inf
            for move in range(graph.game.moves):
                mass_0, mass_1, *_ = graph.branch(stage, move, outcome)
                (on,) = np.nonzero((stage.family == family) & (mass_0 > NEGLIGIBLE) & (mass_1 > NEGLIGIBLE))
                if len(on):
                    offsets = stage.offset[on] + np.log(mass_1[on] / mass_0[on])
                    low, high = min(low, offsets.min()), max(high, offsets.max())
            if low <= high:
                for ratio in graph.families[family].ratios:
                    cells.append(np.arange(np.floor((low + ratio) / step), (high + ratio) / step + 1))
    return np.asarray(step * np.unique(np.concatenate(cells)))
