"""All estimators side by side: fed with the same blocks, read after the same number of games.

Every row is right with the stated confidence by itself. The rows of the band, its region and its trade-off
curve are right together. No two of the other rows are: whoever quotes the largest of several has tested
several times. Which row to quote is to be settled before the games.

`Betting` may be looked at after every block. Everything else holds at the number of games fixed beforehand,
and `Estimators` gives no figure at any other. A run that may stop early and did not may quote it: a figure
that is sometimes withheld is wrong no more often.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import attrs
import numpy as np

from arena.errors import InvalidArgument
from audits.statistics.bands import (
    DELTAS,
    EPSILONS,
    Band,
    BandEstimator,
    RefutedRegion,
    TradeOffCurves,
    separated,
)
from audits.statistics.confidence_limits import clopper_pearson
from audits.statistics.gaussian_dp import (
    HeldOutGaussianEstimator,
    epsilon_if_gaussian,
    mu_lower,
    mu_lower_of_band,
)
from audits.statistics.score_pairs import PairCounts

_SYMBOLS = {"epsilon": "ε", "delta": "δ", "mu": "μ"}
_TOO_FEW = "too few games: worlds told apart without error would give no more"
_NONE_FOUND = "these games certify none"


@attrs.frozen(kw_only=True)
class Estimate:
    """One figure of one method.

    quantity: "epsilon" (nats), "delta" or "mu". value: None where there is no finite figure, and then
    `reason` says why; it also says why a value is 0. certified: a lower bound at the stated confidence,
    without assumptions on the mechanism; otherwise an illustration.
    """

    method: str
    quantity: str
    value: float | None
    certified: bool = True
    reason: str = ""

    def __str__(self) -> str:
        if self.value is None:
            return self.reason
        sign = "≥" if self.certified else "="
        note = f" ({self.reason})" if self.reason else ""
        unit = " nats" if self.quantity == "epsilon" else ""
        return f"{_SYMBOLS[self.quantity]} {sign} {self.value:.4g}{unit}{note}"


@attrs.frozen(kw_only=True)
class Estimates:
    """What all estimators say.

    pairs: played, of `games`. delta, claim: of the claim under test, its ε in nats or None.
    region, trade_off: None where there is no band.
    """

    pairs: int
    games: int
    delta: float
    claim: float | None
    confidence: float
    rows: tuple[Estimate, ...]
    region: RefutedRegion | None
    trade_off: TradeOffCurves | None

    def table(self) -> list[tuple[str, str]]:
        """The methods, and what each says."""
        return [(row.method, str(row)) for row in self.rows]

    def as_json(self) -> dict[str, Any]:
        """Plain data without NaN or infinities."""
        return {
            "pairs": self.pairs,
            "games": self.games,
            "delta": self.delta,
            "claim": self.claim,
            "confidence": self.confidence,
            "rows": [attrs.asdict(row) for row in self.rows],
            "region": None if self.region is None else self.region.as_json(),
            "trade_off": None if self.trade_off is None else self.trade_off.as_json(),
        }


@attrs.define(eq=False)
class FixedSizeEstimators:
    """The estimators that hold at a fixed number of games: the band, and GDP at one event.

    audit = FixedSizeEstimators.of(delta=0.0, confidence=0.95, games=plan.games, claim=1.0)
    audit.update(block)  # every block, in the order of the plan
    audit.result(betting=betting.epsilon_lower, held_out=held_out.epsilon_lower).table()
    """

    delta: float
    confidence: float
    games: int
    claim: float | None
    band: BandEstimator
    gaussian: HeldOutGaussianEstimator

    @classmethod
    def of(
        cls, *, delta: float, confidence: float, games: int, claim: float | None = None
    ) -> FixedSizeEstimators:
        """Estimators for `games` pairs at δ; claim: the ε under test in nats, if any.

        GDP at one event chooses it on the first fifth of the pairs, as the held-out bound on ε does.

        Raises: InvalidArgument.
        """
        if not 0 <= delta <= 1:
            raise InvalidArgument("delta must be a probability", value=delta)
        if claim is not None and not claim >= 0:
            raise InvalidArgument("claim must be at least 0 nats", value=claim)
        band = BandEstimator(confidence=confidence, games=games)
        choose = max(1, games // 5)
        gaussian = HeldOutGaussianEstimator(
            confidence=confidence, choose_pairs=choose, held_out_pairs=max(1, games - choose)
        )
        return cls(delta, confidence, games, claim, band, gaussian)

    def update(self, block: PairCounts) -> None:
        """Feed a block to all of them."""
        self.band.update(block)
        self.gaussian.update(block)

    def result(self, *, betting: float | None = None, held_out: float | None = None) -> Estimates:
        """What they say beside the bounds on ε (nats) that `Betting` and `HeldOut` gave."""
        band = self.band.result()
        region = trade_off = None
        if band is not None:
            epsilons = EPSILONS if self.claim is None else np.union1d(EPSILONS, [self.claim])
            region = band.region(np.union1d(DELTAS, [self.delta]), epsilons)
            trade_off = band.trade_off(epsilon=self.claim, delta=self.delta)
        return Estimates(
            pairs=self.band.pairs,
            games=self.games,
            delta=self.delta,
            claim=self.claim,
            confidence=self.confidence,
            rows=(
                _given_epsilon("betting", betting),
                _given_epsilon("one event", held_out),
                *self._of_band(band),
                *self._gdp("GDP, one event", *self._mu_of_one_event()),
                *self._gdp("GDP, band", *self._read(band, mu_lower_of_band)),
            ),
            region=region,
            trade_off=trade_off,
        )

    def _of_band(self, band: Band | None) -> list[Estimate]:
        value, reason = self._read(band, lambda band: band.epsilon(self.delta))
        rows = [Estimate(method="band", quantity="epsilon", value=value, reason=reason)]
        if self.claim is not None:
            at = np.array([self.claim])
            value, reason = self._read(band, lambda band: float(band.deltas(at)[0]))
            name = f"band, at ε = {self.claim:.4g}"
            rows.append(Estimate(method=name, quantity="delta", value=value, reason=reason))
        return rows

    def _gdp(self, method: str, mu: float | None, reason: str) -> list[Estimate]:
        """The certified μ, and the ε that it would mean for a Gaussian mechanism."""
        rows = [Estimate(method=method, quantity="mu", value=mu, reason=reason)]
        epsilon = None if mu is None else epsilon_if_gaussian(self.delta, mu)
        note = "not certified: assumes a Gaussian mechanism of just this μ"
        if epsilon is None:
            note = reason
        elif math.isinf(epsilon):
            epsilon, note = None, "a Gaussian mechanism has no finite ε at δ = 0"
        name = f"{method}, if Gaussian"
        return [*rows, Estimate(method=name, quantity="epsilon", value=epsilon, certified=False, reason=note)]

    def _read(self, band: Band | None, read: Callable[[Band], float]) -> tuple[float | None, str]:
        """What is read off the band, and the reason if that is nothing."""
        if band is None:
            return None, self._wrong_number()
        value = read(band)
        if value > 0:
            return value, ""
        most = read(separated(games=self.games, confidence=self.confidence))
        return value, _NONE_FOUND if most > 0 else _TOO_FEW

    def _mu_of_one_event(self) -> tuple[float | None, str]:
        if self.band.pairs != self.games:
            return None, self._wrong_number()
        bound = self.gaussian.result()
        if bound is None:
            return None, "too few blocks: none is left to count after those that chose the event"
        if bound.mu_lower > 0:
            return bound.mu_lower, ""
        ends = np.array([0, bound.pairs])
        lower, upper = clopper_pearson(ends, bound.pairs, (1.0 - self.confidence) / 2)
        return 0.0, _NONE_FOUND if mu_lower(upper[0], lower[1]) > 0 else _TOO_FEW

    def _wrong_number(self) -> str:
        return f"holds after {self.games:,} pairs, as fixed beforehand, and {self.band.pairs:,} were played"


def _given_epsilon(method: str, epsilon: float | None) -> Estimate:
    reason = "no figure: too few blocks, or a number of games that was not fixed beforehand"
    if epsilon is not None:
        reason = "" if epsilon > 0 else _NONE_FOUND
    return Estimate(method=method, quantity="epsilon", value=epsilon, reason=reason)
