"""The states that experts can be in, and the moves between them."""

from __future__ import annotations

from functools import lru_cache

import attrs
import numpy as np

from arena.errors import Unsupported
from arena.littlestone import START, Automaton
from arena.points import freeze

MOST_ENTRIES = 2**24  # of a table of states by points


@attrs.frozen(eq=False)
class Moves:
    """The part of an automaton that so many mistakes can reach, its states numbered anew from 0, the start.

    A mistake that no concept could explain is no move, nor is one beyond those that are counted.

    Shapes: S states, X points, A moves, sorted by where they lead. states (S,): in the automaton's terms.
    wrong (2·X, S) uint8: row X·y + x says whether a state errs on (x, y). live (S, X) bool: whether a mistake
    at x is a move. after (S, X): the state that follows, anything where there is no move. source, point,
    target (A,): the moves. reached (R,): their distinct targets; starts (R,): where the moves to each begin.
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
    def numbers(self) -> int:
        """How many numbers a game needs for each round at which an expert may have moved last."""
        return len(self.states) + len(self.source)


@lru_cache(maxsize=32)
def moves(automaton: Automaton, points: int, mistakes: int) -> Moves:
    """The states that up to `mistakes` mistakes lead to from the start.

    Raises: Unsupported if there are too many.
    """
    columns = np.arange(points)
    states = _reached(automaton, columns, mistakes)
    after = automaton.after_mistake(states[:, None], columns)
    order = np.argsort(states)
    place = np.minimum(np.searchsorted(states, after, sorter=order), len(states) - 1)
    numbered = order[place]
    live = states[numbered] == after
    source, point = np.nonzero(live)
    target = numbered[live]
    by_target = np.argsort(target, kind="stable")
    reached, starts = np.unique(target[by_target], return_index=True)
    ones = automaton.labels(states, columns[:, None])
    return Moves(
        states=states,
        wrong=np.concatenate([ones, ~ones]).astype(np.uint8),
        live=live,
        after=numbered,
        source=source[by_target],
        point=point[by_target],
        target=target[by_target],
        reached=reached,
        starts=starts,
    )


def _reached(automaton: Automaton, columns: np.ndarray, mistakes: int) -> np.ndarray:
    states = latest = np.array([START])
    for _ in range(mistakes):
        after = automaton.after_mistake(latest[:, None], columns)
        latest = np.setdiff1d(after, np.append(states, automaton.dead))
        states = np.append(states, latest)
        if states.size * columns.size > MOST_ENTRIES:
            raise Unsupported(
                f"{automaton.concept_class} gives experts at least {states.size:,} states on "
                f"{columns.size:,} points, over {MOST_ENTRIES:,} in all",
                remedy="Choose a smaller domain, or fewer mistakes.",
            )
    return states
