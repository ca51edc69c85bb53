"""Games in which an outcome makes the learner start afresh, as after AboveThreshold draws a new threshold.

What follows such an outcome depends on the ratio of the masses alone: its value is a function of one number,
between chords and lines. The graph of beliefs needs to hold only what precedes it. See docs/proofs/solver.md.
"""

from __future__ import annotations

import attrs
import numpy as np

from audits.solver.belief_graph import NEGLIGIBLE, BeliefGraph, GraphLimits, Stage
from audits.solver.decision_graph import END, DecisionGraph, extract_decisions
from audits.solver.game_value import FamilyValues, GameSolution
from audits.solver.linear_game import LinearGame, Watch, ignore_progress, project_game, span_game

_DROPPED = 1e-13  # of a measure that has mass 1, as when hidden states are compressed
_SAME = 1e-10  # of the largest measure after a restart: how far others may be from its multiples
_SIZES = 2**17, 2**20  # pairs of beliefs in one stage, up to which there is a smaller step
_STEPS = 0.01, 0.05, 0.1  # nats between the log ratios at which the value after a restart is computed
_LARGER = 10  # times as many pairs of beliefs as elsewhere are allowed: what follows a restart is left out


@attrs.frozen(eq=False)
class Restart:
    """A game up to the first time that an outcome makes the learner start afresh, and the game after it.

    outcome: its number. It ends the game `before`.
    """

    outcome: int
    before: LinearGame
    rest: LinearGame


def find_restart(game: LinearGame) -> Restart | None:
    """The first outcome that always leads to the same belief in both worlds, whatever precedes it."""
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
        return Restart(int(outcome), before, rest)
    return None


class RestartSolution:
    """Bounds on the value of a game with restarts, at some log ratios."""

    def __init__(
        self,
        restart: Restart,
        ratios: np.ndarray,
        limits: GraphLimits,
        *,
        watch: Watch = ignore_progress,
    ) -> None:
        """Raises: TooManyBeliefs if the game up to the restart, or after it, is too large."""
        limits = attrs.evolve(limits, pairs=_LARGER * limits.pairs)
        game, self._outcome = restart.before, restart.outcome
        graph = BeliefGraph(game, ratios, limits, watch=watch)
        knots = []
        for left in range(1, game.rounds):
            early = graph.stages[
                min(left, len(graph.stages)) - 1
            ]  # about as large as the last one of the rest
            step = _STEPS[np.searchsorted(_SIZES, early.beliefs.shape[1])]
            stages = graph.stages[game.rounds - left - 1 :][:1]
            knots.append(_choose_knots(graph, stages, restart.outcome, step))
        rest = BeliefGraph(restart.rest, np.unique(np.concatenate(knots)), limits)
        self._rests = []
        for left, grid in enumerate(knots, 1):
            watch("restarts", left, game.rounds)
            self._rests.append(GameSolution(rest.shorten(left, grid)))
        ends = {restart.outcome: [rest.root for rest in self._rests]}
        self._solution = GameSolution(graph, ends=ends)

    @property
    def root(self) -> FamilyValues:
        """The values at the start of the game."""
        return self._solution.root

    def extract_decisions(self, number: int) -> DecisionGraph | None:
        """The adversary of the lower bound at the log ratio of this number; None if it has too many nodes."""
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
            parts.append(
                attrs.evolve(
                    later,
                    after=np.where(later.after == END, END, later.after + size),
                    score=later.score + score,
                )
            )
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
