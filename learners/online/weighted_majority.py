"""weighted-majority: follows a concept drawn by weight, and lowers the weights of those that err."""

from __future__ import annotations

import math
from functools import cached_property

import attrs
import numpy as np

from arena.claims import REGRET, Bound
from arena.concepts import Dichotomies
from arena.errors import Unsupported
from arena.replies import Hypothesis
from arena.settings import at_least, at_most, more_than, setting, whole
from learners.common.round_budget import RoundBudget
from learners.online.hedge import LARGEST_RATE, Weights, best_rate, drawn, regret
from learners.online.without_privacy import WithoutPrivacy

MOST_POINTS = 4_096


@attrs.frozen
class WeightedMajority(WithoutPrivacy):
    """h_t is a concept c drawn afresh with probability proportional to exp(-η·(mistakes of c so far)).

    The randomised weighted majority algorithm of Littlestone and Warmuth (1994), as Hedge, over one concept
    for each of the C labellings of the domain that the class realises. It is proper: every hypothesis is a
    concept of the class.

    Its expected regret after t ≤ T rounds is at most ln C / η + η t / 8, which is sqrt(T ln C / 2) at t = T
    for the rate that is run unless one is set (see `learners.online.hedge`). The bound on the shares of the weights
    holds on every sequence, and h_t is drawn by coins that nobody has seen when (x_t, y_t) is chosen; so it
    holds before adaptive adversaries as well: for the sequence that was in fact played, in expectation over
    both players' coins, against the best concept in hindsight of that sequence. It says nothing of what an
    adaptive adversary would have played against another learner.

    Raises: Unsupported if the domain is not finite, or when it is seated has too many points; BudgetExceeded
    in a game of more than T rounds.
    """

    name = "weighted-majority"
    theorem = "randomised weighted majority (Littlestone and Warmuth 1994): regret ln C / η + η T / 8"

    rounds: int = setting(100, help="T, the most rounds it plays", check=[whole, at_least(1)])
    rate: float | None = setting(
        None,
        help="η, by which a mistake lowers the logarithm of a weight; by default sqrt(8 ln C / T)",
        unit="nats",
        check=[more_than(0), at_most(LARGEST_RATE)],
    )

    @cached_property
    def distinct(self) -> Dichotomies:
        """One concept for each labelling of the domain.

        Raises: Unsupported if it has too many points.
        """
        domain = np.array(self.concepts.domain)
        if len(domain) > MOST_POINTS:
            raise Unsupported(
                f"weighted-majority keeps tables of the labels at up to {MOST_POINTS:,} points, "
                f"and {self.concepts} has {len(domain):,}",
                remedy="Choose a smaller domain.",
            )
        return self.concepts.dichotomies(domain)

    @property
    def eta(self) -> float:
        """The rate that is run, in nats; 0 where there is one concept only."""
        return self.rate or best_rate(math.log(len(self.distinct)), self.rounds)

    def bound(self, rounds: int) -> Bound | None:
        if rounds > self.rounds:
            return None
        return Bound(regret(math.log(len(self.distinct)), self.eta, rounds), REGRET, None, self.theorem)

    def start(self, games: int, rng: np.random.Generator) -> WeightedMajorityState:
        return WeightedMajorityState(self, games, rng)


class WeightedMajorityState:
    """weighted-majority at a table: a weight for every concept in every game."""

    def __init__(self, spec: WeightedMajority, games: int, rng: np.random.Generator) -> None:
        self._rng = rng
        self._class = spec.concepts
        self._concepts = spec.distinct.concepts
        self._rounds = RoundBudget(spec.name, spec.rounds)
        count = len(spec.distinct)
        self._weights = Weights(games, np.ones(count), spec.eta, math.log(count))
        labels = spec.distinct.labels.T
        wrong = np.stack([labels, ~labels], axis=1).reshape(-1, count)
        # What example (x, y) leaves of the weights, at row 2x + y; `take` would copy any other layout.
        self._factors = np.ascontiguousarray(np.exp(-spec.eta * wrong))

    @property
    def law(self) -> np.ndarray:
        """(n, C): the probabilities with which this round's concept is drawn."""
        values = self._weights.values
        return values / values.sum(axis=1, keepdims=True)

    def hypothesis(self) -> Hypothesis:
        self._rounds.begin()
        values = self._weights.values
        u = self._rng.random(len(values))
        chosen = np.empty(len(values), np.intp)
        for slab in self._weights.slabs():
            chosen[slab] = drawn(values[slab], u[slab])[0]
        return Hypothesis(self._class, self._concepts[chosen])

    def observe(self, x: np.ndarray, y: np.ndarray) -> None:
        examples = 2 * self._class.domain_indices(self._class.check(x)) + y
        for slab in self._weights.slabs():
            self._weights.values[slab] *= self._factors.take(examples[slab], axis=0)
        self._weights.age()
