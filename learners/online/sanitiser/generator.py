"""The generator of sequential fooling: distributions that approach the data, function by function."""

from __future__ import annotations

import math

import numpy as np

from arena.errors import InvalidArgument


class Generator:
    """Multiplicative weights over the points of the domain, from the uniform distribution on.

    Lemma D.8 of Li, Wang, Ye has a generator of Bousquet, Livni, Moran (2020), whose rounds are bounded by
    the dual Littlestone dimension. On a finite domain D this one is simpler, and what Hardt, Ligett, McSherry
    (2012) run: a deviation, with ln|D| in the dimension's place.

    **Rounds.** Let KL be the relative entropy of the data's distribution to P, at first ln|D| at most. A
    function h whose mean on the data exceeds that under P by alpha/2 multiplies P by exp(rate·h), which
    lowers KL by rate·alpha/2 − ln(mean of exp(rate·(h − P(h)))) ≥ rate·alpha/2 − rate²/8 (Hoeffding's lemma).
    At rate = 2·alpha that is alpha²/2, so that there are at most 2·ln|D|/alpha² such functions
    (`most_updates`).

    Shapes: distributions (n, points), one a game.
    """

    def __init__(self, games: int, points: int, *, rate: float) -> None:
        self._rate = rate
        self._log_weights = np.zeros((games, points))

    @property
    def proposals(self) -> np.ndarray:
        """(n, points): the distributions P."""
        weights = np.exp(self._log_weights)
        return weights / weights.sum(axis=1, keepdims=True)

    def update(self, games: np.ndarray, functions: np.ndarray) -> None:
        """In these games (r,) weigh the points more where functions (r, points) are 1."""
        moved = self._log_weights[games] + self._rate * functions
        self._log_weights[games] = moved - moved.max(axis=1, keepdims=True)


def most_updates(points: int, alpha: float, rate: float | None = None) -> int:
    """How many functions a discriminator that is right answers at most, before it answers WIN.

    rate: by default 2·alpha, at which they are fewest.
    Raises: InvalidArgument if the rate is so large that nothing bounds them.

    >>> most_updates(32, 0.2)
    173
    """
    rate = 2 * alpha if rate is None else rate
    gain = rate * alpha / 2 - rate**2 / 8
    if not gain > 0:
        raise InvalidArgument("rate must be more than 0 and less than 4·alpha", value=rate)
    return math.floor(math.log(points) / gain)
