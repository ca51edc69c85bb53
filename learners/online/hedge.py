"""hedge and weighted-majority: an expert drawn by weight in every round; the latter is not private.

Each mistake multiplies a weight by exp(-η). With N experts of equal initial weight, every sequence of T
examples satisfies

    Σ_t p_t·loss_t - min over experts of its loss  ≤  ln N / η + η T / 8,

where p_t are the normalised weights in round t: Theorem 2.2 of Cesa-Bianchi and Lugosi (2006). For η = sqrt(8
ln N / T) the bound is sqrt(T ln N / 2).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator
from functools import cached_property

import attrs
import numpy as np

from arena.claims import REGRET, Bound
from arena.concepts import Dichotomies
from arena.errors import Unsupported
from arena.laws import OnlineLaw
from arena.replies import Hypothesis
from arena.settings import at_most, count_setting, more_than, setting
from learners.common.learner_bases import RoundBudget, check_memory
from learners.online.conservative import WithoutPrivacy

LARGEST_RATE = 10.0  # nats
_SLAB = 2**16  # weights updated at a time: they fit into a core's cache
# Weights stay between 2^-1000 and 2^1000. After rescaling, the largest of a game is near 2^400.
_RESCALED_EXPONENT, _SMALLEST = 400, 2.0**-1000
_MOST_BITS = 500  # of the number of experts
_DECAY = 14.0  # nats by which a weight may fall between two rescalings: a factor above 2^-21


@attrs.frozen
class HedgeLearner(WithoutPrivacy):
    """Base of the learners without privacy that draw one of N experts by weight in every round."""

    rounds: int = count_setting(100, help="T, the largest number of rounds")
    rate: float | None = setting(
        None,
        help="η, the decrease of the logarithm of a weight after a mistake; default: sqrt(8 ln N / T) for N "
        "experts",
        unit="nats",
        check=[more_than(0), at_most(LARGEST_RATE)],
    )

    @property
    @abstractmethod
    def log_experts(self) -> float:
        """ln N."""

    @property
    def eta(self) -> float:
        """The rate in use, in nats; by default that of the least bound, 0 if there is only one expert."""
        return self.rate or min(math.sqrt(8 * self.log_experts / self.rounds), LARGEST_RATE)

    def bound(self, rounds: int) -> Bound | None:
        if rounds > self.rounds:
            return None
        regret = self.log_experts / self.eta + self.eta * rounds / 8 if self.log_experts else 0.0
        return Bound(regret, REGRET, None, self.theorem)


class HedgeWeights:
    """The weights of m experts, or of groups of experts, in each of n games.

    Doubles represent weights whose ratio is up to 2^1400; smaller weights are raised to that. The probability
    of drawing such an expert is at most 2^-800.
    """

    def __init__(self, games: int, start: np.ndarray, rate: float, log_experts: float) -> None:
        """start: the initial weights of every game, (m,). log_experts: ln of how many experts they represent.

        Raises: Unsupported if there are too many.
        """
        check_memory(games, len(start))
        bits = (log_experts + math.log(len(start))) / math.log(2)
        if bits > _MOST_BITS:
            raise Unsupported(
                f"2^{bits:.0f} experts exceed 2^{_MOST_BITS}",
                remedy="Choose fewer rounds.",
            )
        self.values = np.empty((games, len(start)))
        self.values[:] = start
        self._period = max(1, int(_DECAY / rate)) if rate else 2**31
        self._rounds = 0

    def slabs(self) -> Iterator[slice]:
        """The games in portions that fit into a core's cache."""
        games, size = self.values.shape
        step = max(1, _SLAB // size)
        return (slice(start, start + step) for start in range(0, games, step))

    def end_round(self) -> None:
        """Count a round, and from time to time rescale the weights of each game by a power of two."""
        self._rounds += 1
        if self._rounds % self._period:
            return
        for slab in self.slabs():
            values = self.values[slab]
            exponents = np.frexp(values.max(axis=1))[1]
            values *= np.ldexp(1.0, _RESCALED_EXPONENT - exponents)[:, None]
            np.maximum(values, _SMALLEST, out=values, where=values > 0)


def draw_experts(weights: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """An expert for each game, drawn by its weight, and a number that is uniform given the expert.

    Shapes: weights (n, m), u (n,) uniform in [0, 1); results (n,) and (n,) in [0, 1).
    """
    sums = weights.cumsum(axis=1)
    target = u * sums[:, -1]
    experts = (sums > target[:, None]).argmax(axis=1)
    games = np.arange(len(u))
    weight = weights[games, experts]
    rest = (target - (sums[games, experts] - weight)) / weight
    return experts, np.clip(rest, 0.0, np.nextafter(1.0, 0.0))


MOST_POINTS = 4_096


@attrs.frozen
class WeightedMajority(HedgeLearner):
    """h_t is a concept c drawn afresh with probability proportional to exp(-η·(number of mistakes of c so
    far)).

    The randomised weighted majority algorithm of Littlestone and Warmuth (1994), as Hedge with one concept
    for each of the C labellings of the domain that the class realises. It is proper.

    The expected regret after t ≤ T rounds is at most ln C / η + η t / 8 (see `learners.online.hedge`). It
    also holds against adaptive adversaries, for the sequence that was in fact played, in expectation over the
    random numbers of both players, against the best concept for that sequence.

    Raises: Unsupported if the domain is not finite, or has too many points (at `start`).
    """

    name = "weighted-majority"
    theorem = "randomised weighted majority (Littlestone and Warmuth 1994): regret ln C / η + η T / 8"

    @cached_property
    def distinct_concepts(self) -> Dichotomies:
        """One concept for each labelling of the domain. Raises: Unsupported if that has too many points."""
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
