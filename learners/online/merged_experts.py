"""Experts that follow a mistake-bound learner through private candidates: Appendix E of Li, Wang, Ye, for
finite domains. Experts with the same future are merged; one is drawn in every round, or kept and moved."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import attrs
import numpy as np

from arena.errors import Unsupported
from arena.laws import OnlineLaw
from arena.littlestone import START, Automaton
from arena.messages import Hypothesis
from arena.sample import freeze
from learners.mechanisms.lazy_experts import LazyParameters
from learners.mechanisms.selection import exponential_mechanism

MOST_ENTRIES = 2**24  # states x points
MOST_PAIRS = 2**26  # transitions x concepts


@attrs.frozen(eq=False)
class Transitions:
    """The states of an automaton within a number of mistakes of the start, renumbered from 0, the start.

    Shapes: S states, X points, A transitions, mistakes that some concept explains, sorted by target. states
    (S,): the numbers in the automaton. wrong (2·X, S) uint8: row X·y + x says whether a state errs on (x, y).
    live (S, X) bool: whether a mistake at x is a transition. after (S, X): the next state. source, point,
    target (A,). reached (R,): the distinct targets; starts (R,): the first transition to each.
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
    """The most points at which a state differs from one of the labellings (H, X) that explains all mistakes
    before it; |X| for more than `MOST_PAIRS` pairs."""
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
    """The states within `mistakes` mistakes of the start. Raises: Unsupported for too many."""
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

    At every end e of a stretch an expert may move: it is updated with a mistake at a candidate x of S'(i, e],
    where i is the end of its last move (0: none). Experts with the same state s and i are merged. Where moves
    are possible, one moves with probability `move_probability` < 1, to each with equal probability. Shapes: n
    games, S states, X points; n·(ends + 1)·S log-weights are kept. rate: nats for each mistake.
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
        """(g, stretches_ended + 1): the log-weights by i of one state in each game."""
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


class FreshDraws:
    """Draws a state by the weights of its experts in every round after the first stretch."""

    def __init__(self, experts: MergedExperts, games: int, rng: np.random.Generator) -> None:
        self._experts = experts
        self._start = np.zeros(games, np.intp)
        self._rng = rng

    def draw(self) -> np.ndarray:
        if not self._experts.stretches_ended:
            return self._start
        return _choose(self._rng, self._experts.scores())

    def observe(self, losses: np.ndarray) -> None:
        """Does nothing: fresh draws have no memory."""

    def end_stretch(self, candidates: np.ndarray) -> None:
        """Does nothing: fresh draws have no memory."""


class LazyDraws:
    """Keeps an expert as `mechanisms.lazy_experts` does; where experts move, it moves as they do:
    docs/proofs/agnostic_experts.md."""

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
    """The hypotheses of `FreshDraws` on the experts that `build` returns. A state holds, for each stretch,
    the sorted examples of its rounds, where one stands for all on which the same states err."""

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
