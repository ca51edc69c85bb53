"""How experts move: the states of an automaton that they can reach, and the candidates for a mistake."""

from __future__ import annotations

import math
from functools import lru_cache

import attrs
import numpy as np

from arena.errors import Unsupported
from arena.littlestone import START, Automaton
from arena.points import freeze
from learners.mechanisms.counters import binary_counter
from learners.mechanisms.counters.binary_counter import BinaryCounter


class Candidates:
    """At the end of each stretch e of rounds, S'(i, e]: the points that occurred often since the end of
    stretch i.

    Every point of a finite domain has a `BinaryCounter`, whose rounds are stretches. S'(i, e] contains x if
    the noisy counts of x at the ends i and e differ by at least `threshold`. A function with enough ones in
    the stretches i+1 … e has a one in S'(i, e], since otherwise each of its points occurred too rarely. So no
    class of functions is sanitised, and no discriminator is needed.

    Privacy: all sets together are (epsilon, 0)-DP for one replaced example, however the points of later
    stretches are chosen, since the example changes two counts by 1 in one stretch. Labels are not used.

    Shapes: n games, X points. Units: epsilon in nats, or 0 for no counters: then every point is a candidate.
    """

    def __init__(
        self,
        games: int,
        points: int,
        rng: np.random.Generator,
        *,
        ends: int,
        length: int,
        epsilon: float,
        threshold: float,
    ) -> None:
        """length: of a stretch, in rounds. ends: the number of stretches that end.

        Raises: InvalidArgument if epsilon is negative.
        """
        self._rows = np.arange(games)
        self._length = length
        self._threshold = threshold
        self._end = 0
        self._counts = np.zeros((games, points), np.int64)
        self._counter = None
        if ends and epsilon:
            # Counters take numbers in [0, 1], so counts are divided by the length of a stretch.
            self._counter = BinaryCounter(
                self._counts.shape, rng, horizon=ends, epsilon=epsilon, sensitivity=2 / length
            )
            self._noisy_counts = np.zeros((games, ends + 1, points))

    def observe(self, place: np.ndarray) -> None:
        """Count this round's points (n,), given by their numbers."""
        self._counts[self._rows, place] += 1

    def end_stretch(self) -> np.ndarray:
        """End a stretch and return S'(i, e] for every earlier end i from 0 on: (n, e, X) bool."""
        self._end += 1
        if self._counter is None:
            games, points = self._counts.shape
            return np.ones((games, self._end, points), bool)
        self._noisy_counts[:, self._end] = self._length * self._counter.add(self._counts / self._length)
        self._counts[:] = 0
        return self._noisy_counts[:, self._end, None] - self._noisy_counts[:, : self._end] >= self._threshold


def counter_noise_scale(ends: int, epsilon: float) -> float:
    """The scale of the Laplace noise of a counter's node, in occurrences; 0 without counters."""
    return 2 * binary_counter.tree_levels(ends) / epsilon if ends and epsilon else 0.0


def largest_missed_count(ends: int, epsilon: float, *, threshold: float, beta: float) -> int:
    """The largest number of occurrences of a point between two ends at which it may not be a candidate.

    It holds for all sets of the point's counter, except with probability `beta`.

    Raises: InvalidArgument if a parameter is out of range.
    """
    if not (ends and epsilon):
        return 0
    # Two counts are subtracted, and each has at most this error.
    missed = threshold + 2 * binary_counter.binary_counter_error(ends, beta, epsilon=epsilon, sensitivity=2)
    return max(0, math.ceil(missed) - 1)


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
