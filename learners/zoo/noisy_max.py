"""The four variants of report noisy max: Laplace or exponential noise, and the index or the value released.

Algorithms 5 to 8 of Ding, Wang, Wang, Zhang, Kifer, Detecting Violations of Differential Privacy (2018).
Noise is drawn in units of its scale b = 2/ε, since argmax(q + b·Z) = argmax(q/b + Z).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import attrs
import numpy as np
from numpy.random import Generator

from arena.laws import Density, Finite
from arena.sample import Sample
from learners.mechanisms.noise import (
    REACH,
    fine_laplace_nodes,
    laplace,
    laplace_log_cdf,
    laplace_log_pdf,
)
from learners.zoo.counting_queries import CountingLearner, QueryValues, queries_setting

Function = Callable[[np.ndarray], np.ndarray]


@attrs.frozen
class UnitNoise:
    """A noise distribution of scale 1, of Z: `fill` fills an array with draws; log_pdf, log_cdf from its
    `infimum` on."""

    fill: Callable[[Generator, np.ndarray], np.ndarray]
    log_pdf: Function
    log_cdf: Function
    infimum: float


LAPLACE = UnitNoise(laplace, laplace_log_pdf, laplace_log_cdf, -np.inf)
EXPONENTIAL = UnitNoise(
    lambda rng, out: rng.standard_exponential(out=out), lambda u: -u, lambda u: np.log(-np.expm1(-u)), 0.0
)


@attrs.frozen
class NoisyMax(CountingLearner):
    """Base of the learners that compare m noisy queries."""

    noise: ClassVar[UnitNoise]

    queries: int = queries_setting(5)

    @property
    def noise_scale(self) -> float:
        """The scale of the noise of a query, 2/ε."""
        return 2 / self.epsilon

    def add_noise(self, values: QueryValues, rng: Generator) -> np.ndarray:
        """(m, k): the noisy queries, in units of the noise scale."""
        noisy = self.noise.fill(rng, np.empty((self.queries, values.games)))
        noisy += values.rows(1 / self.noise_scale)
        return noisy


@attrs.frozen
class NoisyArgmax(NoisyMax):
    """Base of the learners that release the index of the largest noisy query, (n,) int64."""

    dtype = np.int64

    def answer(self, values: QueryValues, rng: Generator, out: np.ndarray) -> None:
        out[:] = argmax_of_rows(self.add_noise(values, rng))

    def law(self, sample: Sample) -> Finite:
        return argmax_law(self.counts(sample) / self.noise_scale, self.noise)


@attrs.frozen
class NoisyMaximum(NoisyMax):
    """Base of the learners that release the value of the largest noisy query, (n,) float64."""

    def answer(self, values: QueryValues, rng: Generator, out: np.ndarray) -> None:
        np.maximum.reduce(self.add_noise(values, rng), axis=0, out=out)
        out *= self.noise_scale

    def law(self, sample: Sample) -> Density:
        return maximum_law(self.counts(sample) / self.noise_scale, self.noise, self.noise_scale)


@attrs.frozen
class ReportNoisyMax1(NoisyArgmax):
    """The index of the largest query, with Laplace noise: releases argmax_i (q_i + Lap(2/ε)).

    Algorithm 5 of Ding et al. (2018). The scale is 2/ε because one example may raise some queries and lower
    others.
    """

    name = "report-noisy-max-1"
    theorem = "report noisy max (Dwork and Roth 2014, Claim 3.9, at sensitivity 1 in both directions)"
    noise = LAPLACE


@attrs.frozen
class ReportNoisyMax2(NoisyArgmax):
    """The index of the largest query, with exponential noise: releases argmax_i (q_i + Exp(2/ε)).

    Algorithm 6 of Ding et al. (2018). Exp(b) has mean b. The claim ε is exact.
    """

    name = "report-noisy-max-2"
    theorem = "report noisy max with exponential noise (Dwork and Roth 2014, section 3.3); tight"
    noise = EXPONENTIAL


@attrs.frozen
class ReportNoisyMax3(NoisyMaximum):
    """The value of the largest noisy query, with Laplace noise: releases max_i (q_i + Lap(2/ε)).

    Algorithm 7 of Ding et al. (2018). The error: the proof is about the index. It claims ε; the exact value
    is m·ε/2.
    """

    name = "report-noisy-max-3"
    theorem = "none: the value is released instead of the index; exactly m·ε/2"
    noise = LAPLACE


@attrs.frozen
class ReportNoisyMax4(NoisyMaximum):
    """The value of the largest noisy query, with exponential noise: releases max_i (q_i + Exp(2/ε)).

    Algorithm 8 of Ding et al. (2018). The error: the value is never below the largest query, and the proof is
    about the index. It claims ε, but no ε holds.
    """

    name = "report-noisy-max-4"
    theorem = "none: the value is released instead of the index, and its support reveals the data; infinite"
    noise = EXPONENTIAL


def argmax_of_rows(rows: np.ndarray) -> np.ndarray:
    """(k,): the row of rows (m, k) in which each column has its maximum, the first of several."""
    best = rows[0].copy()
    argmax = np.zeros(len(best), np.min_scalar_type(len(rows)))
    better = np.empty(len(best), bool)
    candidate = np.empty_like(argmax)
    for index in range(1, len(rows)):
        np.greater(rows[index], best, out=better)
        np.maximum(rows[index], best, out=best)
        # Later indices are greater, so a maximum replaces a masked assignment, which would be slower.
        np.multiply(better, argmax.dtype.type(index), out=candidate)
        np.maximum(argmax, candidate, out=argmax)
    return argmax


def argmax_law(values: np.ndarray, noise: UnitNoise) -> Finite:
    """The distribution of argmax(values + Z), by quadrature over the winner's noise, to 1e-14."""
    probabilities = []
    for index, value in enumerate(values):
        ahead = value - np.delete(values, index)
        nodes, weights = fine_laplace_nodes(1.0, -ahead, len(values))
        if noise.infimum == 0:
            weights = 2 * weights[nodes > 0]
            nodes = nodes[nodes > 0]
        limits = nodes + ahead[:, None]  # the winner wins if the noise of each other query is below its limit
        possible = (limits > noise.infimum).all(axis=0)
        log_wins = noise.log_cdf(limits[:, possible]).sum(axis=0)
        probabilities.append(weights[possible] @ np.exp(log_wins))
    return Finite(np.arange(len(values)), np.array(probabilities))


def maximum_law(values: np.ndarray, noise: UnitNoise, scale: float) -> Density:
    """The density of scale · max(values + Z): the sum over winners i of f(x − q_i) Π_{j≠i} F(x − q_j)."""

    def log_density(x: np.ndarray) -> np.ndarray:
        u = x / scale - values[:, None]
        logs = np.full(len(x), -np.inf)
        possible = (u > noise.infimum).all(axis=0)
        u = u[:, possible]
        below = noise.log_cdf(u)
        logs[possible] = below.sum(axis=0) + _log_sum(noise.log_pdf(u) - below) - np.log(scale)
        return logs

    top = values.max()
    return Density(
        log=log_density,
        kinks=tuple(scale * np.unique(values if noise.infimum < 0 else top)),
        low=scale * (top + max(noise.infimum, -REACH)),
        high=scale * (top + REACH + np.log(len(values))),
        scale=scale / len(values),
    )


def _log_sum(logs: np.ndarray) -> np.ndarray:
    largest = logs.max(axis=0)
    return largest + np.log(np.exp(logs - largest).sum(axis=0))
