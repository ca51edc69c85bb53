"""The printed constants of Theorem 4.5 of Bun and Fang (2026), and the cost of dp-winnow by their proof."""

from __future__ import annotations

from math import ceil, inf, log

import attrs

from arena.settings import at_least, check_value, less_than, more_than
from learners.halfspaces.dp_winnow import DpWinnow
from learners.mechanisms.accounting import compose_advanced, largest_affordable


@attrs.frozen(kw_only=True)
class WinnowConstants:
    """The constants of Theorem 4.5 of Bun and Fang, and its bound on mistakes.

    rate: η. updates: K. draws: m. watch_epsilon: ε of one instance of AboveThreshold. threshold: L.
    """

    rate: float
    updates: float
    draws: float
    watch_epsilon: float
    threshold: float

    @property
    def mistakes(self) -> float:
        """The bound: K updates after L mistakes and AboveThreshold's error, which is also L."""
        return 2 * self.updates * self.threshold


def winnow_constants(
    dimension: int, margin: float, *, c: float, epsilon: float, delta: float, beta: float, rounds: int
) -> WinnowConstants:
    """The constants of Theorem 4.5 of Bun and Fang (2026), reconstructed from the proofs that use them.

    m = 2 ln(2T/β)/(cρ)² (Lemma 4.6). K = 2 ln d/(η(1 - c)ρ) (Lemma 4.2, for η at most (1 - c)ρ). η and the ε
    of AboveThreshold are the largest values at which K·m draws that are 4η-DP, and K instances of
    AboveThreshold, cost ε/2 each by advanced composition with δ/2 (Theorem 4.4). L is the error 8 (ln T +
    ln(2K/β))/ε of AboveThreshold (Lemma 4.3).

    Raises: InvalidArgument if a parameter is out of range.

    >>> constants = winnow_constants(1024, 0.2, c=0.5, epsilon=1, delta=1e-6, beta=0.05, rounds=1000)
    >>> f"{constants.rate:.1e} {constants.updates:.1e} {constants.mistakes:.1e}"
    '1.8e-09 7.8e+10 1.4e+20'
    """
    check_value("dimension", dimension, at_least(2))
    check_value("rounds", rounds, at_least(1))
    for name, value in (("c", c), ("delta", delta), ("beta", beta)):
        check_value(name, value, more_than(0), less_than(1))
    draws = ceil(2 * log(2 * rounds / beta) / (c * margin) ** 2)
    lead = (1 - c) * margin

    def updates(rate: float) -> int:
        return ceil(2 * log(dimension) / (rate * lead))

    def cost(rate: float) -> float:
        if rate > lead:
            return inf
        return compose_advanced(updates(rate) * draws, 4 * rate, slack=delta / 2).epsilon

    rate = largest_affordable(cost, epsilon / 2)
    most_updates = updates(rate)
    watch_epsilon = largest_affordable(
        lambda each: compose_advanced(most_updates, each, slack=delta / 2).epsilon, epsilon / 2
    )
    return WinnowConstants(
        rate=rate,
        updates=most_updates,
        draws=draws,
        watch_epsilon=watch_epsilon,
        threshold=8 * (log(rounds) + log(2 * most_updates / beta)) / watch_epsilon,
    )


def paper_epsilon(learner: DpWinnow) -> float:
    """ε of this run, with its b, at the same δ by the composition in the proof of Theorem 4.4, nats."""
    updates, width = learner.most_updates, 4 * learner.eta / learner.averaged_mistakes
    draws = updates * learner.draws_per_update
    if not learner.delta:
        return updates * learner.watch_epsilon + draws * width
    thresholds = compose_advanced(updates, learner.watch_epsilon, slack=learner.delta / 2)
    return thresholds.epsilon + compose_advanced(draws, width, slack=learner.delta / 2).epsilon
