"""All small samples for decision lists, the output distributions of private-decision-list on them, and δ(ε).

An example is a pattern of variables and a label, numbered 2·pattern + label with the pattern in binary. A
sample is a row of counts of examples.
"""

from __future__ import annotations

import itertools
import math
from functools import cache

import numpy as np

from arena import Sample
from arena.concepts import DecisionLists, Variables


def sample_of(counts: np.ndarray, variables: int) -> Sample:
    """The counts as a `Sample`."""
    held = np.flatnonzero(counts)
    bits = (held // 2)[:, None] >> np.arange(variables)[::-1] & 1
    return Sample(bits, held % 2, counts[held])


def naive_law(counts: np.ndarray, variables: int, rate: float) -> dict[tuple[int, ...], float]:
    """The output distribution of the algorithm of section 3, by plain recursion over rules."""
    sample = sample_of(counts, variables)
    points, labels = sample.rows()
    examples = [(tuple(x), int(y)) for x, y in zip(points.tolist(), labels, strict=True)]
    true = variables
    probabilities: dict[tuple[int, ...], float] = {}

    def holds(feature: int, x: tuple[int, ...]) -> bool:
        return feature == true or x[feature] == 1

    def grow(rules: tuple[int, ...], left: list[tuple[tuple[int, ...], int]], probability: float) -> None:
        if rules and rules[-1] // 2 == true:
            probabilities[rules] = probability
            return
        free = [f for f in range(variables + 1) if f not in {rule // 2 for rule in rules}]
        weights = {
            2 * f + b: math.exp(-rate / 2 * sum(holds(f, x) and y != b for x, y in left))
            for f in free
            for b in (0, 1)
        }
        total = sum(weights.values())
        for rule, weight in weights.items():
            grow(
                (*rules, rule), [e for e in left if not holds(rule // 2, e[0])], probability * weight / total
            )

    grow((), examples, 1.0)
    return probabilities


def laws(counts: np.ndarray, variables: int, rate: float) -> np.ndarray:
    """(samples, lists): the probabilities of the lists of `DecisionLists.every`, for counts (samples,
    2^V·2)."""
    every = DecisionLists(Variables(variables)).all_lists()
    patterns = np.arange(2**variables)[:, None] >> np.arange(variables)[::-1] & 1
    held = np.column_stack([patterns, np.ones(len(patterns), int)]) == 1  # (patterns, V + 1)
    by_label = counts.reshape(len(counts), -1, 2)
    logs = np.zeros((len(counts), len(every)))
    tables = {}
    for used in itertools.product((False, True), repeat=variables):
        left = ~held[:, :-1][:, list(used)].any(axis=1)
        errors = np.einsum("spy,pf->sfy", by_label[:, left][..., ::-1], held[left]).astype(float)
        errors[:, [*used, False]] = np.inf
        weights = np.exp(-rate / 2 * errors).reshape(len(counts), -1)
        with np.errstate(divide="ignore"):
            tables[used] = np.log(weights / weights.sum(axis=1, keepdims=True))
    for column, rules in enumerate(every):
        used = [False] * variables
        for rule in rules[rules >= 0]:
            logs[:, column] += tables[tuple(used)][:, rule]
            if rule // 2 < variables:
                used[rule // 2] = True
    return np.exp(logs)


@cache
def small_samples(variables: int, size: int) -> np.ndarray:
    """(k, 2^V·2): all samples of a size as counts, up to permuting the variables and flipping all labels."""
    kinds = 2 ** (variables + 1)
    rows = np.array(
        [
            np.bincount(np.array(c, int), minlength=kinds)
            for c in itertools.combinations_with_replacement(range(kinds), size)
        ]
    )
    images = np.stack([rows[:, move] for move in _symmetries(variables)])
    keys = images @ (size + 1) ** np.arange(kinds, dtype=object)
    return rows[(keys.min(axis=0) == keys[0])]


def neighbours(counts: np.ndarray) -> np.ndarray:
    """(kinds, kinds of examples): a sample with each example added."""
    return counts + np.eye(len(counts), dtype=int)


def deltas(laws_: np.ndarray, epsilon: float) -> np.ndarray:
    """(s, s): δ(ε) between each pair of output distributions (s, lists)."""
    return np.maximum(laws_[:, None] - np.exp(epsilon) * laws_[None], 0).sum(axis=2)


def cover_delta(epsilon: float, rate: float, *, rounds: int, replaced: bool = True) -> float:
    """The exact δ of `rounds` rounds at ε, for a replaced example, or for an added or removed one."""
    a, j = rate / 2, rounds + 1
    factor, s = (math.tanh(a / 2), epsilon) if replaced else (-math.expm1(-a), epsilon + a)
    exponent = s / j - a
    return factor * (math.expm1(exponent) / math.expm1(-a)) ** j if exponent < 0 else 0.0


def _symmetries(variables: int) -> list[np.ndarray]:
    patterns = np.arange(2**variables)[:, None] >> np.arange(variables)[::-1] & 1
    moves = []
    for order in itertools.permutations(range(variables)):
        moved = patterns[:, list(order)] @ (1 << np.arange(variables)[::-1])
        for flip in (0, 1):
            moves.append((2 * moved[:, None] + (np.arange(2) ^ flip)).ravel())
    return sorted(moves, key=lambda move: move.tolist())  # the identity first
