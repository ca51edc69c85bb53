"""Draws of merged experts: a fresh one every round, or one that is kept and moves as experts move."""

from __future__ import annotations

import numpy as np

from learners.mechanisms.experts.lazy_experts import LazyParameters
from learners.mechanisms.selection.exponential_mechanism import exponential_mechanism
from learners.online.experts.merged import MergedExperts
from learners.online.experts.transitions import Moves


class FreshDraws:
    """Every round draws a state by the weights of its experts, as `mechanisms.exponential_experts` would.

    Before the first end all experts are at the start, and no coins are drawn.
    """

    def __init__(self, experts: MergedExperts, games: int, rng: np.random.Generator) -> None:
        self._experts = experts
        self._start = np.zeros(games, np.intp)
        self._rng = rng

    def draw(self) -> np.ndarray:
        """(n,): the states of this round."""
        if not self._experts.ended:
            return self._start
        return _chosen(self._rng, self._experts.scores())

    def observe(self, losses: np.ndarray) -> None:
        """A fresh draw needs no memory."""

    def close(self, candidates: np.ndarray) -> None:
        """Nor does it move."""


class LazyDraws:
    """Keeps an expert as `mechanisms.lazy_experts` does; where experts move, it moves as they do.

    **Law.** At an end the weights w of the pairs (s, i) become wQ: Q, the prior's moves, is a matrix of
    probabilities that the candidates fix. If a game's pair has the law w/|w| and takes a step by Q with coins
    of its own, it has the law wQ/|wQ|, for rows of Q add up to 1. So against oblivious adversaries every
    round's pair is distributed as Hedge's, as there.

    **Privacy.** Show the adversary the candidates and pairs, and of every round whether there was a draw.
    Given these, the step by Q has the same law in both worlds; the rest is the proof there, line by line.
    Its `cost` holds as it stands.
    """

    def __init__(
        self,
        experts: MergedExperts,
        moves: Moves,
        games: int,
        rng: np.random.Generator,
        *,
        lazy: LazyParameters,
        change: float,
    ) -> None:
        """change: as in `MergedExperts`."""
        self._experts = experts
        self._moves = moves
        self._rng = rng
        self._lazy = lazy
        self._change = change
        self._rows = np.arange(games)
        self._state = np.zeros(games, np.intp)
        self._since = np.zeros(games, np.intp)
        self._left = np.full(games, lazy.max_draws)

    def draw(self) -> np.ndarray:
        """(n,): the states of this round."""
        return self._state.copy()

    def observe(self, losses: np.ndarray) -> None:
        """Keep the expert or draw another, given this round's losses (n, S) of 0 and 1."""
        if not self._experts.ended:
            return  # there is one expert only
        lazy = self._lazy
        kept = (1 - lazy.redraw) * np.exp(-lazy.rate * losses[self._rows, self._state])
        drawn = np.flatnonzero((self._rng.random(len(kept)) >= kept) & (self._left > 0))
        self._left[drawn] -= 1
        self._state[drawn] = _chosen(self._rng, self._experts.scores(drawn))
        self._since[drawn] = _chosen(self._rng, self._experts.since(drawn, self._state[drawn]))

    def close(self, candidates: np.ndarray) -> None:
        """End a stretch: each game's expert moves with the prior's probabilities."""
        options = candidates[self._rows, self._since] & self._moves.live[self._state]
        many = options.sum(axis=1)
        coins = self._rng.random(len(many))
        moved = np.flatnonzero((coins < self._change) & (many > 0))
        # Below `change` the coin is uniform, and chooses among the options as well.
        which = (coins[moved] / self._change * many[moved]).astype(np.intp)
        points = (options[moved].cumsum(axis=1) > which[:, None]).argmax(axis=1)
        self._state[moved] = self._moves.after[self._state[moved], points]
        self._since[moved] = candidates.shape[1]


def _chosen(rng: np.random.Generator, scores: np.ndarray) -> np.ndarray:
    """In each game an option with probability proportional to exp(score); −inf is never chosen."""
    return exponential_mechanism(rng, scores, epsilon=2, sensitivity=1, allowed=np.isfinite(scores))
