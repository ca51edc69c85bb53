"""The statement of power: which loss a search that found nothing would have found.

Derivation: docs/proofs/search.md.
"""

from __future__ import annotations

from math import exp, isfinite, sqrt

import attrs
from scipy.optimize import brentq
from scipy.stats import norm

from arena import Claim

_POWER = 0.9
_LARGEST_LOSS = 50.0  # nats, above which no power is stated


@attrs.frozen
class Rung:
    """One rung: `pairs` pairs of games for each of `adversaries`; those with a z-score of `needed` go on."""

    pairs: int
    adversaries: int
    needed: float


def detectable_loss(rungs: tuple[Rung, ...], claim: Claim, *, pairs: int, threshold: float) -> float | None:
    """The least x in nats such that an adversary whose games are those of randomised response with loss ε + x
    would have been found with probability 90 %, if any. pairs: of its first games."""

    def power(x: float) -> float:
        chance, before = 1.0, pairs
        for rung in rungs:
            chance *= (
                norm.sf(rung.needed - _compute_expected_z(x, claim, before)) if isfinite(rung.needed) else 1.0
            )
            before = rung.pairs
        # The evidence of z standard deviations is about z²/4 nats, since each half of the games bets alone.
        return float(chance * norm.sf(2 * sqrt(threshold) - _compute_expected_z(x, claim, before)))

    if power(_LARGEST_LOSS) < _POWER:
        return None
    return float(brentq(lambda x: power(x) - _POWER, 0.0, _LARGEST_LOSS, xtol=1e-4))


def _compute_expected_z(x: float, claim: Claim, pairs: int) -> float:
    """The z-score at which randomised response with a loss of ε + x breaks the claim after so many pairs."""
    loss = (1 - claim.delta) / (1 + exp(claim.epsilon + x))
    factor = exp(claim.epsilon)
    mean = 1 - loss - factor * loss - claim.delta
    variance = (1 + factor**2) * loss * (1 - loss)
    return mean / sqrt(max(variance, 0.5 / pairs) / pairs)
