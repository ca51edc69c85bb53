"""Limits on a quantile, and on the mean, that rest on the games alone, whatever their law.

Let X_(1) <= ... <= X_(n) be the figures of n independent games, and x a q-quantile of their law: at least q
of it lies at or below x, and at most q below. X_(r) > x says that fewer than r games are at or below x, and
X_(s) < x that at least s games are below it. The numbers of such games are binomial with a chance of at least
and at most q. Hence, with B binomial of n and q,

    P[X_(r) > x] <= P[B <= r - 1],    P[X_(s) < x] <= P[B >= s],

with equality where the law has no jumps. The largest r and the least s that keep each within a level are the
ranks of the limits. If there is no such r or s among 1..n, so few games say nothing on that side.

The mean of figures that are at least m is m plus the integral of 1 - F(x) over x >= m, F their distribution
function. With probability 1 - a, F is nowhere more than e = sqrt(ln(1/a) / (2n)) above that of the n games
(Dvoretzky, Kiefer and Wolfowitz, with Massart's constant, for a <= 1/2); with F as large as that allows, the
integral is a lower limit on the mean (Anderson 1969). It needs no upper limit on the figures, and is never
below Hoeffding's.
"""

from __future__ import annotations

import math
from typing import Any

import attrs
import numpy as np


@attrs.frozen(eq=False)
class Quantile:
    """The q-quantile of a figure at each mark, and limits on it.

    Shapes: values, lower and upper (k,) float64; a limit is infinite where the games give none.
    """

    q: float
    values: np.ndarray
    lower: np.ndarray
    upper: np.ndarray

    def as_json(self) -> dict[str, Any]:
        """Null stands for a limit that the games do not give."""
        names = ("values", "lower", "upper")
        rows = {
            name: [x if math.isfinite(x) else None for x in getattr(self, name).tolist()] for name in names
        }
        return {"q": self.q, **rows}


def ranks(games: int, q: float, level: float) -> tuple[int, int]:
    """(r, s) such that X_(r) and X_(s) are limits, each at one-sided `level`; 0 and n + 1 where none is."""
    from scipy.stats import binom  # slow to import

    low, high = int(binom.ppf(level, games, q)), int(binom.isf(level, games, q)) + 1
    # ppf finds the first count whose chance is at least the level; one below is certain to be within it.
    while low > 0 and binom.cdf(low - 1, games, q) > level:
        low -= 1
    while binom.sf(high - 1, games, q) > level:
        high += 1
    return low, min(high, games + 1)


def quantile(ordered: np.ndarray, q: float, level: float) -> Quantile:
    """The q-quantile and limits on it, each at one-sided `level`.

    It is the least figure that at least a share q of the games does not exceed.

    Shapes: ordered (k, n), the figures of n games at each mark in increasing order.
    """
    games = ordered.shape[1]
    low, high = ranks(games, q, level)
    padded = np.pad(ordered.astype(np.float64), ((0, 0), (1, 1)), constant_values=(-np.inf, np.inf))
    # A share q of the games is a whole number of them at times, which a product of floats may miss by a hair.
    middle = max(1, math.ceil(q * games - 1e-9))
    return Quantile(q, padded[:, middle], padded[:, low], padded[:, high])


def lower_limit_of_mean(figures: np.ndarray, least: float, error: float) -> float:
    """What the mean is at least, but for a chance of `error`.

    Shapes: figures (n,), of n games, none of them below `least`.
    """
    games = len(figures)
    above = 1 - np.arange(games) / games - math.sqrt(math.log(1 / min(error, 0.5)) / (2 * games))
    gaps = np.diff(np.sort(figures), prepend=least)
    return least + float(gaps @ np.maximum(above, 0))
