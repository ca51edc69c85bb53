"""One test of declared probabilities for any event: bets whose capital is a martingale if they are right.

What happened and what was declared, given what a game had shown before, are summed over games and compared:
docs/proofs/declared_distributions.md.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from math import log

import attrs
import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv, logsumexp

from arena.errors import NotConforming

POWER = 0.9  # the probability with which a deviation of the stated size is noticed
_STAKES = np.geomspace(0.004, 36.0, 24)  # λ of the bets exp(λ(y - m)), for rare events and frequent ones
_BETS = np.concatenate([-_STAKES, _STAKES])
_PIECE = 2**16  # events that are tested together

Describe = Callable[[tuple[int, ...]], str]


@attrs.frozen(eq=False)
class EventSums:
    """Sums over games, for many events; y is 1 where the event happened, or any number in [0, 1]. All of one
    shape: counts, the sums of y; expected, those of its declared expectations, given what its game had shown
    before; terms, the numbers of summands. describe: the index of an event -> text."""

    counts: np.ndarray
    expected: np.ndarray
    terms: np.ndarray
    describe: Describe

    @classmethod
    def of(cls, counts: ArrayLike, expected: ArrayLike, terms: ArrayLike, describe: Describe) -> EventSums:
        y, m, n = np.broadcast_arrays(*(np.asarray(part, float) for part in (counts, expected, terms)))
        return cls(y, m, n, describe)

    def add(self, other: EventSums) -> EventSums:
        return attrs.evolve(
            self,
            counts=self.counts + other.counts,
            expected=self.expected + other.expected,
            terms=self.terms + other.terms,
        )


@attrs.frozen
class Comparison:
    """How closely games were compared with a declared output distribution: how many in each world, in how
    many events, and at most the probability with which games that follow it are refused."""

    games: int
    events: int
    rate: float

    def visible_deviation(self, probability: float = 0.5) -> float:
        """By how much the true probability of an event must differ from a declared `probability` to be
        noticed with probability `POWER`, in the direction in which more is needed; 1 if it cannot be."""
        games, mean = self.games, round(self.games * probability)

        def refuses(count: int) -> bool:
            evidence = log_evidence(count, games * probability, games)
            return bool(evidence >= log(max(self.events, 1) / self.rate))

        # The evidence is convex in the count, so counts that are refused are the lowest and the highest ones.
        # P(Bin(n, q) ≥ c) is the regularised incomplete beta function at q with c and n - c + 1.
        above, below = 1.0, probability
        if refuses(games):
            least = bisect_left(range(games), True, lo=mean, key=refuses)
            above = float(betaincinv(least, games - least + 1, POWER)) - probability
        if refuses(0):
            most = bisect_left(range(games), True, lo=0, hi=mean, key=lambda count: not refuses(count)) - 1
            below -= float(betaincinv(most + 1, games - most, 1 - POWER))
        return max(above, below)

    def __str__(self) -> str:
        at_half, rare = (self.visible_deviation(probability) for probability in (0.5, 0.01))
        return (
            f"{self.games:,} games in each world were compared with the declared output distribution in "
            f"{self.events:,} events; a probability of 0.5 that is off by {at_half:.2g}, or one of 0.01 that "
            f"is off by {rare:.2g}, would have been noticed with probability {POWER:.0%}"
        )


def log_evidence(counts: ArrayLike, expected: ArrayLike, terms: ArrayLike) -> np.ndarray:
    """The log of an e-value against declared expectations, the average of Π exp(λy)/(1 - m + m·exp(λ)) over
    some λ; it bounds the product below by the mean of m."""
    counts, expected, terms = np.broadcast_arrays(*(np.asarray(a, float) for a in (counts, expected, terms)))
    evidence = np.empty(counts.shape)
    flat = [part.reshape(-1) for part in (counts, expected, terms)]
    for start in range(0, evidence.size, _PIECE):
        y, m, n = (part[start : start + _PIECE, None] for part in flat)
        mean = np.clip(m / np.maximum(n, 1), 0, 1)
        with np.errstate(divide="ignore"):  # probabilities 0 and 1
            growth = np.logaddexp(np.log1p(-mean), np.log(mean) + _BETS)
        gains = _BETS * y - n * growth
        evidence.reshape(-1)[start : start + _PIECE] = logsumexp(gains, axis=1) - log(len(_BETS))
    return evidence


def check_events(name: str, rule: str, sums: Iterable[EventSums], *, games: int, rate: float) -> Comparison:
    """Compare all events at once with what the learner `name` declares. Raises: NotConforming, with
    probability at most `rate` if that is right."""
    listed: Sequence[EventSums] = list(sums)
    events = sum(each.counts.size for each in listed)
    for each in listed:
        evidence = log_evidence(each.counts, each.expected, each.terms)
        if evidence.size and evidence.max() >= log(events / rate):
            index = np.unravel_index(int(evidence.argmax()), evidence.shape)
            count, expected, terms = (float(part[index]) for part in (each.counts, each.expected, each.terms))
            raise NotConforming(
                name,
                rule,
                f"{each.describe(tuple(map(int, index)))} has frequency {count / terms:.4g} in {terms:,.0f} "
                f"cases, and should have {expected / terms:.4g}",
            )
    return Comparison(games=games, events=events, rate=rate)
