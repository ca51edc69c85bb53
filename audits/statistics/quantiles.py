"""Distribution-free confidence limits on quantiles, medians, means and proportions.

Derivation: docs/proofs/quantiles.md.
"""

from __future__ import annotations

import math
from functools import lru_cache

import attrs
import numpy as np

from audits.statistics.confidence_limits import clopper_pearson


def format_figure(figure: float, form: str) -> str:
    """A figure as text; a question mark stands for one that is not finite."""
    return f"{round(figure, 4) + 0.0:{form}}" if math.isfinite(figure) else "?"  # a sum of 0 may be -1e-17


@attrs.frozen(eq=False)
class Quantile:
    """A q-quantile at each of k marks, with confidence limits.

    Shapes: values, lower and upper (k,) float64; a limit is infinite where the games give none.
    """

    q: float
    values: np.ndarray
    lower: np.ndarray
    upper: np.ndarray

    def format(self, mark: int, form: str) -> str:
        """The value and its limits at a mark, as text."""
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
    """The q-quantile with limits, each at one-sided `level`.

    The value is the smallest one that at least a share q of the games does not exceed.

    Shapes: ordered (k, n), the values of n games at each mark, increasing.
    """
    games = ordered.shape[1]
    low, high = limit_ranks(games, q, level)
    padded = np.pad(ordered.astype(np.float64), ((0, 0), (1, 1)), constant_values=(-np.inf, np.inf))
    # q * games may be an integer that a product of floats misses by rounding.
    middle = max(1, math.ceil(q * games - 1e-9))
    return Quantile(q, padded[:, middle], padded[:, low], padded[:, high])


def lower_limit_of_mean(values: np.ndarray, minimum: float, error: float) -> float:
    """A lower limit on the mean, which holds with probability at least 1 − error.

    Shapes: values (n,), of n games, none below `minimum`. Source: Anderson (1969).
    """
    games = len(values)
    above = 1 - np.arange(games) / games - math.sqrt(math.log(1 / min(error, 0.5)) / (2 * games))
    gaps = np.diff(np.sort(values), prepend=minimum)
    return minimum + float(gaps @ np.maximum(above, 0))


@attrs.frozen(kw_only=True)
class MedianAndMean:
    """The median over games with confidence limits, and the mean; NaN if there are no games."""

    median: float
    lower: float
    upper: float
    mean: float

    @classmethod
    def of(cls, figures: np.ndarray, error: float) -> MedianAndMean:
        """Both limits hold together with probability at least 1 − error. Shapes: figures (n,), in [0, 1]."""
        if not len(figures):
            return cls(median=np.nan, lower=np.nan, upper=np.nan, mean=np.nan)
        limits = quantile(np.sort(figures)[None], 0.5, error / 2)
        lower, upper = max(0.0, float(limits.lower[0])), min(1.0, float(limits.upper[0]))
        return cls(median=float(limits.values[0]), lower=lower, upper=upper, mean=float(figures.mean()))

    def __str__(self) -> str:
        if np.isnan(self.median):
            return "?"
        return f"{self.median:.4f} ({self.lower:.4f} to {self.upper:.4f})"


@attrs.frozen(kw_only=True)
class Proportion:
    """The proportion of games in which something happened, with Clopper–Pearson limits on its probability."""

    value: float
    lower: float
    upper: float

    @classmethod
    def of(cls, happened: np.ndarray, error: float) -> Proportion:
        """Both limits hold together with probability at least 1 − error. Shapes: happened (n,) bool."""
        games, times = len(happened), np.count_nonzero(happened)
        lower, upper = clopper_pearson(np.array(times), games, error / 2)
        return cls(value=times / games, lower=float(lower), upper=float(upper))

    def __str__(self) -> str:
        return f"{self.value:.3f} ({self.lower:.3f} to {self.upper:.3f})"
