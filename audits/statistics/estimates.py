"""What estimators are: each reads the games of an audit block by block, and gives rows for its report.

Each row is right with the stated confidence by itself: choose the one to quote before the games.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import attrs
import numpy as np

from arena.privacy_curves import PrivacyCurve
from arena.settings import at_least, at_most, less_than, more_than
from audits.statistics.score_pairs import PairCounts

_SYMBOLS = {"epsilon": "ε", "delta": "δ", "mu": "μ"}
TRADE_OFF = "trade_off"  # in the details of a row that has a trade-off curve
FIXED_SIZE = "a fixed number of games"
TOO_FEW = "too few games: perfectly separated worlds would certify no more"
NOTHING_CERTIFIED = "these games certify no privacy loss"


@attrs.frozen(kw_only=True)
class EstimatorContext:
    """What an estimator knows of an audit: δ, ε (nats) and curve of the claim; games, the pairs that it will
    see, fixed beforehand; games_planned, those of the whole audit, the first of which may train a
    distinguisher; seed, of its own random numbers; paired, whether the games of a pair may be dependent."""

    delta: float = attrs.field(validator=[at_least(0), at_most(1)])
    confidence: float = attrs.field(validator=[more_than(0), less_than(1)])
    games: int = attrs.field(validator=at_least(1))
    games_planned: int = attrs.field()
    epsilon: float | None = attrs.field(default=None, validator=attrs.validators.optional(at_least(0)))
    curve: PrivacyCurve | None = None
    seed: int = 0
    paired: bool = False

    @games_planned.default
    def _plan_all(self) -> int:
        return self.games


@attrs.frozen(kw_only=True)
class Estimate:
    """One figure of one method, a row of a report.

    quantity: "epsilon" (nats), "delta" or "mu". value: None, with a reason, if there is no finite figure.
    certified: whether it is a lower bound without assumptions on the mechanism.
    title: the method for newcomers. assumes: of the audit. details: further figures, for JSON and charts.
    """

    method: str
    quantity: str
    value: float | None
    certified: bool = True
    reason: str = ""
    title: str = attrs.field()
    assumes: str = FIXED_SIZE
    details: Mapping[str, Any] = attrs.field(factory=dict)

    @title.default
    def _repeat_method(self) -> str:
        return self.method

    def __str__(self) -> str:
        if self.value is None:
            return self.reason
        sign = "≥" if self.certified else "="
        note = f" ({self.reason})" if self.reason else ""
        unit = " nats" if self.quantity == "epsilon" else ""
        return f"{_SYMBOLS[self.quantity]} {sign} {self.value:.4g}{unit}{note}"


def estimate_epsilon(method: str, epsilon: float | None, **more: Any) -> Estimate:
    """A certified ε in nats as a row; None if the games are not those that were fixed beforehand."""
    reason = "not available: too few blocks, or a number of games that was not fixed beforehand"
    if epsilon is not None:
        reason = "" if epsilon > 0 else NOTHING_CERTIFIED
    return Estimate(method=method, quantity="epsilon", value=epsilon, reason=reason, **more)


class Estimator(ABC):
    """A statistic of an audit. Its figures hold after `context.games` pairs, a number fixed beforehand.
    A learned distinguisher does not reach it before it is final. pairs: the number of pairs seen."""

    def __init__(self, context: EstimatorContext) -> None:
        self.context = context
        self.pairs = 0

    @property
    def complete(self) -> bool:
        """Whether all games were seen that were fixed beforehand."""
        return self.pairs == self.context.games

    def update(self, block: PairCounts) -> None:
        """Use the next block of games."""
        self.pairs += block.pairs
        self.add(block)

    @abstractmethod
    def add(self, block: PairCounts) -> None:
        """Count the next block of games."""

    @abstractmethod
    def rows(self) -> list[Estimate]:
        """The figures after the last block, or why there are none."""

    def explain_wrong_number(self) -> str:
        """Why there is no figure of a fixed number of games."""
        games, pairs = self.context.games, self.pairs
        return f"holds only after {games:,} pairs, as fixed beforehand; {pairs:,} were played"


def clopper_pearson(
    counts: np.ndarray, pairs: int | np.ndarray, level: float | np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The lower and upper Clopper–Pearson limits, each at one-sided `level`, for counts among `pairs` games.
    Arrays of any one shape; counts need not be integers, so that expected counts may be used."""
    from scipy.special import betainccinv, betaincinv  # slow to import

    hits, misses = np.maximum(counts, 1e-9), np.maximum(np.subtract(pairs, counts), 1e-9)
    lower = np.where(np.equal(counts, 0), 0.0, betaincinv(hits, pairs - hits + 1, level))
    upper = np.where(np.equal(counts, pairs), 1.0, betainccinv(counts + 1, misses, level))
    return lower, upper
