"""Private prediction from expert advice that draws rarely, for oblivious adversaries.

Functions raise InvalidArgument if a parameter is out of range.
"""

from __future__ import annotations

import math

import attrs
import numpy as np

from arena.settings import at_least, at_most, check_value
from learners.mechanisms.accounting.bounded_range import hoeffding_composition
from learners.mechanisms.accounting.composition import Guarantee
from learners.mechanisms.accounting.monotone_search import largest_affordable
from learners.mechanisms.experts import exponential_experts
from learners.mechanisms.experts.exponential_experts import ExpertLosses, check_rounds
from learners.mechanisms.parameter_checks import check_positive

_REDRAWS = tuple(0.5**k for k in range(1, 31))  # the candidates for `redraw`


class LazyExperts:
    """Keeps its expert i with probability (1 − redraw)·exp(−rate·loss_i), and otherwise draws as Hedge would.

    The private shrinking dartboard of Asi, Feldman, Koren, Talwar (2023). Redraws that no loss caused (with
    probability `redraw`) hide those that a loss caused. After `max_draws` draws, not counting the first, an
    expert is kept for good. Privacy (`cost`, also against adaptive adversaries) and output distribution
    (`regret`, against oblivious ones): docs/proofs/lazy_experts.md.

    Random numbers are drawn only for the games that need them. So the history of other games may decide which
    random numbers a game receives, but not their distribution.

    Shapes: n games, N experts; losses (n, N) in [0, 1]; log_prior (N,) or (n, N), up to a constant.
    Units: rate in nats per unit of loss; redraw is a probability per round.
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
        """max_draws: None for no limit. Raises: InvalidArgument if a parameter is out of range."""
        check_positive(rate=rate)
        _check_redraw(redraw)
        self._rng = rng
        self._rate = rate
        self._stay = 1 - redraw
        self._losses = ExpertLosses(games, experts, rate=rate, log_prior=log_prior)
        self._left = np.full(games, np.iinfo(np.int64).max if max_draws is None else max_draws)
        self._rows = np.arange(games)
        self._expert = self._losses.choose(rng, slice(None))

    def draw(self) -> np.ndarray:
        """(n,) experts, 0 … N−1; they change only with the next losses."""
        return self._expert.copy()

    @property
    def draws_left(self) -> np.ndarray:
        """(n,): how many draws each game has left."""
        return self._left.copy()

    def observe(self, losses: np.ndarray) -> None:
        """Add this round's losses (n, N), then keep or redraw the experts of the next round.

        Raises: InvalidArgument if they have another shape or are not in [0, 1].
        """
        losses = np.asarray(losses)
        self._losses.add(losses)
        stay = self._stay * np.exp(-self._rate * losses[self._rows, self._expert])
        redrawn = np.flatnonzero((self._rng.random(len(stay)) >= stay) & (self._left > 0))
        self._left[redrawn] -= 1
        self._expert[redrawn] = self._losses.choose(self._rng, redrawn)


@attrs.frozen
class LazyParameters:
    """The parameters of `LazyExperts`, as there."""

    rate: float
    redraw: float
    max_draws: int


def cost(rounds: int, parameters: LazyParameters, *, slack: float) -> Guarantee:
    """The cost of `rounds` rounds of `LazyExperts` for one replaced vector of losses.

    slack = 0 asks for pure DP. With redraw = 0 a redraw may reveal a loss, and ε is infinite. Proof:
    docs/proofs/lazy_experts.md.
    """
    check_positive(rate=parameters.rate)
    _check_redraw(parameters.redraw)
    draws = min(parameters.max_draws, rounds - 1)
    if draws < 1:
        return Guarantee(0.0, 0.0)
    if not parameters.redraw:
        return Guarantee(math.inf, 0.0)
    later_draws = hoeffding_composition(draws, 2 * parameters.rate, slack=slack)
    bit = _epsilon_of_redraw_bit(parameters.rate, parameters.redraw)
    return Guarantee(bit + later_draws.epsilon, later_draws.delta)


def regret(rounds: int, experts: int, parameters: LazyParameters) -> float:
    """A bound on the expected regret to the best of equally likely experts, against oblivious adversaries.

    It is Hedge's, plus T times the probability that a game runs out of draws.
    """
    chance = _largest_redraw_chance(parameters.rate, parameters.redraw)
    too_late = _exhaustion_bound(rounds, chance, parameters.max_draws)
    return exponential_experts.regret(rounds, experts, parameters.rate) + rounds * too_late


def largest_rate(rounds: int, *, epsilon: float, delta: float) -> LazyParameters:
    """The parameters of the largest rate at which `rounds` ≥ 2 rounds cost at most (epsilon, delta).

    Games run out of draws with probability at most 1/T², and `redraw` is a power of 1/2.
    """
    check_positive(epsilon=epsilon)
    check_rounds(rounds)

    def epsilon_at(rate: float, redraw: float) -> float:
        return cost(rounds, _with_enough_draws(rounds, rate, redraw), slack=delta).epsilon

    def rate_at(redraw: float) -> float:
        return largest_affordable(lambda rate: epsilon_at(rate, redraw), epsilon)

    best = max(_REDRAWS, key=rate_at)
    return _with_enough_draws(rounds, rate_at(best), best)


def _with_enough_draws(rounds: int, rate: float, redraw: float) -> LazyParameters:
    """The parameters with the fewest draws that games exceed with probability at most 1/T²."""
    chance = _largest_redraw_chance(rate, redraw)
    low, high = 0, rounds - 1
    while low < high:
        middle = (low + high) // 2
        if _exhaustion_bound(rounds, chance, middle) <= rounds**-2:
            high = middle
        else:
            low = middle + 1
    return LazyParameters(rate, redraw, low)


def _largest_redraw_chance(rate: float, redraw: float) -> float:
    """The largest probability of a draw in one round."""
    return 1 - (1 - redraw) * math.exp(-rate)


def _epsilon_of_redraw_bit(rate: float, redraw: float) -> float:
    """The ε of the bit that reveals whether there was a draw."""
    return max(rate, math.log(_largest_redraw_chance(rate, redraw) / redraw))


def _exhaustion_bound(rounds: int, chance: float, max_draws: int) -> float:
    """A Chernoff bound on the probability of more than `max_draws` draws, with `chance` in each round."""
    trials, excess = rounds - 1, max_draws + 1
    if excess > trials:
        return 0.0
    part = excess / trials
    if part <= chance:
        return 1.0
    rest = (1 - part) * math.log((1 - part) / (1 - chance)) if part < 1 else 0.0
    return math.exp(-trials * (part * math.log(part / chance) + rest))


def _check_redraw(redraw: float) -> None:
    check_value("redraw", redraw, at_least(0), at_most(1))
