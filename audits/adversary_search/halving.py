"""Successive halving: ever more games for ever fewer of the adversaries that were explored.

A loss little above the claim shows in no few hundred games, so the best of many adversaries are played again,
on fresh games each time. What this can find: docs/proofs/search.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import exp, inf, isfinite, sqrt

import attrs
from scipy.optimize import brentq
from scipy.stats import norm

from arena import Claim
from audits.adversary_search.evidence import Evidence, SearchTarget, limit_pairs, weigh_games
from audits.adversary_search.script import Script

_FACTOR = 4  # between the games of one rung and the next
_MOST = 1_024  # times the games with which the exploration began: the whole budget of the best adversaries
_FIRST_SHARE = 8  # one in so many explored adversaries enters the first rung
_KEPT = 2  # one in so many adversaries reaches the next rung
_RUNG_ROUNDS = 2**21  # rounds of an adversary's games on one rung, in each world
_PROMISING = 0.5  # z-score that an adversary needs for the second rung, and so much more for each after it
_POWER = 0.9
_LARGEST_LOSS = 50.0  # nats, above which no power is stated


@attrs.frozen
class Rung:
    """One rung: `pairs` pairs of games for each of `adversaries`; those with a z-score of `needed` go on."""

    pairs: int
    adversaries: int
    needed: float


@attrs.frozen
class Climb:
    """What came of the rungs: the adversary that passed the threshold, if any, and its evidence.

    games: played in each world. best: the largest evidence in nats.
    """

    rungs: tuple[Rung, ...] = ()
    adversary: Script | None = None
    evidence: Evidence | None = None
    games: int = 0
    best: float = 0.0


def climb_rungs(
    target: SearchTarget,
    explored: Mapping[Script, Evidence],
    *,
    threshold: float,
) -> Climb:
    """Play the best of the explored adversaries again, until one has `threshold` nats of evidence."""
    z = {script: evidence.z for script, evidence in explored.items()}
    pairs, size = target.pairs * _FACTOR, max(1, len(explored) // _FIRST_SHARE)
    rungs: list[Rung] = []
    games, best = 0, 0.0
    left = list(explored)
    while left and pairs <= _MOST * target.pairs:
        promising = len(rungs) * _PROMISING if rungs else -inf
        left = [script for script in sorted(left, key=lambda script: -z[script]) if z[script] > promising]
        left = left[:size]
        if not left:
            break
        needed = promising if len(left) < size else max(promising, min(z[script] for script in left))
        rungs.append(Rung(pairs=pairs, adversaries=len(left), needed=needed))
        for script in left:
            number = limit_pairs(script, pairs, _RUNG_ROUNDS)
            evidence = weigh_games(target, script, script.referee, pairs=number, stage=f"rung {pairs}")
            games, best = games + evidence.games, max(best, evidence.nats)
            z[script] = evidence.z
            if evidence.nats >= threshold:
                return Climb(tuple(rungs), script, evidence, games, best)
        pairs, size = pairs * _FACTOR, max(1, size // _KEPT)
    return Climb(tuple(rungs), games=games, best=best)


def detectable_loss(rungs: tuple[Rung, ...], claim: Claim, *, pairs: int, threshold: float) -> float | None:
    """The least x such that a loss of ε + x would have been found with probability 90 %, in nats.

    It is that of an adversary whose games are those of randomised response with loss ε + x; pairs: of its
    first games. None if no loss would have been.
    """

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
