"""All estimators side by side, updated with the same blocks and read after the same number of games.

Each row is right with the stated confidence by itself, those of the band together with its region and curve:
choose the row to quote before the games. `Betting` may be inspected after every block. All else holds at the
number of games fixed beforehand, also in a run that might have stopped early but did not.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import attrs
import numpy as np

from arena.privacy_curves import PrivacyCurve
from arena.settings import at_least, at_most, check_value
from audits.statistics import bands, gaussian_dp
from audits.statistics.bands import Band, BandEstimator, RefutedRegion, TradeOffCurves
from audits.statistics.confidence_limits import clopper_pearson
from audits.statistics.gaussian_dp import HeldOutGaussianEstimator, mu_lower
from audits.statistics.score_pairs import PairCounts

_SYMBOLS = {"epsilon": "ε", "delta": "δ", "mu": "μ"}
_TOO_FEW = "too few games: perfectly separated worlds would certify no more"
_NOTHING_CERTIFIED = "these games certify no privacy loss"


@attrs.frozen(kw_only=True)
class Estimate:
    """One figure of one method.

    quantity: "epsilon" (nats), "delta" or "mu".
    value: None if there is no finite figure.
    certified: whether it is a lower bound at the stated confidence without assumptions on the mechanism;
        otherwise it is an illustration.
    reason: why there is no value, or why it is 0.
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
    """The figures of all estimators.

    pairs: the number of pairs played, of `games` planned. delta, claim: of the claim under test, its ε in
        nats or None.
    region, trade_off: None if there is no band.
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
        """Each method with its figure as text."""
        return [(row.method, str(row)) for row in self.rows]


@attrs.define(eq=False)
class FixedSizeEstimators:
    """The estimators that hold at a number of games fixed beforehand: the band, and GDP at one event."""

    delta: float
    confidence: float
    games: int
    claim: float | None
    band: BandEstimator
    gaussian: HeldOutGaussianEstimator
    curve: PrivacyCurve | None = None

    @classmethod
    def of(
        cls,
        *,
        delta: float,
        confidence: float,
        games: int,
        claim: float | None = None,
        curve: PrivacyCurve | None = None,
    ) -> FixedSizeEstimators:
        """Estimators for `games` pairs at δ; claim: the ε in nats, if any; curve: its privacy curve, if any.

        Raises: InvalidArgument.
        """
        check_value("delta", delta, at_least(0), at_most(1))
        if claim is not None:
            check_value("claim", claim, at_least(0))
        band = BandEstimator(confidence=confidence, games=games)
        choose = max(1, games // 5)  # as for the held-out bound on ε
        gaussian = HeldOutGaussianEstimator(
            confidence=confidence, choose_pairs=choose, held_out_pairs=max(1, games - choose)
        )
        return cls(delta, confidence, games, claim, band, gaussian, curve)

    def update(self, block: PairCounts) -> None:
        """Update all estimators with a block."""
        self.band.update(block)
        self.gaussian.update(block)

    def result(self, *, betting: float | None = None, held_out: float | None = None) -> Estimates:
        """All figures, together with the bounds on ε in nats that `Betting` and `HeldOutEstimator` gave."""
        band = self.band.result()
        region = trade_off = None
        if band is not None:
            epsilons = bands.EPSILONS if self.claim is None else np.union1d(bands.EPSILONS, [self.claim])
            region = band.region(np.union1d(bands.DELTAS, [self.delta]), epsilons)
            trade_off = band.trade_off(epsilon=self.claim, delta=self.delta, curve=self.curve)
        return Estimates(
            pairs=self.band.pairs,
            games=self.games,
            delta=self.delta,
            claim=self.claim,
            confidence=self.confidence,
            rows=(
                _epsilon_row("betting", betting),
                _epsilon_row("one event", held_out),
                *self._band_rows(band),
                *self._gdp_rows("GDP, one event", *self._mu_of_one_event()),
                *self._gdp_rows("GDP, band", *self._read_band(band, gaussian_dp.mu_lower_of_band)),
            ),
            region=region,
            trade_off=trade_off,
        )

    def _band_rows(self, band: Band | None) -> list[Estimate]:
        value, reason = self._read_band(band, lambda band: band.epsilon(self.delta))
        rows = [Estimate(method="band", quantity="epsilon", value=value, reason=reason)]
        if self.claim is not None:
            at = np.array([self.claim])
            value, reason = self._read_band(band, lambda band: float(band.deltas(at)[0]))
            name = f"band, at ε = {self.claim:.4g}"
            rows.append(Estimate(method=name, quantity="delta", value=value, reason=reason))
        return rows

    def _gdp_rows(self, method: str, mu: float | None, reason: str) -> list[Estimate]:
        rows = [Estimate(method=method, quantity="mu", value=mu, reason=reason)]
        epsilon = None if mu is None else gaussian_dp.epsilon_if_gaussian(self.delta, mu)
        note = "not certified: assumes a Gaussian mechanism with exactly this μ"
        if epsilon is None:
            note = reason
        elif math.isinf(epsilon):
            epsilon, note = None, "a Gaussian mechanism has no finite ε at δ = 0"
        name = f"{method}, if Gaussian"
        return [*rows, Estimate(method=name, quantity="epsilon", value=epsilon, certified=False, reason=note)]

    def _read_band(self, band: Band | None, read: Callable[[Band], float]) -> tuple[float | None, str]:
        """A figure of the band, and the reason if it is missing or 0."""
        if band is None:
            return None, self._explain_wrong_number()
        value = read(band)
        if value > 0:
            return value, ""
        attainable = read(bands.separation_band(games=self.games, confidence=self.confidence))
        return value, _NOTHING_CERTIFIED if attainable > 0 else _TOO_FEW

    def _mu_of_one_event(self) -> tuple[float | None, str]:
        if self.band.pairs != self.games:
            return None, self._explain_wrong_number()
        bound = self.gaussian.result()
        if bound is None:
            return None, "too few blocks: none remains to be counted after the event was chosen"
        if bound.mu_lower > 0:
            return bound.mu_lower, ""
        ends = np.array([0, bound.pairs])
        lower, upper = clopper_pearson(ends, bound.pairs, (1.0 - self.confidence) / 2)
        return 0.0, _NOTHING_CERTIFIED if mu_lower(upper[0], lower[1]) > 0 else _TOO_FEW

    def _explain_wrong_number(self) -> str:
        return f"holds only after {self.games:,} pairs, as fixed beforehand; {self.band.pairs:,} were played"


def _epsilon_row(method: str, epsilon: float | None) -> Estimate:
    reason = "not available: too few blocks, or a number of games that was not fixed beforehand"
    if epsilon is not None:
        reason = "" if epsilon > 0 else _NOTHING_CERTIFIED
    return Estimate(method=method, quantity="epsilon", value=epsilon, reason=reason)
