"""How experts move: the reachable states of an automaton, the candidates, and the weights of experts."""

from __future__ import annotations

import math
from functools import lru_cache

import attrs
import numpy as np

from arena.errors import Unsupported
from arena.littlestone import START, Automaton
from arena.points import freeze
from learners.mechanisms.counters import BinaryCounter, binary_counter_error, tree_levels


class Candidates:
    """At the end of each stretch e of rounds, S'(i, e]: the points that occurred often since the end of
    stretch i.

    Every point of a finite domain has a `BinaryCounter`, whose rounds are stretches. S'(i, e] contains x if
    the noisy counts of x at the ends i and e differ by at least `threshold`. So no class of functions is
    sanitised, and no discriminator is needed (docs/proofs/agnostic_experts.md).

    Privacy: all sets together are (epsilon, 0)-DP for one replaced example, however later points are chosen,
    since it changes two counts by 1 in one stretch. Labels are not used.

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
        """length: of a stretch, in rounds. ends: the number of stretches that end."""
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
    return 2 * tree_levels(ends) / epsilon if ends and epsilon else 0.0


def largest_missed_count(ends: int, epsilon: float, *, threshold: float, beta: float) -> int:
    """The largest number of occurrences of a point between two ends at which it may not be a candidate.

    It holds for all sets of the point's counter, except with probability `beta`.
    """
    if not (ends and epsilon):
        return 0
    # Two counts are subtracted, and each has at most this error.
    missed = threshold + 2 * binary_counter_error(ends, beta, epsilon=epsilon, sensitivity=2)
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

    With more than `MOST_PAIRS` pairs of transitions and concepts it is not computed, and is |X|. Shapes:
    labellings (H, X) bool, those of the concepts.
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


_SLAB = 2**20  # numbers updated at a time when a stretch ends


class MergedExperts:
    """The exact weights of Hedge over all experts, merged by what they do from now on.

    Experts: one starts in the automaton's start state. At every end e of a stretch it may move: it is updated
    with a mistake at a candidate x of S'(i, e], where i is the end of its last move (0: none), and continues
    from the resulting state s. Its future depends on (s, i) alone, so experts with the same (s, i) are
    merged.

    Prior: where moves are possible, an expert moves with probability `move_probability` < 1, to each with
    equal probability; otherwise it stays.

    Within a stretch the loss depends on s alone, so a round costs one number for each state, and pairs are
    updated only when a stretch ends. Logarithms are kept, so that no weight underflows.

    Shapes: n games, S states, X points, A transitions; n·(ends + 1)·S numbers are kept. Units: rate in nats
    for each mistake. ends: the number of stretches that may end.
    """

    def __init__(
        self, transitions: Transitions, games: int, *, ends: int, rate: float, move_probability: float
    ) -> None:
        self.transitions = transitions
        self.move_probability = move_probability
        self._rate = rate
        self.stretches_ended = 0
        # By (s, i), at the start of this stretch.
        self._logs = np.full((games, ends + 1, len(transitions.states)), -math.inf)
        self._logs[:, 0, 0] = 0.0
        self._state_logs = self._logs[:, 0].copy()  # by s, summed over i
        self._mistakes = np.zeros(self._state_logs.shape, np.int32)  # in this stretch

    def observe(self, place: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Add the losses of this round's examples, (n,) each, and return them, (n, S) uint8."""
        wrong = self.transitions.wrong
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
        """End a stretch: experts move. candidates: (n, e, X) bool, by the end i of the last move, at the e-th
        end."""
        self.stretches_ended += 1
        games, earlier, _ = candidates.shape
        slab = max(1, _SLAB // (earlier * self.transitions.numbers_per_end))
        for first in range(0, games, slab):
            self._move_experts(slice(first, first + slab), candidates[first : first + slab])

    def _move_experts(self, games: slice, candidates: np.ndarray) -> None:
        logs = self._logs[games, : self.stretches_ended]  # a view
        logs -= self._rate * self._mistakes[games, None]
        self._mistakes[games] = 0
        options = candidates.astype(float) @ self.transitions.live.T.astype(float)
        movable = options > 0
        each = np.where(
            movable, logs + math.log(self.move_probability) - np.log(np.maximum(options, 1.0)), -math.inf
        )
        logs[movable] += math.log1p(-self.move_probability)
        arrivals = self._arrivals(each, candidates)
        self._logs[games, self.stretches_ended, self.transitions.reached] = arrivals
        self._state_logs[games] = _log_sum(self._logs[games, : self.stretches_ended + 1])

    def _arrivals(self, each: np.ndarray, candidates: np.ndarray) -> np.ndarray:
        """(g, R): the log-weight that moves to each state; `each` (g, e, S) is that of a single move."""
        transitions = self.transitions
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
