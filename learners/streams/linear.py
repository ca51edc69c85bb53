"""linear-stream: sums of a stream with correlated Gaussian noise, by any factorisation."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import attrs
import numpy as np

from arena.claims import Claim, Neighbours, read_relation
from arena.errors import Unsupported
from arena.laws import GaussianVector
from arena.privacy_curves import GaussianCurve
from arena.settings import at_least, count_setting, more_than, one_of, setting, whole
from learners.mechanisms.factorisations import FACTORISATIONS, ROOT, Factorisation, factorise
from learners.mechanisms.noise import gaussian_delta, gaussian_sigma
from learners.streams.base import StreamLearner, claim_for_stream

_CHUNK = 64  # rounds whose noise is made together


@attrs.frozen
class LinearStream(StreamLearner):
    """Publishes L·(C·x + z), z ~ N(0, σ²): the sum of all records in [0, 1] so far, or of the last `window`.

    A record moves C·x by at most the length of a column of C. The largest, over σ, is the exact μ of the
    view, for fixed and for adaptive streams (`learners.mechanisms.factorisations`). By default σ is the least
    for (ε, δ). If k records of a user may differ, the length is bounded: `Factorisation.sensitivity`.
    """

    name = "linear-stream"
    theorem = (
        "Theorem 2.1 of Denisov and others, Improved DP for SGD via Optimal Private Linear Operators (2022)"
    )

    factorisation: str = setting(
        ROOT, help="of the sums: " + ", ".join(FACTORISATIONS), check=one_of(*FACTORISATIONS)
    )
    window: int | None = setting(
        None, help="records that are summed, the last ones; default: all", check=[whole, at_least(1)]
    )
    bands: int = count_setting(8, help="of the encoder, if it is banded")
    epsilon: float = setting(1.0, unit="nats", help="the ε of the claim")
    delta: float = setting(1e-5, unit="probability", help="the δ to which σ is calibrated")
    sigma: float | None = setting(
        None, unit="records", help="σ of the noise z; default: calibrated to ε and δ", check=more_than(0)
    )

    @property
    def matrices(self) -> Factorisation:
        return factorise(self.factorisation, self.rounds, window=self.window, bands=self.bands)

    @property
    def sensitivity(self) -> float:
        """The L2 distance between C·x of neighbours, at most."""
        relation = read_relation(self.neighbours)
        if relation.kind is Neighbours.ADD_OR_REMOVE_USER:
            raise Unsupported(
                f"{self.name} does not know whose a number is",
                remedy='Use neighbours="replace a group of K".',
            )
        return _find_sensitivity(self.matrices, relation.size)

    @property
    def noise(self) -> float:
        """The standard deviation of the noise z."""
        if self.sigma is not None:
            return self.sigma
        return gaussian_sigma(epsilon=self.epsilon, delta=self.delta, sensitivity=self.sensitivity)

    @property
    def claim(self) -> Claim:
        sigma, sensitivity = self.noise, self.sensitivity
        delta = gaussian_delta(epsilon=self.epsilon, sigma=sigma, sensitivity=sensitivity)
        curve = GaussianCurve(sensitivity / sigma)
        return claim_for_stream(self.epsilon, delta, neighbours=self.neighbours, curve=curve)

    def law(self, sample: Any) -> GaussianVector:
        """Of the releases for a stream (k,)."""
        k, matrices = len(sample), self.matrices
        mean = matrices.encoder[:k, :k] @ np.asarray(sample, float)
        return GaussianVector(mean, self.noise, matrices.decoder[:k, :k])

    def open(self, games: int, rng: np.random.Generator) -> SummingStream:
        return SummingStream(self.draw_noise(games, rng), self.window, games)

    def draw_noise(self, games: int, rng: np.random.Generator) -> CorrelatedNoise:
        """The noise L·z of the rounds, one after the other."""
        return CorrelatedNoise(self.matrices.decoder, self.noise, games, rng)


@lru_cache(maxsize=256)
def _find_sensitivity(matrices: Factorisation, rounds: int) -> float:
    return matrices.sensitivity(rounds)


class CorrelatedNoise:
    """σ·L·z for n games, row by row. Rows are made in chunks, each from all z so far."""

    def __init__(self, decoder: np.ndarray, sigma: float, games: int, rng: np.random.Generator) -> None:
        self._decoder, self._sigma, self._rng = decoder, sigma, rng
        self._z = np.empty((len(decoder), games))
        self._rows = np.empty((0, games))
        self._next = 0

    def draw(self) -> np.ndarray:
        """(n,): the noise of the next round."""
        place = self._next % _CHUNK
        if not place:
            start, end = self._next, min(self._next + _CHUNK, len(self._decoder))
            fresh = self._rng.standard_normal(out=self._z[start:end])
            fresh *= self._sigma
            self._rows = self._decoder[start:end, :end] @ self._z[:end]
        self._next += 1
        return np.asarray(self._rows[place])


class SummingStream:
    """The sums of all records so far, or of those in the window, with noise."""

    def __init__(self, noise: CorrelatedNoise, window: int | None, games: int) -> None:
        self._noise, self._window = noise, window
        self._sums = np.zeros(games)
        self._last: list[np.ndarray] = []

    def __call__(self, records: np.ndarray) -> np.ndarray:
        self._sums += records
        if self._window is not None:
            self._last.append(records)
            if len(self._last) > self._window:
                self._sums -= self._last.pop(0)
        return np.asarray(self._sums + self._noise.draw())
