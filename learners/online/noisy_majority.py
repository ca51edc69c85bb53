"""noisy-majority: the simplest private online learner, a constant hypothesis by majority of the labels."""

from __future__ import annotations

import attrs
import numpy as np

from arena.claims import Claim, PrivacyUnit
from arena.concepts import Thresholds
from arena.laws import OnlineLaw
from arena.messages import Hypothesis
from arena.settings import count_setting, setting
from learners.common.learner_bases import OnlineLearner, RoundBudget
from learners.mechanisms.accounting import pure_curve
from learners.mechanisms.noise import laplace, laplace_cdf


@attrs.frozen
class NoisyMajority(OnlineLearner):
    """h_t is constant: 1 if (number of ones) − (number of zeros) + Lap(2T/ε) ≥ 0, else 0.

    The sensitivity is 2, so each of the T releases is (ε/T)-DP, and all are ε-DP by basic composition.
    """

    name = "noisy-majority"
    theorem = "the Laplace mechanism and basic composition"
    common_random_numbers = True  # every game draws one random number in each round

    epsilon: float = setting(1.0, unit="nats", help="ε of all rounds together")
    rounds: int = count_setting(100, help="T, the largest number of rounds")

    @property
    def claim(self) -> Claim:
        return Claim(
            epsilon=self.epsilon,
            delta=0,
            protects=(PrivacyUnit.STREAM_EXAMPLE,),
            curve=pure_curve(self.rounds, self.epsilon / self.rounds),
        )

    def online_law(self) -> NoisyMajorityLaw:
        return NoisyMajorityLaw(self)

    def start(self, games: int, rng: np.random.Generator) -> NoisyMajorityState:
        return NoisyMajorityState(self, games, rng)


class NoisyMajorityState:
    def __init__(self, spec: NoisyMajority, games: int, rng: np.random.Generator) -> None:
        self._spec = spec
        self._rng = rng
        self._rounds = RoundBudget(spec.name, spec.rounds)
        self._difference = np.zeros(games)
        self._noise = np.empty(games)

    def hypothesis(self) -> Hypothesis:
        self._rounds.begin()
        laplace(self._rng, self._noise, 2.0 * self._spec.rounds / self._spec.epsilon)
        # As a threshold, the constant 1 starts at −∞ and the constant 0 at +∞.
        return Hypothesis(Thresholds(), np.where(self._difference + self._noise >= 0, -np.inf, np.inf))

    def observe(self, x: np.ndarray, y: np.ndarray) -> None:
        self._difference += 2.0 * y - 1.0


class NoisyMajorityLaw(OnlineLaw[int]):
    """The constants shown; a state is the difference of the labels. No point matters."""

    hypotheses = Hypothesis(Thresholds(), np.array([np.inf, -np.inf]))  # the constants 0 and 1
    points = np.zeros(1)

    def __init__(self, learner: NoisyMajority) -> None:
        self._scale = 2 * learner.rounds / learner.epsilon
        self.rounds = learner.rounds

    def start(self) -> int:
        return 0

    def show(self, state: int) -> list[tuple[int, int, float]]:
        one = float(laplace_cdf(np.array(state / self._scale)))
        return [(0, state, 1 - one), (1, state, one)]

    def observe(self, state: int, point: int, label: int) -> list[tuple[int, float]]:
        return [(state + 2 * label - 1, 1.0)]
