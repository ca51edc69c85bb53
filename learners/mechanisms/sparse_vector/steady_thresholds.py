"""SteadyThresholds on a table: noisy answers of which only those between two thresholds are paid for."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from arena.errors import InvalidArgument
from learners.mechanisms.accounting.composition import Guarantee
from learners.mechanisms.noise.laplace_noise import laplace
from learners.mechanisms.parameter_checks import check_positive

TOGETHER = 16_384  # answers that are drawn at once: a halt in one of many games ends them soon
_ORDERS = 400  # moments that are tried: within a thousandth of the best up to 10^5 ⊤s, a seventh at 10^7


class SteadyThresholds:
    """Adds fresh noise Lap(1/(ε·size)) to each value and tells whether it is at or above 1/2.

    Where the noisy value lies in [lower, upper] the answer is a ⊤ besides, and a game halts at its c-th ⊤.
    All answers together, however many, cost `steady_thresholds_cost`: clear ones are paid for by the ⊤s.

    It takes the place of BetweenThresholds in section 6.1 of Naor, Nissim, Stemmer, Yan (NeurIPS 2023). There
    the thresholds are noisy and drawn anew after each ⊤, so that a query which causes a ⊤ changes how later
    ones are answered. Here nothing is kept but the number of ⊤s: the noise of every answer is its own, and
    the thresholds are the same for all. That thresholds need no noise where there is a δ is known of the
    sparse vector from Kaplan, Mansour, Stemmer (2021) and Zhu, Wang (2020).

    watch: another rule that halts games, from the ⊤s alone. It is told which answers were ⊤, (n, k), and
    tells which games it halts with them, (n, j), up to the first answer with which it halts one.

    Shapes: n is `games`. Units: epsilon in nats, what one answer alone would cost; thresholds in those of the
    values, 1/2 between them; neighbours replace one of `size` records, which moves no value by more than
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
        """Raises: InvalidArgument if a parameter is out of range."""
        if not -math.inf < lower < 0.5 < upper < math.inf:
            raise InvalidArgument("1/2 must lie between lower and upper, both finite", value=(lower, upper))
        check_positive(epsilon=epsilon, size=size, halts=halts)
        self._rng = rng
        self._scale = 1 / (epsilon * size)
        self._lower = lower
        self._upper = upper
        self._halts = halts
        self._watch = watch
        self._tops = np.zeros(games, np.int64)
        self.halted = np.zeros(games, bool)
        self.top = np.zeros((games, 0), bool)
        self.cuts = np.zeros((games, 0))

    def respond(self, values: np.ndarray) -> np.ndarray:
        """(n, j) bool: the answers to the first j of several values a game, up to the first halt of a game at
        most.

        `top` (n, j) then tells which were ⊤, `cuts` (n, j) from which value on they were True, `halted` (n,)
        which games have halted. A game that has answers either, which means nothing, and never ⊤.

        Shapes: values (n, k), k ≥ 1.
        Raises: InvalidArgument if values has another shape or is not finite.
        """
        if values.ndim != 2 or len(values) != len(self.halted) or not values.shape[1]:
            raise InvalidArgument("every game needs the same number of values", value=values.shape)
        if not np.isfinite(values).all():
            raise InvalidArgument("the values of a query must be finite", value=values)
        values = values[:, : max(1, TOGETHER // max(1, len(values)))]
        noise = laplace(self._rng, np.empty(values.shape), self._scale)
        noisy = values + noise
        top = (noisy >= self._lower) & (noisy <= self._upper) & ~self.halted[:, None]
        tops = self._tops[:, None] + np.cumsum(top, axis=1)
        ends = (tops >= self._halts) & ~self.halted[:, None]
        many = _up_to_the_first(ends)
        if self._watch is not None:
            watched = self._watch(top[:, :many])
            many = watched.shape[1]
            ends[:, many - 1] |= watched[:, -1]
        self.halted = self.halted | ends[:, many - 1]
        self._tops = tops[:, many - 1]
        self.top = top[:, :many]
        self.cuts = 0.5 - noise[:, :many]
        return np.asarray(values[:, :many] >= self.cuts)


def _up_to_the_first(ends: np.ndarray) -> int:
    """How many columns of ends (n, k) there are up to the first in which something is true; k if none is."""
    some = np.asarray(ends.any(axis=0))
    return int(some.argmax()) + 1 if some.any() else len(some)


def steady_thresholds_cost(halts: int, epsilon: float, *, gap: float, slack: float) -> Guarantee:
    """What the answers of SteadyThresholds cost together: (ε, slack) with the least ε that is found.

    With h = epsilon, c = halts, w = gap·size·h (the thresholds' distance in scales of the noise),
    κ = 1/(2(e^{w/2} − 1)), for every λ for which the logarithm exists,

        ε = (c·s + ln(1/slack) + λ·ln(λ/(1 + λ)) − ln(1 + λ))/λ,   s = −λh − ln(1 − (1 + κ)·e^h·(e^{λh} − 1)),

    which for small h is about c·(λ + 1)·h² + ln(1/slack)/λ: 2h√(c·ln(1/slack)) at the best λ, and some
    h·ln(1/slack) since λh has to stay below ln 2. Not a factor of it depends on the number of answers.

    Proof. Fix a query, adaptively chosen. Let it be answered 0 outside the thresholds with probability l, 1
    outside with r, and with t_1, t_2 a ⊤ that is 0 or 1; t = t_1 + t_2; primes for the neighbour. The value
    moves by at most 1/size, so each of these ratios is within e^{±h}. It is enough that
    g = l(l/l')^λ + r(r/r')^λ + Σ t_i(t_i/t_i')^λ·e^{−s} ≤ 1: then exp(λ·loss − s·#⊤) is a supermartingale
    however queries are chosen, E exp(λ·loss) ≤ e^{sc}, and the law of ε is that
    (1 − e^{−x})⁺ ≤ e^{λx}·λ^λ/(1 + λ)^{1+λ} with x = loss − ε, whose mean is δ(ε).
    Let the value be at most in the middle of the thresholds, otherwise reflect. There r ≤ κ·t, with equality
    in the middle, since the tail of Laplace noise is log-concave.
    - *The value rises.* d = l − l' ≥ 0 and r' ≥ r. By convexity of u^{1+λ} on [1, e^h],
      l(l/l')^λ ≤ l + dA, A = (e^{λh} − 1)/(1 − e^{−h}). With t_i' = e^{g_i}·t_i,
      d = Σ(t_i' − t_i) + r' − r ≤ Σ t_i(e^{g_i} − 1 + κ(e^h − 1)). So g ≤ 1 if for both i
      s ≥ −λg_i − ln(1 − A(e^{g_i} − 1 + κ(e^h − 1))). This is convex in g_i, hence largest at ±h; at h it
      is the s above, since A(e^h − 1) = e^h(e^{λh} − 1), and at −h it is less.
    - *It falls.* d = l' − l ≥ 0 and r' ≤ r. In the same way l(l/l')^λ ≤ l − dB, B = (1 − e^{−λh})/(e^h − 1),
      d ≥ Σ(t_i − t_i'), r(r/r')^λ ≤ r + κt(e^{λh} − 1). So g ≤ 1 if, with t_i = e^{g_i}·t_i',
      s ≥ λg_i − ln(1 + B(1 − e^{−g_i}) − κ(e^{λh} − 1)), again convex. With y = e^{λh}, at −h it is
      −ln(1 − κy(y − 1)); at h no more than the s above because y + 1 ≤ y²e^h + e^{−h}/y. ∎

    A 0 and a 1 among the ⊤s, and which answers were ⊤, may all be shown.

    Units: epsilon in nats; gap in scales of the noise, that is (upper − lower)·size·epsilon; slack a
    probability.
    Raises: InvalidArgument if a parameter is out of range.
    """
    check_positive(halts=halts, epsilon=epsilon, gap=gap)
    if not 0 < slack < 1:
        raise InvalidArgument("slack must be a probability between 0 and 1", value=slack)
    kappa = 0.5 / math.expm1(min(gap / 2, 700.0))
    most = math.log1p(math.exp(-epsilon) / (1 + kappa))  # λh at which the logarithm ends
    rise = most * np.arange(1, _ORDERS) / _ORDERS
    order = rise / epsilon
    top = -rise - np.log1p(-(1 + kappa) * math.exp(epsilon) * np.expm1(rise))
    tails = -math.log(slack) - order * np.log1p(1 / order) - np.log1p(order)
    return Guarantee(max(0.0, float(((halts * top + tails) / order).min())), slack)
