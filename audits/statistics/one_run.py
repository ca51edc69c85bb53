"""Test of a privacy claim from one run, whose input contains each of m canaries by a fair coin.

Validity: docs/proofs/one_run.md.
"""

from __future__ import annotations

import math
from functools import cached_property

import attrs
import numpy as np

from arena.privacy_curves import PrivacyCurve

_SLOPES = np.geomspace(0.2, 8.0, 9)  # by which the log odds of inclusion grow with the score, in deviations
_CENTRES = {0.0: 0.6, -0.2: 0.2, 0.2: 0.2}  # scores at which the odds are even, with their weights
_QUARTILES = 1.349  # deviations between the quartiles of a normal law
_LARGEST_LOG_ODDS = 30.0
_EXPECTED_BAD = 0.2  # canaries for which the ε of a curve may fail, at the point at which it is tested
_TYPICAL_GAIN = 0.5  # of the largest log factor of a right guess, to choose how many failures to allow for


@attrs.frozen(eq=False, slots=False)
class Guesses:
    """What several bettors think of each canary, from the scores alone, and whether they are right.

    Canaries are in the order in which their bits are revealed, the most conspicuous first.

    Shapes: chances (J, m), that the guess is right, at least 1/2; right (J, m); log_weights (J,).
    """

    chances: np.ndarray
    right: np.ndarray
    log_weights: np.ndarray

    @cached_property
    def best_chances(self) -> np.ndarray:
        """(J, m): the logarithms of the chances, falling."""
        return np.asarray(np.log(-np.sort(-self.chances, axis=1)))

    @classmethod
    def make(cls, scores: np.ndarray, included: np.ndarray) -> Guesses:
        """From scores (m,) and bits (m,).

        A bettor takes the log odds of inclusion to be linear in the score; there are several slopes and
        centres, since nothing is known about the scores.
        """
        low, middle, high = np.quantile(scores, [0.25, 0.5, 0.75])
        spread = (high - low) / _QUARTILES or float(np.std(scores)) or 1.0
        z = (scores - middle) / spread
        order = np.argsort(-np.abs(z), kind="stable")
        centres, weights = np.array(list(_CENTRES)), np.array(list(_CENTRES.values()))
        odds = (_SLOPES[:, None, None] * (z[order] - centres[:, None])).reshape(-1, len(scores))
        odds = np.clip(odds, -_LARGEST_LOG_ODDS, _LARGEST_LOG_ODDS)
        right = (odds >= 0) == included[order]
        return cls(
            chances=1 / (1 + np.exp(-np.abs(odds))),
            right=right,
            log_weights=np.log(np.tile(weights, len(_SLOPES)) / len(_SLOPES)),
        )

    def compute_evidence(self, epsilon: float, allowed: int) -> float:
        """The largest log wealth against ε in nats, if for so many canaries a guess may be better than that.

        A bettor guesses where its chance exceeds e^ε/(1 + e^ε). The factors of the guesses with the largest
        gains are taken away, as many as are allowed for.
        """
        null = 1 / (1 + math.exp(-epsilon))
        bets = self.chances > null
        gains = np.where(bets, np.log(self.chances / null), 0.0)
        with np.errstate(divide="ignore"):
            losses = np.where(bets, np.log1p(-self.chances) - math.log1p(-null), 0.0)
        growth = np.cumsum(np.where(self.right, gains, losses), axis=1)
        largest = np.maximum(self.best_chances[:, :allowed] - math.log(null), 0.0).sum(axis=1)
        return float(np.logaddexp.reduce(growth + (self.log_weights - largest)[:, None], axis=0).max())


@attrs.frozen
class Condition:
    """What is needed to reject (ε, δ)-DP.

    allowed: the canaries for which a guess may be better than ε allows. threshold: of the log wealth, in
    nats.
    """

    allowed: int
    threshold: float


def choose_condition(epsilon: float, delta: float, *, canaries: int, error: float) -> Condition:
    """The condition (ε, δ), tested with this probability of an error.

    More than k canaries are bad with probability at most canaries·δ/(k + 1), and the rest of the error bounds
    the wealth. k is that of the best trade-off for a typical guess.
    """
    expected = canaries * delta
    gain = _TYPICAL_GAIN * math.log1p(math.exp(-epsilon))
    k = np.arange(canaries)
    rest = error - expected / (k + 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        costs = np.where(rest > 0, -np.log(rest) + gain * k, np.inf)
    best = int(costs.argmin())
    return Condition(best, -math.log(rest[best]) if rest[best] > 0 else math.inf)


@attrs.frozen(eq=False)
class OneRunTest:
    """The test of hypotheses about one run. error: the probability, at most, of rejecting a true one."""

    guesses: Guesses
    error: float

    @property
    def canaries(self) -> int:
        """The number m of canaries."""
        return self.guesses.right.shape[1]

    def rejects(self, epsilon: float, delta: float) -> bool:
        """Whether (ε, δ)-DP is rejected; ε in nats."""
        condition = choose_condition(epsilon, delta, canaries=self.canaries, error=self.error)
        if math.isinf(condition.threshold):
            return False
        return self.guesses.compute_evidence(epsilon, condition.allowed) >= condition.threshold

    def rejects_curve(self, curve: PrivacyCurve) -> bool:
        """Whether a privacy curve is rejected, by the point at which its ε may fail for a fifth of a canary.

        At a much smaller δ the ε is larger, and at a larger one more guesses may be better than it allows.
        """
        delta = min(0.5, _EXPECTED_BAD / self.canaries)
        epsilon = curve.epsilon(delta)
        return math.isfinite(epsilon) and self.rejects(epsilon, delta)

    def find_bound(self, delta: float) -> float:
        """The certified bound in nats: every ε of a grid up to it is rejected at δ."""
        bound = 0.0
        for epsilon in _make_grid(self.canaries):
            if not self.rejects(epsilon, delta):
                break
            bound = epsilon
        return bound

    def find_curve(self, curve: PrivacyCurve) -> PrivacyCurve | None:
        """The largest member of the family of a curve that is rejected, with all smaller ones of a grid."""
        largest = None
        for scale in _SCALES:
            member = curve.rescale(scale) if scale != 1 else curve
            if not self.rejects_curve(member):
                break
            largest = member
        return largest


_STEP = 0.02  # by which an ε of the grid exceeds the one before it, relative to it
_FIRST = 0.01  # nats; the smallest positive ε of the grid
_SCALES = tuple(1.02**index for index in range(-232, 82))  # of curves: from a hundredth to five times


def _make_grid(canaries: int) -> np.ndarray:
    """ε in nats: 0, then steps of 2 % up to more than so many right guesses can show."""
    last = math.log(canaries) + 1
    return np.append(0.0, _FIRST * (1 + _STEP) ** np.arange(math.log(last / _FIRST) / math.log1p(_STEP)))
