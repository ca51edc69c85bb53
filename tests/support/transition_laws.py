"""Experts kept one by one, and the laws of what is drawn among them in tiny games, from their definitions."""

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
Examples = Callable[[View], Example]  # of a round, by the states drawn so far
Sets = Sequence[Sequence[Sequence[int]]]  # Sets[e − 1][i]: the candidates S'(i, e]


class Expert(NamedTuple):
    """What one expert does: its state and its last move in each stretch, and its prior probability."""

    states: tuple[int, ...]
    since: tuple[int, ...]
    prior: float


def all_experts(
    automaton: Automaton, sets: Sets, change: float, allowed: set[int] | None = None
) -> list[Expert]:
    """Every expert by itself; allowed: the states it may move to, by default all that are not dead."""
    found = [Expert((START,), (0,), 1.0)]
    for e, told in enumerate(sets, start=1):
        found = [later for one in found for later in _later(automaton, one, e, told, change, allowed)]
    return found


def _later(
    automaton: Automaton,
    one: Expert,
    e: int,
    told: Sequence[Sequence[int]],
    change: float,
    allowed: set[int] | None,
) -> list[Expert]:
    state, i = one.states[-1], one.since[-1]
    options = [int(automaton.after_mistake(np.array([state]), np.array([x]))[0]) for x in told[i]]
    options = [s for s in options if s != automaton.dead and (allowed is None or s in allowed)]
    if not options:
        return [Expert((*one.states, state), (*one.since, i), one.prior)]
    moved = [Expert((*one.states, s), (*one.since, e), one.prior * change / len(options)) for s in options]
    return [Expert((*one.states, state), (*one.since, i), one.prior * (1 - change)), *moved]


def errs(automaton: Automaton, state: int, example: Example) -> bool:
    x, y = example
    return bool(automaton.labels(np.array([state]), np.array([x]))[0] != y)


def weight(automaton: Automaton, one: Expert, past: Sequence[Example], length: int, rate: float) -> float:
    lost = sum(errs(automaton, one.states[t // length], example) for t, example in enumerate(past))
    return one.prior * math.exp(-rate * lost)


def pair_weights(
    automaton: Automaton, experts: list[Expert], past: Sequence[Example], length: int, rate: float
) -> dict[tuple[int, int], float]:
    """By state and last move in the round after `past`; `experts` know no ends beyond it."""
    found: dict[tuple[int, int], float] = {}
    for one in experts:
        pair = one.states[-1], one.since[-1]
        found[pair] = found.get(pair, 0.0) + weight(automaton, one, past, length, rate)
    return found


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
    """Of the states of all rounds, given the candidates, where each round's is drawn afresh."""
    law: Law = {(): 1.0}
    for t in range(rounds):
        longer: Law = {}
        for view, mass in law.items():
            past = [examples(view[: s + 1]) for s in range(t)]
            for (state, _), p in hedge(automaton, sets, past, length, rate, change).items():
                seen = (*view, state)
                longer[seen] = longer.get(seen, 0.0) + mass * p
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
    """Of the pairs of all rounds, given the candidates, where an expert is kept and moves as experts do."""
    law = {(((START, 0),), most): 1.0}
    for t in range(1, rounds):
        longer: dict = {}
        for (view, left), mass in law.items():
            past = [examples(tuple(s for s, _ in view[: r + 1])) for r in range(t)]
            for pair, now, p in _kept_or_drawn(
                automaton, sets, past, view[-1], left, length, rate, change, redraw
            ):
                for after, q in _moved(automaton, sets, pair, t, length, change):
                    key = ((*view, after), now)
                    longer[key] = longer.get(key, 0.0) + mass * p * q
        law = longer
    by_view: dict = {}
    for (view, _), mass in law.items():
        by_view[view] = by_view.get(view, 0.0) + mass
    return by_view


def _kept_or_drawn(automaton, sets, past, pair, left, length, rate, change, redraw):
    if not left or len(past) <= length:
        return [(pair, left, 1.0)]
    kept = (1 - redraw) * math.exp(-rate * errs(automaton, pair[0], past[-1]))
    # The round that ended, before experts move.
    known = sets[: (len(past) - 1) // length]
    law = hedge(automaton, known, past, length, rate, change)
    return [(pair, left, kept), *((other, left - 1, (1 - kept) * p) for other, p in law.items())]


def _moved(automaton, sets, pair, t, length, change):
    e, rest = divmod(t, length)
    if rest or e > len(sets):
        return [(pair, 1.0)]
    one = Expert((pair[0],), (pair[1],), 1.0)
    return [
        ((o.states[-1], o.since[-1]), o.prior) for o in _later(automaton, one, e, sets[e - 1], change, None)
    ]


# --- candidates ---------------------------------------------------------------------------------------------


def sets_of_one_end(counts: Sequence[int], scale: float, threshold: float) -> dict[tuple[int, ...], float]:
    """The law of S'(0, 1], from the points' counts in the first stretch."""
    law = {}
    chances = [float(stats.laplace.sf(threshold - k, scale=scale)) for k in counts]
    for pattern in itertools.product([False, True], repeat=len(counts)):
        told = tuple(x for x, there in enumerate(pattern) if there)
        law[told] = math.prod(p if there else 1 - p for p, there in zip(chances, pattern, strict=True))
    return law


def sets_of_two_ends(
    first: int, second: int, scale: float, threshold: float
) -> dict[tuple[bool, bool, bool], float]:
    """The law of whether one point is in S'(0, 1], S'(0, 2] and S'(1, 2], by its counts in two stretches.

    The count at the end 2 is one node, whose noise has nothing to do with that at the end 1.
    """
    law = dict.fromkeys(itertools.product([False, True], repeat=3), 0.0)
    for there in law:
        law[there] = _region(there, first, second, scale, threshold)
    return law


def _region(there: tuple[bool, bool, bool], first: int, second: int, scale: float, threshold: float) -> float:
    at_one, at_two, between = there

    def density(told: float) -> float:
        """Of the count told at the end 1, with what the other asks of that at the end 2."""
        low, high = -math.inf, math.inf
        for inside, cut in ((at_two, threshold), (between, threshold + told)):
            low, high = (max(low, cut), high) if inside else (low, min(high, cut))
        if low >= high:
            return 0.0
        chance = stats.laplace.cdf([low, high], loc=first + second, scale=scale)
        return float(stats.laplace.pdf(told, loc=first, scale=scale) * (chance[1] - chance[0]))

    far = 40 * scale
    ends = (threshold, first + far) if at_one else (first - far, threshold)
    kinks = sorted({*ends, *(k for k in (0.0, first, second + first - threshold) if ends[0] < k < ends[1])})
    return sum(integrate.quad(density, a, b, limit=200)[0] for a, b in itertools.pairwise(kinks))


def delta(law: dict, other: dict, epsilon: float) -> float:
    """The δ at this ε, exactly, one way round."""
    return sum(max(0.0, p - math.exp(epsilon) * other.get(view, 0.0)) for view, p in law.items())
