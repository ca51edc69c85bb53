"""What the four noisy maxima share: two noises, two things to release, and the laws of both.

Noise is drawn in units of its scale b = 2/ε: argmax(q + b·Z) = argmax(q/b + Z).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import attrs
import numpy as np
from numpy.random import Generator

from arena.laws import Density, Finite
from arena.sample import Sample
from learners.mechanisms.noise.densities import (
    exponential_log_cdf,
    exponential_log_pdf,
    fine_laplace_nodes,
    laplace_log_cdf,
    laplace_log_pdf,
)
from learners.mechanisms.noise.laplace_noise import laplace
from learners.mechanisms.noise.quadrature import REACH
from learners.zoo.base import CountingLearner, Values, number_of_queries

Function = Callable[[np.ndarray], np.ndarray]


@attrs.frozen
class Noise:
    """A noise Z of scale 1.

    fill: fills an array. log_pdf, log_cdf: at numbers at or above `least`. least: the infimum of Z.
    """

    fill: Callable[[Generator, np.ndarray], np.ndarray]
    log_pdf: Function
    log_cdf: Function
    least: float


def _fill_exponential(rng: Generator, out: np.ndarray) -> np.ndarray:
    return rng.standard_exponential(out=out)


LAPLACE = Noise(laplace, laplace_log_pdf, laplace_log_cdf, -np.inf)
EXPONENTIAL = Noise(_fill_exponential, exponential_log_pdf, exponential_log_cdf, 0.0)


@attrs.frozen
class NoisyMax(CountingLearner):
    """Base of the learners that compare m noisy queries. `noise` has scale 2/ε."""

    noise: ClassVar[Noise]

    queries: int = number_of_queries(5)

    @property
    def scale(self) -> float:
        return 2 / self.epsilon

    def noisy(self, values: Values, rng: Generator) -> np.ndarray:
        """(m, k): the noisy queries, in units of the noise."""
        noisy = self.noise.fill(rng, np.empty((self.queries, values.games)))
        noisy += values.rows(1 / self.scale)
        return noisy


@attrs.frozen
class NoisyArgmax(NoisyMax):
    """Base of those that release which query is the largest, (n,) int64."""

    def room(self, games: int) -> np.ndarray:
        return np.empty(games, np.int64)

    def answer(self, values: Values, rng: Generator, out: np.ndarray) -> None:
        out[:] = argmax_of_rows(self.noisy(values, rng))

    def law(self, sample: Sample) -> Finite:
        return argmax_law(self.counts(sample) / self.scale, self.noise)


@attrs.frozen
class NoisyMaximum(NoisyMax):
    """Base of those that release the largest noisy query itself, (n,) float64."""

    def room(self, games: int) -> np.ndarray:
        return np.empty(games)

    def answer(self, values: Values, rng: Generator, out: np.ndarray) -> None:
        np.maximum.reduce(self.noisy(values, rng), axis=0, out=out)
        out *= self.scale

    def law(self, sample: Sample) -> Density:
        return maximum_law(self.counts(sample) / self.scale, self.noise, self.scale)


def argmax_of_rows(rows: np.ndarray) -> np.ndarray:
    """(k,): in which row of rows (m, k) each column has its maximum, the first of several."""
    best = rows[0].copy()
    place = np.zeros(len(best), np.min_scalar_type(len(rows)))
    better = np.empty(len(best), bool)
    step = np.empty_like(place)
    for index in range(1, len(rows)):
        np.greater(rows[index], best, out=better)
        np.maximum(rows[index], best, out=best)
        # The index grows, so the greater of the two is the later one: this spares a masked assignment.
        np.multiply(better, place.dtype.type(index), out=step)
        np.maximum(place, step, out=place)
    return place


def argmax_law(values: np.ndarray, noise: Noise) -> Finite:
    """The law of argmax(values + Z), by a quadrature of the winner's noise between its kinks; error 1e-14."""
    chances = []
    for index, value in enumerate(values):
        ahead = value - np.delete(values, index)
        nodes, weights = fine_laplace_nodes(1.0, -ahead, len(values))
        if noise.least == 0:
            weights = 2 * weights[nodes > 0]
            nodes = nodes[nodes > 0]
        others = nodes + ahead[:, None]
        wins = (others > noise.least).all(axis=0)
        beaten = noise.log_cdf(others[:, wins]).sum(axis=0)
        chances.append(weights[wins] @ np.exp(beaten))
    return Finite(np.arange(len(values)), np.array(chances))


def maximum_law(values: np.ndarray, noise: Noise, scale: float) -> Density:
    """The law of scale · max(values + Z): the sum over the winners i of f(x − q_i) Π_{j≠i} F(x − q_j)."""

    def log(x: np.ndarray) -> np.ndarray:
        u = x / scale - values[:, None]
        found = np.full(len(x), -np.inf)
        possible = (u > noise.least).all(axis=0)
        u = u[:, possible]
        below = noise.log_cdf(u)
        found[possible] = below.sum(axis=0) + _log_sum(noise.log_pdf(u) - below) - np.log(scale)
        return found

    top = values.max()
    return Density(
        log=log,
        kinks=tuple(scale * np.unique(values if noise.least < 0 else top)),
        low=scale * (top + max(noise.least, -REACH)),
        high=scale * (top + REACH + np.log(len(values))),
        scale=scale / len(values),
    )


def _log_sum(logs: np.ndarray) -> np.ndarray:
    """The log of the sum of the exponentials of logs (m, k), over m."""
    most = logs.max(axis=0)
    return most + np.log(np.exp(logs - most).sum(axis=0))
