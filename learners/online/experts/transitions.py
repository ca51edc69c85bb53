"""The states of an automaton that experts can reach, and the transitions between them."""

from __future__ import annotations

from functools import lru_cache

import attrs
import numpy as np

from arena.errors import Unsupported
from arena.littlestone import START, Automaton
from arena.points import freeze

MOST_ENTRIES = 2**24  # states x points
MOST_PAIRS = 2**26  # transitions x concepts


@attrs.frozen(eq=False)
class Transitions:
    """The part of an automaton within a number of mistakes of the start; states are renumbered from 0, the
    start.

    A mistake that no concept explains is not a transition, nor is one beyond the given number.

    Shapes: S states, X points, A transitions, sorted by target. states (S,): the numbers in the automaton.
    wrong (2·X, S) uint8: row X·y + x says whether a state errs on (x, y). live (S, X) bool: whether a mistake
    at x is a transition. after (S, X): the next state, arbitrary where there is no transition. source, point,
    target (A,): the transitions. reached (R,): the distinct targets; starts (R,): the first transition to
    each.
    """

    states: np.ndarray = attrs.field(converter=freeze)
    wrong: np.ndarray = attrs.field(converter=freeze)
    live: np.ndarray = attrs.field(converter=freeze)
    after: np.ndarray = attrs.field(converter=freeze)
    source: np.ndarray = attrs.field(converter=freeze)
    point: np.ndarray = attrs.field(converter=freeze)
    target: np.ndarray = attrs.field(converter=freeze)
    reached: np.ndarray = attrs.field(converter=freeze)
    starts: np.ndarray = attrs.field(converter=freeze)

    @property
    def points(self) -> int:
        """X."""
        return self.live.shape[1]

    @property
    def numbers_per_end(self) -> int:
        """The numbers that a game needs for each end at which an expert may have moved last."""
        return len(self.states) + len(self.source)


def largest_difference(transitions: Transitions, labellings: np.ndarray) -> int:
    """The most points at which a state differs from a concept that explains all mistakes before it.

    With more than `MOST_PAIRS` pairs of transitions and concepts it is not computed, and is |X|.

    Shapes: labellings (H, X) bool, those of the concepts.
    """
    source, point, target = transitions.source, transitions.point, transitions.target
    if len(source) * len(labellings) > MOST_PAIRS:
        return transitions.points
    predicted = transitions.wrong[: transitions.points].T == 1  # whoever labels 1 errs on label 0
    errs = predicted[source, point, None] != labellings[:, point].T
    explains = np.zeros((len(predicted), len(labellings)), bool)
    explains[0] = True
    while True:
        before = explains.sum()
        np.logical_or.at(explains, target, explains[source] & errs)
        if explains.sum() == before:
            break
    # Points that one labels 1 and the other does not, and the reverse.
    one, other = predicted.astype(int), labellings.astype(int)
    apart = one.sum(axis=1)[:, None] + other.sum(axis=1) - 2 * one @ other.T
    return int(np.where(explains, apart, 0).max())


@lru_cache(maxsize=32)
def build_transitions(automaton: Automaton, points: int, mistakes: int) -> Transitions:
    """The states that at most `mistakes` mistakes reach from the start, and the transitions between them.

    Raises: Unsupported if there are too many.
    """
    columns = np.arange(points)
    states = _reachable_states(automaton, columns, mistakes)
    after = automaton.after_mistake(states[:, None], columns)
    order = np.argsort(states)
    place = np.minimum(np.searchsorted(states, after, sorter=order), len(states) - 1)
    successor = order[place]
    live = states[successor] == after
    source, point = np.nonzero(live)
    target = successor[live]
    by_target = np.argsort(target, kind="stable")
    reached, starts = np.unique(target[by_target], return_index=True)
    ones = automaton.labels(states, columns[:, None])
    return Transitions(
        states=states,
        wrong=np.concatenate([ones, ~ones]).astype(np.uint8),
        live=live,
        after=successor,
        source=source[by_target],
        point=point[by_target],
        target=target[by_target],
        reached=reached,
        starts=starts,
    )


def _reachable_states(automaton: Automaton, columns: np.ndarray, mistakes: int) -> np.ndarray:
    states = latest = np.array([START])
    for _ in range(mistakes):
        after = automaton.after_mistake(latest[:, None], columns)
        latest = np.setdiff1d(after, np.append(states, automaton.dead))
        states = np.append(states, latest)
        if states.size * columns.size > MOST_ENTRIES:
            raise Unsupported(
                f"{automaton.concept_class} has at least {states.size:,} states of experts on "
                f"{columns.size:,} points, which exceeds {MOST_ENTRIES:,} entries",
                remedy="Choose a smaller domain, or fewer mistakes.",
            )
    return states
