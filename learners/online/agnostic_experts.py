"""agnostic-experts: a private online learner that draws among experts determined by private candidates."""

from __future__ import annotations

import math
from functools import cached_property

import attrs
import numpy as np

from arena.claims import REGRET, Bound
from arena.concepts import ConceptClass, Thresholds
from arena.errors import Unsupported
from arena.littlestone import Automaton, soa
from arena.littlestone.concept_sets import concept_sets
from arena.messages import Hypothesis
from arena.settings import at_least, count_setting, less_than, more_than, one_of, setting
from learners.common.learner_bases import OnlineLearner, RoundBudget, check_memory
from learners.mechanisms import exponential_experts, lazy_experts
from learners.mechanisms.accounting import Guarantee
from learners.mechanisms.counters import BinaryCounter, binary_counter_error, tree_levels
from learners.mechanisms.lazy_experts import LazyParameters
from learners.online.merged_experts import (
    FreshDraws,
    FreshDrawsLaw,
    LazyDraws,
    MergedExperts,
    Transitions,
    build_transitions,
    largest_difference,
)

MOST_NUMBERS_PER_GAME = 2**25
FRESH, LAZY = "fresh", "lazy"


@attrs.frozen
class AgnosticExperts(OnlineLearner):
    """Private agnostic online learner that draws among experts (Algorithms 5 to 7 of Li, Wang, Ye).

    An expert follows the SOA, and at ends of stretches of rounds it makes the SOA err at a candidate, a point
    that occurred often since its last move. Hedge weighs the experts, and one of them is drawn. Privacy: ε of
    the counters plus the cost of the draws. Proofs and deviations: docs/proofs/agnostic_experts.md.

    Memory: states × (ends + 1) numbers of 8 bytes for each game. Raises: Unsupported if the domain is not
    finite, or too large.
    """

    name = "agnostic-experts"
    theorem = "Theorem 4.4 of Li, Wang, Ye: counters of points, and private experts"

    concepts: ConceptClass = setting(Thresholds(range(16)), help="the concept class H")
    rounds: int = count_setting(10_000, help="T, the largest number of rounds")
    epsilon: float = setting(1.0, unit="nats", help="ε of counters and draws together")
    delta: float = setting(1e-6, unit="probability", help="δ of all draws", check=[at_least(0), less_than(1)])
    stretches: int | None = count_setting(None, help="K, stretches after which experts may move; default: √T")
    mistakes: int | None = count_setting(None, help="M, most moves of an expert; default: the SOA's", least=0)
    share: float = setting(0.2, help="share of ε for counters; 0: none", check=[at_least(0), less_than(1)])
    threshold: float = setting(
        2.0,
        unit="noise scales",
        help="the occurrences since the last move that make a point a candidate",
        check=[more_than(-math.inf), less_than(math.inf)],
    )
    draws: str = setting(FRESH, help="fresh, or lazy, for oblivious adversaries", check=one_of(FRESH, LAZY))
    rate: float | None = setting(
        None, unit="nats per mistake", help="Hedge's rate; default: the best within ε", check=more_than(0)
    )

    def __attrs_post_init__(self) -> None:
        numbers = self.transitions.numbers_per_end * (self.ends + 1)
        if numbers > MOST_NUMBERS_PER_GAME:
            raise Unsupported(
                f"{self.concepts} with {self.ends} ends of stretches needs {numbers:,} numbers a game, "
                f"which exceeds {MOST_NUMBERS_PER_GAME:,}",
                remedy="Choose a smaller domain, fewer stretches or fewer mistakes.",
            )

    @property
    def automaton(self) -> Automaton:
        """Raises: Unsupported if the domain is not finite, or the class too large."""
        return soa(self.concepts)

    @property
    def transitions(self) -> Transitions:
        """Raises: Unsupported if the domain is not finite, or the class too large."""
        return build_transitions(self.automaton, len(self.concepts.domain or ()), self._moves)

    @cached_property
    def width(self) -> int:
        """The most points at which an expert can differ from the concept that it follows."""
        return largest_difference(self.transitions, concept_sets(self.concepts).labels)

    @property
    def _moves(self) -> int:
        mistakes = self.automaton.mistakes
        return mistakes if self.mistakes is None else min(self.mistakes, mistakes)

    @property
    def stretch_length(self) -> int:
        """The number of rounds of a stretch."""
        stretches = math.isqrt(self.rounds) if self.stretches is None else self.stretches
        return -(-self.rounds // stretches)

    @property
    def ends(self) -> int:
        """The number of stretches that end before the last round, when experts may move."""
        return (self.rounds - 1) // self.stretch_length if self._moves else 0

    @property
    def move_probability(self) -> float:
        """The prior probability that an expert moves at the end of a stretch."""
        return self._moves / max(self._moves + self.ends, 1)

    @property
    def counters_epsilon(self) -> float:
        """ε of the counters, nats."""
        return self.share * self.epsilon if self.ends else 0.0

    @property
    def candidate_threshold(self) -> float:
        """The noisy number of occurrences from which a point is a candidate."""
        return self.threshold * counter_noise_scale(self.ends, self.counters_epsilon)

    @cached_property
    def hedge_rate(self) -> float:
        """Hedge's rate: as set, or the best for the bound, or the largest that ε allows."""
        if self.rate is not None:
            return self.rate
        if self._hedge_rounds < 2:
            return self._best_rate
        if self.draws == LAZY:
            return min(self._best_rate, self._largest_lazy.rate)
        epsilon, delta = self._draws_epsilon, self.delta
        largest = exponential_experts.largest_rate(self._hedge_rounds, epsilon=epsilon, delta=delta)
        return min(self._best_rate, largest)

    @property
    def lazy(self) -> LazyParameters:
        """The parameters of lazy draws."""
        if self._hedge_rounds < 2:
            return LazyParameters(self.hedge_rate, redraw=1.0, max_draws=self.rounds)
        return attrs.evolve(self._largest_lazy, rate=self.hedge_rate)

    @cached_property
    def _largest_lazy(self) -> LazyParameters:
        return lazy_experts.largest_rate(self._hedge_rounds, epsilon=self._draws_epsilon, delta=self.delta)

    @property
    def _draws_epsilon(self) -> float:
        return self.epsilon - self.counters_epsilon

    @property
    def _hedge_rounds(self) -> int:
        """The rounds after the first stretch; before its end there is only one expert."""
        return self.rounds - self.stretch_length if self.ends else 0

    @property
    def _best_rate(self) -> float:
        return math.sqrt(8 * self._log_experts(self.ends) / self._hedge_rounds) if self._hedge_rounds else 1.0

    def _cost(self) -> Guarantee:
        draws = Guarantee(0.0, 0.0)
        if self._hedge_rounds >= 2 and self.draws == LAZY:
            draws = lazy_experts.cost(self._hedge_rounds, self.lazy, slack=self.delta)
        elif self._hedge_rounds >= 2:
            draws = exponential_experts.cost(self._hedge_rounds, self.hedge_rate, slack=self.delta)
        return Guarantee(self.counters_epsilon + draws.epsilon, draws.delta)

    def bound(self, rounds: int) -> Bound | None:
        """The expected regret, if it is less than the number of rounds (docs/proofs/agnostic_experts.md)."""
        if rounds > self.rounds or self._moves < self.automaton.mistakes:
            return None
        missed = largest_missed_count(
            self.ends,
            self.counters_epsilon,
            threshold=self.candidate_threshold,
            beta=1 / (max(rounds, 2) * self.transitions.points),
        )
        regret = self._moves * (missed * self.width + self.stretch_length) + 1 + self._regret_of_draws(rounds)
        if regret >= rounds:
            return None
        return Bound(regret, REGRET, beta=None, theorem=self.theorem, oblivious=self.draws == LAZY)

    def _regret_of_draws(self, rounds: int) -> float:
        ends = (rounds - 1) // self.stretch_length
        if not (ends and self.ends):
            return 0.0
        hedge_rounds = rounds - self.stretch_length
        prior = self._log_experts(ends) / self.hedge_rate
        if self.draws == LAZY:
            return prior + lazy_experts.regret(hedge_rounds, 1, self.lazy)
        return prior + exponential_experts.regret(hedge_rounds, 1, self.hedge_rate)

    def _log_experts(self, ends: int) -> float:
        """ln N: minus the log of the least prior of an expert that follows a concept through `ends` ends."""
        if not self.ends:
            return 0.0
        stay = -math.log1p(-self.move_probability)
        moves = min(self._moves, ends)
        return max(
            ends * stay,
            (ends - moves) * stay - moves * math.log(self.move_probability / self.transitions.points),
        )

    def online_law(self) -> FreshDrawsLaw:
        """The distribution of fresh draws without counters. Raises: Unsupported with lazy draws or
        counters."""
        if self.draws != FRESH or self.counters_epsilon:
            raise Unsupported(
                f"{self.name} declares its output distribution for fresh draws without counters only",
                value=f"draws={self.draws}, share={self.share:g}",
                remedy="Set draws=fresh and share=0.",
            )
        rate, chance = self.hedge_rate, self.move_probability
        transitions, ends = self.transitions, self.ends
        return FreshDrawsLaw(
            self.automaton,
            lambda: MergedExperts(transitions, 1, ends=ends, rate=rate, move_probability=chance),
            points=np.array(self.concepts.domain, float),
            rounds=self.rounds,
            length=self.stretch_length if self.ends else self.rounds,
        )

    def start(self, games: int, rng: np.random.Generator) -> AgnosticExpertsState:
        check_memory(games, (len(self.transitions.states) + self.transitions.points) * (self.ends + 1))
        return AgnosticExpertsState(self, games, rng)

    @property
    def common_random_numbers(self) -> bool:
        """With fresh draws, every game and round draws the same random numbers, as do the counters."""
        return self.draws == FRESH


class AgnosticExpertsState:
    def __init__(self, spec: AgnosticExperts, games: int, rng: np.random.Generator) -> None:
        self._spec = spec
        self._rounds = RoundBudget(spec.name, spec.rounds)
        self._rounds_observed = 0
        self._class = spec.automaton.hypotheses
        self._functions = spec.automaton.functions(spec.transitions.states)
        ends, length, points = spec.ends, spec.stretch_length, spec.transitions.points
        epsilon, threshold = spec.counters_epsilon, spec.candidate_threshold
        self._candidates = Candidates(
            games, points, rng, ends=ends, length=length, epsilon=epsilon, threshold=threshold
        )
        chance = spec.move_probability
        self._experts = MergedExperts(
            spec.transitions, games, ends=ends, rate=spec.hedge_rate, move_probability=chance
        )
        self._draws: FreshDraws | LazyDraws
        if spec.draws == LAZY:
            self._draws = LazyDraws(self._experts, games, rng, lazy=spec.lazy)
        else:
            self._draws = FreshDraws(self._experts, games, rng)

    def hypothesis(self) -> Hypothesis:
        self._rounds.begin()
        return Hypothesis(self._class, self._functions[self._draws.draw()])

    def observe(self, x: np.ndarray, y: np.ndarray) -> None:
        place = self._spec.concepts.domain_indices(self._spec.concepts.check(x))
        self._candidates.observe(place)
        self._draws.observe(self._experts.observe(place, y))
        self._rounds_observed += 1
        number, rest = divmod(self._rounds_observed, self._spec.stretch_length)
        if not rest and number <= self._spec.ends:
            candidates = self._candidates.end_stretch()
            self._draws.end_stretch(candidates)
            self._experts.end_stretch(candidates)


class Candidates:
    """At the end of each stretch e, S'(i, e]: the points that occurred often since the end of stretch i.

    S'(i, e] contains x if the noisy counts of x (`BinaryCounter`) at the ends i and e differ by at least
    `threshold`. All sets together are (epsilon, 0)-DP for one replaced example
    (docs/proofs/agnostic_experts.md). Shapes: n games, X points. epsilon: 0 for no counters: then every point
    is a candidate.
    """

    def __init__(
        self,
        games: int,
        points: int,
        rng: np.random.Generator,
        *,
        ends: int,
        length: int,
        epsilon: float,
        threshold: float,
    ) -> None:
        self._rows = np.arange(games)
        self._length = length
        self._threshold = threshold
        self._end = 0
        self._counts = np.zeros((games, points), np.int64)
        self._counter = None
        if ends and epsilon:
            # Counters take numbers in [0, 1], so counts are divided by the length of a stretch.
            self._counter = BinaryCounter(
                self._counts.shape, rng, horizon=ends, epsilon=epsilon, sensitivity=2 / length
            )
            self._noisy_counts = np.zeros((games, ends + 1, points))

    def observe(self, place: np.ndarray) -> None:
        self._counts[self._rows, place] += 1

    def end_stretch(self) -> np.ndarray:
        """End a stretch and return S'(i, e] for every earlier end i from 0 on: (n, e, X) bool."""
        self._end += 1
        if self._counter is None:
            games, points = self._counts.shape
            return np.ones((games, self._end, points), bool)
        self._noisy_counts[:, self._end] = self._length * self._counter.add(self._counts / self._length)
        self._counts[:] = 0
        return self._noisy_counts[:, self._end, None] - self._noisy_counts[:, : self._end] >= self._threshold


def counter_noise_scale(ends: int, epsilon: float) -> float:
    """The scale of the Laplace noise of a counter's node, in occurrences; 0 without counters."""
    return 2 * tree_levels(ends) / epsilon if ends and epsilon else 0.0


def largest_missed_count(ends: int, epsilon: float, *, threshold: float, beta: float) -> int:
    """The largest number of occurrences of a point between two ends at which it may not be a candidate, for
    all sets of its counter, except with probability `beta`."""
    if not (ends and epsilon):
        return 0
    # Two counts are subtracted, and each has at most this error.
    missed = threshold + 2 * binary_counter_error(ends, beta, epsilon=epsilon, sensitivity=2)
    return max(0, math.ceil(missed) - 1)
