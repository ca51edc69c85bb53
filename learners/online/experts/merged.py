"""The weights of all experts of Algorithms 6 and 7, merged by what they do from now on."""

from __future__ import annotations

import math

import numpy as np

from learners.online.experts.transitions import Moves

_SLAB_NUMBERS = 2**20


class MergedExperts:
    """Hedge's weights over experts, exactly, in as many numbers as experts can be told apart by their future.

    **Experts.** One starts at the automaton's start. At every end e of a stretch it may move: be told that it
    errs at a candidate x of S'(i, e], where i is the end at which it moved last (0: never), and go on from
    the state s that follows. What it does from e on depends on (s, i) alone, so that all experts with one
    (s, i) are one, and their weights add up.

    **Prior.** Where there are moves, an expert takes one with probability `change`, each equally likely;
    otherwise it stays. An expert's prior is the product over ends. It depends on the candidates, and on
    nothing else, so given them it is fixed.

    Within a stretch the loss depends on s alone. A round therefore costs a number a state; pairs are looked
    at where a stretch ends. All is kept in logarithms, so that no weight is lost however small.

    Shapes: n games, S states, X points, A moves; n·(ends + 1)·S numbers are kept.
    Units: rate in nats a mistake.
    """

    def __init__(self, moves: Moves, games: int, *, ends: int, rate: float, change: float) -> None:
        """ends: how many stretches may end. change: a probability below 1."""
        self._moves = moves
        self._rate = rate
        self._change = change
        self.ended = 0
        # Of (s, i): as it was when this stretch began.
        self._logs = np.full((games, ends + 1, len(moves.states)), -math.inf)
        self._logs[:, 0, 0] = 0.0
        self._heads = self._logs[:, 0].copy()  # of s, over all i
        self._lost = np.zeros(self._heads.shape, np.int32)  # since then

    def observe(self, place: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Add the losses of this round's examples, (n,) each; returns them, (n, S) uint8."""
        wrong = self._moves.wrong
        losses = wrong[place + len(wrong) // 2 * y.astype(np.intp)]
        self._lost += losses
        return losses

    def scores(self, games: np.ndarray | slice = slice(None)) -> np.ndarray:
        """(n, S): the log-weight of each state, −inf where no expert is."""
        return self._heads[games] - self._rate * self._lost[games]

    def since(self, games: np.ndarray, states: np.ndarray) -> np.ndarray:
        """(g, ended + 1): the log-weights by i of one state in each of these games, up to a constant."""
        return self._logs[games, : self.ended + 1, states]

    def close(self, candidates: np.ndarray) -> None:
        """End a stretch: experts move.

        Shapes: candidates (n, e, X) bool, by the end i of the last move, at the e-th end.
        """
        self.ended += 1
        games, earlier, _ = candidates.shape
        slab = max(1, _SLAB_NUMBERS // (earlier * self._moves.numbers))
        for first in range(0, games, slab):
            self._close(slice(first, first + slab), candidates[first : first + slab])

    def _close(self, games: slice, candidates: np.ndarray) -> None:
        logs = self._logs[games, : self.ended]  # a view
        logs -= self._rate * self._lost[games, None]
        self._lost[games] = 0
        options = candidates.astype(float) @ self._moves.live.T.astype(float)
        may = options > 0
        each = np.where(may, logs + math.log(self._change) - np.log(np.maximum(options, 1.0)), -math.inf)
        logs[may] += math.log1p(-self._change)
        self._logs[games, self.ended, self._moves.reached] = self._arrived(each, candidates)
        self._heads[games] = _log_sum(self._logs[games, : self.ended + 1])

    def _arrived(self, each: np.ndarray, candidates: np.ndarray) -> np.ndarray:
        """(g, R): the log-weights of all that moves to a state; `each` (g, e, S) is what one move takes."""
        moves = self._moves
        flows = np.where(candidates[..., moves.point], each[..., moves.source], -math.inf)
        by_move = _log_sum(flows)
        if not by_move.shape[1]:
            return by_move
        tops = _finite(np.maximum.reduceat(by_move, moves.starts, axis=1))
        counts = np.diff(moves.starts, append=len(moves.target))
        parts = np.exp(by_move - np.repeat(tops, counts, axis=1))
        return _log(np.add.reduceat(parts, moves.starts, axis=1)) + tops


def _log_sum(logs: np.ndarray) -> np.ndarray:
    """The logarithm of the sum along axis 1, also where there is nothing to add up."""
    tops = _finite(logs.max(axis=1, keepdims=True))
    return _log(np.exp(logs - tops).sum(axis=1)) + tops[:, 0]


def _finite(tops: np.ndarray) -> np.ndarray:
    return np.where(np.isneginf(tops), 0.0, tops)


def _log(sums: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return np.log(sums)
