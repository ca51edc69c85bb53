"""Private prediction from expert advice as its papers state it, with experts that are not merged.

`learners.mechanisms.experts` computes the cost and the regret of both; agnostic-experts draws likewise.
"""

from __future__ import annotations

import numpy as np

from arena.errors import InvalidArgument
from arena.settings import at_least, at_most, check_value
from learners.mechanisms.parameter_checks import check_positive
from learners.mechanisms.selection import exponential_mechanism


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
        check_positive(rate=rate)
        prior = np.asarray(log_prior, float)
        if not np.isfinite(prior).all():
            raise InvalidArgument("prior log-weights must be finite", value=prior[~np.isfinite(prior)][0])
        check_value("experts", experts, at_least(1))
        self._rng = rng
        self._rate = rate
        # The prior is a head start, so that scores remain sums of losses.
        self._scores = np.empty((games, experts))
        self._scores[:] = prior / rate

    def observe(self, losses: np.ndarray) -> None:
        """Add this round's losses (n, N). Raises: InvalidArgument for another shape, or outside [0, 1]."""
        losses = np.asarray(losses)
        if losses.shape != self._scores.shape:
            raise InvalidArgument(f"losses must have shape {self._scores.shape}", value=losses.shape)
        if losses.size and not (losses.min() >= 0 and losses.max() <= 1):  # false for NaN too
            raise InvalidArgument("losses must lie in [0, 1]", value=(losses.min(), losses.max()))
        self._scores -= losses

    def draw(self, games: np.ndarray | slice = slice(None)) -> np.ndarray:
        """An expert, 0 … N−1, for each of `games`; default: all, (n,)."""
        scores = self._scores[games]
        return exponential_mechanism(
            self._rng,
            scores - scores.max(axis=1, keepdims=True),  # so that large sums lose no precision
            epsilon=2 * self._rate,
            sensitivity=1,
        )


class LazyExperts:
    """Keeps its expert i with probability (1 − redraw)·exp(−rate·loss_i), and otherwise draws as Hedge would.

    The private shrinking dartboard of Asi, Feldman, Koren, Talwar (2023). Redraws that no loss caused (with
    probability `redraw`) hide those that a loss caused. After `max_draws` draws, not counting the first, an
    expert is kept for good. Proofs: docs/proofs/lazy_experts.md.

    Random numbers are drawn only for the games that need them (see `RestartBudget`).

    Shapes and units: as `ExponentialExperts`; redraw is a probability per round.
    """

    def __init__(
        self,
        games: int,
        experts: int,
        rng: np.random.Generator,
        *,
        rate: float,
        redraw: float = 0.0,
        max_draws: int | None = None,
        log_prior: object = 0.0,
    ) -> None:
        """max_draws: None for no limit."""
        check_value("redraw", redraw, at_least(0), at_most(1))
        self._rng = rng
        self._rate = rate
        self._stay = 1 - redraw
        self._hedge = ExponentialExperts(games, experts, rng, rate=rate, log_prior=log_prior)
        self._left = np.full(games, np.iinfo(np.int64).max if max_draws is None else max_draws)
        self._rows = np.arange(games)
        self._expert = self._hedge.draw()

    def draw(self) -> np.ndarray:
        """(n,) experts, 0 … N−1; they change only with the next losses."""
        return self._expert.copy()

    @property
    def draws_left(self) -> np.ndarray:
        """(n,): how many draws each game has left."""
        return self._left.copy()

    def observe(self, losses: np.ndarray) -> None:
        """Add this round's losses as `ExponentialExperts.observe`, then keep or redraw the experts."""
        losses = np.asarray(losses)
        self._hedge.observe(losses)
        stay = self._stay * np.exp(-self._rate * losses[self._rows, self._expert])
        redrawn = np.flatnonzero((self._rng.random(len(stay)) >= stay) & (self._left > 0))
        self._left[redrawn] -= 1
        self._expert[redrawn] = self._hedge.draw(redrawn)
