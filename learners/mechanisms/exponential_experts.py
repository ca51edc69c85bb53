"""Private prediction from expert advice against adaptive adversaries, with a fresh draw every round.

Hedge draws expert i with probability proportional to exp(prior_i − rate·losses_i), an exponential mechanism
on the losses (in [0, 1]) so far (Jain and Thakurta 2014; Theorem E.11 of Li, Wang, Ye). Rates in nats per
unit.
"""

from __future__ import annotations

import math

from arena.errors import InvalidArgument
from learners.mechanisms.accounting import Guarantee, hoeffding_composition, largest_affordable
from learners.mechanisms.parameter_checks import check_positive


def cost(rounds: int, rate: float, *, slack: float) -> Guarantee:
    """The cost of `rounds` rounds for one replaced vector of losses: draws of range 2·rate, except for the
    first. slack = 0 asks for pure DP."""
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
    """Hedge's bound on the expected regret to the best of equally likely experts: ln N/rate + rate·T/8; with
    a prior, to one of prior 1/N."""
    return math.log(experts) / rate + rate * rounds / 8
