"""A lower confidence bound on μ of Gaussian differential privacy, for any mechanism.

What is certified, and what is not: docs/proofs/gaussian_dp.md.
"""

from __future__ import annotations

import math

import attrs
import numpy as np

from arena.settings import at_least, at_most, check_value, less_than, more_than
from audits.statistics.confidence_limits import clopper_pearson
from audits.statistics.estimates import (
    FIXED_SIZE,
    NOTHING_CERTIFIED,
    TOO_FEW,
    Estimate,
    Estimator,
    EstimatorContext,
)
from audits.statistics.estimators.held_out import EventTally
from audits.statistics.score_histogram import ScoreHistogram
from audits.statistics.score_pairs import PairCounts
from audits.statistics.threshold_events import EVERYTHING, Event


def mu_lower(upper0: np.ndarray, lower1: np.ndarray) -> np.ndarray:
    """The least μ ≥ 0 if an event has probability at most `upper0` in world 0, at least `lower1` in world 1.

    Any shape; `upper0` above 0 and `lower1` below 1.
    """
    from scipy.special import ndtri  # slow to import

    return np.maximum(ndtri(lower1) - ndtri(upper0), 0.0)


def delta_if_gaussian(epsilon: float, mu: float) -> float:
    """δ(ε) of the Gaussian mechanism with this μ; ε in nats. Source: Balle and Wang (2018), Theorem 8."""
    from scipy.special import log_ndtr  # slow to import

    if not mu > 0:
        return 0.0
    near, far = mu / 2 - epsilon / mu, -mu / 2 - epsilon / mu
    return float(max(0.0, math.exp(log_ndtr(near)) - math.exp(epsilon + log_ndtr(far))))


def epsilon_if_gaussian(delta: float, mu: float) -> float:
    """The ε in nats at δ of the Gaussian mechanism with this μ; infinite at δ = 0 unless μ = 0.

    It says nothing about other mechanisms with this bound on μ. Raises: InvalidArgument.
    """
    from scipy.optimize import brentq  # slow to import

    check_value("delta", delta, at_least(0), at_most(1))
    check_value("mu", mu, at_least(0), less_than(math.inf))
    if delta_if_gaussian(0.0, mu) <= delta:
        return 0.0
    if delta == 0:
        return math.inf
    upper = 1.0
    while delta_if_gaussian(upper, mu) > delta:
        upper *= 2.0
    return float(brentq(lambda epsilon: delta_if_gaussian(epsilon, mu) - delta, 0.0, upper, xtol=1e-12))


@attrs.frozen
class GaussianBound:
    """A bound on μ, and the counts that it rests on.

    mu_lower: certified, at least 0. event, pairs, hits: as in `HeldOutBound`, with world = 1.
    alpha_upper, beta_upper: upper limits on the errors of the test that decides for world 1 on the event.
    """

    mu_lower: float
    event: Event
    pairs: int
    hits: tuple[int, int]
    alpha_upper: float
    beta_upper: float


class HeldOutGaussianEstimator:
    """A lower confidence bound on μ from one event, at a number of games fixed beforehand.

    The arguments are those of `HeldOutEstimator`; of the first blocks none is held back.
    Raises: InvalidArgument.
    """

    def __init__(self, *, confidence: float, choose_pairs: int, held_out_pairs: int) -> None:
        check_value("confidence", confidence, more_than(0), less_than(1))
        check_value("choose_pairs", choose_pairs, at_least(1))
        check_value("held_out_pairs", held_out_pairs, at_least(1))
        self._level = (1.0 - confidence) / 2
        self._choose_pairs = choose_pairs
        self._held_out_pairs = held_out_pairs
        self._histogram = ScoreHistogram()
        self._tally: EventTally | None = None

    def update(self, block: PairCounts) -> None:
        """Learn from a block, or count it."""
        if not block.pairs:
            return
        if self._tally is not None:
            self._tally = self._tally.add(block)
            return
        self._histogram.add(block)
        if self._histogram.pairs >= self._choose_pairs:
            self._tally = EventTally(self._choose())
            self._histogram = ScoreHistogram()

    def result(self) -> GaussianBound | None:
        """The bound, or None until a block has followed those that chose the event."""
        tally = self._tally
        if tally is None or not tally.pairs:
            return None
        lower, upper = clopper_pearson(np.array(tally.hits), tally.pairs, self._level)
        _, misses = clopper_pearson(tally.pairs - np.array(tally.hits), tally.pairs, self._level)
        mu, alpha, beta = float(mu_lower(upper[0], lower[1])), float(upper[0]), float(misses[1])
        return GaussianBound(mu, tally.event, tally.pairs, tally.hits, alpha, beta)

    def _choose(self) -> Event:
        """The event with the largest bound, if future games resemble those so far."""
        events, expected = self._histogram.predict_counts(self._held_out_pairs)
        if not len(events):
            return EVERYTHING
        lower, upper = clopper_pearson(expected, self._held_out_pairs, self._level)
        return events[int(mu_lower(upper[0], lower[1]).argmax())]


class GaussianEvent(Estimator):
    """The bound of `HeldOutGaussianEstimator`, whose event is chosen on a fifth of the games."""

    def __init__(self, context: EstimatorContext) -> None:
        super().__init__(context)
        choose = max(1, context.games // 5)
        self._estimator = HeldOutGaussianEstimator(
            confidence=context.confidence, choose_pairs=choose, held_out_pairs=max(1, context.games - choose)
        )

    def add(self, block: PairCounts) -> None:
        self._estimator.update(block)

    @property
    def bound(self) -> GaussianBound | None:
        """The bound so far; see `HeldOutGaussianEstimator.result`."""
        return self._estimator.result()

    def rows(self) -> list[Estimate]:
        assumes, delta = f"{FIXED_SIZE}; one event", self.context.delta
        return estimate_mu("one event", *self._read_mu(), delta=delta, assumes=assumes)

    def _read_mu(self) -> tuple[float | None, str]:
        """The bound on μ, and the reason if it is missing or 0."""
        if not self.complete:
            return None, self.explain_wrong_number()
        bound = self.bound
        if bound is None:
            return None, "too few blocks: none remains to be counted after the event was chosen"
        if bound.mu_lower > 0:
            return bound.mu_lower, ""
        ends = np.array([0, bound.pairs])
        lower, upper = clopper_pearson(ends, bound.pairs, (1.0 - self.context.confidence) / 2)
        return 0.0, NOTHING_CERTIFIED if mu_lower(upper[0], lower[1]) > 0 else TOO_FEW


def estimate_mu(method: str, mu: float | None, reason: str, *, delta: float, assumes: str) -> list[Estimate]:
    """A certified μ as a row, and the ε that it would imply for a Gaussian mechanism."""
    epsilon = None if mu is None else epsilon_if_gaussian(delta, mu)
    note = "not certified: assumes a Gaussian mechanism with exactly this μ"
    if epsilon is None:
        note = reason
    elif math.isinf(epsilon):
        epsilon, note = None, "a Gaussian mechanism has no finite ε at δ = 0"
    name = f"GDP, {method}"
    title = f"μ-GDP, {method}"
    row = Estimate(method=name, quantity="mu", value=mu, reason=reason, title=title, assumes=assumes)
    implied = Estimate(
        method=f"{name}, if Gaussian", quantity="epsilon", value=epsilon, certified=False, reason=note
    )
    return [row, implied]
