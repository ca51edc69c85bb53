"""AboveThreshold on the running sums of a stream, on a table: how private online learners count mistakes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from arena.errors import InvalidArgument
from learners.mechanisms.accounting.monotone_search import least_sufficient
from learners.mechanisms.noise.laplace_noise import NoisyValues, laplace
from learners.mechanisms.parameter_checks import check_positive
from learners.mechanisms.sparse_vector.above_threshold import unwritable_view


class RunningSum:
    """Receives b_t in [0, 1], round by round, and tells when b_1 + ... + b_t has passed a threshold.

    Theorem 2.5 of Li, Wang, Ye, after Dwork et al. (2009): an instance has one threshold with noise Lap(1/ε),
    adds fresh noise Lap(1/ε) to the sum in every round, answers ⊤ (True) in the first round in which the
    noisy sum is at or above the noisy threshold, and ends there. `restart` starts another.

    Each instance is (ε, 0)-DP when one of its b_t is replaced, whatever the later ones are chosen from; so
    are all of them together, since an element of the stream feeds one of them. AboveThreshold in general
    needs noise 2/ε and 4/ε. Here replacing b_t moves *all* later sums by the *same* c, |c| ≤ 1, and less is
    enough. Say c ≥ 0 is added, and fix answers ⊥ ... ⊥ ⊤. Without it they have the probability
    ∫ p(ρ) ∏ F(θ + ρ - s_i) · F̄(θ + ρ - s_k) dρ, where p is the density of the threshold's noise, F the
    distribution function of a sum's, F̄ = 1 - F.
    - Adding c, and moving ρ by c as well, leaves the factors from t on alone, makes earlier ones larger, and
      costs exp(cε) in p. So the probability without is at most e^ε times that with c.
    - Taking c away, ρ being kept, makes every F larger and F̄ smaller by exp(cε) at most. So the other
      direction also holds.

    Games whose instance has ended answer False until they start again. Fresh noise is drawn for every game in
    every round, ended or not.

    Shapes: n is `games`; answers are read-only views (n,), overwritten by the next call.
    Units: epsilon in nats, for one instance; thresholds in units of b.
    """

    def __init__(self, games: int, rng: np.random.Generator, *, thresholds: Any, epsilon: float) -> None:
        """thresholds: one number, or one for each game.

        Raises: InvalidArgument if a parameter is out of range.
        """
        check_positive(epsilon=epsilon)
        self._rng = rng
        self._epsilon = epsilon
        self._noisy = NoisyValues(games, rng, scale=1 / epsilon)
        self._sums = np.zeros(games)
        self._thresholds = np.empty(games)  # in units of the noise
        self._fired = np.zeros(games, bool)
        self._shown = unwritable_view(self._fired)
        self.restart(np.arange(games), thresholds)

    def observe(self, values: Any) -> np.ndarray:
        """(n,) bool: ⊤ or ⊥ of this round, after b_t = `values`.

        Shapes: values is one number for all games or (n,), bool or in [0, 1].
        Raises: InvalidArgument if a value is not in [0, 1].
        """
        values = np.asarray(values)
        if values.dtype != bool and not ((values >= 0) & (values <= 1)).all():
            raise InvalidArgument("what is summed lies in [0, 1]", value=values)
        self._sums += values
        np.greater_equal(self._noisy.draw(self._sums), self._thresholds, out=self._fired)
        np.putmask(self._thresholds, self._fired, math.inf)
        return self._shown

    def observe_many(self, values: np.ndarray) -> np.ndarray:
        """(n, j) bool: ⊤ or ⊥ after each of the first j of several b, up to the first ⊤ of a game.

        Shapes: values (n, k), k ≥ 1, bool or in [0, 1].
        Raises: InvalidArgument if a value is not in [0, 1].
        """
        if values.dtype != bool and not ((values >= 0) & (values <= 1)).all():
            raise InvalidArgument("what is summed lies in [0, 1]", value=values)
        sums = self._sums[:, None] + np.cumsum(values, axis=1)
        fired = sums * self._epsilon + laplace(self._rng, np.empty(values.shape)) >= self._thresholds[:, None]
        some = np.asarray(fired.any(axis=0))
        last = int(some.argmax()) if some.any() else len(some) - 1
        self._sums = sums[:, last]
        np.putmask(self._thresholds, fired[:, last], math.inf)
        return np.asarray(fired[:, : last + 1])

    def restart(self, rows: np.ndarray, thresholds: Any) -> None:
        """Start a new instance, with its own noisy threshold and the sum 0, in the games `rows`.

        Shapes: rows (k,) of game numbers; thresholds one number or (k,).
        Raises: InvalidArgument if a threshold is not finite.
        """
        if not np.isfinite(thresholds).all():
            raise InvalidArgument("a threshold must be finite", value=thresholds)
        noise = laplace(self._rng, np.empty(len(rows)))
        self._sums[rows] = 0
        self._thresholds[rows] = np.asarray(thresholds) * self._epsilon + noise


def running_sum_error(rounds: int, beta: float, *, epsilon: float) -> float:
    """α for which one instance errs by more than α in some of T rounds with probability at most β.

    Where it answers ⊤, the sum is at least the threshold less α; where it answers ⊥, at most the threshold
    plus α. The threshold's noise stays within ln(2/β)/ε and that of all sums within ln(2T/β)/ε, each but for
    β/2: α = (ln T + 2 ln(2/β))/ε, an eighth to a quarter of what Theorem 2.5 of Li, Wang, Ye states.

    Raises: InvalidArgument if a parameter is out of range.
    """
    check_positive(epsilon=epsilon, rounds=rounds)
    if not 0 < beta <= 1:
        raise InvalidArgument("beta must be a positive probability", value=beta)
    return (math.log(rounds) + 2 * math.log(2 / beta)) / epsilon


def running_sum_lag(beta: float, *, epsilon: float) -> float:
    """α for which, in one round fixed before the noise is drawn, a sum that is α beyond the threshold goes
    unnoticed with probability at most β.

    P[X + Y > α] of two independent X, Y ~ Lap(1/ε) is (2 + αε)/4·e^{−αε}. The number of rounds plays no part.
    Raises: InvalidArgument if a parameter is out of range.
    """
    check_positive(epsilon=epsilon)
    if not 0 < beta < 0.5:
        raise InvalidArgument("beta must be a probability between 0 and 1/2", value=beta)
    return least_sufficient(lambda x: (2 + x) / 4 * math.exp(-x) <= beta) / epsilon
