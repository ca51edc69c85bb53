"""Output distributions of the sparse vector techniques."""

from __future__ import annotations

from math import comb, inf

import numpy as np

from arena.errors import Unsupported
from arena.laws import Finite
from learners.mechanisms.noise import laplace_between

_LARGEST_LAW = 2**14  # sequences of answers: an output distribution holds all of them


def halting_law(probabilities: np.ndarray, weights: np.ndarray, halts: int, *, renewed: bool) -> Finite:
    """The distribution of the answers when `halts` of them may be "above".

    Shapes: probabilities (m, 2, t) of "below" and "above" at every query, given ρ at the nodes; weights (t,)
    of the nodes.
    """
    queries = len(probabilities)
    _check_size(sum(comb(queries, tops) for tops in range(min(halts, queries) + 1)))
    done: list[tuple[np.ndarray, float]] = []
    running = [(np.full(queries, -1.0), weights, halts)]
    for index, (no, yes) in enumerate(probabilities):
        extended = []
        for answers, mass, left in running:
            top, bottom = answers.copy(), answers.copy()
            top[index], bottom[index] = 1, 0
            above = mass * yes
            extended.append((bottom, mass * no, left))
            if left == 1:
                done.append((top, above.sum()))
            else:
                extended.append((top, weights * above.sum() if renewed else above, left - 1))
        running = extended
    done += [(answers, mass.sum()) for answers, mass, _ in running]
    return Finite(np.array([answers for answers, _ in done]), np.array([total for _, total in done]))


def full_law(probabilities: np.ndarray, weights: np.ndarray) -> Finite:
    """The distribution of the answers when every query is answered. Shapes as in `halting_law`.

    Given ρ the two halves of the answers are independent, so that their joint distribution is a matrix
    product.
    """
    queries = len(probabilities)
    _check_size(2.0**queries)
    halves = probabilities[: queries // 2], probabilities[queries // 2 :]
    first, second = (_sequence_probabilities(half) for half in halves)
    patterns = np.indices((2,) * queries).reshape(queries, -1).T
    # Not by BLAS: starting its threads takes longer than so small a product.
    return Finite(patterns.astype(float), np.einsum("at,bt->ab", first * weights, second).ravel())


def _sequence_probabilities(probabilities: np.ndarray) -> np.ndarray:
    """(2^m, t): the probability of every sequence of answers given ρ, those that begin with "below" first."""
    nodes = probabilities.shape[2]
    products = np.ones((1, nodes))
    for probability in probabilities:
        products = (products[:, None] * probability).reshape(-1, nodes)
    return products


def noiseless_law(margins: np.ndarray) -> Finite:
    """The distribution of the answers margins >= Lap(1), for margins (m,): exact, without impossible
    answers."""
    cuts = np.unique(margins)
    below = np.concatenate([[-inf], cuts])
    above = np.concatenate([cuts, [inf]])
    return Finite((margins >= above[:, None]).astype(float), laplace_between(below, above))


def _check_size(sequences: float) -> None:
    if sequences > _LARGEST_LAW:
        raise Unsupported(
            f"an output distribution may have at most {_LARGEST_LAW:,} sequences of answers",
            remedy="Ask fewer queries, or allow fewer halts.",
        )
