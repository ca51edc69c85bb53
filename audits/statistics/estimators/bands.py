"""Bounds at all thresholds at once: ε at every δ, δ at every ε, and the trade-off curve.

All figures of a band are right together, at a number of pairs fixed beforehand: docs/proofs/bands.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import attrs
import numpy as np

from arena.privacy_curves import PrivacyCurve
from audits.statistics.betting import list_curve_points
from audits.statistics.estimates import (
    FIXED_SIZE,
    NOTHING_CERTIFIED,
    TOO_FEW,
    TRADE_OFF,
    Estimate,
    Estimator,
    EstimatorContext,
)
from audits.statistics.estimators.held_out import estimate_mu, mu_lower
from audits.statistics.score_histogram import MAX_EXACT_EDGES, choose_edges
from audits.statistics.score_pairs import Events, PairCounts
from audits.statistics.simultaneous_limits import simultaneous_limits

DELTAS = np.concatenate([[0.0], np.geomspace(1e-9, 0.1, 33), np.linspace(0.15, 0.95, 17)])
EPSILONS = np.arange(41) / 4
_TAIL = np.geomspace(1e-6, 0.5, 69)


@attrs.frozen(eq=False)
class CountBounds:
    """Bounds on the number of games of each world in the events of k thresholds.
    least and most (2, 2k): row b for world b; columns as in `Events`."""

    pairs: int
    events: Events
    least: np.ndarray
    most: np.ndarray

    @classmethod
    def between(cls, pairs: int, thresholds: np.ndarray, least: np.ndarray, most: np.ndarray) -> CountBounds:
        """From bounds (2, k) on the number of scores below each threshold (k,)."""
        at_least = np.concatenate([pairs - most, least], axis=1)
        at_most = np.concatenate([pairs - least, most], axis=1)
        return cls(pairs, Events(thresholds), at_least, at_most)


class ThresholdCounter:
    """Counts of scores below thresholds, in memory that grows with the logarithm of their number.
    Unlike `ScoreHistogram`, which estimates, it states what it does not know: docs/proofs/bands.md."""

    def __init__(self) -> None:
        self.pairs = 0
        self._edges = np.empty(0)
        self._least = np.empty((2, 0), dtype=np.int64)  # scores below an edge, at least
        self._most = np.empty((2, 0), dtype=np.int64)
        self._tops = np.empty(0)  # no score from an edge up to the next one is larger

    def add(self, block: PairCounts) -> None:
        """Count the scores of a block."""
        if not block.pairs:
            return
        edges = np.union1d(self._edges, block.levels)
        below = Events(edges).count(block).world[:, len(edges) :]
        least, most, tops = self._count_bounds_at(edges)
        least, most = least + below, most + below
        self.pairs += block.pairs
        if len(edges) > MAX_EXACT_EDGES:
            mass = np.diff(most, axis=1, append=self.pairs)
            kept = choose_edges(mass, np.searchsorted(edges, self._edges))
            edges, least, most = edges[kept], least[:, kept], most[:, kept]
            tops = np.maximum.reduceat(tops, kept)
        self._edges, self._least, self._most, self._tops = edges, least, most, tops

    def counts(self) -> CountBounds:
        """The counts at all thresholds except the smallest, below which there is no score."""
        return CountBounds.between(self.pairs, self._edges[1:], self._least[:, 1:], self._most[:, 1:])

    def _count_bounds_at(self, edges: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Bounds (2, k) on earlier scores below new edges, and the largest possible score (k,) of bins."""
        nothing, everything = np.zeros((2, 1), dtype=np.int64), np.full((2, 1), self.pairs)
        least = np.concatenate([nothing, self._least, everything], axis=1)
        most = np.concatenate([self._most, everything], axis=1)
        tops = np.concatenate([[-np.inf], self._tops])
        bin_of = np.searchsorted(self._edges, edges, side="right")
        cleared = edges > tops[bin_of]
        with np.errstate(over="ignore"):  # the number below the least finite one is -inf, as intended
            before_next = np.append(np.nextafter(edges[1:], -np.inf), np.inf)
        top = np.minimum(tops[bin_of], before_next)
        below = np.searchsorted(self._edges, edges, side="left")
        return least[:, bin_of + cleared], most[:, below], np.maximum(edges, top)


ALPHAS = np.unique(np.concatenate([np.arange(101) / 100, _TAIL, 1.0 - _TAIL]))


@attrs.frozen(eq=False)
class RefutedRegion:
    """The claims (ε, δ) that are refuted together. Shapes: deltas and refuted_epsilon (D,), at each δ every
    smaller ε (nats) is false; epsilons and certified_delta (E,), at each ε every smaller δ is false."""

    deltas: np.ndarray
    refuted_epsilon: np.ndarray
    epsilons: np.ndarray
    certified_delta: np.ndarray


@attrs.frozen(eq=False)
class TradeOffCurves:
    """Trade-off curves: type II error (in world 1) against type I error (in world 0).

    Shapes (m,): alpha, increasing; estimate, observed; upper, a confidence limit on the mechanism's trade-off
    function; allowed, the least that the claim permits, which is refuted where `upper` < `allowed`.
    """

    alpha: np.ndarray
    estimate: np.ndarray
    upper: np.ndarray
    allowed: np.ndarray | None


@attrs.frozen(eq=False)
class Band:
    """Limits on the probabilities of 2k events in both worlds, which hold together.
    estimate, lower and upper (2, 2k): row b for world b, columns as in `Events`."""

    pairs: int
    events: Events
    estimate: np.ndarray
    lower: np.ndarray
    upper: np.ndarray

    @classmethod
    def of(cls, counts: CountBounds, *, confidence: float) -> Band:
        """The band for these counts; all its limits hold with probability at least `confidence`."""
        limits = simultaneous_limits(counts.pairs, (1.0 - confidence) / 2)
        estimate = (counts.least + counts.most) / (2 * counts.pairs)
        lower, upper = limits.below(counts.least), limits.above(counts.most)
        return cls(counts.pairs, counts.events, estimate, lower, upper)

    def epsilon(self, delta: float) -> float:
        """The certified ε at δ in nats, at least 0: every smaller ε is false."""
        return float(self.epsilons(np.array([delta]))[0])

    def epsilons(self, deltas: np.ndarray) -> np.ndarray:
        """The certified ε in nats at each δ; shapes (D,)."""
        ratio = (self.lower - deltas[:, None, None]) / self.upper[::-1]
        return np.asarray(np.log(ratio.max(axis=(1, 2), initial=1.0)))

    def deltas(self, epsilons: np.ndarray) -> np.ndarray:
        """The certified δ at each ε in nats: every smaller δ is false; shapes (E,)."""
        # Capped so that the exponential stays finite; such an ε certifies no δ either way.
        factor = np.exp(np.minimum(epsilons, 700.0))[:, None, None]
        return np.asarray((self.lower - factor * self.upper[::-1]).max(axis=(1, 2), initial=0.0))

    def region(self, deltas: np.ndarray = DELTAS, epsilons: np.ndarray = EPSILONS) -> RefutedRegion:
        """The refuted claims on two grids; shapes deltas (D,), epsilons (E,) in nats."""
        return RefutedRegion(deltas, self.epsilons(deltas), epsilons, self.deltas(epsilons))

    def errors(self, probabilities: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The type I and type II errors (2k,) of deciding for world 1 on each event, of these (2, 2k)."""
        return probabilities[0], np.roll(probabilities[1], len(self.events) // 2)

    def trade_off(
        self, *, epsilon: float | None = None, delta: float = 0.0, curve: PrivacyCurve | None = None
    ) -> TradeOffCurves:
        """Curves for a plot, with the trade-off function of the claim (ε in nats, δ, curve), if any."""
        alpha, allowed = ALPHAS, None
        if epsilon is not None:
            kink = math.exp(-epsilon) / (1.0 + math.exp(-epsilon))
            alpha = np.union1d(alpha, (1.0 - delta) * np.array([kink, 1.0]))
            allowed = trade_off_of_claim(alpha, epsilon=epsilon, delta=delta)
            for point in () if curve is None else zip(*list_curve_points(curve), strict=True):
                allowed = np.maximum(allowed, trade_off_of_claim(alpha, epsilon=point[0], delta=point[1]))
        estimate, upper = (_convex_hull(*self.errors(p), at=alpha) for p in (self.estimate, self.upper))
        return TradeOffCurves(alpha, estimate, upper, allowed)


class SimultaneousBand(Estimator):
    """A `Band` at the number of games that was fixed beforehand, read at the claim and for its μ."""

    def __init__(self, context: EstimatorContext) -> None:
        super().__init__(context)
        self._counter = ThresholdCounter()

    def add(self, block: PairCounts) -> None:
        self._counter.add(block)

    def result(self) -> Band | None:
        """The band, or None unless exactly the games were seen that were fixed: it holds for these only."""
        return Band.of(self._counter.counts(), confidence=self.context.confidence) if self.complete else None

    def rows(self) -> list[Estimate]:
        context, band = self.context, self.result()
        claim, delta = context.epsilon, context.delta
        region = trade_off = None
        if band is not None:
            epsilons = EPSILONS if claim is None else np.union1d(EPSILONS, [claim])
            region = band.region(np.union1d(DELTAS, [delta]), epsilons)
            trade_off = band.trade_off(epsilon=claim, delta=delta, curve=context.curve)
        value, reason = self._read(band, lambda band: band.epsilon(delta))
        all_thresholds = f"{FIXED_SIZE}; all thresholds at once"
        rows = [
            Estimate(
                method="band",
                quantity="epsilon",
                value=value,
                reason=reason,
                title="simultaneous band",
                assumes=all_thresholds,
                details={"region": region, TRADE_OFF: trade_off},
            )
        ]
        if claim is not None:
            at = np.array([claim])
            value, reason = self._read(band, lambda band: float(band.deltas(at)[0]))
            rows.append(
                Estimate(
                    method=f"band, at ε = {claim:.4g}",
                    quantity="delta",
                    value=value,
                    reason=reason,
                    title="region of (ε, δ)",
                    assumes=f"{FIXED_SIZE}; the same band, read at the claim's ε",
                )
            )
        mu = self._read(band, mu_lower_of_band)
        return [*rows, *estimate_mu("band", *mu, delta=delta, assumes=all_thresholds)]

    def _read(self, band: Band | None, read: Callable[[Band], float]) -> tuple[float | None, str]:
        """A figure of the band, and the reason if it is missing or 0."""
        if band is None:
            return None, self.explain_wrong_number()
        value = read(band)
        if value > 0:
            return value, ""
        attainable = read(separation_band(games=self.context.games, confidence=self.context.confidence))
        return value, NOTHING_CERTIFIED if attainable > 0 else TOO_FEW


def mu_lower_of_band(band: Band) -> float:
    """The certified lower bound on μ over all events of a band, which include their complements."""
    return float(mu_lower(band.upper[0], band.lower[1]).max(initial=0.0))


def separation_band(*, games: int, confidence: float) -> Band:
    """The band of scores that separate the worlds perfectly: the most that so many games can certify."""
    below = np.array([[games], [0]])
    counts = CountBounds.between(games, np.array([1.0]), below, below)
    return Band.of(counts, confidence=confidence)


def trade_off_of_claim(alpha: np.ndarray, *, epsilon: float, delta: float) -> np.ndarray:
    """The trade-off function of (ε, δ)-DP, ε in nats; shapes (m,). Source: Wasserman and Zhou (2010)."""
    steep = 1.0 - delta - np.exp(min(epsilon, 700.0)) * alpha
    flat = math.exp(-epsilon) * (1.0 - delta - alpha)
    return np.maximum(0.0, np.maximum(steep, flat))


def _convex_hull(alpha: np.ndarray, beta: np.ndarray, *, at: np.ndarray) -> np.ndarray:
    """The lower convex hull of the points (alpha, beta), (0, 1) and (1, 0), evaluated `at` (m,)."""
    useful = alpha + beta < 1  # all others lie on or above the line from (0, 1) to (1, 0)
    x, y = np.concatenate([[0.0], alpha[useful], [1.0]]), np.concatenate([[1.0], beta[useful], [0.0]])
    order = np.lexsort((y, x))
    x, lowest = np.unique(x[order], return_index=True)
    corners: list[tuple[float, float]] = []
    for point in zip(x.tolist(), y[order][lowest].tolist(), strict=True):
        while len(corners) > 1:
            (first_x, first_y), (middle_x, middle_y) = corners[-2:]
            rise, run = point[1] - first_y, point[0] - first_x
            if (middle_y - first_y) * run < rise * (middle_x - first_x):
                break
            corners.pop()
        corners.append(point)
    x, y = np.array(corners).T
    return np.interp(at, x, y)
