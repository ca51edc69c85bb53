"""between-thresholds: BetweenThresholds itself as a predictor, every training example its own teacher."""

from __future__ import annotations

from typing import Self

import attrs
import numpy as np

from arena.claims import TRAINING_EXAMPLE, Claim
from arena.concepts import ConceptClass, Thresholds
from arena.players import Learner
from arena.sample import Sample, Training
from arena.settings import at_least, at_most, less_than, more_than, setting, whole
from learners.mechanisms import between_thresholds as mechanism
from learners.mechanisms.composition import composed
from learners.mechanisms.laplace import laplace_between, laplace_cdf
from learners.votes import Electorate, HaltingLaw, teachers_of_each


@attrs.frozen
class BetweenThresholdsPredictor(Learner):
    """Answers every query by BetweenThresholds on the mean vote of teachers, one trained on each example.

    Lemma C.3 and Observation 2 of Private Everlasting Prediction, v1: the mechanism at the heart of
    GenericBBL, without its subsets and rounds. It learns nothing from queries and protects training
    examples only.
    """

    name = "between-thresholds"
    protocols = ("Figure1",)
    theorem = "Lemma C.3 and Observation 2 of Private Everlasting Prediction, v1"

    concepts: ConceptClass = setting(Thresholds(), help="the concept class C")
    size: int = setting(1_000, help="n, the examples it is trained on", check=[whole, at_least(1)])
    epsilon: float = setting(0.5, unit="nats", help="ε′ of one halt", check=[more_than(0), at_most(1)])
    alpha: float = setting(
        0.25, unit="fraction", help="the thresholds are 1/2 ± alpha", check=[more_than(0), less_than(0.5)]
    )
    halts: int = setting(1, help="c, outcomes ⊤ before it halts", check=[whole, at_least(1)])
    slack: float = setting(
        1e-6, unit="probability", help="δ spent on advanced composition", check=[more_than(0), less_than(1)]
    )

    @property
    def sample_size(self) -> int:
        return self.size

    @property
    def claim(self) -> Claim:
        delta = mechanism.delta_of_gap(epsilon=self.epsilon, gap=2 * self.alpha, size=self.size)
        if delta >= 1:
            return Claim(epsilon=np.inf, delta=1, protects=(TRAINING_EXAMPLE,))
        epsilon, delta = composed(self.halts, self.epsilon, delta, slack=self.slack)
        return Claim(epsilon=epsilon, delta=min(delta, 1.0), protects=(TRAINING_EXAMPLE,))

    def sized_for(self, sample_size: int) -> Self:
        """Set for exactly so many examples."""
        return attrs.evolve(self, size=sample_size)

    @property
    def in_step(self) -> bool:
        """Where it halts at its first ⊤: then no game draws a second μ."""
        return self.halts == 1

    def law(self, sample: Sample) -> HaltingLaw:
        """μ is hidden. It has kinks where a threshold meets a vote, and where the thresholds cross."""
        lower, upper = 0.5 - self.alpha, 0.5 + self.alpha
        unit = 6 / (self.epsilon * self.size)

        def chances(votes: np.ndarray, mu: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            low, high = (lower + mu - votes) / unit, (upper - mu - votes) / unit
            return laplace_cdf(low), laplace_cdf(-np.maximum(low, high)), laplace_between(low, high)

        return HaltingLaw(
            Electorate.of(self.name, sample, self.concepts, self.size),
            chances,
            scale=unit / 3,
            kinks=lambda votes: np.concatenate([[self.alpha], votes - lower, upper - votes]),
            halts=self.halts,
        )

    def seat(self, games: int, rng: np.random.Generator) -> SeatedBetweenThresholds:
        return SeatedBetweenThresholds(self, games, rng)


class SeatedBetweenThresholds:
    """between-thresholds at a table."""

    def __init__(self, spec: BetweenThresholdsPredictor, games: int, rng: np.random.Generator) -> None:
        self._spec = spec
        self._mechanism = mechanism.BetweenThresholds(
            games,
            rng,
            lower=0.5 - spec.alpha,
            upper=0.5 + spec.alpha,
            epsilon=spec.epsilon,
            size=spec.size,
            halts=spec.halts,
        )

    @property
    def halted(self) -> np.ndarray:
        return self._mechanism.halted

    def train(self, training: Training) -> None:
        spec = self._spec
        self._teachers = teachers_of_each(spec.name, training, spec.concepts, spec.size)

    def predict(self, x: np.ndarray) -> np.ndarray:
        return self._mechanism.respond(self._teachers.votes(x))

    def votes(self, x: np.ndarray | float) -> np.ndarray:
        """The mean votes (n,), for a player that seats the learner at a table of its own."""
        return self._teachers.votes(np.broadcast_to(x, (len(self.halted),)))
