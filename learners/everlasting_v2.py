"""everlasting-v2: GenericBBL as published at NeurIPS 2023, which answers with Laplace noise and never
halts.
"""

from __future__ import annotations

from math import ceil, log, sqrt
from typing import Self

import attrs
import numpy as np

from arena.errors import InvalidArgument
from arena.settings import at_least, setting, whole
from learners.generic_bbl import GenericBBL, Round, SeatedBBL
from learners.mechanisms.composition import composed
from learners.mechanisms.laplace import laplace


@attrs.frozen
class EverlastingV2(GenericBBL):
    """Algorithm GenericBBL of Private Everlasting Prediction, NeurIPS version (v2).

    Step 3(d): the teachers' mean vote plus Lap(1/(T_i ε′_i)) is answered 1 from 1/2 on.

    Claim 6.3 computed from what is run. The advanced composition of its Theorem 2.6 lacks the term
    k·ε·(e^ε − 1); the full form is used, as in its Claim D.1.

    The default leaves round 2 a handful of teachers, so that games which reach it stay short: private all
    the same, but no longer accurate. The printed constants (`learners.paper`) are what accuracy costs.
    """

    name = "everlasting-v2"
    theorem = "Claim 6.3 of Private Everlasting Prediction, v2"

    answers: int | None = setting(
        4_000, help="R_1, quadrupled every round; None: what round 2 needs", check=[whole, at_least(1)]
    )

    def seat(self, games: int, rng: np.random.Generator) -> SeatedV2:
        return SeatedV2(self, games, rng)

    def _noise(self, index: int, answers: int) -> float:
        """Step 3(c): ε′ = 1/(3 √(R ln(2/δ)))."""
        if self.noise is not None:
            return self.noise / 2.0 ** (index - 1)
        return 1.0 / (3.0 * sqrt(answers * log(2.0 / self.delta)))

    def _answering(self, round: Round) -> tuple[float, float]:
        """Claim D.1: R_i Laplace answers, each ε′_i for a change of one teacher."""
        return composed(round.answers, round.noise, 0.0, slack=self.delta / 2)

    def sized_for(self, sample_size: int) -> Self:
        """For fewer examples than the default needs: S_1 at the rate ε/(3 + exp(ε + 1)) that the proof of
        Claim E.5 uses, and as many teachers as that allows.
        """
        if sample_size >= self.sample_size:
            return self
        rate = self._fitting_rate
        teachers = int(sample_size * rate) // self.chunk
        if teachers < 1:
            raise InvalidArgument(
                f"{self.name} needs at least {ceil(self.chunk / rate):,} examples to train one teacher",
                value=sample_size,
                remedy="Give more data, or set chunk and training_rate yourself.",
            )
        return attrs.evolve(self, teachers=teachers, training_rate=rate)


class SeatedV2(SeatedBBL):
    """everlasting-v2 at a table."""

    def _open_round(self, round: Round) -> None:
        self._scale = 1.0 / (round.teachers * round.noise)
        self._noise = np.empty(self._games)

    def _answer(self, votes: np.ndarray) -> np.ndarray:
        laplace(self._rng, self._noise, self._scale)
        self._noise += votes
        return self._noise >= 0.5
