"""Draws of merged experts: a fresh one in every round, with its law, or one that is kept and moves."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from arena.laws import OnlineLaw
from arena.littlestone import Automaton
from arena.replies import Hypothesis
from learners.mechanisms.lazy_experts import LazyParameters
from learners.mechanisms.selection import exponential_mechanism
from learners.online.experts.transitions import MergedExperts


class FreshDraws:
    """Draws a state in every round by the weights of its experts, as
    `mechanisms.experts.exponential_experts`.

    Until the first stretch ends all experts are in the start state, and no random numbers are drawn.
    """

    def __init__(self, experts: MergedExperts, games: int, rng: np.random.Generator) -> None:
        self._experts = experts
        self._start = np.zeros(games, np.intp)
        self._rng = rng

    def draw(self) -> np.ndarray:
        """The states of this round, (n,)."""
        if not self._experts.stretches_ended:
            return self._start
        return _choose(self._rng, self._experts.scores())

    def observe(self, losses: np.ndarray) -> None:
        """Does nothing: fresh draws have no memory."""

    def end_stretch(self, candidates: np.ndarray) -> None:
        """Does nothing: fresh draws have no memory."""


class LazyDraws:
    """Keeps an expert as `mechanisms.experts.lazy_experts` does; where experts move, it moves as they do.

    In every round the pair of a state and a last move has the distribution of Hedge, against oblivious
    adversaries (docs/proofs/agnostic_experts.md).
    """

    def __init__(
        self, experts: MergedExperts, games: int, rng: np.random.Generator, *, lazy: LazyParameters
    ) -> None:
        self._experts = experts
        self._rng = rng
        self._lazy = lazy
        self._rows = np.arange(games)
        self._state = np.zeros(games, np.intp)
        self._last_move = np.zeros(games, np.intp)
        self._redraws_left = np.full(games, lazy.max_draws)

    def draw(self) -> np.ndarray:
        """The states of this round, (n,)."""
        return self._state.copy()

    def observe(self, losses: np.ndarray) -> None:
        """Keep the expert or draw another one, given this round's losses (n, S) of 0 and 1."""
        if not self._experts.stretches_ended:
            return  # there is only one expert
        lazy = self._lazy
        keep = (1 - lazy.redraw) * np.exp(-lazy.rate * losses[self._rows, self._state])
        drawn = np.flatnonzero((self._rng.random(len(keep)) >= keep) & (self._redraws_left > 0))
        self._redraws_left[drawn] -= 1
        self._state[drawn] = _choose(self._rng, self._experts.scores(drawn))
        self._last_move[drawn] = _choose(self._rng, self._experts.last_move_scores(drawn, self._state[drawn]))

    def end_stretch(self, candidates: np.ndarray) -> None:
        """End a stretch: the expert of each game moves with the probabilities of the prior."""
        transitions, chance = self._experts.transitions, self._experts.move_probability
        options = candidates[self._rows, self._last_move] & transitions.live[self._state]
        counts = options.sum(axis=1)
        u = self._rng.random(len(counts))
        moved = np.flatnonzero((u < chance) & (counts > 0))
        # Given that it is below the probability of a move, u is uniform, and also chooses an option.
        which = (u[moved] / chance * counts[moved]).astype(np.intp)
        points = (options[moved].cumsum(axis=1) > which[:, None]).argmax(axis=1)
        self._state[moved] = transitions.after[self._state[moved], points]
        self._last_move[moved] = candidates.shape[1]


def _choose(rng: np.random.Generator, scores: np.ndarray) -> np.ndarray:
    """An option for each game with probability proportional to exp(score), 0 for a score of −inf."""
    return exponential_mechanism(rng, scores, epsilon=2, sensitivity=1, allowed=np.isfinite(scores))


Stretches = tuple[tuple[int, ...], ...]


class FreshDrawsLaw(OnlineLaw[Stretches]):
    """The hypotheses of `FreshDraws` on the experts that `build` returns.

    A state holds, for each stretch so far, the sorted examples of its rounds, where an example stands for all
    on which the same states of the automaton err. length: of a stretch, in rounds.
    """

    def __init__(
        self,
        automaton: Automaton,
        build: Callable[[], MergedExperts],
        *,
        points: np.ndarray,
        rounds: int,
        length: int,
    ) -> None:
        transitions = build().transitions
        functions = automaton.functions(transitions.states)
        distinct, numbers = np.unique(functions, axis=0, return_inverse=True)
        self.hypotheses = Hypothesis(automaton.hypotheses, distinct)
        self.points = points
        self.rounds = self._horizon = rounds
        self._numbers = numbers.ravel()
        _, first, kind = np.unique(transitions.wrong, axis=0, return_index=True, return_inverse=True)
        self._example = first[kind.ravel()]
        self._length = length
        self._build = build
        self._probabilities = lru_cache(maxsize=None)(self._draw_probabilities)

    def start(self) -> Stretches:
        return ((),)

    def show(self, state: Stretches) -> list[tuple[int, Stretches, float]]:
        return [(number, state, p) for number, p in enumerate(self._probabilities(state)) if p]

    def observe(self, state: Stretches, point: int, label: int) -> list[tuple[Stretches, float]]:
        *earlier, last = state
        last = tuple(sorted((*last, int(self._example[point + len(self.points) * label]))))
        following = (*earlier, last)
        ends = len(last) == self._length and self._length * len(following) < self._horizon
        return [((*following, ()) if ends else following, 1.0)]

    def _draw_probabilities(self, state: Stretches) -> tuple[float, ...]:
        if len(state) == 1:  # until the first stretch ends all experts are in the start state
            return tuple(np.eye(len(self.hypotheses.concepts))[self._numbers[0]].tolist())
        experts = self._build()
        for number, stretch in enumerate(state):
            for example in stretch:
                label, point = divmod(example, len(self.points))
                experts.observe(np.array([point]), np.array([label]))
            if number < len(state) - 1:
                experts.end_stretch(np.ones((1, number + 1, len(self.points)), bool))
        scores = experts.scores()[0]
        weights = np.exp(scores - scores.max())
        shares = np.bincount(self._numbers, weights / weights.sum(), len(self.hypotheses.concepts))
        return tuple(shares.tolist())
