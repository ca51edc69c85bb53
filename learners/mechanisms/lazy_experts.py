"""Private prediction from expert advice that draws rarely, for oblivious adversaries.

The private shrinking dartboard of Asi, Feldman, Koren, Talwar (2023) keeps its expert i with probability (1 −
redraw)·exp(−rate·loss_i), and otherwise draws as Hedge would: docs/proofs/lazy_experts.md.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from functools import lru_cache

import attrs

from arena.settings import at_least, at_most, check_value
from learners.mechanisms import exponential_experts
from learners.mechanisms.accounting import Guarantee, hoeffding_composition, largest_affordable
from learners.mechanisms.exponential_experts import check_rounds
from learners.mechanisms.parameter_checks import check_positive

_REDRAWS = tuple(0.5**k for k in range(1, 31))  # the candidates for `redraw`


@attrs.frozen
class LazyParameters:
    """rate: nats per unit of loss. redraw: a probability per round. max_draws: without the first."""

    rate: float
    redraw: float
    max_draws: int


def cost(rounds: int, parameters: LazyParameters, *, slack: float) -> Guarantee:
    """The cost of `rounds` rounds for one replaced vector of losses; slack = 0 asks for pure DP. With redraw
    = 0 it is infinite."""
    check_positive(rate=parameters.rate)
    check_value("redraw", parameters.redraw, at_least(0), at_most(1))
    draws = min(parameters.max_draws, rounds - 1)
    if draws < 1:
        return Guarantee(0.0, 0.0)
    if not parameters.redraw:
        return Guarantee(math.inf, 0.0)
    later_draws = hoeffding_composition(draws, 2 * parameters.rate, slack=slack)
    chance = _largest_redraw_chance(parameters.rate, parameters.redraw)
    bit = max(parameters.rate, math.log(chance / parameters.redraw))  # reveals whether there was a draw
    return Guarantee(bit + later_draws.epsilon, later_draws.delta)


def regret(rounds: int, experts: int, parameters: LazyParameters) -> float:
    """A bound on the expected regret to the best of equally likely experts, against oblivious adversaries:
    Hedge's, plus T times the probability that a game runs out of draws."""
    chance = _largest_redraw_chance(parameters.rate, parameters.redraw)
    too_late = _exhaustion_bound(rounds, chance, parameters.max_draws)
    return exponential_experts.regret(rounds, experts, parameters.rate) + rounds * too_late


@lru_cache(maxsize=64)  # an audit copies its learner, and the search takes longer than many games
def largest_rate(rounds: int, *, epsilon: float, delta: float) -> LazyParameters:
    """The parameters of the largest rate at which `rounds` ≥ 2 rounds cost at most (epsilon, delta), where
    games run out of draws with probability at most 1/T², and `redraw` is a power of 1/2."""
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

    def suffices(draws: int) -> bool:
        return _exhaustion_bound(rounds, chance, draws) <= rounds**-2

    return LazyParameters(rate, redraw, bisect_left(range(rounds - 1), True, key=suffices))


def _largest_redraw_chance(rate: float, redraw: float) -> float:
    return 1 - (1 - redraw) * math.exp(-rate)


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
