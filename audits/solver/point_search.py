"""Brackets on the value of games that are too large for a graph of all beliefs.

Point-based value iteration after Smith and Simmons, Heuristic Search Value Iteration for POMDPs (2004): pairs
of measures that good adversaries reach are solved until bounds at the start are close: docs/proofs/solver.md.
"""

from __future__ import annotations

import attrs
import numpy as np

from audits.interrupts import acknowledge_interrupt
from audits.solver.belief_points import FINAL, BeliefPoints, FinalRounds
from audits.solver.bounds import Bounds, UpperAndLines
from audits.solver.game_value import END, DecisionGraph
from audits.solver.linear_game import LinearGame, Watch, ignore_progress, project_game, span_game

DROPPED = 1e-7  # of a measure that has mass 1: coordinates that are left out of the search
_SLACK = 2e-4  # relative: a move that promises less than this above the lower bound is not solved
_PROGRESS = 1e-5  # relative: an adversary that raises the lower bound by less is not kept
_NEGLIGIBLE = 1e-15  # an outcome of less probability is not followed
_SHARE = 0.3  # of the gap that is allowed at the start; half as much is left unexplored each round
_UNKNOWN = 0.98  # an upper bound above this part of the mass in world 0 tells nothing of the best move
_GROWTH = 1.6  # of the number of pairs, after which those that are not exact are solved once more
_TOGETHER = 10  # moves of a pair that are followed at the same time
_PIECE = 50  # pairs that are solved together


@attrs.frozen(kw_only=True)
class SearchLimits:
    """When a search ends: the gap between the bounds is a part of the upper one or at most `floor`, or pairs
    were solved so often."""

    gap: float = 0.01
    floor: float = 1e-5
    pairs: int = 75_000


class SearchBounds(Bounds):
    """From a search, for games with too many beliefs for a graph: at log ratio ε the value is δ*(ε).
    The bounds are wider than the gap if the search ended early; a keyboard interrupt ends it, too."""

    exact = False
    measured = f"the search for bounds leaves out parts of the learner's states below {DROPPED:.0e}"

    def __init__(
        self, game: LinearGame, epsilons: np.ndarray, limits: SearchLimits, watch: Watch = ignore_progress
    ) -> None:
        self.epsilons, self.rounds = epsilons, game.rounds
        self._game, self._limits = game, limits
        basis = span_game(game, game.kernels[np.unique(game.which)], DROPPED)
        self._final = FinalRounds(project_game(game, basis))
        self._last = min(FINAL, game.rounds - 1)  # rounds in closed form
        self._mirrored = game.mirrored_moves
        # Two moves that mirror each other are worth the same for coordinates, which both worlds share.
        halves = None if self._mirrored is None else np.flatnonzero(self._mirrored <= np.arange(game.moves))
        weights = self._final.bound_coordinates(game.rounds, halves)
        self._levels = {
            left: BeliefPoints(self._final, weights[left]) for left in range(self._last + 1, game.rounds + 1)
        }
        self._goes_on = np.flatnonzero(~game.halts)
        self._rng = np.random.default_rng(0)  # of first moves, where nothing is known
        self._solved = 0
        # (e, 2, m): the measures at the start, with the log ratios in world 1.
        self._roots = self._final.start * np.exp(epsilons)[:, None, None] ** np.array([[0.0], [1.0]])
        self._upper = np.ones(len(epsilons))
        try:
            self._run(watch)
        except KeyboardInterrupt:
            acknowledge_interrupt()
            self.interrupted = True
        self._upper += game.rounds * DROPPED
        self._played = []
        for number in range(len(epsilons)):
            watch("adversaries", number, len(epsilons))
            self._played.append(self._play(number))

    def at(self, epsilons: np.ndarray) -> UpperAndLines:
        gains = np.array([gain for gain, _ in self._played])
        # The adversary accepts with probability at most 1 in world 0, so with (1 - gain)/e^ε in world 1.
        return self._upper, np.array([np.ones_like(gains), (1 - gains) / np.exp(epsilons)])

    def decisions(self, number: int) -> DecisionGraph | None:
        return self._played[number][1]

    def _run(self, watch: Watch) -> None:
        limits, next_sweep = self._limits, 0.0
        lower, wide = np.zeros(len(self.epsilons)), np.arange(len(self.epsilons))
        while len(wide) and self._solved < limits.pairs:
            watch("pairs of beliefs", self._solved, limits.pairs)
            for left, pairs in reversed(self._explore(self._roots[wide])):
                self._solve(left, pairs)
            count = sum(map(len, self._levels.values()))
            if count > next_sweep:
                next_sweep = _GROWTH * count
                for left in range(self._last + 2, self._game.rounds + 1):  # those below are exact already
                    pairs = self._levels[left].pairs
                    if self._mirrored is not None:  # one of any two that mirror each other
                        pairs = pairs[(pairs[:, 0] - pairs[:, 1]) @ self._final.masses >= 0]
                    for piece in range(0, len(pairs), _PIECE):
                        self._solve(left, pairs[piece : piece + _PIECE])
            lower[wide], self._upper[wide] = self._bound(self._game.rounds, self._roots[wide])
            wide = np.flatnonzero(self._upper - lower > np.maximum(limits.gap * self._upper, limits.floor))

    def _explore(self, roots: np.ndarray) -> list[tuple[int, np.ndarray]]:
        """For each round the pairs (n, 2, m) that the best adversaries reach, if they add to the gap."""
        rounds, pairs, layers = self._game.rounds, roots, []
        upper = np.minimum(self._levels[rounds].bound(roots), roots[:, 0] @ self._final.masses)
        allowed = np.maximum(self._limits.gap * upper, self._limits.floor) * _SHARE
        for left in range(rounds, self._last, -1):
            layers.append((left, pairs))
            if left - 1 == self._last:
                break
            bounds = self._levels[left].bound_moves(pairs)
            move = bounds.argmax(axis=1)
            unknown = bounds.max(axis=1) > _UNKNOWN * (pairs[:, 0] @ self._final.masses)
            move[unknown] = self._rng.integers(self._game.moves, size=int(unknown.sum()))
            after = self._after(self._follow(pairs), np.arange(len(pairs)), move)[:, self._goes_on]
            after = after.reshape(-1, *pairs.shape[1:])
            allowed = np.repeat(allowed / 2, len(self._goes_on))
            lower, upper = self._bound(left - 1, after)
            wide = upper - lower > allowed
            pairs, allowed = after[wide], allowed[wide]
            if not len(pairs):
                break
        return layers

    def _follow(self, pairs: np.ndarray) -> np.ndarray:
        """(n, 2, κ, k, m): what pairs (n, 2, m) become with each kernel and outcome."""
        reached = self._final.follow(pairs.reshape(-1, pairs.shape[-1]))
        return reached.reshape(len(pairs), 2, *reached.shape[1:])

    def _after(self, reached: np.ndarray, own: np.ndarray, move: np.ndarray) -> np.ndarray:
        """(n, k, 2, m): the pairs after each outcome of a move."""
        number = self._final.number[:, move]
        return np.stack([reached[own, world, number[world]] for world in range(2)], axis=2)

    def _bound(self, left: int, pairs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper bounds (n,) on the values of pairs (n, 2, m)."""
        if left <= self._last:
            values = self._final.values(left, pairs[:, 0], pairs[:, 1])
            return values, values
        lower, _ = self._levels[left].best_lines(pairs)
        return lower, np.maximum(self._levels[left].bound(pairs), lower)

    def _solve(self, left: int, pairs: np.ndarray) -> None:
        """Find bounds on the values of pairs (n, 2, m) from those with one round less, and keep them."""
        level = self._levels[left]
        self._solved += len(pairs)
        lower, _ = level.best_lines(pairs)
        upper = level.bound_moves(pairs)
        reached = self._follow(pairs)
        values, done = np.full(upper.shape, -1.0), np.zeros(upper.shape, bool)
        while True:
            # The largest upper bound is known when all larger ones are replaced by those of the recursion.
            known = np.maximum(np.where(done, upper, 0).max(axis=1), lower * (1 + _SLACK))
            waiting = np.where(done | (upper <= known[:, None]), 0.0, upper)
            first = np.argsort(-waiting, axis=1)[:, :_TOGETHER]
            own, place = np.nonzero(np.take_along_axis(waiting, first, axis=1))
            if not len(own):
                break
            move = first[own, place]
            values[own, move], high = self._bound_moves(left, reached, own, move)
            upper[own, move] = np.minimum(upper[own, move], high)
            done[own, move] = True
        for node in np.flatnonzero(values.max(axis=1) > lower * (1 + _PROGRESS) + _NEGLIGIBLE):
            best = int(values[node].argmax())
            self._add_line(left, best, self._after(reached, np.array([node]), np.array([best]))[0])
            lower[node] = values[node, best]
        highest = np.maximum(upper.max(axis=1), lower * (1 + _SLACK))
        level.add_bounds(pairs, upper, highest)
        self._add_mirrored(left, pairs, upper, highest)

    def _bound_moves(
        self, left: int, reached: np.ndarray, own: np.ndarray, move: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper bounds (n,) on the values of moves, from what the pairs become (see `_after`)."""
        final = self._final
        low, high = np.zeros(len(own)), np.zeros(len(own))
        for outcome, after in enumerate(self._after(reached, own, move).swapaxes(0, 1)):
            if self._game.halts[outcome]:
                one = other = final.guess(after[:, 0], after[:, 1])
            else:
                one, other = np.zeros(len(own)), after[:, 0] @ final.masses
                (on,) = np.nonzero((after @ final.masses).sum(axis=1) > _NEGLIGIBLE)
                if len(on):
                    one[on], other[on] = self._bound(left - 1, after[on])
            low, high = low + one, high + other
        return low, high

    def _add_line(self, left: int, move: int, after: np.ndarray) -> None:
        """Keep the adversary that makes a move and is the best one known for the pairs (k, 2, m) after it."""
        lines = [
            self._best_line(0 if halts else left - 1, pair)[1]
            for halts, pair in zip(self._game.halts, after, strict=True)
        ]
        line = self._final.join_lines(move, lines)
        self._levels[left].add_line(move, line)
        if self._mirrored is not None:
            self._levels[left].add_line(int(self._mirrored[move]), self._final.masses - line[::-1])

    def _add_mirrored(self, left: int, pairs: np.ndarray, upper: np.ndarray, highest: np.ndarray) -> None:
        """Keep the bounds of pairs with the worlds exchanged, if that gives the same game."""
        if self._mirrored is not None:
            change = (pairs[:, 1] - pairs[:, 0]) @ self._final.masses
            mirrored = upper[:, self._mirrored] + change[:, None]
            self._levels[left].add_bounds(pairs[:, ::-1], mirrored, highest + change)

    def _best_line(self, left: int, pair: np.ndarray) -> tuple[int, np.ndarray]:
        """The first move, -1 for a guess at once, and the line (2, m) of the best adversary known."""
        if 0 < left <= self._last:
            return self._final.best_line(left, *pair)
        number = int(self._levels[left].best_lines(pair[None])[1][0]) if left else -1
        return self._final.best_line(0, *pair) if number < 0 else self._levels[left].line(number)

    def _play(self, root: int) -> tuple[float, DecisionGraph]:
        """The exact gain of the best adversary known at a root, and its decisions."""
        game, z = self._game, float(np.exp(self.epsilons[root]))
        gain, move = 0.0, []
        after, score = [], []
        waiting = [(game.rounds, self._roots[root], game.start)]  # rounds left, coordinates, measures
        for left, pair, measures in waiting:  # the list grows while it is traversed
            move.append(max(0, self._best_line(left, pair)[0]))
            after.append(np.full(len(game.halts), END))
            score.append(np.full(len(game.halts), np.nan))
            following = self._after(self._follow(pair[None]), np.zeros(1, int), np.array(move[-1:]))[0]
            for outcome, halts in enumerate(game.halts):
                own = np.array(
                    [
                        game.kernels[number, outcome] @ measure
                        for number, measure in zip(game.which[:, move[-1]], measures, strict=True)
                    ]
                )
                rest = 0 if halts else left - 1
                mass_0, mass_1 = np.maximum(own @ game.masses, 0)
                if mass_0 + mass_1 > _NEGLIGIBLE and self._best_line(rest, following[outcome])[0] >= 0:
                    after[-1][outcome] = len(waiting)
                    waiting.append((rest, following[outcome], own))
                    continue
                gain += max(0.0, float(mass_0 - z * mass_1))
                with np.errstate(divide="ignore", invalid="ignore"):
                    score[-1][outcome] = np.log(mass_0) - np.log(mass_1)
        return gain, DecisionGraph(np.array(move), np.array(after), np.array(score))
