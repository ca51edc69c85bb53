"""hedge, weighted-majority and bps-experts: an expert drawn by weight in every round, without privacy.

Each mistake multiplies a weight by exp(-η). With N experts, every sequence of T examples satisfies Σ_t
p_t·loss_t - min over experts of its loss ≤ ln N / η + η T / 8: Theorem 2.2 of Cesa-Bianchi and Lugosi (2006).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator
from functools import cached_property, lru_cache
from itertools import accumulate

import attrs
import numpy as np

from arena.claims import REGRET, Bound
from arena.concepts import ConceptClass, Dichotomies, Functions
from arena.errors import Unsupported
from arena.laws import OnlineLaw
from arena.littlestone import START, soa
from arena.messages import Hypothesis
from arena.sample import freeze
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
        None, help="η; default: sqrt(8 ln N / T)", unit="nats", check=[more_than(0), at_most(LARGEST_RATE)]
    )

    @property
    @abstractmethod
    def log_experts(self) -> float:
        """ln N."""

    @property
    def eta(self) -> float:
        """The rate in use, in nats; by default that of the least bound."""
        return self.rate or min(math.sqrt(8 * self.log_experts / self.rounds), LARGEST_RATE)

    def bound(self, rounds: int) -> Bound | None:
        if rounds > self.rounds:
            return None
        regret = self.log_experts / self.eta + self.eta * rounds / 8 if self.log_experts else 0.0
        return Bound(regret, REGRET, None, self.theorem)


class HedgeWeights:
    """The weights of m experts, or of groups of experts, in each of n games; start: (m,), in every game.

    Ratios are at most 2^1400, so that an expert whose weight was raised to that is drawn with probability at
    most 2^-800. Raises: Unsupported for too many experts.
    """

    def __init__(self, games: int, start: np.ndarray, rate: float, log_experts: float) -> None:
        check_memory(games, len(start))
        bits = (log_experts + math.log(len(start))) / math.log(2)
        if bits > _MOST_BITS:
            raise Unsupported(f"2^{bits:.0f} experts exceed 2^{_MOST_BITS}", remedy="Choose fewer rounds.")
        self.values = np.empty((games, len(start)))
        self.values[:] = start
        self._period = max(1, int(_DECAY / rate)) if rate else 2**31
        self._rounds = 0

    def slabs(self) -> Iterator[slice]:
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
    """An expert for each game, drawn by its weight, and a number that is uniform given the expert, by uniform
    u (n,); weights (n, m)."""
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
    """h_t is a concept drawn afresh with probability proportional to exp(-η·(number of its mistakes so far)).

    Randomised weighted majority of Littlestone and Warmuth (1994), with one concept for each of the C
    labellings of the domain. The expected regret after t ≤ T rounds is at most ln C / η + η t / 8, also
    against adaptive adversaries, for the sequence that was in fact played.
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


MOST_ENTRIES = 2**22  # groups x points, about thirty bytes each


@attrs.frozen
class BpsExperts(HedgeLearner):
    """Hedge over an expert for every set of at most d of the T rounds, where d = Ldim.

    Ben-David, Pál, Shalev-Shwartz, Agnostic Online Learning (COLT 2009). An expert follows the SOA; in a
    round of its set it predicts the opposite, and the SOA is updated as if it had erred. N = Σ_{j≤d} C(T, j);
    experts with the same future are one group (docs/online.md). Regret: as for `WeightedMajority`, with N for
    C.
    """

    name = "bps-experts"
    theorem = "the experts of Ben-David, Pál, Shalev-Shwartz (2009) under Hedge: regret ln N / η + η T / 8"

    @property
    def log_experts(self) -> float:
        """ln N."""
        return math.log(count_subsets(self.rounds, soa(self.concepts).mistakes)[-1])

    def start(self, games: int, rng: np.random.Generator) -> BpsExpertsState:
        return BpsExpertsState(self, games, rng)


class BpsExpertsState:
    def __init__(self, spec: BpsExperts, games: int, rng: np.random.Generator) -> None:
        self._rng = rng
        self._class = spec.concepts
        self._groups = groups = build_groups(spec.concepts)
        self._rounds = RoundBudget(spec.name, spec.rounds)
        self._experts = count_subsets(spec.rounds, groups.depth)[-1]
        start = np.zeros(len(groups))
        start[START] = 1.0
        self._weights = HedgeWeights(games, start, spec.eta, spec.log_experts)
        self._factor = np.exp(-spec.eta)
        self._factors = np.where(groups.wrong, self._factor, 1.0)

    @property
    def law(self) -> np.ndarray:
        """(n, functions): the probabilities of this round's function, after `hypothesis`."""
        follow, oppose = self._completions()
        mass = np.zeros((len(self._weights.values), len(self._groups.hypotheses.matrix)))
        for completions, functions in ((follow, self._groups.function), (oppose, self._groups.complement)):
            np.add.at(mass.T, functions, (self._weights.values * completions).T)
        return mass / mass.sum(axis=1, keepdims=True)

    def hypothesis(self) -> Hypothesis:
        self._rounds.begin()
        follow, oppose = self._completions()
        u = self._rng.random(len(self._weights.values))
        function = np.empty(len(u), np.intp)
        completions = follow + oppose
        for slab in self._weights.slabs():
            group, rest = draw_experts(self._weights.values[slab] * completions, u[slab])
            following = rest * completions[group] < follow[group]
            function[slab] = np.where(following, self._groups.function[group], self._groups.complement[group])
        return Hypothesis(self._groups.hypotheses, function)

    def observe(self, x: np.ndarray, y: np.ndarray) -> None:
        columns = self._class.domain_indices(self._class.check(x))
        for slab in self._weights.slabs():
            self._update(self._weights.values[slab], columns[slab], y[slab])
        self._weights.end_round()

    def _completions(self) -> tuple[np.ndarray, np.ndarray]:
        """(groups,) each: the shares of ways to continue the sets, of experts that follow the SOA and that
        oppose it."""
        counts = count_subsets(self._rounds.left, self._groups.depth)
        shares = np.array([0.0] + [count / self._experts for count in counts])
        unused = self._groups.depth - self._groups.used
        return shares[unused + 1], shares[unused]

    def _update(self, weights: np.ndarray, columns: np.ndarray, y: np.ndarray) -> None:
        factors = self._factors.take(2 * columns + y, axis=0)
        movers = self._groups.after.shape[1]
        # An expert that opposes errs where one that follows does not.
        outflow = weights[:, :movers] * (self._factor / factors[:, :movers])
        target = self._groups.after.take(columns, axis=0)
        target += np.arange(0, weights.size, weights.shape[1])[:, None]
        weights *= factors
        inflow = np.bincount(target.ravel(), outflow.ravel(), minlength=weights.size)
        weights += inflow.reshape(weights.shape)


@attrs.frozen(eq=False)
class ExpertGroups:
    """The groups of experts of a class, by level: experts at level j have used j rounds of their sets.

    hypotheses: the functions of the SOA's states and their complements. depth: d. used (groups,): the levels.
    function, complement (groups,): rows of `hypotheses`. wrong (2 points, groups) bool: whether an expert
    that follows errs on (x, y), in row 2x + y. after (points, groups below level d): the next group of one
    that opposes.
    """

    hypotheses: Functions
    depth: int
    used: np.ndarray = attrs.field(converter=freeze)
    function: np.ndarray = attrs.field(converter=freeze)
    complement: np.ndarray = attrs.field(converter=freeze)
    wrong: np.ndarray = attrs.field(converter=freeze)
    after: np.ndarray = attrs.field(converter=freeze)

    def __len__(self) -> int:
        return len(self.used)


@lru_cache(maxsize=32)
def build_groups(concept_class: ConceptClass) -> ExpertGroups:
    """The groups of experts of a class with a finite domain. Raises: Unsupported if there are too many."""
    automaton = soa(concept_class)
    columns = np.arange(len(concept_class.domain or ()))
    levels, after = [np.array([START])], []
    for _ in range(automaton.mistakes):
        states, places = np.unique(automaton.after_mistake(levels[-1][:, None], columns), return_inverse=True)
        first = sum(map(len, levels))
        after.append(first + places.reshape(len(levels[-1]), len(columns)))
        levels.append(states)
        if (first + len(states)) * len(columns) > MOST_ENTRIES:
            raise Unsupported(
                f"{concept_class} has at least {first + len(states):,} groups of experts on {len(columns):,} "
                f"points, which exceeds {MOST_ENTRIES:,} entries",
                remedy="Choose a smaller domain.",
            )
    labels = automaton.labels(np.concatenate(levels)[:, None], columns)
    functions, rows = np.unique(np.concatenate([labels, ~labels]), axis=0, return_inverse=True)
    function, complement = rows.reshape(2, -1)
    moves = np.concatenate(after) if after else np.empty((0, len(columns)), np.intp)
    wrong = np.stack([labels.T, ~labels.T], axis=1).reshape(2 * len(columns), -1)
    return ExpertGroups(
        hypotheses=Functions(concept_class, functions),
        depth=automaton.mistakes,
        used=np.repeat(np.arange(len(levels)), [len(level) for level in levels]),
        function=function,
        complement=complement,
        # Rows of these are used with `take`, which would copy any other layout.
        wrong=np.ascontiguousarray(wrong),
        after=np.ascontiguousarray(moves.T),
    )


def count_subsets(rounds: int, most: int) -> list[int]:
    """The number of sets of at most 0, 1, ..., `most` rounds."""
    return list(accumulate(math.comb(rounds, size) for size in range(most + 1)))
