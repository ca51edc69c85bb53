"""Separate experts, and the distributions of draws among them in tiny games, from their definitions."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy import integrate, stats

from arena.littlestone import START, Automaton

Example = tuple[int, int]  # column of the point, label
View = tuple[int, ...]
Law = dict[View, float]
Examples = Callable[[View], Example]  # the example of a round, by the states drawn so far
Sets = Sequence[Sequence[Sequence[int]]]  # Sets[e − 1][i]: the candidates S'(i, e]


class Expert(NamedTuple):
    """One expert: its state and last move in each stretch, and its prior probability."""

    states: tuple[int, ...]
    last_move: tuple[int, ...]
    prior: float


def all_experts(
    automaton: Automaton, sets: Sets, change: float, allowed: set[int] | None = None
) -> list[Expert]:
    """All experts separately; allowed: the states they may move to, by default all except the dead one."""
    experts = [Expert((START,), (0,), 1.0)]
    for e, candidates in enumerate(sets, start=1):
        experts = [
            later for one in experts for later in _later(automaton, one, e, candidates, change, allowed)
        ]
    return experts


def _later(
    automaton: Automaton,
    one: Expert,
    e: int,
    candidates: Sequence[Sequence[int]],
    change: float,
    allowed: set[int] | None,
) -> list[Expert]:
    state, i = one.states[-1], one.last_move[-1]
    options = [int(automaton.after_mistake(np.array([state]), np.array([x]))[0]) for x in candidates[i]]
    options = [s for s in options if s != automaton.dead and (allowed is None or s in allowed)]
    if not options:
        return [Expert((*one.states, state), (*one.last_move, i), one.prior)]
    moved = [
        Expert((*one.states, s), (*one.last_move, e), one.prior * change / len(options)) for s in options
    ]
    return [Expert((*one.states, state), (*one.last_move, i), one.prior * (1 - change)), *moved]


def errs(automaton: Automaton, state: int, example: Example) -> bool:
    x, y = example
    return bool(automaton.labels(np.array([state]), np.array([x]))[0] != y)


def weight(automaton: Automaton, one: Expert, past: Sequence[Example], length: int, rate: float) -> float:
    mistakes = sum(errs(automaton, one.states[t // length], example) for t, example in enumerate(past))
    return one.prior * math.exp(-rate * mistakes)


def pair_weights(
    automaton: Automaton, experts: list[Expert], past: Sequence[Example], length: int, rate: float
) -> dict[tuple[int, int], float]:
    """The weights by state and last move in the round after `past`; `experts` have no later ends."""
    weights: dict[tuple[int, int], float] = {}
    for one in experts:
        pair = one.states[-1], one.last_move[-1]
        weights[pair] = weights.get(pair, 0.0) + weight(automaton, one, past, length, rate)
    return weights


def hedge(
    automaton: Automaton, sets: Sets, past: Sequence[Example], length: int, rate: float, change: float
) -> dict[tuple[int, int], float]:
    """The probabilities of the pairs in the round after `past`."""
    ends = min(len(past) // length, len(sets))
    weights = pair_weights(automaton, all_experts(automaton, sets[:ends], change), past, length, rate)
    total = sum(weights.values())
    return {pair: w / total for pair, w in weights.items()}


def fresh_law(
    automaton: Automaton,
    sets: Sets,
    examples: Examples,
    rounds: int,
    *,
    length: int,
    rate: float,
    change: float,
) -> Law:
    """The distribution of the states of all rounds, given the candidates, with fresh draws."""
    law: Law = {(): 1.0}
    for t in range(rounds):
        longer: Law = {}
        for view, mass in law.items():
            past = [examples(view[: s + 1]) for s in range(t)]
            for (state, _), p in hedge(automaton, sets, past, length, rate, change).items():
                extended = (*view, state)
                longer[extended] = longer.get(extended, 0.0) + mass * p
        law = longer
    return law


def lazy_law(
    automaton: Automaton,
    sets: Sets,
    examples: Examples,
    rounds: int,
    *,
    length: int,
    rate: float,
    change: float,
    redraw: float,
    most: int,
) -> dict[tuple[tuple[int, int], ...], float]:
    """The distribution of the pairs of all rounds, given the candidates, with lazy draws."""
    law = {(((START, 0),), most): 1.0}
    for t in range(1, rounds):
        longer: dict = {}
        for (view, left), mass in law.items():
            past = [examples(tuple(s for s, _ in view[: r + 1])) for r in range(t)]
            for pair, now, p in _keep_or_draw(
                automaton, sets, past, view[-1], left, length, rate, change, redraw
            ):
                for after, q in _move(automaton, sets, pair, t, length, change):
                    key = ((*view, after), now)
                    longer[key] = longer.get(key, 0.0) + mass * p * q
        law = longer
    by_view: dict = {}
    for (view, _), mass in law.items():
        by_view[view] = by_view.get(view, 0.0) + mass
    return by_view


def _keep_or_draw(automaton, sets, past, pair, left, length, rate, change, redraw):
    if not left or len(past) <= length:
        return [(pair, left, 1.0)]
    keep = (1 - redraw) * math.exp(-rate * errs(automaton, pair[0], past[-1]))
    # The round that ended, before experts move.
    past_sets = sets[: (len(past) - 1) // length]
    law = hedge(automaton, past_sets, past, length, rate, change)
    return [(pair, left, keep), *((other, left - 1, (1 - keep) * p) for other, p in law.items())]


def _move(automaton, sets, pair, t, length, change):
    e, rest = divmod(t, length)
    if rest or e > len(sets):
        return [(pair, 1.0)]
    one = Expert((pair[0],), (pair[1],), 1.0)
    return [
        ((o.states[-1], o.last_move[-1]), o.prior)
        for o in _later(automaton, one, e, sets[e - 1], change, None)
    ]


def sets_of_one_end(counts: Sequence[int], scale: float, threshold: float) -> dict[tuple[int, ...], float]:
    """The distribution of S'(0, 1], from the points' counts in the first stretch."""
    law = {}
    probabilities = [float(stats.laplace.sf(threshold - k, scale=scale)) for k in counts]
    for pattern in itertools.product([False, True], repeat=len(counts)):
        points = tuple(x for x, inside in enumerate(pattern) if inside)
        law[points] = math.prod(
            p if inside else 1 - p for p, inside in zip(probabilities, pattern, strict=True)
        )
    return law


def sets_of_two_ends(
    first: int, second: int, scale: float, threshold: float
) -> dict[tuple[bool, bool, bool], float]:
    """The distribution of whether one point is in S'(0, 1], S'(0, 2] and S'(1, 2], by its counts in two
    stretches.

    The count at the end 2 is one node, whose noise is independent of that at the end 1.
    """
    law = dict.fromkeys(itertools.product([False, True], repeat=3), 0.0)
    for pattern in law:
        law[pattern] = _pattern_probability(pattern, first, second, scale, threshold)
    return law


def _pattern_probability(
    pattern: tuple[bool, bool, bool], first: int, second: int, scale: float, threshold: float
) -> float:
    at_one, at_two, between = pattern

    def density(noisy: float) -> float:
        """The density of the noisy count at the end 1, jointly with the pattern at the end 2."""
        low, high = -math.inf, math.inf
        for inside, cut in ((at_two, threshold), (between, threshold + noisy)):
            low, high = (max(low, cut), high) if inside else (low, min(high, cut))
        if low >= high:
            return 0.0
        cumulative = stats.laplace.cdf([low, high], loc=first + second, scale=scale)
        return float(stats.laplace.pdf(noisy, loc=first, scale=scale) * (cumulative[1] - cumulative[0]))

    far = 40 * scale
    ends = (threshold, first + far) if at_one else (first - far, threshold)
    kinks = sorted({*ends, *(k for k in (0.0, first, second + first - threshold) if ends[0] < k < ends[1])})
    return sum(integrate.quad(density, a, b, limit=200)[0] for a, b in itertools.pairwise(kinks))
