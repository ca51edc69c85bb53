"""Private prediction from expert advice that draws rarely: for oblivious adversaries."""

from __future__ import annotations

import math

import attrs
import numpy as np

from arena.errors import InvalidArgument
from learners.mechanisms.accounting.bounded_range import hoeffding_composition
from learners.mechanisms.accounting.composition import Guarantee
from learners.mechanisms.accounting.monotone_search import largest_affordable
from learners.mechanisms.experts import exponential_experts
from learners.mechanisms.experts.exponential_experts import ExpertLosses
from learners.mechanisms.parameter_checks import check_positive

_SHARES = tuple(0.5**k for k in range(1, 31))  # tried as `redraw`


class LazyExperts:
    """Keeps its expert i with probability (1 − redraw)·exp(−rate·loss_i), otherwise draws as Hedge would.

    The private shrinking dartboard of Asi, Feldman, Koren, Talwar (2023): exp(−rate·loss_i) is i's weight now
    over its weight before, and the draws with probability `redraw` that nothing called for hide those that a
    loss did. After `most` draws, the first aside, an expert is kept for good.

    **Law.** If losses do not depend on the draws and `most` is not reached, the expert of round t is
    distributed as Hedge's: let P be the law before and Q after a loss, w the weights and W their sums. i is
    kept with probability P(i)·w'(i)/w(i) = (W'/W)·Q(i), drawn with (1 − W'/W)·Q(i), so Q(i) in all; and what
    is drawn for no reason has the law Q as well. Hence `regret`.

    **Privacy** (`cost`), also against adaptive adversaries. Show the adversary more than it sees: of each
    round also whether there was a draw. Let the losses ℓ of round s be replaced by ℓ'. Given the view so far,
    1. whether round t ≠ s + 1 draws has the same law in both worlds: it depends on the losses of round t − 1
       and on the expert, both known;
    2. round s + 1 draws with probability 1 − (1 − redraw)·exp(−rate·ℓ_i), between `redraw` and
       1 − (1 − redraw)·exp(−rate). A "no" has log ratios of at most rate, a "yes" of at most
       ln((1 − (1 − redraw)·exp(−rate))/redraw): one bit, with the larger of both;
    3. what a draw after round s yields has log ratios in an interval of length 2·rate, as in `cost` of
       `exponential_experts`, and there are at most `most` such draws: `hoeffding_composition`.
    Where losses are adaptive, they are one function of the view in both worlds. At which rounds draws
    happen is random, but the bounds on exponential moments that `hoeffding_composition` rests on hold draw by draw,
    given all before, and so multiply whenever they happen. The costs of 2 and 3 add up.

    Fresh coins are drawn in the games that need them, so what other games are told may decide which of the
    table's coins a game gets, but never with what probabilities.

    Shapes: n games, N experts; losses (n, N) in [0, 1]; log_prior (N,) or (n, N), up to a constant.
    Units: rate in nats per unit of loss; redraw is a probability a round.
    """

    def __init__(
        self,
        games: int,
        experts: int,
        rng: np.random.Generator,
        *,
        rate: float,
        redraw: float = 0.0,
        most: int | None = None,
        log_prior: object = 0.0,
    ) -> None:
        """most: None for no limit. Raises: InvalidArgument if a parameter is out of range."""
        check_positive(rate=rate)
        _check_redraw(redraw)
        self._rng = rng
        self._rate = rate
        self._stay = 1 - redraw
        self._losses = ExpertLosses(games, experts, rate=rate, log_prior=log_prior)
        self._left = np.full(games, np.iinfo(np.int64).max if most is None else most)
        self._rows = np.arange(games)
        self._expert = self._losses.choose(rng, slice(None))

    def draw(self) -> np.ndarray:
        """(n,) experts, 0 … N−1: the same until the next losses."""
        return self._expert.copy()

    @property
    def draws_left(self) -> np.ndarray:
        """(n,): how many more draws each game may make."""
        return self._left.copy()

    def observe(self, losses: np.ndarray) -> None:
        """Add this round's losses (n, N), and keep or draw the next round's experts.

        Raises: InvalidArgument if they have another shape or are not in [0, 1].
        """
        losses = np.asarray(losses)
        self._losses.add(losses)
        kept = self._stay * np.exp(-self._rate * losses[self._rows, self._expert])
        moves = np.flatnonzero((self._rng.random(len(kept)) >= kept) & (self._left > 0))
        self._left[moves] -= 1
        self._expert[moves] = self._losses.choose(self._rng, moves)


@attrs.frozen
class LazyParameters:
    """What `LazyExperts` runs with: its rate, its chance of a draw for no reason, and its most draws."""

    rate: float
    redraw: float
    most: int


def cost(rounds: int, spec: LazyParameters, *, slack: float) -> Guarantee:
    """What `rounds` rounds of `LazyExperts` cost for one replaced vector of losses (proof: there).

    slack = 0 asks for pure privacy. With redraw = 0 the bit may give a loss away, and nothing is promised.

    Raises: InvalidArgument if a parameter is out of range.
    """
    check_positive(rate=spec.rate)
    _check_redraw(spec.redraw)
    draws = min(spec.most, rounds - 1)
    if draws < 1:
        return Guarantee(0.0, 0.0)
    if not spec.redraw:
        return Guarantee(math.inf, 0.0)
    after = hoeffding_composition(draws, 2 * spec.rate, slack=slack)
    return Guarantee(_bit(spec.rate, spec.redraw) + after.epsilon, after.delta)


def regret(rounds: int, experts: int, spec: LazyParameters) -> float:
    """A bound on the expected regret to the best of equally likely experts, against oblivious adversaries.

    Hedge's, and T more in the games that would draw more often than they may.
    """
    late = _too_many(rounds, _most_often(spec.rate, spec.redraw), spec.most)
    return exponential_experts.regret(rounds, experts, spec.rate) + rounds * late


def largest_rate(rounds: int, *, epsilon: float, delta: float) -> LazyParameters:
    """The settings of the largest rate at which `rounds` rounds, two or more, cost (epsilon, delta) at most,
    and games run out of draws with probability 1/T² at most.

    `redraw` is a power of 1/2.

    Raises: InvalidArgument if a parameter is out of range.
    """
    check_positive(epsilon=epsilon)
    if rounds < 2:
        raise InvalidArgument("one round costs nothing: any rate will do", value=rounds)

    def spent(rate: float, redraw: float) -> float:
        return cost(rounds, _enough(rounds, rate, redraw), slack=delta).epsilon

    def rate_at(redraw: float) -> float:
        return largest_affordable(lambda rate: spent(rate, redraw), epsilon)

    best = max(_SHARES, key=rate_at)
    return _enough(rounds, rate_at(best), best)


def _enough(rounds: int, rate: float, redraw: float) -> LazyParameters:
    """With draws enough for all games but a part of 1/T²."""
    share = _most_often(rate, redraw)
    low, high = 0, rounds - 1
    while low < high:
        middle = (low + high) // 2
        if _too_many(rounds, share, middle) <= rounds**-2:
            high = middle
        else:
            low = middle + 1
    return LazyParameters(rate, redraw, low)


def _most_often(rate: float, redraw: float) -> float:
    """The largest chance of a draw in one round."""
    return 1 - (1 - redraw) * math.exp(-rate)


def _bit(rate: float, redraw: float) -> float:
    """The privacy of the bit that says whether there was a draw."""
    return max(rate, math.log(_most_often(rate, redraw) / redraw))


def _too_many(rounds: int, share: float, most: int) -> float:
    """A bound on the chance of more than `most` draws in `rounds` rounds: Chernoff's for a binomial."""
    trials, excess = rounds - 1, most + 1
    if excess > trials:
        return 0.0
    part = excess / trials
    if part <= share:
        return 1.0
    other = (1 - part) * math.log((1 - part) / (1 - share)) if part < 1 else 0.0
    return math.exp(-trials * (part * math.log(part / share) + other))


def _check_redraw(redraw: float) -> None:
    if not 0 <= redraw <= 1:
        raise InvalidArgument("redraw is a probability", value=redraw)
