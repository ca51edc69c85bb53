"""The output distribution of experts that are drawn in every round, where all points are candidates."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from arena.laws import OnlineLaw
from arena.littlestone import Automaton
from arena.replies import Hypothesis
from learners.online.experts.merged import MergedExperts
from learners.online.experts.transitions import Transitions

Stretches = tuple[tuple[int, ...], ...]


class FreshDrawsLaw(OnlineLaw[Stretches]):
    """The hypotheses of `FreshDraws` on `MergedExperts`.

    A state holds, for each stretch so far, the sorted examples of its rounds, where an example stands for all
    on which the same states of the automaton err.
    """

    def __init__(
        self,
        automaton: Automaton,
        transitions: Transitions,
        *,
        points: np.ndarray,
        rounds: int,
        length: int,
        ends: int,
        rate: float,
        move_probability: float,
    ) -> None:
        """length: of a stretch, in rounds. Otherwise as in `MergedExperts`."""
        functions = automaton.functions(transitions.states)
        distinct, numbers = np.unique(functions, axis=0, return_inverse=True)
        self.hypotheses = Hypothesis(automaton.hypotheses, distinct)
        self.points = points
        self.rounds = rounds
        self._numbers = numbers.ravel()
        _, first, kind = np.unique(transitions.wrong, axis=0, return_index=True, return_inverse=True)
        self._example = first[kind.ravel()]
        self._length, self._ends = length, ends
        self._build = lambda: MergedExperts(
            transitions, 1, ends=ends, rate=rate, move_probability=move_probability
        )
        self._probabilities = lru_cache(maxsize=None)(self._draw_probabilities)

    def start(self) -> Stretches:
        return ((),)

    def show(self, state: Stretches) -> list[tuple[int, Stretches, float]]:
        return [(number, state, p) for number, p in enumerate(self._probabilities(state)) if p]

    def observe(self, state: Stretches, point: int, label: int) -> list[tuple[Stretches, float]]:
        *earlier, last = state
        last = tuple(sorted((*last, int(self._example[point + len(self.points) * label]))))
        following = (*earlier, last)
        return [((*following, ()) if self._stretch_ends(following) else following, 1.0)]

    def _stretch_ends(self, state: Stretches) -> bool:
        return len(state[-1]) == self._length and len(state) <= self._ends

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
