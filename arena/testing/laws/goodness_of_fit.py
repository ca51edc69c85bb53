"""One test of declared probabilities for any event: bets whose capital is a martingale if they are right.

What happened and what was declared, given what a game had shown before, are summed over games and compared:
docs/proofs/declared_distributions.md.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable
from functools import lru_cache
from math import log
from typing import ClassVar

import attrs
import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv, logsumexp, rel_entr

from arena.errors import NotConforming

POWER = 0.9  # the probability with which a deviation of the stated size is noticed
_STAKES = np.geomspace(0.004, 36.0, 24)  # λ of the bets exp(λ(y - m)), for rare events and frequent ones
_BETS = np.concatenate([-_STAKES, _STAKES])
_PIECE = 2**16  # events that are tested together

Describe = Callable[[tuple[int, ...]], str]


@attrs.frozen(eq=False)
class EventSums:
    """Sums over games, for many events of one kind; y is 1 where the event happened, or any number in [0, 1].
    All arrays have one shape.

    counts: the sums of y.
    expected: the sums of its declared expectations, given what its game had shown before.
    terms: the numbers of summands.
    describe: the index of an event -> text.
    way: what kind of events these are, such as "pairs of coordinates".
    at_most: whether the declared expectations are at most those in `expected`; then rare events say nothing.
    games: how many in each world have these events, if fewer than all.
    """

    counts: np.ndarray
    expected: np.ndarray
    terms: np.ndarray
    describe: Describe
    way: str
    at_most: bool = False
    games: int | None = None

    @classmethod
    def of(
        cls,
        way: str,
        counts: ArrayLike,
        expected: ArrayLike,
        terms: ArrayLike,
        describe: Describe,
        *,
        at_most: bool = False,
        games: int | None = None,
    ) -> EventSums:
        y, m, n = np.broadcast_arrays(*(np.asarray(part, float) for part in (counts, expected, terms)))
        return cls(y, m, n, describe, way, at_most, games)

    def add(self, other: EventSums) -> EventSums:
        return attrs.evolve(
            self,
            counts=self.counts + other.counts,
            expected=self.expected + other.expected,
            terms=self.terms + other.terms,
        )


@attrs.frozen
class Way:
    """One kind of events in which games were compared with a declared output distribution.

    name: which events, such as "pairs of coordinates".
    events: how many.
    games: in how many games of each world.
    hurdle: the log of the evidence that refuses.
    """

    derived: ClassVar[tuple[str, ...]] = ("deviation", "rare_deviation")  # of its JSON

    name: str
    events: int
    games: int
    hurdle: float

    @property
    def deviation(self) -> float:
        """By how much a declared probability of 0.5 must be off to be noticed with probability `POWER`."""
        return self.visible_deviation(0.5)

    @property
    def rare_deviation(self) -> float:
        """The same of a declared probability of 0.01."""
        return self.visible_deviation(0.01)

    def visible_deviation(self, probability: float) -> float:
        """By how much the true probability of an event must differ from a declared `probability` to be
        noticed with probability `POWER`, in the direction in which more is needed; 1 if it cannot be."""
        return _find_visible_deviation(probability, self.games, self.hurdle)


@lru_cache(maxsize=256)
def _find_visible_deviation(probability: float, games: int, hurdle: float) -> float:
    mean = round(games * probability)

    def refuses(count: int) -> bool:
        return bool(log_evidence(count, games * probability, games) >= hurdle)

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


@attrs.frozen(kw_only=True)
class Comparison:
    """How closely games were compared with a declared output distribution: how many in each world, in which
    ways, and at most the probability with which games that follow it are refused."""

    derived: ClassVar[tuple[str, ...]] = ("events", "deviation", "rare_deviation")  # of its JSON

    games: int
    rate: float
    ways: tuple[Way, ...]

    @property
    def events(self) -> int:
        return sum(way.events for way in self.ways)

    @property
    def deviation(self) -> float:
        """By how much a declared probability may be off, where it was compared, without being noticed with
        probability `POWER`: the most of all ways, for a probability of 0.5."""
        return max((way.deviation for way in self.ways), default=1.0)

    @property
    def rare_deviation(self) -> float:
        """The same for a declared probability of 0.01."""
        return max((way.rare_deviation for way in self.ways), default=1.0)

    @property
    def condition(self) -> str:
        """On what a statement rests that is computed from the declared output distribution: the end of its
        first sentence."""
        first, ways = self.ways[0], ", ".join(way.name for way in self.ways)
        return (
            "if the declared output distribution is right; it was compared, at these settings and on these "
            f"data, with {self.games:,} games in each world in these ways: {ways}; a deviation of up to "
            f"{first.deviation:.2g} in the first of these ways, and of up to {self.deviation:.2g} in the "
            f"others, in an event of probability 0.5 (of probability 0.01, {first.rare_deviation:.2g} and "
            f"{self.rare_deviation:.2g}) would not have been noticed, nor would any in what these do not "
            "show."
        )

    def merge(self, other: Comparison) -> Comparison:
        """The comparison of both worlds, of that of each."""
        ways: dict[str, Way] = {}
        for way in (*self.ways, *other.ways):
            known = ways.get(way.name)
            if known is None or known.deviation < way.deviation:
                ways[way.name] = way
        return Comparison(
            games=min(self.games, other.games), rate=self.rate + other.rate, ways=tuple(ways.values())
        )

    def __str__(self) -> str:
        ways = "; ".join(
            f"{way.name} ({way.events:,}: {way.deviation:.2g}, {way.rare_deviation:.2g})" for way in self.ways
        )
        return (
            f"{self.games:,} games in each world were compared with the declared output distribution in "
            f"{self.events:,} events, of these kinds (how many: by how much a declared probability of 0.5, "
            f"and one of 0.01, would have to be off to be noticed with probability {POWER:.0%}): {ways}"
        )


def log_evidence(
    counts: ArrayLike, expected: ArrayLike, terms: ArrayLike, *, at_most: bool = False
) -> np.ndarray:
    """The log of an e-value against declared expectations, the average of Π exp(λy)/(1 - m + m·exp(λ)) over
    some λ; it bounds the product below by the mean of m. at_most: only over λ > 0, so that it is one against
    all smaller expectations, too."""
    bets = _STAKES if at_most else _BETS
    counts, expected, terms = np.broadcast_arrays(*(np.asarray(a, float) for a in (counts, expected, terms)))
    evidence = np.empty(counts.shape)
    flat = [part.reshape(-1) for part in (counts, expected, terms)]
    for start in range(0, evidence.size, _PIECE):
        y, m, n = (part[start : start + _PIECE, None] for part in flat)
        mean = np.clip(m / np.maximum(n, 1), 0, 1)
        with np.errstate(divide="ignore"):  # probabilities 0 and 1
            growth = np.logaddexp(np.log1p(-mean), np.log(mean) + bets)
        gains = bets * y - n * growth
        evidence.reshape(-1)[start : start + _PIECE] = logsumexp(gains, axis=1) - log(len(bets))
    return evidence


def check_events(name: str, rule: str, sums: Iterable[EventSums], *, games: int, rate: float) -> Comparison:
    """Compare all events at once with what the learner `name` declares; each kind has an equal share of
    `rate`. Raises: NotConforming, with probability at most `rate` if that is right."""
    listed = [each for each in sums if each.counts.size]
    ways: dict[str, tuple[int, int, float]] = {}
    for each in listed:
        hurdle = log(each.counts.size * len(listed) / rate)
        events, fewest, highest = ways.get(each.way, (0, games, 0.0))
        ways[each.way] = events + each.counts.size, min(fewest, each.games or games), max(highest, hurdle)
        # The evidence is at most that of the best λ, which is faster to compute.
        with np.errstate(invalid="ignore"):
            most = rel_entr(each.counts, each.expected) + rel_entr(
                each.terms - each.counts, each.terms - each.expected
            )
        (places,) = np.nonzero(~(most.ravel() < hurdle))
        if not len(places):
            continue
        figures = [part.ravel()[places] for part in (each.counts, each.expected, each.terms)]
        evidence = log_evidence(*figures, at_most=each.at_most)
        if evidence.max() < hurdle:
            continue
        largest = int(evidence.argmax())
        index = tuple(map(int, np.unravel_index(places[largest], each.counts.shape)))
        count, expected, terms = (float(part[largest]) for part in figures)
        raise NotConforming(
            name,
            rule,
            f"{each.describe(index)} has frequency {count / terms:.4g} in {terms:,.0f} cases, and should "
            f"have {'at most ' * each.at_most}{expected / terms:.4g}",
        )
    kinds = tuple(Way(way, *figures) for way, figures in ways.items())
    return Comparison(games=games, rate=rate, ways=kinds)
