"""everlasting-v2: GenericBBL as published at NeurIPS 2023, with Laplace noise on votes and no halts."""

from __future__ import annotations

from math import inf, log, sqrt
from typing import Self

import attrs
import numpy as np

from arena.sample import Sample
from arena.settings import count_setting
from learners.common.vote_laws import NoisyVotesLaw
from learners.everlasting.bbl_round import BBLRound
from learners.everlasting.first_round_law import FirstRoundLaw, first_round_law
from learners.everlasting.generic_bbl import GenericBBL
from learners.everlasting.generic_bbl_state import BBLState
from learners.mechanisms.accounting import best_composition, compose_advanced, largest_affordable
from learners.mechanisms.noise.laplace_noise import laplace


@attrs.frozen
class EverlastingV2(GenericBBL):
    """Algorithm GenericBBL of Private Everlasting Prediction, NeurIPS version (v2).

    Step 3(d): the answer is 1 if the teachers' mean vote plus Lap(1/(T_i ε′_i)) is at least 1/2.

    The claim is that of Claim 6.3, computed from the configured numbers. The paper's advanced composition
    (Theorem 2.6) lacks the term k·ε·(e^ε − 1); the full form is used, as in its Claim D.1.

    By default round 2 has only a few teachers, so that games which reach it stay short: it is private, but
    not accurate. `learners.everlasting.bbl_round` has the printed constants that accuracy requires. Sized for
    a small sample it has less noise than in step 3(c): the least with which its claim is (ε, δ).
    """

    name = "everlasting-v2"
    theorem = "Claim 6.3 of Private Everlasting Prediction, v2"
    in_paper = True

    answers: int | None = count_setting(
        4_000, help="R_1, quadrupled every round; none: as many as round 2 needs"
    )

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
        """Claim D.1: R_i Laplace answers, each of which costs ε′_i for a change of one teacher.

        From round 2 on it is advanced composition, which does not grow from there: R is quadrupled and ε′
        halved. Basic composition may be less at first, but doubles every round.
        """
        compose = best_composition if round.index == 1 else compose_advanced
        return compose(round.answers, round.noise, 0.0, slack=self.delta / 2)


class V2State(BBLState):
    """everlasting-v2 in a batch of games."""

    def _open_round(self, round: BBLRound) -> None:
        self._scale = 1.0 / (round.teachers * round.noise)

    def _answer_many(self, votes: np.ndarray) -> np.ndarray:
        self._cuts = 0.5 - laplace(self._rng, np.empty(votes.shape), self._scale)
        return votes >= self._cuts
