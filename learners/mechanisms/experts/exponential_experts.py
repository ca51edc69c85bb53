"""Private prediction from expert advice against adaptive adversaries, with a fresh draw every round.

Functions raise InvalidArgument if a parameter is out of range.
"""

from __future__ import annotations

import math

import numpy as np

from arena.errors import InvalidArgument
from arena.settings import at_least, check_value
from learners.mechanisms.accounting.bounded_range import hoeffding_composition
from learners.mechanisms.accounting.composition import Guarantee
from learners.mechanisms.accounting.monotone_search import largest_affordable
from learners.mechanisms.parameter_checks import check_positive
from learners.mechanisms.selection.exponential_mechanism import exponential_mechanism


class ExponentialExperts:
    """Draws a fresh expert i every round with probability proportional to exp(prior_i − rate·losses_i).

    This is Hedge, whose every draw is an exponential mechanism on the losses so far; equivalently, follow the
    perturbed leader with Gumbel noise (Jain and Thakurta 2014; Theorem E.11 of Li, Wang, Ye). `cost` bounds
    its privacy loss and `regret` its regret, both against adversaries that see every draw.

    Shapes: n games, N experts; losses (n, N) in [0, 1]; log_prior (N,) or (n, N), up to a constant.
    Units: rate in nats per unit of loss.
    """

    def __init__(
        self, games: int, experts: int, rng: np.random.Generator, *, rate: float, log_prior: object = 0.0
    ) -> None:
        """Raises: InvalidArgument if a parameter is out of range."""
        check_positive(rate=rate)
        self._rng = rng
        self._rate = rate
        self.losses = ExpertLosses(games, experts, rate=rate, log_prior=log_prior)

    def draw(self) -> np.ndarray:
        """(n,) experts, 0 … N−1."""
        return self.losses.choose(self._rng, slice(None))

    def observe(self, losses: np.ndarray) -> None:
        """Add this round's losses (n, N).

        Raises: InvalidArgument if they have another shape or are not in [0, 1].
        """
        self.losses.add(losses)


class ExpertLosses:
    """The total losses of all experts in every game, on top of the prior, and draws by Hedge's weights."""

    def __init__(self, games: int, experts: int, *, rate: float, log_prior: object) -> None:
        prior = np.asarray(log_prior, float)
        if not np.isfinite(prior).all():
            raise InvalidArgument("prior log-weights must be finite", value=prior[~np.isfinite(prior)][0])
        check_value("experts", experts, at_least(1))
        self._rate = rate
        # The prior is a head start, so that scores remain sums of losses.
        self._scores = np.empty((games, experts))
        self._scores[:] = prior / rate

    def add(self, losses: np.ndarray) -> None:
        losses = np.asarray(losses)
        if losses.shape != self._scores.shape:
            raise InvalidArgument(f"losses must have shape {self._scores.shape}", value=losses.shape)
        if losses.size and not (losses.min() >= 0 and losses.max() <= 1):  # false for NaN too
            raise InvalidArgument("losses must lie in [0, 1]", value=(losses.min(), losses.max()))
        self._scores -= losses

    def choose(self, rng: np.random.Generator, games: np.ndarray | slice) -> np.ndarray:
        """An expert for each of `games`."""
        scores = self._scores[games]
        return exponential_mechanism(
            rng,
            scores - scores.max(axis=1, keepdims=True),  # so that large sums lose no precision
            epsilon=2 * self._rate,
            sensitivity=1,
        )


def cost(rounds: int, rate: float, *, slack: float) -> Guarantee:
    """The cost of `rounds` rounds of `ExponentialExperts` for one replaced vector of losses.

    The vectors differ by Δ in [−1, 1], so a draw has range rate·(max Δ − min Δ) ≤ 2·rate (see
    `accounting.bounded_range`). The first draw does not depend on losses. slack = 0 asks for pure DP.
    """
    check_positive(rate=rate)
    return hoeffding_composition(rounds - 1, 2 * rate, slack=slack)


def largest_rate(rounds: int, *, epsilon: float, delta: float) -> float:
    """The largest rate at which `rounds` ≥ 2 rounds cost at most (epsilon, delta)."""
    check_positive(epsilon=epsilon)
    check_rounds(rounds)
    return largest_affordable(lambda rate: cost(rounds, rate, slack=delta).epsilon, epsilon)


def check_rounds(rounds: int) -> None:
    """Raises: InvalidArgument for fewer than 2 rounds, which cost nothing at any rate."""
    if rounds < 2:
        raise InvalidArgument("rounds must be at least 2: a single round costs nothing", value=rounds)


def regret(rounds: int, experts: int, rate: float) -> float:
    """Hedge's bound on the expected regret to the best of equally likely experts: ln N/rate + rate·T/8.

    It holds if no round's losses depend on the draw of that round, hence against adaptive adversaries. With a
    prior, 1/N is the prior probability of the expert that Hedge is compared with.
    """
    return math.log(experts) / rate + rate * rounds / 8
