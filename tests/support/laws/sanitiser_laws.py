"""Exact distributions of the sanitiser's parts on tiny instances, from their definitions."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
from scipy import stats

from learners.online.sanitiser import EmpiricalLearner

Law = dict[int, float]
FUNCTIONS = np.array([[0, 0, 0], [0, 0, 1], [0, 1, 1], [1, 1, 1]], bool)
DATA = [(0, 0), (0, 1), (1, 1), (1, 1), (2, 0), (2, 1), (2, 0), (0, 0), (1, 0), (2, 0), (2, 0), (1, 1)]


def learn_repeatedly(
    learner: EmpiricalLearner, rng: np.random.Generator, games: int, allowed: np.ndarray | None = None
) -> np.ndarray:
    """(games,): the functions of `FUNCTIONS` that the learner finds for `DATA`, among those allowed."""
    zeros, ones = np.histogram2d(*np.transpose(DATA), bins=(3, 2))[0].astype(int).T
    mask = np.ones(len(FUNCTIONS), bool) if allowed is None else allowed
    return learner.learn(rng, FUNCTIONS, *(np.tile(row, (games, 1)) for row in (zeros, ones, mask)))


def choice(scores: Sequence[float], epsilon: float) -> list[float]:
    """The exponential mechanism's probabilities, for scores of sensitivity 1."""
    weights = [math.exp(epsilon * (s - max(scores)) / 2) for s in scores]
    return [w / sum(weights) for w in weights]


def errors(function: Sequence[bool], data: Sequence[tuple[int, int]]) -> int:
    return sum(int(function[x]) != y for x, y in data)


def learner_law(functions: np.ndarray, data: Sequence[tuple[int, int]], epsilon: float) -> Law:
    """The distribution of the function that the exponential mechanism chooses."""
    return dict(enumerate(choice([-errors(f, data) for f in functions], epsilon)))


def algorithm_4_law(functions: np.ndarray, data: Sequence[tuple[int, int]], rate: float, inner: float) -> Law:
    """The distribution of the result of Algorithm 4 with the exponential mechanism as inner learner."""
    size, drawn = len(data), math.ceil(rate * len(data))
    law = dict.fromkeys(range(len(functions)), 0.0)
    parts = list(itertools.combinations(range(size), drawn))
    for part in parts:
        points = [data[i][0] for i in part]
        labellings: dict[tuple[bool, ...], int] = {}
        for row, f in enumerate(functions):
            labellings.setdefault(tuple(bool(f[x]) for x in points), row)
        rows = list(labellings.values())

        def score(h: np.ndarray, points: list[int] = points) -> float:
            return min(sum(h[x] != f[x] for x in points) / drawn + errors(f, data) / size for f in functions)

        probabilities = choice([-size * score(functions[row]) for row in rows], rate)
        for row, probability in zip(rows, probabilities, strict=True):
            relabelled = [(x, int(functions[row][x])) for x in points]
            for end, mass in learner_law(functions, relabelled, inner).items():
                law[end] += probability * mass / len(parts)
    return law


def discriminator_law(
    functions: np.ndarray, points: Sequence[int], proposal: Sequence[float], alpha: float, epsilon: float
) -> Law:
    """The distribution of the answer, −1 for WIN; every step is `epsilon`-DP."""
    size, k = len(points), math.ceil(10 / alpha)
    means = [sum(bool(f[x]) for x in points) / size for f in functions]
    blocks: dict[int, list[int]] = {}
    for row, f in enumerate(functions):
        share = sum(p for p, one in zip(proposal, f, strict=True) if one)
        blocks.setdefault(max(1, math.ceil(k * share)), []).append(row)
    law = {-1: 0.0}
    best = [size * (max(means[row] for row in rows) - i / k) for i, rows in blocks.items()]
    for (i, rows), p in zip(blocks.items(), choice(best, epsilon), strict=True):
        for row, q in zip(rows, choice([size * means[row] for row in rows], epsilon), strict=True):
            exceeds = stats.laplace.sf(3 * alpha / 5 - means[row] + i / k, scale=1 / (epsilon * size))
            law[row] = p * q * exceeds
            law[-1] += p * q * (1 - exceeds)
    return law


def furthest(laws: Sequence[Law]) -> float:
    """The largest log ratio of two probabilities of one outcome."""
    table = np.log([[law[key] for key in sorted(laws[0])] for law in laws])
    return float((table.max(axis=0) - table.min(axis=0)).max())
