"""agnostic-experts: a private online learner that draws among experts, which private candidates make."""

from __future__ import annotations

import math
from functools import cached_property

import attrs
import numpy as np

from arena.claims import REGRET, Bound, Claim, PrivacyUnit
from arena.concepts import ConceptClass, Thresholds
from arena.errors import Unsupported
from arena.littlestone import Automaton, soa
from arena.players import Learner
from arena.replies import Hypothesis
from arena.settings import at_least, less_than, more_than, one_of, setting, whole
from learners.common.round_budget import RoundBudget
from learners.mechanisms.accounting.composition import Guarantee
from learners.mechanisms.experts import exponential_experts, lazy_experts
from learners.mechanisms.experts.lazy_experts import LazyParameters
from learners.online.experts import (
    Candidates,
    FreshDraws,
    LazyDraws,
    MergedExperts,
    Moves,
    most_missed,
    moves,
    noise_scale,
)

MOST_NUMBERS_A_GAME = 2**25
MOST_NUMBERS = 2**28  # of a table, 8 bytes each

FRESH, LAZY = "fresh", "lazy"


@attrs.frozen
class AgnosticExperts(Learner):
    """Algorithms 5 to 7 of Li, Wang, Ye: sanitise points, let experts make SOA err on them, draw an expert.

    An expert follows SOA, and at rounds of its own choice makes it err at a point of its own choice, out of
    the candidates, which occurred often since its last choice. One of them errs little more than the best
    concept. `Candidates` tells the points, `MergedExperts` holds the experts, and one of them is drawn.

    **Privacy.** Fix an adversary, and two streams' examples (x, y), (x', y') of one round s. Show it, at the
    end of each stretch, the noisy counts as well. Take the transcript in order; every step's law is asked for
    given all that came before, which fixes the examples, up to that of round s.
    1. A step that tells counts. One node in each level of the counters' trees holds the stretch of s; its
       counts move by 2 in L1 distance, the others not at all. All these steps together have log ratios within
       ±ε_counters, whatever the transcript.
    2. A step that draws. The candidates are part of the transcript, hence so is every expert, what it
       predicts at each round, and its prior: they are *the same* in both worlds. What is not is the loss of
       round s, which multiplies each expert's weight by exp(rate·Δ) with Δ in {−1, 0, 1}. That moves the log
       ratios of the law of experts within an interval of length 2·rate, and those of their states and
       functions too, whose ratios are averages of experts' ratios.
    Step by step, the sum of the second kind is what `exponential_experts.cost` (or `lazy_experts.cost`)
    bounds: it needs each draw's interval given the past, and the past may hold candidates. The first kind
    adds ε_counters, always. A replaced example may thus move all later candidates, and what that shows is
    paid for by the counters. Losses of the first stretch tell no experts apart, since all are at the start:
    Hedge's game, and its cost, begin with the second.

    **Deviations.** The points of a finite domain are counted, where the paper sanitises classes of functions
    with a discriminator. So experts may follow SOA itself, where the paper needs sparse majorities. They move
    at the ends of stretches only. Moves to states that no concept explains are left out. That candidates
    occurred is not asked for: one that did not costs a share of the prior and nothing else. On a finite
    domain Hedge over the concepts is a simpler learner, and mostly a better one. `share=0` drops the counters
    and makes every point a candidate, which shows what they cost.

    Memory: states × (ends + 1) numbers of 8 bytes a game. A round's work is a number a state.
    """

    name = "agnostic-experts"
    protocols = ("Oblivious", "Adaptive", "SpecialRound")
    theorem = "Theorem 4.4 of Li, Wang, Ye: counters of points, and private experts"

    concepts: ConceptClass = setting(Thresholds(range(16)), help="the concept class H")
    rounds: int = setting(10_000, help="T, the most rounds it plays", check=[whole, at_least(1)])
    epsilon: float = setting(1.0, unit="nats", help="ε of counters and draws together", check=more_than(0))
    delta: float = setting(
        1e-6, unit="probability", help="δ of all draws together", check=[at_least(0), less_than(1)]
    )
    stretches: int = setting(
        32, help="K; experts may move where one of so many stretches ends", check=[whole, at_least(1)]
    )
    mistakes: int | None = setting(
        None, help="M, the moves that experts may need; derived: all of SOA's", check=[whole, at_least(0)]
    )
    share: float = setting(
        0.2, help="the part of ε that counters spend; 0: no counters", check=[at_least(0), less_than(1)]
    )
    threshold: float = setting(
        2.0,
        unit="noise scales",
        help="a point that occurred more often since a move is a candidate",
        check=[more_than(-math.inf), less_than(math.inf)],
    )
    draws: str = setting(
        FRESH,
        help="fresh: every round, or lazy: rarely, for oblivious adversaries",
        check=one_of(FRESH, LAZY),
    )
    rate: float | None = setting(
        None,
        unit="nats per mistake",
        help="Hedge's rate; derived: the best for the bound, or what ε pays for",
        check=more_than(0),
    )

    def __attrs_post_init__(self) -> None:
        numbers = self.moves.numbers * (self.ends + 1)
        if numbers > MOST_NUMBERS_A_GAME:
            raise Unsupported(
                f"{self.concepts} with {self.ends} ends of stretches needs {numbers:,} numbers a game, over "
                f"{MOST_NUMBERS_A_GAME:,}",
                remedy="Choose a smaller domain, fewer stretches or fewer mistakes.",
            )

    # --- what is run ------------------------------------------------------------------------------------

    @property
    def automaton(self) -> Automaton:
        """Raises: Unsupported if the domain is not finite, or the class too large."""
        return soa(self.concepts)

    @property
    def moves(self) -> Moves:
        """Raises: Unsupported if the domain is not finite, or the class too large."""
        automaton = self.automaton
        assert self.concepts.domain is not None
        return moves(automaton, len(self.concepts.domain), self._mistakes)

    @property
    def _mistakes(self) -> int:
        most = self.automaton.mistakes
        return most if self.mistakes is None else min(self.mistakes, most)

    @property
    def length(self) -> int:
        """The rounds of a stretch."""
        return -(-self.rounds // self.stretches)

    @property
    def ends(self) -> int:
        """How many stretches end before the last round, and let experts move."""
        return (self.rounds - 1) // self.length if self._mistakes else 0

    @property
    def change(self) -> float:
        """The prior probability of a move at an end."""
        return self._mistakes / max(self._mistakes + self.ends, 1)

    @property
    def counters_epsilon(self) -> float:
        """What the counters spend, in nats."""
        return self.share * self.epsilon if self.ends else 0.0

    @property
    def least(self) -> float:
        """How often a point must have occurred to be a candidate, by the noisy counts."""
        return self.threshold * noise_scale(self.ends, self.counters_epsilon)

    @cached_property
    def hedge_rate(self) -> float:
        """Hedge's rate: as set, or the best for the bound, or the largest that can be paid for."""
        if self.rate is not None:
            return self.rate
        if self._hedge_rounds < 2:
            return self._best_rate
        if self.draws == LAZY:
            return min(self._best_rate, self._largest_lazy.rate)
        largest = exponential_experts.largest_rate(
            self._hedge_rounds, epsilon=self._draws_epsilon, delta=self.delta
        )
        return min(self._best_rate, largest)

    @property
    def lazy(self) -> LazyParameters:
        """What lazy draws run with."""
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
        """From the first end on; before it there is one expert."""
        return self.rounds - self.length if self.ends else 0

    @property
    def _best_rate(self) -> float:
        return math.sqrt(8 * self._log_experts(self.ends) / self._hedge_rounds) if self._hedge_rounds else 1.0

    # --- what it promises -------------------------------------------------------------------------------

    @property
    def claim(self) -> Claim:
        draws = self._cost_of_draws()
        return Claim(
            epsilon=self.counters_epsilon + draws.epsilon,
            delta=draws.delta,
            protects=(PrivacyUnit.STREAM_EXAMPLE,),
        )

    def _cost_of_draws(self) -> Guarantee:
        if self._hedge_rounds < 2:
            return Guarantee(0.0, 0.0)
        if self.draws == LAZY:
            return lazy_experts.cost(self._hedge_rounds, self.lazy, slack=self.delta)
        return exponential_experts.cost(self._hedge_rounds, self.hedge_rate, slack=self.delta)

    def bound(self, rounds: int) -> Bound | None:
        """The expected regret, where it is less than the rounds; lazy draws: against oblivious adversaries.

        Take a concept h, and the expert that moves to a candidate at which it differs from h, at the first
        end where there is one. At the end before, no point at which they differ was a candidate: with the
        counters' error, each had occurred `missed` times at most since the last move. So they differ
        missed·|X| + length times at most between two moves, M times as often in all, and never again when
        SOA has no mistakes left. Hedge adds ln N/rate + rate·rounds/8, where 1/N is the least prior of such
        an expert: with m ≤ M moves it has at least (change/|X|)^m·(1 − change)^(ends − m). Counters are off
        with a probability of 1/rounds, which costs 1.
        """
        if rounds > self.rounds or self._mistakes < self.automaton.mistakes:
            return None
        missed = most_missed(
            self.ends,
            self.counters_epsilon,
            threshold=self.least,
            beta=1 / (max(rounds, 2) * self.moves.points),
        )
        regret = (
            self._mistakes * (missed * self.moves.points + self.length) + 1 + self._regret_of_draws(rounds)
        )
        if regret >= rounds:
            return None
        oblivious = self.draws == LAZY
        return Bound(regret, REGRET, beta=None, theorem=self.theorem, oblivious=oblivious)

    def _regret_of_draws(self, rounds: int) -> float:
        """To the expert that follows a concept; none in the first stretch, when there is one expert."""
        ends = (rounds - 1) // self.length
        if not (ends and self.ends):
            return 0.0
        hedge_rounds = rounds - self.length
        prior = self._log_experts(ends) / self.hedge_rate
        if self.draws == LAZY:
            return prior + lazy_experts.regret(hedge_rounds, 1, self.lazy)
        return prior + exponential_experts.regret(hedge_rounds, 1, self.hedge_rate)

    def _log_experts(self, ends: int) -> float:
        """ln N: minus the least logarithm of the prior of an expert that follows a concept up to an end."""
        if not self.ends:
            return 0.0
        stays = -math.log1p(-self.change)
        moves = min(self._mistakes, ends)
        return max(ends * stays, (ends - moves) * stays - moves * math.log(self.change / self.moves.points))

    def start(self, games: int, rng: np.random.Generator) -> AgnosticExpertsState:
        """Raises: Unsupported if so many games need too much memory."""
        numbers = (len(self.moves.states) + self.moves.points) * (self.ends + 1)
        if games * numbers > MOST_NUMBERS:
            raise Unsupported(
                f"{games:,} games of {numbers:,} numbers each are over {MOST_NUMBERS:,} numbers",
                remedy=f"Play {MOST_NUMBERS // numbers:,} games at a time.",
            )
        return AgnosticExpertsState(self, games, rng)

    @property
    def common_random_numbers(self) -> bool:
        """Fresh draws are coins of every game and round, and so is the counters' noise."""
        return self.draws == FRESH


class AgnosticExpertsState:
    """agnostic-experts at a table."""

    def __init__(self, spec: AgnosticExperts, games: int, rng: np.random.Generator) -> None:
        self._spec = spec
        self._rounds = RoundBudget(spec.name, spec.rounds)
        self._seen = 0
        self._class = spec.automaton.hypotheses
        self._functions = spec.automaton.functions(spec.moves.states)
        self._candidates = Candidates(
            games,
            spec.moves.points,
            rng,
            ends=spec.ends,
            length=spec.length,
            epsilon=spec.counters_epsilon,
            threshold=spec.least,
        )
        self._experts = MergedExperts(
            spec.moves, games, ends=spec.ends, rate=spec.hedge_rate, change=spec.change
        )
        self._draws: FreshDraws | LazyDraws
        if spec.draws == LAZY:
            self._draws = LazyDraws(self._experts, spec.moves, games, rng, lazy=spec.lazy, change=spec.change)
        else:
            self._draws = FreshDraws(self._experts, games, rng)

    def hypothesis(self) -> Hypothesis:
        self._rounds.begin()
        return Hypothesis(self._class, self._functions[self._draws.draw()])

    def observe(self, x: np.ndarray, y: np.ndarray) -> None:
        place = self._spec.concepts.domain_indices(self._spec.concepts.check(x))
        self._candidates.observe(place)
        self._draws.observe(self._experts.observe(place, y))
        self._seen += 1
        number, rest = divmod(self._seen, self._spec.length)
        if not rest and number <= self._spec.ends:
            candidates = self._candidates.close()
            self._draws.close(candidates)
            self._experts.close(candidates)
