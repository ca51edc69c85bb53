"""Exact distributions of the draws of experts' mechanisms in tiny games, from their definitions."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

import numpy as np
from support.laws.learner_laws import view_delta

View = tuple[int, ...]
Law = dict[View, float]
Losses = Callable[[View], Sequence[float]]  # the losses of a round, by the experts drawn so far


def oblivious(rows: Sequence[Sequence[float]]) -> Losses:
    """The losses of an oblivious adversary."""
    return lambda view: rows[len(view) - 1]


def hedge(past: Sequence[Sequence[float]], prior: Sequence[float], rate: float) -> list[float]:
    """The probabilities of the experts after these losses; prior: log-weights."""
    weights = [math.exp(p - rate * sum(row[i] for row in past)) for i, p in enumerate(prior)]
    return [w / sum(weights) for w in weights]


def fresh_law(losses: Losses, rounds: int, prior: Sequence[float], rate: float) -> Law:
    """The distribution of the experts of all rounds, with fresh draws."""
    law: Law = {}
    for view in itertools.product(range(len(prior)), repeat=rounds):
        past = [losses(view[: t + 1]) for t in range(rounds)]
        law[view] = math.prod(hedge(past[:t], prior, rate)[i] for t, i in enumerate(view))
    return law


def lazy_law(
    losses: Losses, rounds: int, prior: Sequence[float], rate: float, redraw: float, most: int
) -> Law:
    """The distribution of the experts of all rounds, for the shrinking dartboard."""
    law: Law = {}

    def play(view: View, past: list[Sequence[float]], left: int, mass: float) -> None:
        if len(view) == rounds:
            law[view] = law.get(view, 0.0) + mass
            return
        row = losses(view)
        past = [*past, row]
        keep = (1 - redraw) * math.exp(-rate * row[view[-1]]) if left else 1.0
        play((*view, view[-1]), past, left, mass * keep)
        for i, p in enumerate(hedge(past, prior, rate)):
            if left:
                play((*view, i), past, left - 1, mass * (1 - keep) * p)

    for i, p in enumerate(hedge([], prior, rate)):
        play((i,), [], most, p)
    return law


def worst_delta(law_of: Callable[[Losses], Law], experts: int, rounds: int, epsilon: float) -> float:
    """The largest δ(ε) over oblivious neighbours, with losses 0 or 1 in the round that is replaced.

    All other rounds have losses 0, or all have losses 1, which cause redraws.
    """
    rows = list(itertools.product([0.0, 1.0], repeat=experts))
    worst = 0.0
    for s, others in itertools.product(range(rounds - 1), [(0.0,) * experts, (1.0,) * experts]):
        laws = [law_of(oblivious([row if t == s else others for t in range(rounds)])) for row in rows]
        worst = max(worst, *(view_delta(a, b, epsilon) for a, b in itertools.permutations(laws, 2)))
    return worst


def adaptive(seed: int, replaced: int, by: int) -> Losses:
    """Losses in {0, 1}² that depend on the view; round `replaced` has the bits of `by`."""

    def losses(view: View) -> Sequence[float]:
        if len(view) - 1 == replaced:
            return (by & 1, by >> 1)
        coins = np.random.default_rng([seed, *view])
        return tuple(coins.integers(0, 2, size=2))

    return losses
