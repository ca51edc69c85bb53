"""What the six sparse vector techniques share: playing them in slabs, and their laws.

At query i the answer is ⊤ if q_i + ν_i >= T + ρ, else ⊥; only the answers are released. The numbering is that
of Lyu, Su, Li, Understanding the Sparse Vector Technique for Differential Privacy (2017).
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
from arena.settings import at_least, less_than, more_than, setting, whole
from learners.mechanisms.noise.densities import fine_laplace_nodes
from learners.mechanisms.noise.laplace_noise import laplace, laplace_between, laplace_cdf
from learners.zoo.base import CountingLearner, Values, number_of_queries

_MOST_PATTERNS = 2**14  # of a law, which holds all of them


@attrs.frozen
class SparseVector(CountingLearner):
    """Base of the learners that say which of m queries are above a noisy threshold.

    They release (n, m) float64: 1 for ⊤, 0 for ⊥, -1 for a query that is not answered any more.
    """

    queries: int = number_of_queries(10)

    @property
    @abstractmethod
    def threshold(self) -> float:
        """T."""

    @property
    @abstractmethod
    def hidden(self) -> float:
        """The b of the threshold's noise ρ ~ Lap(b)."""

    def room(self, games: int) -> np.ndarray:
        return np.empty((games, self.queries))


@attrs.frozen
class NoisySparseVector(SparseVector):
    """Base of those in which queries have noise as well."""

    @property
    @abstractmethod
    def scale(self) -> float:
        """The b of a query's noise ν ~ Lap(b)."""

    def thresholds(self, rng: Generator, out: np.ndarray) -> np.ndarray:
        """T + ρ, independent in every entry of `out`, in units of the queries' noise."""
        laplace(rng, out, self.hidden / self.scale)
        out += self.threshold / self.scale
        return out

    def noisy(self, values: Values, rng: Generator) -> np.ndarray:
        """(m, k): the noisy queries, in units of their noise."""
        noisy = laplace(rng, np.empty((self.queries, values.games)))
        noisy += values.rows(1 / self.scale)
        return noisy

    def given_threshold(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """For values (m,): the chances of ⊥ and ⊤ (m, 2, t) given ρ at t nodes, and the nodes' weights."""
        rate = len(values) / self.scale + 1 / self.hidden
        nodes, weights = fine_laplace_nodes(self.hidden, values - self.threshold, rate)
        margins = (values[:, None] - self.threshold - nodes) / self.scale
        return np.stack([laplace_cdf(-margins), laplace_cdf(margins)], axis=1), weights


@attrs.frozen
class HaltingSparseVector(NoisySparseVector):
    """Base of those that stop after c = `halts` answers ⊤.

    renewed: whether the threshold's noise is drawn afresh after each ⊤.
    """

    renewed: ClassVar[bool] = False

    halts: int = setting(1, help="c, the answers ⊤ after which it stops", check=[whole, at_least(1)])

    def answer(self, values: Values, rng: Generator, out: np.ndarray) -> None:
        draws = min(self.halts, self.queries) if self.renewed else 1
        limits = self.thresholds(rng, np.empty((draws, values.games)))
        noisy = self.noisy(values, rng)
        if draws == 1:
            out[:] = halted_after(self.halts, noisy >= limits).T
        else:
            out[:] = _renewed_answers(noisy, limits).T

    def law(self, sample: Sample) -> Finite | Branches:
        """Its law, by a forward recursion over answers with a quadrature of ρ.

        Raises: Unsupported if there are more than 16,384 strings of answers.
        """
        chances, weights = self.given_threshold(self.counts(sample))
        return halting_law(chances, weights, self.halts, renewed=self.renewed)


def threshold_setting(default: float) -> Any:
    """The setting `threshold`, by default `default`."""
    return setting(default, help="T, the threshold", unit="count", check=[more_than(-inf), less_than(inf)])


# --- playing ------------------------------------------------------------------------------------------------


def halted_after(halts: int, above: np.ndarray) -> np.ndarray:
    """(m, k) small whole numbers: 1 where `above` (m, k), 0 where not, -1 after `halts` of them."""
    left, answers = _budget(min(halts, len(above)), above.shape)
    for row, answer in zip(above, answers, strict=True):
        _answer(row, left, answer)
    return answers


def _renewed_answers(noisy: np.ndarray, limits: np.ndarray) -> np.ndarray:
    """As `halted_after` for noisy queries (m, k) and thresholds (c, k), the next one after each ⊤."""
    halts, games = limits.shape
    left, answers = _budget(halts, noisy.shape)
    column = np.arange(games)
    limit = limits[0]
    for row, answer in zip(noisy, answers, strict=True):
        if _answer(row >= limit, left, answer):
            used = np.minimum(halts - left.astype(np.intp), halts - 1)
            limit = limits[used, column]
    return answers


def _budget(halts: int, shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """How many ⊤ each game may still say (k,), and room for the answers (m, k), in the smallest integers."""
    small = np.min_scalar_type(-max(halts, 1) - 1)
    return np.full(shape[1], halts, small), np.empty(shape, small)


def _answer(above: np.ndarray, left: np.ndarray, answer: np.ndarray) -> bool:
    """Answer one query in all games and count the ⊤; return whether any game said ⊤."""
    on = left > 0
    hit = above & on
    np.add(hit, on, out=answer, dtype=answer.dtype)
    answer -= 1
    np.subtract(left, hit, out=left)
    return bool(hit.any())


# --- laws ---------------------------------------------------------------------------------------------------


def halting_law(chances: np.ndarray, weights: np.ndarray, halts: int, *, renewed: bool) -> Finite:
    """The law of the answers when `halts` of them may be ⊤.

    Shapes: chances (m, 2, t) of ⊥ and ⊤ at every query, given ρ at the nodes; weights (t,) of the nodes.
    """
    queries = len(chances)
    _few_enough(sum(comb(queries, tops) for tops in range(min(halts, queries) + 1)))
    done: list[tuple[np.ndarray, float]] = []
    going = [(np.full(queries, -1.0), weights, halts)]
    for index, (no, yes) in enumerate(chances):
        grown = []
        for answers, mass, left in going:
            top, bottom = answers.copy(), answers.copy()
            top[index], bottom[index] = 1, 0
            said = mass * yes
            grown.append((bottom, mass * no, left))
            if left == 1:
                done.append((top, said.sum()))
            else:
                grown.append((top, weights * said.sum() if renewed else said, left - 1))
        going = grown
    done += [(answers, mass.sum()) for answers, mass, _ in going]
    return Finite(np.array([answers for answers, _ in done]), np.array([chance for _, chance in done]))


def full_law(chances: np.ndarray, weights: np.ndarray) -> Finite:
    """The law of the answers when every query is answered. Shapes as in `halting_law`.

    Given ρ the two halves of the answers are independent, so that their joint law is a matrix product.
    """
    queries = len(chances)
    _few_enough(2.0**queries)
    first, second = (_strings(part) for part in (chances[: queries // 2], chances[queries // 2 :]))
    patterns = np.indices((2,) * queries).reshape(queries, -1).T
    # Not by BLAS, whose threads take longer to meet than so small a product takes alone.
    return Finite(patterns.astype(float), np.einsum("at,bt->ab", first * weights, second).ravel())


def _strings(chances: np.ndarray) -> np.ndarray:
    """(2^m, t): the chance of every string of answers given ρ, those that begin with ⊥ first."""
    nodes = chances.shape[2]
    found = np.ones((1, nodes))
    for chance in chances:
        found = (found[:, None] * chance).reshape(-1, nodes)
    return found


def noiseless_law(margins: np.ndarray) -> Finite:
    """The law of the answers margins >= Lap(1), for margins (m,): exact, and without the impossible ones."""
    cuts = np.unique(margins)
    below = np.concatenate([[-inf], cuts])
    above = np.concatenate([cuts, [inf]])
    return Finite((margins >= above[:, None]).astype(float), laplace_between(below, above))


def _few_enough(patterns: float) -> None:
    if patterns > _MOST_PATTERNS:
        raise Unsupported(
            f"a law over more than {_MOST_PATTERNS:,} strings of answers is not told",
            remedy="Ask fewer queries, or allow fewer halts.",
        )
