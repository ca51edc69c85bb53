"""What the games so far would have shown: the smallest loss that they refute with probability 90 %."""

from __future__ import annotations

from functools import lru_cache
from math import ceil, exp, inf, log, sqrt

import numpy as np
from scipy.optimize import brentq
from scipy.stats import norm

from audits.statistics.betting import EPSILON_MAX, Betting
from audits.statistics.score_pairs import PairCounts

POWER = 0.9
_FIRST_BLOCK = 16  # pairs, as in a run until the claim is refuted
_GROWTH = 1.4  # of the pairs from one choice of bets to the next, at least a fifth
_CAUTION = 1.25  # factor above the excess that an expansion for small losses gives
_TOLERANCE = 0.02  # relative to the excess


@lru_cache(maxsize=1_024)
def find_shown_factor(
    games: int, *, epsilon: float, delta: float, threshold: float, has_curve: bool = False
) -> float | None:
    """The smallest x for which a loss of x times ε, shown as by randomised response, reaches the threshold
    with probability 90 %; None if no loss does.

    games: in each world, one after the other. epsilon, delta: of the claim, in nats. threshold: evidence in
    nats. has_curve: whether half of the wealth is bet on a curve. Derivation: docs/proofs/monitoring.md.
    """
    quantile = float(norm.ppf(POWER))
    needed = threshold + (log(2.0) if has_curve else 0.0)
    # The evidence has a variance of twice its mean m, so that m − quantile √(2 m) = needed.
    root = (sqrt(2) * quantile + sqrt(2 * quantile**2 + 4 * needed)) / 2

    def miss(excess: float) -> float:  # which is almost linear
        mean = expect_log_wealth(games, epsilon=epsilon, delta=delta, loss=(1 + excess) * epsilon)
        return sqrt(max(mean, 0.0)) - root

    # For a small excess, a pair brings q (1 − q) (excess · ε)² nats, where q is the chance of a wrong answer.
    chance = 1 / (1 + exp(epsilon))
    low, high = 0.0, _CAUTION * root / (epsilon * sqrt(games * chance * (1 - chance)))
    largest = EPSILON_MAX / epsilon - 1
    while miss(min(high, largest)) < 0:
        if high >= largest:
            return None
        low, high = high, 2 * high
    return 1 + float(brentq(miss, low, min(high, largest), xtol=_TOLERANCE * high))


@lru_cache(maxsize=1_024)
def expect_log_wealth(games: int, *, epsilon: float, delta: float, loss: float) -> float:
    """The log wealth against (ε, δ) of the betting test after so many pairs of games of randomised response
    with this loss, each kind of pair as often as expected."""
    wrong = (1 - delta) / (1 + exp(loss))
    chances = np.outer([1 - wrong, wrong], [wrong, 1 - wrong])  # by the answers in world 0 and in world 1
    betting = Betting(delta=delta, confidence=0.5, epsilon_claim=epsilon, epsilon_max=0.0)
    betting.threshold = inf  # so that it goes on
    played = 0
    while played < games:
        end = min(games, max(_FIRST_BLOCK, ceil(_GROWTH * played)))
        counts = (np.round(end * chances) - np.round(played * chances)).astype(np.int64)
        first, second = np.nonzero(counts)
        if len(first):
            betting.update(PairCounts.of(first * 1.0, second * 1.0, counts[first, second]))
        played = end
    return betting.log_wealth_now
