"""The weights of all experts of Algorithms 6 and 7 of Li, Wang, Ye, merged by their futures."""

from __future__ import annotations

import math

import numpy as np

from learners.online.experts.transitions import Transitions

_SLAB = 2**20  # numbers updated at a time when a stretch ends


class MergedExperts:
    """The exact weights of Hedge over all experts, merged by what they do from now on.

    Experts: one starts in the automaton's start state. At every end e of a stretch it may move: it is updated
    with a mistake at a candidate x of S'(i, e], where i is the end of its last move (0: none), and continues
    from the resulting state s. Its future depends on (s, i) alone, so experts with the same (s, i) are merged
    and their weights are added.

    Prior: where moves are possible, an expert moves with probability `move_probability`, to each with equal
    probability; otherwise it stays. Its prior is the product over ends, and depends only on the candidates.

    Within a stretch the loss depends on s alone, so a round costs one number for each state, and pairs are
    updated only when a stretch ends. Logarithms are kept, so that no weight underflows.

    Shapes: n games, S states, X points, A transitions; n·(ends + 1)·S numbers are kept.
    Units: rate in nats for each mistake.
    """

    def __init__(
        self, transitions: Transitions, games: int, *, ends: int, rate: float, move_probability: float
    ) -> None:
        """ends: the number of stretches that may end. move_probability: less than 1."""
        self._transitions = transitions
        self._rate = rate
        self._move_probability = move_probability
        self.stretches_ended = 0
        # By (s, i), at the start of this stretch.
        self._logs = np.full((games, ends + 1, len(transitions.states)), -math.inf)
        self._logs[:, 0, 0] = 0.0
        self._state_logs = self._logs[:, 0].copy()  # by s, summed over i
        self._mistakes = np.zeros(self._state_logs.shape, np.int32)  # in this stretch

    def observe(self, place: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Add the losses of this round's examples, (n,) each, and return them, (n, S) uint8."""
        wrong = self._transitions.wrong
        losses = wrong[place + len(wrong) // 2 * y.astype(np.intp)]
        self._mistakes += losses
        return losses

    def scores(self, games: np.ndarray | slice = slice(None)) -> np.ndarray:
        """(n, S): the log-weight of each state, −inf if no expert is in it."""
        return self._state_logs[games] - self._rate * self._mistakes[games]

    def last_move_scores(self, games: np.ndarray, states: np.ndarray) -> np.ndarray:
        """(g, stretches_ended + 1): the log-weights by i of one state in each game, up to a constant."""
        return self._logs[games, : self.stretches_ended + 1, states]

    def end_stretch(self, candidates: np.ndarray) -> None:
        """End a stretch: experts move.

        Shapes: candidates (n, e, X) bool, by the end i of the last move, at the e-th end.
        """
        self.stretches_ended += 1
        games, earlier, _ = candidates.shape
        slab = max(1, _SLAB // (earlier * self._transitions.numbers_per_end))
        for first in range(0, games, slab):
            self._move_experts(slice(first, first + slab), candidates[first : first + slab])

    def _move_experts(self, games: slice, candidates: np.ndarray) -> None:
        logs = self._logs[games, : self.stretches_ended]  # a view
        logs -= self._rate * self._mistakes[games, None]
        self._mistakes[games] = 0
        options = candidates.astype(float) @ self._transitions.live.T.astype(float)
        movable = options > 0
        each = np.where(
            movable, logs + math.log(self._move_probability) - np.log(np.maximum(options, 1.0)), -math.inf
        )
        logs[movable] += math.log1p(-self._move_probability)
        arrivals = self._arrivals(each, candidates)
        self._logs[games, self.stretches_ended, self._transitions.reached] = arrivals
        self._state_logs[games] = _log_sum(self._logs[games, : self.stretches_ended + 1])

    def _arrivals(self, each: np.ndarray, candidates: np.ndarray) -> np.ndarray:
        """(g, R): the log-weight that moves to each state; `each` (g, e, S) is the log-weight of a single
        move."""
        transitions = self._transitions
        flows = np.where(candidates[..., transitions.point], each[..., transitions.source], -math.inf)
        by_move = _log_sum(flows)
        if not by_move.shape[1]:
            return by_move
        tops = _finite(np.maximum.reduceat(by_move, transitions.starts, axis=1))
        counts = np.diff(transitions.starts, append=len(transitions.target))
        parts = np.exp(by_move - np.repeat(tops, counts, axis=1))
        return _log(np.add.reduceat(parts, transitions.starts, axis=1)) + tops


def _log_sum(logs: np.ndarray) -> np.ndarray:
    """The logarithm of the sum of exponentials along axis 1; −inf for an empty sum."""
    tops = _finite(logs.max(axis=1, keepdims=True))
    return _log(np.exp(logs - tops).sum(axis=1)) + tops[:, 0]


def _finite(tops: np.ndarray) -> np.ndarray:
    return np.where(np.isneginf(tops), 0.0, tops)


def _log(sums: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return np.log(sums)
