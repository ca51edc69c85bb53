"""The generator of the sanitiser: distributions that approach the data, one function at a time."""

from __future__ import annotations

import math

import numpy as np

from arena.errors import InvalidArgument


class ProposalGenerator:
    """Multiplicative weights over the points of the domain, starting from the uniform distribution.

    In place of the generator of Lemma D.8 of Li, Wang, Ye; the bound on its rounds has ln|D| for a domain D
    instead of the dual Littlestone dimension (docs/proofs/sanitiser.md).

    Shapes: distributions (n, points), one for each game.
    """

    def __init__(self, games: int, points: int, *, rate: float) -> None:
        self._rate = rate
        self._log_weights = np.zeros((games, points))

    @property
    def proposals(self) -> np.ndarray:
        """The distributions P, (n, points)."""
        weights = np.exp(self._log_weights)
        return weights / weights.sum(axis=1, keepdims=True)

    def update(self, games: np.ndarray, functions: np.ndarray) -> None:
        """In the games (r,), increase the weights of points where functions (r, points) are 1."""
        logs = self._log_weights[games] + self._rate * functions
        self._log_weights[games] = logs - logs.max(axis=1, keepdims=True)


def answers_bound(points: int, alpha: float, rate: float | None = None) -> int:
    """The largest number of functions that a correct discriminator answers before it answers WIN.

    rate: by default 2·alpha, which minimises the bound.
    Raises: InvalidArgument if the rate is not between 0 and 4·alpha, where there is no bound.

    >>> answers_bound(32, 0.2)
    173
    """
    rate = 2 * alpha if rate is None else rate
    decrease = rate * alpha / 2 - rate**2 / 8
    if not decrease > 0:
        raise InvalidArgument("rate must be more than 0 and less than 4·alpha", value=rate)
    return math.floor(math.log(points) / decrease)
