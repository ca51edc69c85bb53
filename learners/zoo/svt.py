"""The six sparse vector techniques: svt-1, which is correct, to svt-6, as numbered by Lyu, Su, Li,
Understanding the Sparse Vector Technique (2017). Query i is answered "above" (⊤) if q_i + ν_i >= T + ρ,
otherwise "below" (⊥)."""

from __future__ import annotations

from abc import abstractmethod
from math import comb, inf
from typing import Any, ClassVar

import attrs
import numpy as np
from numpy.random import Generator

from arena.errors import Unsupported
from arena.laws import Branches, Density, Finite
from arena.sample import Sample
from arena.settings import count_setting, less_than, more_than, setting
from learners.mechanisms.noise import (
    HiddenBelow,
    fine_laplace_nodes,
    laplace,
    laplace_between,
    laplace_cdf,
    laplace_density,
)
from learners.zoo.counting_queries import CountingLearner, QueryValues, queries_setting


def threshold_setting(default: float) -> Any:
    return setting(default, help="T, the threshold", unit="count", check=[more_than(-inf), less_than(inf)])


@attrs.frozen
class SvtLearner(CountingLearner):
    """Base of the learners that report which of m queries are above a noisy threshold: (n, m) int8, 1 for
    "above", 0 for "below", -1 for no answer."""

    one_number = False
    dtype: ClassVar[type[Any]] = np.int8

    queries: int = queries_setting(10)

    @property
    @abstractmethod
    def threshold(self) -> float:
        """T."""

    @property
    @abstractmethod
    def scales(self) -> tuple[float, float]:
        """The scales b of the noise Lap(b) of the threshold, ρ, and of a query, ν; 0 for none."""

    @property
    def threshold_scale(self) -> float:
        return self.scales[0]

    @property
    def noise_scale(self) -> float:
        return self.scales[1]

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
        """The probabilities (m, 2, t) of "below" and "above" given ρ at t nodes, and the nodes' weights
        (t,)."""
        rate = len(values) / self.noise_scale + 1 / self.threshold_scale
        nodes, weights = fine_laplace_nodes(self.threshold_scale, values - self.threshold, rate)
        margins = (values[:, None] - self.threshold - nodes) / self.noise_scale
        return np.stack([laplace_cdf(-margins), laplace_cdf(margins)], axis=1), weights


@attrs.frozen
class HaltingSvtLearner(SvtLearner):
    """Base of the learners that stop after c = `halts` answers "above"; renewed: whether ρ is then drawn
    afresh."""

    renewed: ClassVar[bool] = False

    halts: int = count_setting(1, help='c, the number of answers "above" after which it stops')
    threshold: float = threshold_setting(1.0)

    def answer(self, values: QueryValues, rng: Generator, out: np.ndarray) -> None:
        draws = min(self.halts, self.queries) if self.renewed else 1
        thresholds = self.draw_thresholds(rng, np.empty((draws, values.games)))
        out[:] = answer_until_halt(self.halts, self.add_noise(values, rng), thresholds).T

    def law(self, sample: Sample) -> Finite | Branches:
        """By a forward recursion over the queries with a quadrature over ρ. Raises: Unsupported if there are
        more than 16,384 sequences of answers."""
        probabilities, weights = self.answer_probabilities(self.counts(sample))
        return halting_law(probabilities, weights, self.halts, renewed=self.renewed)


def answer_until_halt(halts: int, noisy: np.ndarray, thresholds: np.ndarray) -> np.ndarray:
    """(m, k) integers: 1 where noisy queries (m, k) reach the threshold, 0 elsewhere, -1 after `halts` ones.

    thresholds: (1, k), or (halts, k), of which the next one is used after each 1.
    """
    halts = min(halts, len(noisy))
    small = np.min_scalar_type(-max(halts, 1) - 1)  # integers that take little memory
    left, answers = np.full(noisy.shape[1], halts, small), np.empty(noisy.shape, small)
    threshold, column = thresholds[0], np.arange(noisy.shape[1])
    for row, answer in zip(noisy, answers, strict=True):
        running = left > 0
        hit = (row >= threshold) & running
        np.add(hit, running, out=answer, dtype=answer.dtype)
        answer -= 1
        np.subtract(left, hit, out=left)
        if len(thresholds) > 1 and hit.any():
            threshold = thresholds[np.minimum(halts - left.astype(np.intp), halts - 1), column]
    return answers


@attrs.frozen
class Svt1(HaltingSvtLearner):
    """Sparse vector with ρ ~ Lap(2/ε), drawn once, and ν ~ Lap(4c/ε); stops after c answers "above".

    Algorithm 1 of Lyu, Su, Li (2017). The claim is ε, for any number of queries.
    """

    name = "svt-1"
    theorem = "Algorithm 1 of Lyu, Su, Li (2017), and the proof there"

    threshold: float = threshold_setting(0.5)

    @property
    def scales(self) -> tuple[float, float]:
        return 2 / self.epsilon, 4 * self.halts / self.epsilon


@attrs.frozen
class Svt2(HaltingSvtLearner):
    """Sparse vector with ρ ~ Lap(2c/ε), drawn afresh after each "above", and ν ~ Lap(4c/ε); stops after c.

    Dwork and Roth (2014), section 3.6; Algorithm 2 of Lyu, Su, Li (2017). The claim is ε, for any number of
    queries.
    """

    name = "svt-2"
    theorem = "Theorem 3.25 of The Algorithmic Foundations of Differential Privacy (Dwork, Roth 2014)"
    renewed = True

    @property
    def scales(self) -> tuple[float, float]:
        return 2 * self.halts / self.epsilon, 4 * self.halts / self.epsilon


_BELOW = -1000.0  # released for "below"
_UNANSWERED = -2000.0  # released for a query after the last halt


@attrs.frozen
class Svt3(HaltingSvtLearner):
    """Sparse vector with ρ ~ Lap(2/ε) and ν ~ Lap(2c/ε) that releases q_i + ν_i for "above"; stops after c.

    Roth, lecture notes (2011); Algorithm 3 of Lyu, Su, Li (2017). The error: a released value cannot be below
    the noisy threshold and so reveals it. It claims ε; with c = 1 the exact value is m·ε/2. Releases (n, m)
    float64: the value for "above", -1000 for "below", -2000 for a query that is not answered.
    """

    name = "svt-3"
    theorem = "none: the released value reveals the threshold; exactly m·ε/2 for one halt"
    dtype = np.float64

    @property
    def scales(self) -> tuple[float, float]:
        return 2 / self.epsilon, 2 * self.halts / self.epsilon

    def answer(self, values: QueryValues, rng: np.random.Generator, out: np.ndarray) -> None:
        thresholds = self.draw_thresholds(rng, np.empty((1, values.games)))
        noisy = self.add_noise(values, rng)
        answers = answer_until_halt(self.halts, noisy, thresholds)
        noisy *= self.noise_scale
        np.copyto(noisy, _BELOW, where=answers == 0)
        np.copyto(noisy, _UNANSWERED, where=answers == -1)
        out[:] = noisy.T

    def law(self, sample: Sample) -> Branches:
        """Branch i: it stopped at query i and released a value; the last: it never did."""
        if self.halts > 1:
            raise Unsupported(
                "svt-3 has an exact output distribution only for one halt",
                value=self.halts,
                remedy="Set halts=1.",
            )
        values = self.counts(sample)
        stops = (self._stop_density(values[: i + 1]) for i in range(len(values)))
        return Branches(parts=(*stops, self._all_below(values).total), read=_read)

    def _all_below(self, values: np.ndarray) -> HiddenBelow:
        return HiddenBelow.of(self.threshold_scale, values - self.threshold, self.noise_scale)

    def _stop_density(self, values: np.ndarray) -> Density:
        before, last = self._all_below(values[:-1]), laplace_density(values[-1], self.noise_scale)
        return Density(
            log=lambda x: last.log(x) + before.log(x - self.threshold),
            kinks=tuple(np.unique([*values, self.threshold])),
            low=last.low,
            high=last.high,
            scale=1 / (before.rate + 1 / self.noise_scale),
        )


def _read(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The query at which each of values (n, m) stopped, m if at none, -1 if that is impossible; and the
    value."""
    games, queries = values.shape
    above = (values != _BELOW) & (values != _UNANSWERED)
    stop = np.where(above.any(axis=1), above.argmax(axis=1), queries)
    after = np.arange(queries) - stop[:, None]
    possible = np.where(after < 0, values == _BELOW, (after == 0) | (values == _UNANSWERED)).all(axis=1)
    released = values[np.arange(games), np.minimum(stop, queries - 1)]
    return np.where(possible, stop, -1), released


@attrs.frozen
class Svt4(HaltingSvtLearner):
    """Sparse vector with ρ ~ Lap(4/ε), drawn once, and ν ~ Lap(4/(3ε)) for every c; stops after c answers
    "above".

    Lee and Clifton (2014); Algorithm 4 of Lyu, Su, Li (2017). The error: the noise of the queries is enough
    only for monotone queries and one "above". It claims ε; what holds is (1 + 6c)ε/4.
    """

    name = "svt-4"
    theorem = "none: too little noise on the queries; (1 + 6c)ε/4 holds (Lyu, Su, Li 2017)"

    @property
    def scales(self) -> tuple[float, float]:
        return 4 / self.epsilon, 4 / (3 * self.epsilon)


@attrs.frozen
class Svt5(SvtLearner):
    """Sparse vector with ρ ~ Lap(2/ε), drawn once, and no noise on the queries; never stops.

    Stoddard, Chen, Machanavajjhala (2014); Algorithm 5 of Lyu, Su, Li (2017). The error: different answers
    reveal which of two queries is larger. It claims ε, but no ε holds.
    """

    name = "svt-5"
    theorem = "none: no noise on the queries, whose order is revealed; infinite"

    threshold: float = threshold_setting(1.0)

    @property
    def scales(self) -> tuple[float, float]:
        return 2 / self.epsilon, 0.0

    def answer(self, values: QueryValues, rng: np.random.Generator, out: np.ndarray) -> None:
        thresholds = laplace(rng, np.empty(values.games))
        thresholds += self.threshold / self.threshold_scale
        out[:] = (values.rows(1 / self.threshold_scale) >= thresholds).T

    def law(self, sample: Sample) -> Finite:
        return noiseless_law((self.counts(sample) - self.threshold) / self.threshold_scale)


@attrs.frozen
class Svt6(SvtLearner):
    """Sparse vector with ρ ~ Lap(2/ε), drawn once, and ν ~ Lap(2/ε); never stops.

    Chen, Xiao, Zhang, Xu (2015); Algorithm 6 of Lyu, Su, Li (2017). The error: the number of answers "above"
    is not limited. It claims ε; the privacy loss grows with the number of queries, without bound.
    """

    name = "svt-6"
    theorem = "none: answers above the threshold are not limited; the loss grows with m without bound"

    threshold: float = threshold_setting(1.0)

    @property
    def scales(self) -> tuple[float, float]:
        return 2 / self.epsilon, 2 / self.epsilon

    def answer(self, values: QueryValues, rng: np.random.Generator, out: np.ndarray) -> None:
        thresholds = self.draw_thresholds(rng, np.empty(values.games))
        out[:] = (self.add_noise(values, rng) >= thresholds).T

    def law(self, sample: Sample) -> Finite:
        """Over 2^m sequences of answers. Raises: Unsupported if there are more than 16,384 of them."""
        return full_law(*self.answer_probabilities(self.counts(sample)))


_LARGEST_LAW = 2**14  # sequences of answers: an output distribution holds all of them


def halting_law(probabilities: np.ndarray, weights: np.ndarray, halts: int, *, renewed: bool) -> Finite:
    """The distribution of the answers when `halts` of them may be "above"; probabilities (m, 2, t) and
    weights (t,) as by `answer_probabilities`."""
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
    """The same when every query is answered; given ρ the two halves of the answers are independent."""
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
    """The distribution of the answers margins >= Lap(1), for margins (m,), without impossible answers."""
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
