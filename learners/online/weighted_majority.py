"""weighted-majority: follows a concept drawn by weight, and lowers the weights of those that err; no
privacy."""

from __future__ import annotations

import math
from functools import cached_property

import attrs
import numpy as np

from arena.concepts import Dichotomies
from arena.errors import Unsupported
from arena.laws import OnlineLaw
from arena.replies import Hypothesis
from learners.common.learner_bases import RoundBudget
from learners.online.hedge import HedgeLearner, HedgeWeights, draw_experts

MOST_POINTS = 4_096


@attrs.frozen
class WeightedMajority(HedgeLearner):
    """h_t is a concept c drawn afresh with probability proportional to exp(-η·(number of mistakes of c so
    far)).

    The randomised weighted majority algorithm of Littlestone and Warmuth (1994), as Hedge with one concept
    for each of the C labellings of the domain that the class realises. It is proper: every hypothesis is a
    concept of the class.

    The expected regret after t ≤ T rounds is at most ln C / η + η t / 8 (see `learners.online.hedge`). It
    also holds against adaptive adversaries, since the random numbers of h_t are independent of (x_t, y_t)
    given the past: for the sequence that was in fact played, in expectation over the random numbers of both
    players, against the best concept for that sequence.

    Raises: Unsupported if the domain is not finite, or has too many points (at `start`); BudgetExceeded in a
    game of more than T rounds.
    """

    name = "weighted-majority"
    theorem = "randomised weighted majority (Littlestone and Warmuth 1994): regret ln C / η + η T / 8"

    @cached_property
    def distinct_concepts(self) -> Dichotomies:
        """One concept for each labelling of the domain.

        Raises: Unsupported if the domain has too many points.
        """
        domain = np.array(self.concepts.domain)
        if len(domain) > MOST_POINTS:
            raise Unsupported(
                f"weighted-majority tabulates the labels at up to {MOST_POINTS:,} points, "
                f"and {self.concepts} has {len(domain):,}",
                remedy="Choose a smaller domain.",
            )
        return self.concepts.dichotomies(domain)

    @property
    def log_experts(self) -> float:
        """ln C."""
        return math.log(len(self.distinct_concepts))

    def online_law(self) -> WeightedMajorityLaw:
        return WeightedMajorityLaw(self)

    def start(self, games: int, rng: np.random.Generator) -> WeightedMajorityState:
        return WeightedMajorityState(self, games, rng)


class WeightedMajorityState:
    """A running weighted-majority: a weight for every concept in every game."""

    def __init__(self, spec: WeightedMajority, games: int, rng: np.random.Generator) -> None:
        self._rng = rng
        self._class = spec.concepts
        distinct = spec.distinct_concepts
        self._concepts = distinct.concepts
        self._rounds = RoundBudget(spec.name, spec.rounds)
        count = len(distinct)
        self._weights = HedgeWeights(games, np.ones(count), spec.eta, spec.log_experts)
        labels = distinct.labels.T
        wrong = np.stack([labels, ~labels], axis=1).reshape(-1, count)
        # The factors of the weights after example (x, y), in row 2x + y; `take` would copy any other layout.
        self._factors = np.ascontiguousarray(np.exp(-spec.eta * wrong))

    @property
    def law(self) -> np.ndarray:
        """(n, C): the probabilities of this round's concepts."""
        values = self._weights.values
        return values / values.sum(axis=1, keepdims=True)

    def hypothesis(self) -> Hypothesis:
        self._rounds.begin()
        values = self._weights.values
        u = self._rng.random(len(values))
        experts = np.empty(len(values), np.intp)
        for slab in self._weights.slabs():
            experts[slab] = draw_experts(values[slab], u[slab])[0]
        return Hypothesis(self._class, self._concepts[experts])

    def observe(self, x: np.ndarray, y: np.ndarray) -> None:
        examples = 2 * self._class.domain_indices(self._class.check(x)) + y
        for slab in self._weights.slabs():
            self._weights.values[slab] *= self._factors.take(examples[slab], axis=0)
        self._weights.end_round()


class WeightedMajorityLaw(OnlineLaw[tuple[int, ...]]):
    """The concepts drawn; a state is the number of mistakes of each, less that of the best."""

    def __init__(self, learner: WeightedMajority) -> None:
        distinct = learner.distinct_concepts
        self._labels, self._rate = distinct.labels, learner.eta
        self.rounds = learner.rounds
        self.hypotheses = Hypothesis(learner.concepts, distinct.concepts)
        self.points = np.array(learner.concepts.domain, float)

    def start(self) -> tuple[int, ...]:
        return (0,) * len(self._labels)

    def show(self, state: tuple[int, ...]) -> list[tuple[int, tuple[int, ...], float]]:
        weights = np.exp(-self._rate * np.array(state))
        return [(concept, state, float(p)) for concept, p in enumerate(weights / weights.sum())]

    def observe(self, state: tuple[int, ...], point: int, label: int) -> list[tuple[tuple[int, ...], float]]:
        mistakes = np.array(state) + (self._labels[:, point] != label)
        return [(tuple((mistakes - mistakes.min()).tolist()), 1.0)]
