"""SteadyThresholds: noisy answers, of which only those between two fixed thresholds are charged."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from arena.errors import InvalidArgument
from learners.mechanisms.accounting import Guarantee
from learners.mechanisms.noise.laplace_noise import laplace
from learners.mechanisms.parameter_checks import check_positive, check_probability
from learners.mechanisms.sparse_vector.above_threshold import count_columns_to_true

ANSWERS_AT_ONCE = 16_384  # in all games together; more would be wasted, since a halt in one game ends them
# Moments that are tried, evenly spaced, and as many smaller ones for millions of charged answers.
_MOMENTS = 400


class SteadyThresholds:
    """Adds fresh noise Lap(1/(ε·size)) to each value and answers whether it is at or above 1/2.

    If the noisy value lies in [lower, upper], the answer is also "between" (⊤), and a game halts with the
    c-th such answer. Any number of answers cost `steady_thresholds_cost` together: only those "between" are
    charged.

    It replaces BetweenThresholds in section 6.1 of Naor, Nissim, Stemmer, Yan (NeurIPS 2023), whose
    thresholds are drawn anew after each ⊤, so that a query which causes a ⊤ changes how later ones are
    answered. Here the only state is the number of ⊤s. Proof: docs/proofs/steady_thresholds.md.

    watch: a further rule that halts games, from the ⊤s alone. It receives which answers were ⊤, (n, k), and
    returns which games it halts with each, (n, j), up to the first answer at which it halts a game.

    Shapes: n is `games`. Units: epsilon in nats, the cost of a single answer; thresholds in units of the
    values, with 1/2 between them; neighbours replace one of `size` records, which moves no value by more than
    1/size.
    """

    def __init__(
        self,
        games: int,
        rng: np.random.Generator,
        *,
        lower: float,
        upper: float,
        epsilon: float,
        size: int,
        halts: int,
        watch: Callable[[np.ndarray], np.ndarray] | None = None,
    ) -> None:
        if not -math.inf < lower < 0.5 < upper < math.inf:
            raise InvalidArgument("1/2 must lie between lower and upper, both finite", value=(lower, upper))
        check_positive(epsilon=epsilon, size=size, halts=halts)
        self._rng = rng
        self._scale = 1 / (epsilon * size)
        self._lower = lower
        self._upper = upper
        self._halts = halts
        self._watch = watch
        self._count = np.zeros(games, np.int64)
        self.halted = np.zeros(games, bool)
        self.between = np.zeros((games, 0), bool)
        self.cuts = np.zeros((games, 0))

    def respond(self, values: np.ndarray) -> np.ndarray:
        """(n, j) bool: the answers to the first j of several values per game, up to the first halt of a game.

        Afterwards `between` (n, j) holds which answers were "between", `cuts` (n, j) from which value on they
        would have been True, and `halted` (n,) which games have halted. The answers of a game that has halted
        are meaningless, and never "between".

        Shapes: values (n, k), k ≥ 1.
        Raises: InvalidArgument if values has another shape or is not finite.
        """
        if values.ndim != 2 or len(values) != len(self.halted) or not values.shape[1]:
            raise InvalidArgument("values must have shape (games, k), k ≥ 1", value=values.shape)
        if not np.isfinite(values).all():
            raise InvalidArgument("the values of a query must be finite", value=values)
        values = values[:, : max(1, ANSWERS_AT_ONCE // max(1, len(values)))]
        noise, between = self._draw(values)
        between &= ~self.halted[:, None]
        count = self._count[:, None] + np.cumsum(between, axis=1)
        ends = (count >= self._halts) & ~self.halted[:, None]
        j = count_columns_to_true(ends)
        if self._watch is not None:
            watched = self._watch(between[:, :j])
            j = watched.shape[1]
            ends[:, j - 1] |= watched[:, -1]
        self.halted = self.halted | ends[:, j - 1]
        self._count = count[:, j - 1]
        self.between = between[:, :j]
        self.cuts = 0.5 - noise[:, :j]
        return np.asarray(values[:, :j] >= self.cuts)

    def _draw(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The noise on each value, and which answers are "between"."""
        noise = laplace(self._rng, np.empty(values.shape), self._scale)
        noisy = values + noise
        return noise, (noisy >= self._lower) & (noisy <= self._upper)


def steady_thresholds_cost(halts: int, epsilon: float, *, gap: float, slack: float) -> Guarantee:
    """The cost of all answers of SteadyThresholds together: (ε, slack) with the least ε that is found.

    For small h = epsilon and c = halts, ε is about 2h√(c·ln(1/slack)) + h·ln(1/slack), whatever the number of
    answers. Which answers were "between", and their labels, may all be published. Formula, with h, c, w = gap
    and δ = slack, and proof: docs/proofs/steady_thresholds.md.

    Units: epsilon in nats; gap in scales of the noise, (upper − lower)·size·epsilon; slack a probability.
    """
    check_positive(halts=halts, epsilon=epsilon, gap=gap)
    check_probability(slack=slack)
    kappa = 0.5 / math.expm1(min(gap / 2, 700.0))
    limit = math.log1p(math.exp(-epsilon) / (1 + kappa))  # of λh, where the logarithm ends
    parts = np.concatenate([np.geomspace(1e-9, 1, _MOMENTS, endpoint=False), np.arange(1, _MOMENTS)])
    lambda_h = limit * parts / _MOMENTS
    moment = lambda_h / epsilon
    s = -lambda_h - np.log1p(-(1 + kappa) * math.exp(epsilon) * np.expm1(lambda_h))
    return Guarantee(max(0.0, float(epsilon_of_moment(halts * s, moment, slack).min())), slack)


def epsilon_of_moment(log_mean: Any, moment: Any, slack: float) -> Any:
    """The ε at which δ = slack, where ln E e^{moment·loss} ≤ log_mean: docs/proofs/steady_thresholds.md."""
    tail = -math.log(slack) - moment * np.log1p(1 / moment) - np.log1p(moment)
    return (log_mean + tail) / moment
