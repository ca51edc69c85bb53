"""everlasting-v1: GenericBBL as first published (16 May 2023), whose halt reveals a query."""

from __future__ import annotations

from math import ceil, log, sqrt
from typing import Self

import attrs
import numpy as np

from arena.errors import InvalidArgument
from arena.sample import Sample
from arena.settings import count_setting
from learners.common.teacher_votes import between_thresholds_law
from learners.everlasting.bbl_round import V1, BBLRound
from learners.everlasting.first_round_law import FirstRoundLaw, first_round_law
from learners.everlasting.generic_bbl import GenericBBL
from learners.everlasting.generic_bbl_state import HaltingBBLState
from learners.mechanisms.accounting import best_composition
from learners.mechanisms.sparse_vector import BetweenThresholds, delta_of_gap, gap_of_delta


@attrs.frozen
class EverlastingV1(GenericBBL):
    """Algorithm GenericBBL of Private Everlasting Prediction, first version (v1).

    Step 3(d): the teachers' mean vote goes through BetweenThresholds with thresholds 1/2 ± α_i. "Below" is
    answered 0, "above" and "between" are answered 1. After exactly c outcomes "between" the learner halts and
    fails.

    The claim is that of Claim 5.3, computed from the configured numbers. It is false: because the count is
    exact, the halt reveals whether the last query split the vote (`adversaries.figure1.halt_counter`). The
    second version says so in its footnote 9.

    Correction of a slip: step 3(d)ii as printed gives BetweenThresholds the sum of the votes, not their mean.
    Deviation: c is `halts` in every round, where the printed c_i = 64·α_i·R_i doubles. A later round may so
    halt early, which costs accuracy and not privacy.
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
        return first_round_law(
            self,
            sample,
            lambda teachers: between_thresholds_law(
                teachers, alpha=run.alpha, epsilon=run.noise, size=run.teachers, halts=self.halts
            ),
        )

    def start(self, games: int, rng: np.random.Generator) -> V1State:
        return V1State(self, games, rng)

    def _noise(self, index: int, answers: int) -> float:
        """Step 3(c): ε′ = 1/(3 √(c ln(2/δ)))."""
        if self.noise is not None:
            return self.noise
        return 1.0 / (3.0 * sqrt(self.halts * log(2.0 / self.delta)))

    def _cost_of_answers(self, round: BBLRound) -> tuple[float, float]:
        """Lemma 4.3 for one halt, with the least δ′ that its gap condition allows; then composition.

        If the gap allows none, the answers are not private, (0, 1), and only the subset protects.
        """
        delta = delta_of_gap(epsilon=round.noise, gap=2.0 * round.alpha, size=round.teachers)
        epsilon, delta = best_composition(self.halts, round.noise, delta, slack=self.delta / 2)
        return (epsilon, delta) if delta < 1 else (0.0, 1.0)

    def _has_small_noise(self, run: BBLRound) -> bool:
        """The condition of Lemma C.4 (Claim D.7)."""
        return run.teachers >= 8 / (run.alpha * run.noise) * (log(run.answers + 1) - log(run.beta))

    def adapt_to(self, sample_size: int) -> Self:
        """This learner, or for a small sample one with one halt, ε′ near 1 and S_1 at the rate of Claim E.5.

        ε′ near 1 is Lemma 4.3 without composition; the teachers are as many as its gap condition needs.
        """
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
    """everlasting-v1 in a batch of games."""

    _learner: EverlastingV1
    _mechanism: BetweenThresholds

    def _build_mechanism(self, round: BBLRound) -> BetweenThresholds:
        return BetweenThresholds(
            self._games,
            self._rng,
            lower=0.5 - round.alpha,
            upper=0.5 + round.alpha,
            epsilon=round.noise,
            size=round.teachers,
            halts=self._learner.halts,
        )

    @property
    def cuts(self) -> np.ndarray:
        return self._mechanism.cuts

    def _answer(self, votes: np.ndarray) -> np.ndarray:
        return self._mechanism.respond(votes)

    def _answer_many(self, votes: np.ndarray) -> np.ndarray:
        return self._mechanism.respond_many(votes)
