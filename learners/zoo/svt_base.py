"""The base of the six sparse vector techniques: how they are played, and their output distributions.

Query i is answered "above" (⊤) if q_i + ν_i >= T + ρ, otherwise "below" (⊥); only the answers are released.
The numbering is that of Lyu, Su, Li, Understanding the Sparse Vector Technique for Differential Privacy
(2017).
"""

from __future__ import annotations

from abc import abstractmethod
from math import comb, inf
from typing import Any, ClassVar

import attrs
import numpy as np
from numpy.random import Generator

from arena.errors import Unsupported
from arena.laws import Branches, Finite
from arena.sample import Sample
from arena.settings import count_setting, less_than, more_than, setting
from learners.mechanisms.noise.densities import fine_laplace_nodes
from learners.mechanisms.noise.laplace_noise import laplace, laplace_between, laplace_cdf
from learners.zoo.base import CountingLearner, QueryValues, queries_setting

_LARGEST_LAW = 2**14  # sequences of answers: an output distribution holds all of them


def threshold_setting(default: float) -> Any:
    """The setting `threshold` with this default."""
    return setting(default, help="T, the threshold", unit="count", check=[more_than(-inf), less_than(inf)])


@attrs.frozen
class SvtLearner(CountingLearner):
    """Base of the learners that report which of m queries are above a noisy threshold.

    They release (n, m) int8: 1 for "above", 0 for "below", -1 for a query that is not answered.
    """

    queries: int = queries_setting(10)

    @property
    @abstractmethod
    def threshold(self) -> float:
        """T."""

    @property
    @abstractmethod
    def threshold_scale(self) -> float:
        """The scale b of the threshold's noise ρ ~ Lap(b)."""

    def allocate(self, games: int) -> np.ndarray:
        return np.empty((games, self.queries), np.int8)


@attrs.frozen
class NoisySvtLearner(SvtLearner):
    """Base of the learners that add noise to the queries as well."""

    @property
    @abstractmethod
    def noise_scale(self) -> float:
        """The scale b of a query's noise ν ~ Lap(b)."""

    def draw_thresholds(self, rng: Generator, out: np.ndarray) -> np.ndarray:
        """Fill `out` with independent draws of T + ρ, in units of the queries' noise."""
        laplace(rng, out, self.threshold_scale / self.noise_scale)
        out += self.threshold / self.noise_scale
        return out

    def add_noise(self, values: QueryValues, rng: Generator) -> np.ndarray:
        """(m, k): the noisy queries, in units of their noise."""
        noisy = laplace(rng, np.empty((self.queries, values.games)))
        noisy += values.rows(1 / self.noise_scale)
        return noisy

    def answer_probabilities(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The probabilities (m, 2, t) of "below" and "above" given ρ at t nodes, and the nodes' weights (t,).

        Shapes: values (m,).
        """
        rate = len(values) / self.noise_scale + 1 / self.threshold_scale
        nodes, weights = fine_laplace_nodes(self.threshold_scale, values - self.threshold, rate)
        margins = (values[:, None] - self.threshold - nodes) / self.noise_scale
        return np.stack([laplace_cdf(-margins), laplace_cdf(margins)], axis=1), weights


@attrs.frozen
class HaltingSvtLearner(NoisySvtLearner):
    """Base of the learners that stop after c = `halts` answers "above".

    renewed: whether the threshold's noise is drawn afresh after each "above".
    """

    renewed: ClassVar[bool] = False

    halts: int = count_setting(1, help='c, the number of answers "above" after which it stops')
    threshold: float = threshold_setting(1.0)

    def answer(self, values: QueryValues, rng: Generator, out: np.ndarray) -> None:
        draws = min(self.halts, self.queries) if self.renewed else 1
        thresholds = self.draw_thresholds(rng, np.empty((draws, values.games)))
        noisy = self.add_noise(values, rng)
        if draws == 1:
            out[:] = answer_until_halt(self.halts, noisy >= thresholds).T
        else:
            out[:] = _answer_renewing(noisy, thresholds).T

    def law(self, sample: Sample) -> Finite | Branches:
        """The output distribution, by a forward recursion over the queries with a quadrature over ρ.

        Raises: Unsupported if there are more than 16,384 sequences of answers.
        """
        probabilities, weights = self.answer_probabilities(self.counts(sample))
        return halting_law(probabilities, weights, self.halts, renewed=self.renewed)


# --- playing ------------------------------------------------------------------------------------------------


def answer_until_halt(halts: int, above: np.ndarray) -> np.ndarray:
    """(m, k) integers: 1 where `above` (m, k), 0 where not, -1 after `halts` times 1."""
    left, answers = _allocate_answers(min(halts, len(above)), above.shape)
    for row, answer in zip(above, answers, strict=True):
        _answer_query(row, left, answer)
    return answers


def _answer_renewing(noisy: np.ndarray, thresholds: np.ndarray) -> np.ndarray:
    """As `answer_until_halt`, for noisy queries (m, k) and thresholds (c, k), the next one after each
    "above"."""
    halts, games = thresholds.shape
    left, answers = _allocate_answers(halts, noisy.shape)
    column = np.arange(games)
    threshold = thresholds[0]
    for row, answer in zip(noisy, answers, strict=True):
        if _answer_query(row >= threshold, left, answer):
            used = np.minimum(halts - left.astype(np.intp), halts - 1)
            threshold = thresholds[used, column]
    return answers


def _allocate_answers(halts: int, shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """The answers "above" that each game has left (k,), and room for the answers (m, k), in the smallest
    integers."""
    small = np.min_scalar_type(-max(halts, 1) - 1)
    return np.full(shape[1], halts, small), np.empty(shape, small)


def _answer_query(above: np.ndarray, left: np.ndarray, answer: np.ndarray) -> bool:
    """Answer one query in all games and count down `left`; return whether any game answered "above"."""
    running = left > 0
    hit = above & running
    np.add(hit, running, out=answer, dtype=answer.dtype)
    answer -= 1
    np.subtract(left, hit, out=left)
    return bool(hit.any())


# --- output distributions -----------------------------------------------------------------------------------


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
