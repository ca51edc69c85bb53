"""A lower bound on μ of Gaussian differential privacy, for any mechanism.

A mechanism is μ-GDP (Dong, Roth and Su 2022) if its trade-off function is at least that of telling N(0, 1)
from N(μ, 1),

    G_μ(α) = Φ(Φ⁻¹(1 - α) - μ).

A test with type I error α and type II error β says T(α) <= β, and T(α) >= G_μ(α) then gives

    μ >= Φ⁻¹(1 - α) - Φ⁻¹(β) >= Φ⁻¹(1 - α_upper) - Φ⁻¹(β_upper).

What is certified: that the mechanism is not μ-GDP for any smaller μ. Nothing is assumed of it; only the
limits α_upper and β_upper must hold. They may come from a `Band`, at all thresholds at once, or from one
event chosen on games that are then set aside (`HeldOutGaussian`): Clopper-Pearson limits at level a/2 each,
both right with probability at least 1 - a, whatever links the two games of a pair. An error that was never
seen still has an upper limit above 0; to put a small number in its place is to certify privacy lost by a
mechanism that loses none.

What is not certified: an ε. The Gaussian mechanism of that μ is (ε, δ(ε))-DP and no better,

    δ(ε) = Φ(μ/2 - ε/μ) - e^ε Φ(-μ/2 - ε/μ),

but one point below G_μ says nothing of other points. For a mechanism that is not Gaussian,
`epsilon_if_gaussian` may exceed the truth by any amount: a mechanism of pure ε-DP has a positive μ, whose ε
at δ = 0 is infinite.
"""

from __future__ import annotations

import math

import attrs
import numpy as np

from arena.errors import InvalidArgument
from audits.statistics.bands import Band
from audits.statistics.confidence_limits import clopper_pearson
from audits.statistics.score_pairs import PairCounts
from audits.statistics.threshold_events import EVERYTHING, Event, ScoreHistogram


def trade_off(alpha: np.ndarray, mu: float) -> np.ndarray:
    """G_μ at type I errors alpha; any shape."""
    from scipy.special import ndtr, ndtri  # slow to import

    return np.asarray(ndtr(-ndtri(alpha) - mu))


def mu_lower(hits0: np.ndarray, hits1: np.ndarray) -> np.ndarray:
    """The least μ, at least 0, of a mechanism that shows an event with probability `hits0` at most in world 0
    and `hits1` at least in world 1; any shape, `hits0` above 0 and `hits1` below 1."""
    from scipy.special import ndtri  # slow to import

    return np.maximum(ndtri(hits1) - ndtri(hits0), 0.0)


def mu_lower_of_band(band: Band) -> float:
    """The certified lower bound on μ over all events of a band.

    Events come with their complements, so exchanging the worlds would give nothing new.
    """
    return float(mu_lower(band.upper[0], band.lower[1]).max(initial=0.0))


def delta_if_gaussian(epsilon: float, mu: float) -> float:
    """δ(ε) of the Gaussian mechanism of μ (Balle and Wang 2018, Theorem 8), ε in nats."""
    from scipy.special import log_ndtr  # slow to import

    if not mu > 0:
        return 0.0
    near, far = mu / 2 - epsilon / mu, -mu / 2 - epsilon / mu
    return float(max(0.0, math.exp(log_ndtr(near)) - math.exp(epsilon + log_ndtr(far))))


def epsilon_if_gaussian(delta: float, mu: float) -> float:
    """The ε in nats at δ of the Gaussian mechanism of μ; infinite at δ = 0 unless μ = 0.

    Of any other mechanism it says nothing.
    """
    from scipy.optimize import brentq  # slow to import

    if not 0 <= delta <= 1:
        raise InvalidArgument("delta must be a probability", value=delta)
    if not 0 <= mu < math.inf:
        raise InvalidArgument("mu must be finite and at least 0", value=mu)
    if delta_if_gaussian(0.0, mu) <= delta:
        return 0.0
    if delta == 0:
        return math.inf
    most = 1.0
    while delta_if_gaussian(most, mu) > delta:
        most *= 2.0
    return float(brentq(lambda epsilon: delta_if_gaussian(epsilon, mu) - delta, 0.0, most, xtol=1e-12))


@attrs.frozen
class GaussianBound:
    """A bound on μ, and what it rests on.

    mu_lower: certified, at least 0. event: what was counted, and should be the more frequent in world 1.
    pairs: held out. hits: pairs in the event, in world 0 and in world 1. alpha_upper, beta_upper: the limits
    on the errors of the test that says "world 1" on the event.
    """

    mu_lower: float
    event: Event
    pairs: int
    hits: tuple[int, int]
    alpha_upper: float
    beta_upper: float


class HeldOutGaussianEstimator:
    """A lower bound on μ from one event, at a number of games fixed beforehand.

    confidence: the probability at least that the bound does not exceed the truth.
    choose_pairs: whole blocks choose the event until they hold at least so many pairs; later blocks count.
    held_out_pairs: about how many pairs will follow; a wrong guess costs power, never validity.
    """

    def __init__(self, *, confidence: float, choose_pairs: int, held_out_pairs: int) -> None:
        if not 0 < confidence < 1:
            raise InvalidArgument("confidence must lie between 0 and 1", value=confidence)
        if choose_pairs < 1:
            raise InvalidArgument("choose_pairs must be at least 1", value=choose_pairs)
        if held_out_pairs < 1:
            raise InvalidArgument("held_out_pairs must be at least 1", value=held_out_pairs)
        self._level = (1.0 - confidence) / 2
        self._choose_pairs = choose_pairs
        self._held_out_pairs = held_out_pairs
        self._histogram = ScoreHistogram()
        self._event: Event | None = None
        self._pairs = 0
        self._hits = np.zeros(2, dtype=np.int64)

    def update(self, block: PairCounts) -> None:
        """Learn from a block, or count it."""
        if not block.pairs:
            return
        if self._event is None:
            self._histogram.add(block)
            if self._histogram.pairs >= self._choose_pairs:
                self._event = self._choose()
                self._histogram = ScoreHistogram()
            return
        self._hits += self._event.hits(block)
        self._pairs += block.pairs

    def result(self) -> GaussianBound | None:
        """The bound, or None while no block has followed those that chose."""
        if self._event is None or not self._pairs:
            return None
        lower, upper = clopper_pearson(self._hits, self._pairs, self._level)
        _, misses = clopper_pearson(self._pairs - self._hits, self._pairs, self._level)
        return GaussianBound(
            mu_lower=float(mu_lower(upper[0], lower[1])),
            event=self._event,
            pairs=self._pairs,
            hits=(int(self._hits[0]), int(self._hits[1])),
            alpha_upper=float(upper[0]),
            beta_upper=float(misses[1]),
        )

    def _choose(self) -> Event:
        """The event of the largest bound, if the rest is like the games so far."""
        events, expected = self._histogram.expected_counts(self._held_out_pairs)
        if not len(events):
            return EVERYTHING
        lower, upper = clopper_pearson(expected, self._held_out_pairs, self._level)
        return events[int(mu_lower(upper[0], lower[1]).argmax())]
