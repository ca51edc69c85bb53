"""Medians and proportions over games, with distribution-free confidence limits."""

from __future__ import annotations

import attrs
import numpy as np

from audits.statistics.estimates import clopper_pearson
from audits.statistics.quantiles import quantile


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
