"""everlasting-v1, everlasting-v2 and everlasting-fresh: GenericBBL as published, and from fresh points."""

from __future__ import annotations

from collections import deque
from math import ceil, inf, log, sqrt
from typing import Self

import attrs
import numpy as np

from arena.claims import PrivacyUnit
from arena.errors import BudgetExceeded, InvalidArgument
from arena.sample import Sample, is_shared
from arena.settings import at_least, count_setting, setting, whole
from learners.common.teacher_votes import Electorate, NoisyVotesLaw, SparseVotesLaw, between_thresholds_law
from learners.everlasting.bbl_round import FRESH_ANSWERS, V1, BBLRound
from learners.everlasting.first_round_law import FirstRoundLaw, first_round_law
from learners.everlasting.generic_bbl import GenericBBL
from learners.everlasting.generic_bbl_state import BBLState, HaltingBBLState
from learners.mechanisms.accounting import Guarantee, best_composition, compose_advanced, largest_affordable
from learners.mechanisms.noise import laplace
from learners.mechanisms.sparse_vector import BetweenThresholds, delta_of_gap, gap_of_delta


@attrs.frozen
class EverlastingV1(GenericBBL):
    """Algorithm GenericBBL of Private Everlasting Prediction, first version (v1).

    Step 3(d): the mean vote goes through BetweenThresholds with thresholds 1/2 ± α_i. "Below" is answered 0,
    others 1; after c outcomes "between" it halts. The claim is that of Claim 5.3, computed from the
    configured numbers. It is false (footnote 9 of v2): the count is exact, so the halt reveals whether the
    last query split the vote.

    Deviations: BetweenThresholds gets the mean, where step 3(d)ii prints the sum; c is `halts` in every
    round, where c_i = 64·α_i·R_i doubles.
    """

    name = "everlasting-v1"
    usual_adversary = "halt-counter"
    theorem = "Claim 5.3 of Private Everlasting Prediction, v1 (proved there, and wrong)"
    version = V1
    in_paper = True
    utility_theorem = "Theorem 5.2 of Private Everlasting Prediction, v1"
    error_factor = 6

    halts: int = count_setting(8, help='c, outcomes "between" in a round after which it halts')

    def law(self, sample: Sample) -> FirstRoundLaw:
        """The distribution with rounds=1. Raises: as `first_round_law`."""
        run = self.round(1)

        def answer(teachers: Electorate) -> SparseVotesLaw:
            size, halts, epsilon = run.teachers, self.halts, run.noise
            return between_thresholds_law(teachers, alpha=run.alpha, epsilon=epsilon, size=size, halts=halts)

        return first_round_law(self, sample, answer)

    def start(self, games: int, rng: np.random.Generator) -> V1State:
        return V1State(self, games, rng)

    def _noise(self, index: int, answers: int) -> float:
        """Step 3(c): ε′ = 1/(3 √(c ln(2/δ)))."""
        if self.noise is not None:
            return self.noise
        return 1.0 / (3.0 * sqrt(self.halts * log(2.0 / self.delta)))

    def _cost_of_answers(self, round: BBLRound) -> tuple[float, float]:
        """Lemma 4.3, with the least δ′ that its gap condition allows, and composition; without a gap, the
        subset alone."""
        delta = delta_of_gap(epsilon=round.noise, gap=2.0 * round.alpha, size=round.teachers)
        epsilon, delta = best_composition(self.halts, round.noise, delta, slack=self.delta / 2)
        return (epsilon, delta) if delta < 1 else (0.0, 1.0)

    def _has_small_noise(self, run: BBLRound) -> bool:
        """The condition of Lemma C.4 (Claim D.7)."""
        return run.teachers >= 8 / (run.alpha * run.noise) * (log(run.answers + 1) - log(run.beta))

    def adapt_to(self, sample_size: int) -> Self:
        """This learner, or for a small sample one with one halt, ε′ near 1, as Lemma 4.3 without composition,
        as many teachers as its gap condition needs, and S_1 at the rate of Claim E.5."""
        if sample_size >= self.sample_size:
            return self
        rate = self._small_sample_rate
        gap_of_one = gap_of_delta(epsilon=0.99, delta=self.delta / 2, size=1)  # it falls as 1/size
        teachers = ceil(gap_of_one / (2.0 * self.alpha_1))
        chunk = int(sample_size * rate) // teachers
        if chunk < 1:
            raise InvalidArgument(
                f"{self.name} needs at least {ceil(teachers / rate):,} examples at α_1 = {self.alpha_1:g}, "
                f"ε = {self.epsilon:g}, δ = {self.delta:g}",
                value=sample_size,
                remedy="Use more data, or set teachers, chunk and training_rate yourself.",
            )
        odd_chunk = chunk if chunk % 2 else max(1, chunk - 1)
        return attrs.evolve(self, halts=1, noise=0.99, teachers=teachers, chunk=odd_chunk, training_rate=rate)

    def _least_noise_product(self, rounds: int) -> float:
        """As in the base, but values have noise 6/(Tε′) that may reach 1/8, and ε′ does not fall with i."""
        runs = [self.round(index) for index in range(1, rounds + 1)]
        return max(48 * log(2 * run.answers / run.beta) / 2 ** (run.index - 1) for run in runs)

    def _round_of_halts(self, rounds: int) -> int:
        return rounds  # all rounds have the same halts, so the last needs the most


class V1State(HaltingBBLState):
    _learner: EverlastingV1
    _mechanism: BetweenThresholds

    def _build_mechanism(self, round: BBLRound) -> BetweenThresholds:
        lower, upper, halts = 0.5 - round.alpha, 0.5 + round.alpha, self._learner.halts
        size, epsilon = round.teachers, round.noise
        return BetweenThresholds(
            self._games, self._rng, lower=lower, upper=upper, epsilon=epsilon, size=size, halts=halts
        )

    @property
    def cuts(self) -> np.ndarray:
        return self._mechanism.cuts

    def _answer(self, votes: np.ndarray) -> np.ndarray:
        return self._mechanism.respond(votes)

    def _answer_many(self, votes: np.ndarray) -> np.ndarray:
        return self._mechanism.respond_many(votes)


@attrs.frozen
class EverlastingV2(GenericBBL):
    """Algorithm GenericBBL of Private Everlasting Prediction, NeurIPS version (v2).

    Step 3(d): the answer is 1 if the mean vote plus Lap(1/(T_i ε′_i)) is at least 1/2. The claim is that of
    Claim 6.3, with the term k·ε·(e^ε − 1) of advanced composition that Theorem 2.6 lacks. By default round 2
    has only a few teachers: it is private, but not accurate. For a small sample its noise is the least for
    (ε, δ).
    """

    name = "everlasting-v2"
    theorem = "Claim 6.3 of Private Everlasting Prediction, v2"
    in_paper = True

    answers: int | None = count_setting(4_000, help="R_1, quadrupled every round; none: what round 2 needs")

    def adapt_to(self, sample_size: int) -> Self:
        learner = super().adapt_to(sample_size)
        if learner is self or self.noise is not None or learner.claim.epsilon >= self.epsilon:
            return learner

        def cost(noise: float) -> float:
            return inf if noise > 1 else attrs.evolve(learner, noise=noise).claim.epsilon

        return attrs.evolve(learner, noise=largest_affordable(cost, self.epsilon))

    def law(self, sample: Sample) -> FirstRoundLaw:
        """The distribution with rounds=1. Raises: as `first_round_law`."""
        run = self.round(1)
        scale = 1 / (run.teachers * run.noise)
        return first_round_law(
            self, sample, lambda teachers: NoisyVotesLaw(teachers, scale=scale, answers=run.answers)
        )

    def start(self, games: int, rng: np.random.Generator) -> V2State:
        return V2State(self, games, rng)

    def _noise(self, index: int, answers: int) -> float:
        """Step 3(c): ε′ = 1/(3 √(R ln(2/δ)))."""
        if self.noise is not None:
            return self.noise / 2.0 ** (index - 1)
        return 1.0 / (3.0 * sqrt(answers * log(2.0 / self.delta)))

    def _cost_of_answers(self, round: BBLRound) -> tuple[float, float]:
        """Claim D.1; from round 2 on by advanced composition, which does not grow from there."""
        compose = best_composition if round.index == 1 else compose_advanced
        return compose(round.answers, round.noise, 0.0, slack=self.delta / 2)


class V2State(BBLState):
    def _open_round(self, round: BBLRound) -> None:
        self._scale = 1.0 / (round.teachers * round.noise)

    def _answer_many(self, votes: np.ndarray) -> np.ndarray:
        self._cuts = 0.5 - laplace(self._rng, np.empty(votes.shape), self._scale)
        return votes >= self._cuts


@attrs.frozen
class EverlastingFresh(EverlastingV2):
    """GenericBBL with fresh unlabelled points in place of queries: Remark 3 of section 1.3.

    It answers as everlasting-v2 does. D_i is made of F_i points that the move `Unlabelled` provides, however
    queries fall among them; a query that needs more is refused. A query leaves no trace and costs (0, 0).
    Privacy, which the paper does not prove: docs/proofs/everlasting_fresh.md.
    """

    name = "everlasting-fresh"
    theorem = "Remark 3 of Private Everlasting Prediction, v2, section 1.3; docs/proofs/everlasting_fresh.md"
    in_paper = False
    training_source = "fresh points"
    _practical_answers = FRESH_ANSWERS

    pool: int | None = setting(
        None, unit="points", help="F_1, quadrupled a round; default: for round 2", check=[whole, at_least(1)]
    )

    def start(self, games: int, rng: np.random.Generator) -> FreshState:
        return FreshState(self, games, rng)

    @classmethod
    def settings_before_fitting(cls) -> dict[str, str]:
        return {"training_rate": "1", "rate": "1"}

    def pool_size(self, index: int) -> int:
        """F_i = |D_i|, the fresh points of round `index`."""
        return self._pool_for_next_round(index) if self.pool is None else self.pool * 4 ** (index - 1)

    @property
    def costs(self) -> dict[PrivacyUnit, Guarantee]:
        return {**super().costs, PrivacyUnit.UNLABELLED_EXAMPLE: self._cost_of_pool_point()}

    def _cost_of_query(self) -> Guarantee:
        return Guarantee(0.0, 0.0)


class FreshState(V2State):
    _learner: EverlastingFresh

    def __init__(self, learner: EverlastingFresh, games: int, rng: np.random.Generator) -> None:
        super().__init__(learner, games, rng)
        self._ready: deque[np.ndarray] = deque()  # D̂_i, D̂_{i+1}, … whose points have all come
        self._start_pool(1)

    def receive_unlabelled(self, x: np.ndarray) -> None:
        """Receive fresh unlabelled points (n, k, ...). Points that no round needs are dropped."""
        self._learner.concepts.check(x[0] if is_shared(x) else x)
        while x.shape[1] and self._pool_index != self._learner.rounds:
            k = min(x.shape[1], self._missing)
            self._pool.offer(x[:, :k])
            self._missing -= k
            x = x[:, k:]
            if not self._missing:
                self._ready.append(self._pool.collect())
                self._start_pool(self._pool_index + 1)

    def _start_pool(self, index: int) -> None:
        self._pool_index = index
        self._missing = self._learner.pool_size(index)
        self._pool = self._new_pool(index)

    def _open_pool(self, round: object) -> None:
        """Pools begin with the stream of points, not with rounds."""

    def _add_queries(self, x: np.ndarray) -> None:
        """Queries are not stored."""

    def _draw_pool(self) -> np.ndarray:
        if not self._ready:
            index, needed = self._pool_index, self._learner.pool_size(self._pool_index)
            raise BudgetExceeded(
                f"{self._learner.name} has used up the answers of round {index}, and the next round needs "
                f"{needed:,} fresh points, of which {needed - self._missing:,} have come. "
                f"Provide {self._missing:,} more with the move Unlabelled, or set rounds={index}."
            )
        return self._ready.popleft()
