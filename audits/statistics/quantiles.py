"""Distribution-free confidence limits on quantiles and means.

Derivation: docs/proofs/quantiles.md.
"""

from __future__ import annotations

import math
from functools import lru_cache

import attrs
import numpy as np


def format_figure(figure: float, form: str) -> str:
    """A figure as text; a question mark stands for one that is not finite."""
    return f"{round(figure, 4) + 0.0:{form}}" if math.isfinite(figure) else "?"  # a sum of 0 may be -1e-17


@attrs.frozen(eq=False)
class Quantile:
    """A q-quantile at k marks, with confidence limits, all (k,); infinite where the games give none."""

    q: float
    values: np.ndarray
    lower: np.ndarray
    upper: np.ndarray

    def format(self, mark: int, form: str) -> str:
        figures = (self.values, self.lower, self.upper)
        value, lower, upper = (format_figure(figure[mark], form) for figure in figures)
        return f"{value} ({lower} to {upper})"


@lru_cache(maxsize=64)
def limit_ranks(games: int, q: float, level: float) -> tuple[int, int]:
    """The ranks (r, s) of the order statistics that are limits at one-sided `level`; 0, n + 1 for none."""
    from scipy.stats import binom  # slow to import

    low, high = int(binom.ppf(level, games, q)), int(binom.isf(level, games, q)) + 1
    # ppf gives the first count whose probability is at least the level; the one below it is within the level.
    while low > 0 and binom.cdf(low - 1, games, q) > level:
        low -= 1
    while binom.sf(high - 1, games, q) > level:
        high += 1
    return low, min(high, games + 1)


def quantile(ordered: np.ndarray, q: float, level: float) -> Quantile:
    """The q-quantile with limits, each at one-sided `level`: the least value that a share q does not exceed.
    Shapes: ordered (k, n), the values of n games at each mark, increasing."""
    games = ordered.shape[1]
    low, high = limit_ranks(games, q, level)
    padded = np.pad(ordered.astype(np.float64), ((0, 0), (1, 1)), constant_values=(-np.inf, np.inf))
    # q * games may be an integer that a product of floats misses by rounding.
    middle = max(1, math.ceil(q * games - 1e-9))
    return Quantile(q, padded[:, middle], padded[:, low], padded[:, high])


def lower_limit_of_mean(values: np.ndarray, minimum: float, error: float) -> float:
    """A lower limit on the mean, which holds with probability at least 1 − error. Source: Anderson (1969).
    Shapes: values (n,), of n games, none below `minimum`."""
    games = len(values)
    above = 1 - np.arange(games) / games - math.sqrt(math.log(1 / min(error, 0.5)) / (2 * games))
    gaps = np.diff(np.sort(values), prepend=minimum)
    return minimum + float(gaps @ np.maximum(above, 0))
