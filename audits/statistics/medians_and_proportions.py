"""What games come to, with limits that rest on the games alone."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

from audits.statistics.confidence_limits import clopper_pearson
from audits.statistics.quantiles import quantile


@attrs.frozen(kw_only=True)
class MedianAndMean:
    """The median of a figure over games with limits, and its mean; NaN where no game has such a figure."""

    median: float
    lower: float
    upper: float
    mean: float

    @classmethod
    def of(cls, figures: np.ndarray, error: float) -> MedianAndMean:
        """Both limits together hold but for a chance of `error`. Shapes: figures (n,), of [0, 1]."""
        if not len(figures):
            return cls(median=np.nan, lower=np.nan, upper=np.nan, mean=np.nan)
        found = quantile(np.sort(figures)[None], 0.5, error / 2)
        lower, upper = max(0.0, float(found.lower[0])), min(1.0, float(found.upper[0]))
        return cls(median=float(found.values[0]), lower=lower, upper=upper, mean=float(figures.mean()))

    def as_json(self) -> dict[str, Any]:
        """Plain data; null stands for what is not known."""
        return {name: x if np.isfinite(x) else None for name, x in attrs.asdict(self).items()}

    def __str__(self) -> str:
        return (
            f"{self.median:.4f} ({self.lower:.4f} to {self.upper:.4f})" if np.isfinite(self.median) else "?"
        )


@attrs.frozen(kw_only=True)
class Proportion:
    """A share of games, and Clopper's and Pearson's limits on the chance."""

    value: float
    lower: float
    upper: float

    @classmethod
    def of(cls, happened: np.ndarray, error: float) -> Proportion:
        """Both limits together hold but for a chance of `error`. Shapes: happened (n,) bool, n ≥ 1."""
        games, times = len(happened), np.count_nonzero(happened)
        lower, upper = clopper_pearson(np.array(times), games, error / 2)
        return cls(value=times / games, lower=float(lower), upper=float(upper))

    def as_json(self) -> dict[str, float]:
        """Plain data."""
        return attrs.asdict(self)

    def __str__(self) -> str:
        return f"{self.value:.3f} ({self.lower:.3f} to {self.upper:.3f})"
