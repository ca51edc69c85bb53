"""What the scores certify at all thresholds at once: ε at any δ, δ at any ε, and the trade-off curve.

`audits.statistics.confidence_limits` holds the chance of every event `score >= t` and `score < t` between two limits, in world 0
with probability 1 - a/2 and in world 1 likewise. So all limits of both worlds hold together with probability
at least 1 - a, whatever links the two games of a pair (a union bound). Everything a `Band` says is computed
from these limits and is right *together* on that one event:

  ε at δ.    (ε, δ)-DP demands P1(E) <= e^ε P0(E) + δ and the same with the worlds exchanged. Hence ε is at
             least log((lower(E) - δ) / upper(E)) for every event E, either way, and every δ.
  δ at ε.    Likewise δ >= lower(E) - e^ε upper(E).
  Trade-off. The test that says "world 1" on E errs in world 0 with probability α = P0(E) and in world 1 with
             β = 1 - P1(E). The trade-off function T(α) is the least β of any test (Dong, Roth and Su 2022).
             It does not increase, so from α <= α_upper and β <= β_upper

                 T(α_upper) <= T(α) <= β <= β_upper:

             the point lies on or above T, and since T is convex with T(0) <= 1 and T(1) = 0, so does the
             lower convex hull of all points, (0, 1) and (1, 0): the certified upper curve. Privacy f demands
             T >= f; a curve that dips below f refutes it. Nothing certifies T from below: a better test may
             exist.

Why this band and not another is told in `audits.statistics.confidence_limits`; what is counted, and where, in `audits.statistics.threshold_counts`. The
pairs must be independent with one law, and their number fixed beforehand: unlike `Betting`, these limits must
not be looked at until they please.
"""

from __future__ import annotations

import math

import attrs
import numpy as np

from arena.errors import InvalidArgument
from audits.statistics.confidence_limits import simultaneous_limits
from audits.statistics.score_pairs import PairCounts
from audits.statistics.threshold_counts import CountBounds, ThresholdCounter
from audits.statistics.threshold_events import Event, Events

DELTAS = np.concatenate([[0.0], np.geomspace(1e-9, 0.1, 33), np.linspace(0.15, 0.95, 17)])
EPSILONS = np.arange(41) / 4
_TAIL = np.geomspace(1e-6, 0.5, 69)
ALPHAS = np.unique(np.concatenate([np.arange(101) / 100, _TAIL, 1.0 - _TAIL]))


@attrs.frozen(eq=False)
class RefutedRegion:
    """The claims (ε, δ) that are refuted, all at once.

    Shapes: deltas and refuted_epsilon (D,): at each δ every smaller ε is false (nats, at least 0);
    epsilons and certified_delta (E,): at each ε (nats) every smaller δ is false.
    """

    deltas: np.ndarray
    refuted_epsilon: np.ndarray
    epsilons: np.ndarray
    certified_delta: np.ndarray

    def as_json(self) -> dict[str, list[float]]:
        """Lists under the attributes' names."""
        return {a.name: getattr(self, a.name).tolist() for a in attrs.fields(RefutedRegion)}


@attrs.frozen(eq=False)
class TradeOffCurves:
    """Trade-off curves to be drawn: type II error (in world 1) against type I error (in world 0).

    Shapes, all (m,): alpha, ascending from 0 to 1; estimate, of the tests seen, no limit of anything; upper,
    the mechanism's trade-off function is certified to lie on or below it; allowed, what the claim demands of
    that function at least, None without a claim. The claim is refuted where `upper` < `allowed`.
    """

    alpha: np.ndarray
    estimate: np.ndarray
    upper: np.ndarray
    allowed: np.ndarray | None

    def as_json(self) -> dict[str, list[float] | None]:
        """Lists under the attributes' names."""
        lists = {a.name: getattr(self, a.name) for a in attrs.fields(TradeOffCurves)}
        return {name: None if values is None else values.tolist() for name, values in lists.items()}


@attrs.frozen(eq=False)
class Band:
    """Limits on the chances of 2k events in both worlds, right together.

    Shapes: estimate, lower and upper (2, 2k), row b for world b, columns as in `Events`.
    """

    pairs: int
    events: Events
    estimate: np.ndarray
    lower: np.ndarray
    upper: np.ndarray

    @classmethod
    def of(cls, counts: CountBounds, *, confidence: float) -> Band:
        """The band from counts; all its limits hold with probability at least `confidence`."""
        limits = simultaneous_limits(counts.pairs, (1.0 - confidence) / 2)
        return cls(
            counts.pairs,
            counts.events,
            (counts.least + counts.most) / (2 * counts.pairs),
            limits.below(counts.least),
            limits.above(counts.most),
        )

    def epsilon(self, delta: float) -> float:
        """The certified ε at δ in nats: every smaller one is false. At least 0."""
        return float(self.epsilons(np.array([delta]))[0])

    def best_event(self, delta: float) -> tuple[Event, int] | None:
        """The event that certifies `epsilon(delta)` and the world that shows it more often; None if 0."""
        ratio = (self.lower - delta) / self.upper[::-1]
        if not (ratio > 1).any():
            return None
        world, event = np.unravel_index(ratio.argmax(), ratio.shape)
        return self.events[int(event)], int(world)

    def epsilons(self, deltas: np.ndarray) -> np.ndarray:
        """The certified ε in nats at each δ; shapes (D,)."""
        ratio = (self.lower - deltas[:, None, None]) / self.upper[::-1]
        return np.asarray(np.log(ratio.max(axis=(1, 2), initial=1.0)))

    def deltas(self, epsilons: np.ndarray) -> np.ndarray:
        """The certified δ at each ε in nats: every smaller one is false; shapes (E,)."""
        # An ε whose exponential overflows still certifies nothing, and does so without an infinity.
        factor = np.exp(np.minimum(epsilons, 700.0))[:, None, None]
        return np.asarray((self.lower - factor * self.upper[::-1]).max(axis=(1, 2), initial=0.0))

    def region(self, deltas: np.ndarray = DELTAS, epsilons: np.ndarray = EPSILONS) -> RefutedRegion:
        """The refuted claims on two grids; shapes deltas (D,), epsilons (E,) in nats."""
        return RefutedRegion(deltas, self.epsilons(deltas), epsilons, self.deltas(epsilons))

    def errors(self) -> tuple[np.ndarray, np.ndarray]:
        """Upper limits (2k,) on the type I and type II errors of the tests that say "world 1" on an event."""
        return self.upper[0], np.roll(self.upper[1], len(self.events) // 2)

    def trade_off(self, *, epsilon: float | None = None, delta: float = 0.0) -> TradeOffCurves:
        """The curves for a plot, with what the claim (ε in nats, δ) allows if there is one."""
        alpha = ALPHAS
        if epsilon is not None:
            alpha = np.union1d(alpha, _kinks(epsilon, delta))
        seen = (self.estimate[0], np.roll(self.estimate[1], len(self.events) // 2))
        return TradeOffCurves(
            alpha=alpha,
            estimate=_hull(*seen, at=alpha),
            upper=_hull(*self.errors(), at=alpha),
            allowed=None if epsilon is None else allowed(alpha, epsilon=epsilon, delta=delta),
        )


class BandEstimator:
    """A `Band` from blocks of score pairs, at a number of games fixed beforehand.

    confidence: the probability at least that all limits are right.
    games: pairs that will be played.
    """

    def __init__(self, *, confidence: float, games: int) -> None:
        if not 0 < confidence < 1:
            raise InvalidArgument("confidence must lie between 0 and 1", value=confidence)
        if games < 1:
            raise InvalidArgument("games must be at least 1", value=games)
        self._confidence = confidence
        self._games = games
        self._ranks = ThresholdCounter()

    @property
    def pairs(self) -> int:
        """The number of pairs seen."""
        return self._ranks.pairs

    def update(self, block: PairCounts) -> None:
        """Count a block."""
        self._ranks.add(block)

    def result(self) -> Band | None:
        """The band, or None unless just `games` pairs have been seen: it holds for that number alone."""
        if self.pairs != self._games:
            return None
        return Band.of(self._ranks.counts(), confidence=self._confidence)


def separated(*, games: int, confidence: float) -> Band:
    """The band of scores that tell the worlds apart without error: what a band of so many games can reach."""
    counts = CountBounds.exact(games, np.array([1.0]), np.array([[games], [0]]))
    return Band.of(counts, confidence=confidence)


def allowed(alpha: np.ndarray, *, epsilon: float, delta: float) -> np.ndarray:
    """The trade-off function of (ε, δ)-DP (Wasserman and Zhou 2010), ε in nats; shapes (m,)."""
    steep = 1.0 - delta - np.exp(min(epsilon, 700.0)) * alpha
    flat = math.exp(-epsilon) * (1.0 - delta - alpha)
    return np.maximum(0.0, np.maximum(steep, flat))


def _kinks(epsilon: float, delta: float) -> np.ndarray:
    return (1.0 - delta) * np.array([math.exp(-epsilon) / (1.0 + math.exp(-epsilon)), 1.0])


def _hull(alpha: np.ndarray, beta: np.ndarray, *, at: np.ndarray) -> np.ndarray:
    """The lower convex hull of the points (alpha, beta), (0, 1) and (1, 0), evaluated `at` (m,)."""
    useful = alpha + beta < 1  # the others lie on or above the straight line
    x, y = np.concatenate([[0.0], alpha[useful], [1.0]]), np.concatenate([[1.0], beta[useful], [0.0]])
    order = np.lexsort((y, x))
    x, lowest = np.unique(x[order], return_index=True)
    corners: list[tuple[float, float]] = []
    for point in zip(x.tolist(), y[order][lowest].tolist(), strict=True):
        while len(corners) > 1 and _above(corners[-2], corners[-1], point):
            corners.pop()
        corners.append(point)
    x, y = np.array(corners).T
    return np.interp(at, x, y)


def _above(first: tuple[float, float], middle: tuple[float, float], last: tuple[float, float]) -> bool:
    """Whether the middle point lies on or above the line through the others."""
    rise, run = last[1] - first[1], last[0] - first[0]
    return (middle[1] - first[1]) * run >= rise * (middle[0] - first[0])
