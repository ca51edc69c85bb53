"""Broken versions of `noisy-majority`, each with one common slip."""

from __future__ import annotations

import attrs
import numpy as np
from mutants.releases.learners import laplace_noise
from support.simple_players import NamedByClass

from arena import BudgetExceeded, Claim, Hypothesis, Learner
from arena.concepts import Thresholds
from learners.online.noisy_majority import NoisyMajority


class MajorityState:
    """A running majority learner: h_t is constant, 1 where (ones) - (zeros) + noise ≥ 0."""

    def __init__(self, spec: Majority, games: int, rng: np.random.Generator) -> None:
        self.spec, self.games, self.rng = spec, games, rng
        self.round = 0
        self.lead = np.zeros(games)

    def hypothesis(self) -> Hypothesis:
        self.round += 1
        if self.round > self.spec.rounds:
            raise BudgetExceeded(f"{self.spec.name} has spent its {self.spec.rounds} rounds")
        return Hypothesis(Thresholds(), np.where(self.lead + self.noise() >= 0, -np.inf, np.inf))

    def observe(self, x: np.ndarray, y: np.ndarray) -> None:
        self.lead = self.lead + (2.0 * y - 1.0)

    def noise(self) -> np.ndarray:
        return laplace_noise(self.rng, (self.games,), 2 * self.spec.rounds / self.spec.epsilon)


@attrs.frozen
class Majority(NamedByClass, Learner):
    """Base of the broken learners, which is shared with `noisy-majority`."""

    protocols = ("Oblivious", "Adaptive", "SpecialRound")
    State = MajorityState

    epsilon: float = 1.0
    rounds: int = 100

    @property
    def claim(self) -> Claim:
        return NoisyMajority(epsilon=self.epsilon, rounds=self.rounds).claim

    common_random_numbers = True


@attrs.frozen
class StaleMajority(Majority):
    """The slip: one noise Lap(2/ε) is drawn for all rounds, and paid for once.

    No ε holds: after h_1 = 0 an example labelled 0 leaves h_2 = 0 for certain, one labelled 1 makes h_2 = 1
    with chance (1 - e^(-ε/2))/2.
    """

    class State(MajorityState):
        def __init__(self, spec: Majority, games: int, rng: np.random.Generator) -> None:
            super().__init__(spec, games, rng)
            self.drawn = laplace_noise(rng, (games,), 2 / spec.epsilon)

        def noise(self) -> np.ndarray:
            return self.drawn


@attrs.frozen
class NoisyStart(Majority):
    """The slip: only the first round has noise, and the count of all others is exact. No ε holds."""

    class State(MajorityState):
        def noise(self) -> np.ndarray:
            drawn = laplace_noise(self.rng, (self.games,), 2 / self.spec.epsilon)
            return drawn if self.round == 1 else np.zeros(self.games)


@attrs.frozen
class PaysForOneRound(Majority):
    """The slip: every round has the noise of a single one. Loses ε (rounds - 1): h_1 is before the data."""

    class State(MajorityState):
        def noise(self) -> np.ndarray:
            return laplace_noise(self.rng, (self.games,), 2 / self.spec.epsilon)

    rounds: int = 12


MISTAKES = 10


@attrs.frozen
class BareBrink(Majority):
    """The slip: every tenth mistake, counted without noise, brings a noisy update. No ε holds.

    A function that changes has erred in the round before.
    """

    class State(MajorityState):
        def __init__(self, spec: Majority, games: int, rng: np.random.Generator) -> None:
            super().__init__(spec, games, rng)
            self.mistakes = np.zeros(games)
            self.shown = np.ones(games, bool)

        def hypothesis(self) -> Hypothesis:
            noisy = self.lead + self.noise() >= 0
            self.shown = np.where(self.mistakes == MISTAKES, noisy, self.shown)
            return Hypothesis(Thresholds(), np.where(self.shown, -np.inf, np.inf))

        def observe(self, x: np.ndarray, y: np.ndarray) -> None:
            super().observe(x, y)
            self.mistakes = self.mistakes % MISTAKES + (self.shown != (y == 1))


CALM = 8


@attrs.frozen
class JumpsAfterCalm(Majority):
    """The slip: a mistake after eight correct rounds is taken for a change of the data, which is followed at
    once and without noise. No ε holds."""

    class State(MajorityState):
        def __init__(self, spec: Majority, games: int, rng: np.random.Generator) -> None:
            super().__init__(spec, games, rng)
            self.right = np.zeros(games)
            self.label, self.jumps = np.ones(games, bool), np.zeros(games, bool)

        def hypothesis(self) -> Hypothesis:
            noisy = self.lead + self.noise() >= 0
            self.label = np.where(self.jumps, ~self.label, noisy)
            return Hypothesis(Thresholds(), np.where(self.label, -np.inf, np.inf))

        def observe(self, x: np.ndarray, y: np.ndarray) -> None:
            super().observe(x, y)
            is_right = self.label == (y == 1)
            self.jumps = ~is_right & (self.right >= CALM)
            self.right = np.where(is_right, self.right + 1, 0)
