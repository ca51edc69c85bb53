"""Bounds on ε, and on μ of Gaussian differential privacy, from one event chosen on games that are set aside.

Validity: docs/proofs/held_out_bound.md; what is certified of μ, and what is not: docs/proofs/gaussian_dp.md.
"""

from __future__ import annotations

import math
from typing import Any

import attrs
import numpy as np

from arena.settings import at_least, at_most, check_value, less_than, more_than
from audits.statistics.estimates import (
    FIXED_SIZE,
    NOTHING_CERTIFIED,
    TOO_FEW,
    Estimate,
    Estimator,
    EstimatorContext,
    clopper_pearson,
    estimate_epsilon,
)
from audits.statistics.score_histogram import ScoreHistogram
from audits.statistics.score_pairs import EVERYTHING, Event, PairCounts


def mu_lower(upper0: np.ndarray, lower1: np.ndarray) -> np.ndarray:
    """The least μ ≥ 0 if an event has probability at most `upper0` in world 0, at least `lower1` in world 1.
    Any shape; `upper0` above 0 and `lower1` below 1."""
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
    """The ε in nats at δ of the Gaussian mechanism with this μ; infinite at δ = 0 unless μ = 0. It says
    nothing about other mechanisms with this bound on μ. Raises: InvalidArgument."""
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
class EventTally:
    """Counts of the held-out games in one event, which should occur more often in `world`.
    pairs: of held-out games. hits: those in the event, in world 0 and in world 1."""

    event: Event
    world: int = 1
    pairs: int = 0
    hits: tuple[int, int] = (0, 0)

    def add(self, block: PairCounts) -> EventTally:
        hits0, hits1 = self.event.count(block)
        hits = (self.hits[0] + hits0, self.hits[1] + hits1)
        return attrs.evolve(self, pairs=self.pairs + block.pairs, hits=hits)


@attrs.frozen(kw_only=True)
class HeldOutBound(EventTally):
    """A bound on ε in nats, at least 0, and the counts that it rests on.
    p_lower: the lower limit on the probability in `world`. q_upper: the upper limit in the other world."""

    epsilon_lower: float
    p_lower: float
    q_upper: float


@attrs.frozen(kw_only=True)
class GaussianBound(EventTally):
    """A bound on μ, at least 0, and the counts that it rests on.
    alpha_upper, beta_upper: upper limits on the errors of the test that decides for world 1 on the event."""

    mu_lower: float
    alpha_upper: float
    beta_upper: float


class HeldOutEstimator:
    """A lower confidence bound on ε from blocks of score pairs, at a number of games fixed beforehand.

    choose_pairs: the event is chosen on the first blocks that hold at least so many pairs together, but not
        on all of several. held_out_pairs: the expected number of pairs that follow; default: as many. A wrong
        guess costs power, never validity.
    Raises: InvalidArgument.
    """

    def __init__(
        self, *, delta: float, confidence: float, choose_pairs: int, held_out_pairs: int | None = None
    ) -> None:
        check_value("delta", delta, at_least(0), at_most(1))
        check_value("confidence", confidence, more_than(0), less_than(1))
        check_value("choose_pairs", choose_pairs, at_least(1))
        if held_out_pairs is not None:
            check_value("held_out_pairs", held_out_pairs, at_least(1))
        self._delta = delta
        self._level = (1.0 - confidence) / 2
        self._choose_pairs = choose_pairs
        self._held_out_pairs = held_out_pairs
        self._histogram = ScoreHistogram()
        self._last: PairCounts | None = None
        self._tally: EventTally | None = None

    def update(self, block: PairCounts) -> None:
        """Learn from a block, or count it."""
        if not block.pairs:
            return
        if self._tally is None and self._last is not None:
            self._histogram.add(self._last)
            if self._histogram.pairs >= self._choose_pairs:
                self._tally = self._choose()
                self._histogram = ScoreHistogram()
        if self._tally is None:
            # Held back: if no other block follows, this one is counted.
            self._last = block
        else:
            self._last = None
            self._tally = self._tally.add(block)

    @property
    def epsilon_lower(self) -> float | None:
        """The certified bound in nats, or None while fewer than two blocks have been seen."""
        bound = self.bound
        return None if bound is None else bound.epsilon_lower

    @property
    def bound(self) -> HeldOutBound | None:
        """The bound with its event and counts, or None while fewer than two blocks have been seen."""
        tally = self._tally
        if tally is None:
            if self._last is None or not self._histogram.pairs:
                return None
            tally = self._choose().add(self._last)
        lower, upper = clopper_pearson(np.array(tally.hits), tally.pairs, self._level)
        p_lower, q_upper = float(lower[tally.world]), float(upper[1 - tally.world])
        epsilon = math.log(max((p_lower - self._delta) / q_upper, 1.0))
        counts = attrs.asdict(tally, recurse=False)
        return HeldOutBound(**counts, epsilon_lower=epsilon, p_lower=p_lower, q_upper=q_upper)

    def _choose(self) -> EventTally:
        """The event and direction with the largest bound, if future games resemble those so far."""
        pairs = self._held_out_pairs or self._histogram.pairs
        events, expected = self._histogram.predict_counts(pairs)
        if not len(events):
            return EventTally(EVERYTHING)
        bounds = self._bound_events(*clopper_pearson(expected, pairs, self._level))
        direction, index = np.unravel_index(bounds.argmax(), bounds.shape)
        return EventTally(events[int(index)], 1 - int(direction))

    def _bound_events(self, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
        """(d, 2k): what grows with the bound of each event, likelier in world 1 and, if d = 2, in world 0."""
        return (lower[::-1] - self._delta) / upper


class HeldOutGaussianEstimator(HeldOutEstimator):
    """A lower confidence bound on μ from one event, at a number of games fixed beforehand.
    The arguments are those of `HeldOutEstimator`; of the first blocks none is held back."""

    def __init__(self, *, confidence: float, choose_pairs: int, held_out_pairs: int) -> None:
        super().__init__(
            delta=0.0, confidence=confidence, choose_pairs=choose_pairs, held_out_pairs=held_out_pairs
        )

    @property
    def bound(self) -> GaussianBound | None:  # type: ignore[override]
        """The bound, or None until a block has followed those that chose the event."""
        tally = self._tally
        if tally is None:
            return None
        lower, upper = clopper_pearson(np.array(tally.hits), tally.pairs, self._level)
        _, misses = clopper_pearson(tally.pairs - np.array(tally.hits), tally.pairs, self._level)
        return GaussianBound(
            **attrs.asdict(tally, recurse=False),
            mu_lower=float(mu_lower(upper[0], lower[1])),
            alpha_upper=float(upper[0]),
            beta_upper=float(misses[1]),
        )

    def _bound_events(self, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
        return mu_lower(upper[0], lower[1])[None]


class OneEvent(Estimator):
    """The bound of `HeldOutEstimator`, whose event is chosen on a fifth of the games of the audit."""

    def __init__(self, context: EstimatorContext) -> None:
        super().__init__(context)
        choose = max(1, context.games_planned // 5)
        self._estimator = HeldOutEstimator(
            delta=context.delta, confidence=context.confidence, choose_pairs=choose
        )

    def add(self, block: PairCounts) -> None:
        self._estimator.update(block)

    @property
    def epsilon_lower(self) -> float | None:
        """The certified ε in nats, if all games were seen and there were enough blocks."""
        return self._estimator.epsilon_lower if self.complete else None

    def rows(self) -> list[Estimate]:
        row: dict[str, Any] = {"title": "held-out Clopper-Pearson", "assumes": f"{FIXED_SIZE}; one event"}
        return [estimate_epsilon("one event", self.epsilon_lower, **row)]


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
        return self._estimator.bound

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
    name, title = f"GDP, {method}", f"μ-GDP, {method}"
    row = Estimate(method=name, quantity="mu", value=mu, reason=reason, title=title, assumes=assumes)
    implied = Estimate(
        method=f"{name}, if Gaussian", quantity="epsilon", value=epsilon, certified=False, reason=note
    )
    return [row, implied]
