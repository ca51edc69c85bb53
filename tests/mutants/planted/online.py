"""Flaws planted in learners that publish a noisy running count, or a noisy majority, every round."""

from __future__ import annotations

import attrs
import numpy as np
from mutants.online.online_learners import Majority, MajorityState
from mutants.releases.learners import laplace_noise
from support.simple_players import NamedByClass

from arena import BudgetExceeded, Claim, Hypothesis, Learner, PrivacyUnit
from arena.concepts import Thresholds


class CounterState:
    """Publishes the threshold (count of labels 1) + Lap(rounds/ε), anew in every round."""

    def __init__(self, spec: Counter, games: int, rng: np.random.Generator) -> None:
        self.spec, self.games, self.rng = spec, games, rng
        self.round = 0
        self.count = np.zeros(games)

    def hypothesis(self) -> Hypothesis:
        self.round += 1
        if self.round > self.spec.rounds:
            raise BudgetExceeded(f"{self.spec.name} has spent its {self.spec.rounds} rounds")
        return Hypothesis(Thresholds(), self.publish())

    def publish(self) -> np.ndarray:
        return self.count + self.noise()

    def observe(self, x: np.ndarray, y: np.ndarray) -> None:
        self.count = self.count + y

    def noise(self) -> np.ndarray:
        return laplace_noise(self.rng, (self.games,), self.spec.rounds / self.spec.epsilon)


@attrs.frozen
class Counter(NamedByClass, Learner):
    """The correct learner behind the counters below."""

    protocols = ("Oblivious", "Adaptive", "SpecialRound")
    State = CounterState

    epsilon: float = 1.0
    rounds: int = 12

    @property
    def claim(self) -> Claim:
        return Claim(epsilon=self.epsilon, delta=0, protects=(PrivacyUnit.STREAM_EXAMPLE,))


@attrs.frozen
class RestartRepeatsNoise(Counter):
    """The flaw: a restart after every five rounds seeds the generator again, so that the noise repeats."""

    class State(CounterState):
        def __init__(self, spec: Counter, games: int, rng: np.random.Generator) -> None:
            super().__init__(spec, games, rng)
            self.drawn = laplace_noise(rng, (5, games), spec.rounds / spec.epsilon)

        def noise(self) -> np.ndarray:
            return self.drawn[self.round % 5]


@attrs.frozen
class ClippedBelowOnly(Counter):
    """The flaw: the running sum clips points at 0 but not at 1."""

    class State(CounterState):
        def observe(self, x: np.ndarray, y: np.ndarray) -> None:
            self.count = self.count + np.maximum(x, 0.0) * y


@attrs.frozen
class FractionShows(Counter):
    """The flaw: noise is rounded to whole numbers, the sum of points in [0, 1] is not."""

    class State(CounterState):
        def observe(self, x: np.ndarray, y: np.ndarray) -> None:
            self.count = self.count + np.clip(x, 0.0, 1.0) * y

        def noise(self) -> np.ndarray:
            return np.rint(super().noise())


@attrs.frozen
class BareWhenAllOnes(Counter):
    """The flaw: from the fifth hypothesis on, the count is published bare if all labels were 1."""

    class State(CounterState):
        def publish(self) -> np.ndarray:
            seen = self.round - 1
            return np.where((self.count == seen) & (seen >= 4), self.count, super().publish())


@attrs.frozen
class SettlesAfterMistakes(Majority):
    """The flaw: after exactly nine mistakes, counted without noise, it settles on the label 1."""

    class State(MajorityState):
        def __init__(self, spec: Majority, games: int, rng: np.random.Generator) -> None:
            super().__init__(spec, games, rng)
            self.mistakes = np.zeros(games)
            self.shown = np.zeros(games, bool)

        def hypothesis(self) -> Hypothesis:
            one = self.lead + self.noise() >= 0
            self.shown = np.where(self.mistakes >= 9, True, one)
            return Hypothesis(Thresholds(), np.where(self.shown, -np.inf, np.inf))

        def observe(self, x: np.ndarray, y: np.ndarray) -> None:
            super().observe(x, y)
            self.mistakes = self.mistakes + (self.shown != (y == 1))

    rounds: int = 40

    common_random_numbers = False


@attrs.frozen
class LateCounter(Counter):
    """The flaw: of 120 hypotheses the last three have no noise."""

    class State(CounterState):
        def noise(self) -> np.ndarray:
            return np.where(self.round > self.spec.rounds - 3, 0.0, super().noise())

    rounds: int = 120
