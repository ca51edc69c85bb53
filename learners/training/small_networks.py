"""Linear models and networks with one hidden layer, for many games at once, with a gradient per example."""

from __future__ import annotations

from collections.abc import Callable

import attrs
import numpy as np
from scipy.special import expit

LOGISTIC, SQUARED = LOSSES = ("logistic", "squared")


@attrs.frozen
class SmallNetwork:
    """f(x) = w·x, or v·tanh(x·W) with hidden units, and a loss of f(x) and the label 0 or 1.

    loss: "logistic", −ln of the probability 1/(1 + e^(−f)) of the label; "squared", (f − y)²/2. Parameters of
    n games are (n, P): w, or W row by row and then v. There is no intercept: add a coordinate that is 1.
    """

    features: int
    hidden: int = 0
    loss: str = LOGISTIC

    @property
    def size(self) -> int:
        """P, the number of parameters."""
        return self.features if not self.hidden else (self.features + 1) * self.hidden

    def predict(self, parameters: np.ndarray, x: np.ndarray) -> np.ndarray:
        """(n, k): f at points x, (k, d) for all games or (n, k, d)."""
        if not self.hidden:
            return _apply(x, parameters[:, :, None])[:, :, 0]
        first, second = self._split(parameters)
        return np.asarray(np.tanh(_apply(x, first)) @ second[:, :, None])[:, :, 0]

    def losses(self, parameters: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """(n, k): the losses of examples (x, y), y (k,) or (n, k)."""
        f = self.predict(parameters, x)
        if self.loss == SQUARED:
            return (f - y) ** 2 / 2
        return np.asarray(np.logaddexp(0.0, f) - y * f)

    def gradients(
        self, parameters: np.ndarray, x: np.ndarray, y: np.ndarray, lengths: np.ndarray | None = None
    ) -> tuple[np.ndarray, Callable[[np.ndarray], np.ndarray]]:
        """The norms (n, k) of the gradients of single examples, and a function from weights (n, k) to their
        weighted sums (n, P), so that no single gradient is stored.

        lengths: the squared lengths of the points, if known. Shapes: x (k, d) or (n, k, d); y and lengths
        (k,) or (n, k).
        """
        if lengths is None:
            lengths = np.einsum("...d,...d->...", x, x)
        if not self.hidden:
            slope = self._slope(self.predict(parameters, x), y)
            norms = np.abs(slope) * np.sqrt(lengths)
            return norms, lambda weights: _combine(x, weights * slope)
        first, second = self._split(parameters)
        active = np.tanh(_apply(x, first))
        slope = self._slope((active @ second[:, :, None])[:, :, 0], y)
        inner = second[:, None, :] * (1 - active**2)
        squares = (active**2).sum(axis=2) + lengths * (inner**2).sum(axis=2)

        def add(weights: np.ndarray) -> np.ndarray:
            scaled = weights * slope
            to_first = np.swapaxes(_broadcast(x, len(weights)), 1, 2) @ (scaled[:, :, None] * inner)
            to_second = np.einsum("nk,nkh->nh", scaled, active)
            return np.concatenate(
                [to_first.reshape(len(weights), self.features * self.hidden), to_second], axis=1
            )

        return np.abs(slope) * np.sqrt(squares), add

    def start(self, games: int, rng: np.random.Generator) -> np.ndarray:
        """(games, P): parameters to begin with, 0 for linear models and random for hidden units."""
        if not self.hidden:
            return np.zeros((games, self.size))
        return rng.standard_normal((games, self.size)) / np.sqrt(self.features)

    def _slope(self, f: np.ndarray, y: np.ndarray) -> np.ndarray:
        return (expit(f) if self.loss == LOGISTIC else f) - y

    def _split(self, parameters: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        cut = self.features * self.hidden
        first = parameters[:, :cut].reshape(len(parameters), self.features, self.hidden)
        return first, parameters[:, cut:]


def _apply(x: np.ndarray, matrices: np.ndarray) -> np.ndarray:
    if x.ndim == 3:
        return np.asarray(x @ matrices)
    games, features, width = matrices.shape
    together = x @ np.swapaxes(matrices, 0, 1).reshape(features, games * width)
    return np.swapaxes(together.reshape(len(x), games, width), 0, 1)


def _combine(x: np.ndarray, weights: np.ndarray) -> np.ndarray:
    return np.asarray(weights @ x if x.ndim == 2 else (weights[:, None, :] @ x)[:, 0])


def _broadcast(x: np.ndarray, games: int) -> np.ndarray:
    return x if x.ndim == 3 else np.broadcast_to(x, (games, *x.shape))
