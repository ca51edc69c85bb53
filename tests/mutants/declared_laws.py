"""Learners that declare output distributions, some of them false, for the checks of these."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
from mutants.players import Coin, CoinState

from arena import Claim, Learner, PrivacyUnit, Sample, Training
from arena.laws import AnswerLaw, Branches, Density, Finite, Independent, ValueLaw
from learners.mechanisms.noise import laplace_density


@attrs.frozen
class CoinLaw(AnswerLaw):
    """One state; answers 1 with probability `low` below 1/2 and `high` from 1/2 on."""

    low: float = 0.25
    high: float = 0.75
    mass: float = 1.0

    def start(self) -> np.ndarray:
        return np.array([self.mass])

    def step(self, measure: np.ndarray, x: np.ndarray) -> np.ndarray:
        ones = np.where(x >= 0.5, self.high, self.low)[:, None]
        return np.stack([(1 - ones) * measure, ones * measure])


class ShortLaw(CoinLaw):
    def step(self, measure: np.ndarray, x: np.ndarray) -> np.ndarray:
        return super().step(measure, x)[1:]


@attrs.frozen
class CoinWithLaw(Coin):
    """A coin that declares its output distribution, by default the true one."""

    answer_law: AnswerLaw = CoinLaw()

    def law(self, sample: Sample) -> AnswerLaw:
        return self.answer_law


class FourAnswers(CoinState):
    """Halts after four answers, if it has not halted before."""

    asked = 0

    def predict(self, x: np.ndarray) -> np.ndarray:
        self.asked += 1
        label = super().predict(x)
        self.halted = self.halted | (self.asked >= 4)
        return label


class HaltingState(CoinState):
    def predict(self, x: np.ndarray) -> np.ndarray:
        label = super().predict(x)
        self.halted = self.halted | label
        return label


@attrs.frozen
class Halting(CoinWithLaw):
    """Halts after its first 1, which its declared distribution does not contain."""

    State = HaltingState


@attrs.frozen
class Budget(CoinWithLaw):
    """Halts after four answers, which its declared distribution need not contain."""

    State = FourAnswers


class HaltingLaw(CoinLaw):
    outcomes = ((0, False), (1, True))


@attrs.frozen
class LastLaw(HaltingLaw):
    """Has a last answer, with which every game halts."""

    last: int | None = 4


@attrs.frozen
class HaltingBudget(CoinWithLaw):
    """Halts after its first 1 and after four answers, as its declared distribution says."""

    class State(FourAnswers, HaltingState):
        pass

    answer_law: AnswerLaw = LastLaw()


@attrs.frozen
class Stuck(CoinWithLaw):
    """Draws one random number for all answers, each of which has the declared distribution."""

    class State(CoinState):
        def __init__(self, games: int, rng: np.random.Generator) -> None:
            super().__init__(games, rng)
            self.numbers = rng.random(games)

        def coins(self) -> np.ndarray:
            return self.numbers


def exponential(rate: float = 1.0, share: float = 1.0) -> Density:
    """The density of Exp(rate)."""
    return Density(
        log=lambda x: np.where(x >= 0, np.log(share * rate) - rate * np.abs(x), -np.inf),
        kinks=(0.0,),
        low=0.0,
        high=40.0 / rate,
        scale=1.0 / rate,
    )


def branches(*shares: float) -> Branches:
    """-1, or Exp(1)."""
    return Branches(
        parts=(shares[0], exponential(share=shares[1])),
        read=lambda values: ((values >= 0).astype(int), values),
    )


class Impossible(ValueLaw):
    """A kind of distribution that no check knows, by which nothing is possible."""

    def log_density(self, values: np.ndarray) -> np.ndarray:
        return np.full(len(values), -np.inf)


@attrs.frozen(eq=False)
class ValueState:
    """Releases Exp(1), an independent pair of them, the same one twice, a bit that is 1 with probability 1/4,
    or -1 with probability 1/4 and otherwise Exp(1)."""

    kind: str
    games: int
    rng: np.random.Generator

    def release(self, training: Training) -> np.ndarray:
        drawn, bits = self.rng.standard_exponential((self.games, 2)), self.rng.random(self.games) < 0.25
        kinds = {
            "number": drawn[:, 0],
            "pair": drawn,
            "one for both": drawn[:, [0, 0]],
            "bit": bits.astype(int),
            "branch": np.where(bits, -1.0, drawn[:, 0]),
        }
        return kinds[self.kind]


@attrs.frozen
class Value(Learner):
    """Releases a value of some kind and declares some distribution."""

    name = "value"
    protocols = ("Release",)

    kind: str
    tell: Any = attrs.field(eq=False)

    claim = Claim(epsilon=1, delta=0, protects=(PrivacyUnit.TRAINING_EXAMPLE,))

    def start(self, games: int, rng: np.random.Generator) -> ValueState:
        return ValueState(self.kind, games, rng)

    def law(self, sample: Sample) -> ValueLaw:
        return self.tell()


@attrs.frozen
class NoisyShare(Learner):
    """Releases the share of ones with Laplace noise of scale 1/n, and declares that distribution.

    noise: that of how many examples is drawn; None: of as many as there are. one_coin: a batch of fewer ones
        than this draws one random number for all of its games.
    """

    name = "noisy-share"
    protocols = ("Release",)

    noise: int | None = None
    one_coin: int = 0

    claim = Claim(epsilon=1, delta=0, protects=(PrivacyUnit.TRAINING_EXAMPLE,))

    def start(self, games: int, rng: np.random.Generator) -> NoisyShareState:
        return NoisyShareState(self, rng)

    def law(self, sample: Sample) -> ValueLaw:
        return laplace_density(float(sample.labels @ sample.counts) / sample.size, 1 / sample.size)


@attrs.frozen(eq=False)
class NoisyShareState:
    learner: NoisyShare
    rng: np.random.Generator

    def release(self, training: Training) -> np.ndarray:
        ones = np.array([float(s.labels @ s.counts) for s in training.samples])[training.which]
        sizes = np.array([s.size for s in training.samples])[training.which]
        drawn = self.rng.laplace(size=len(ones))
        if ones.size and ones.max() < self.learner.one_coin:
            drawn[:] = drawn[0]
        return ones / sizes + drawn / (self.learner.noise or sizes)


def finite(*probabilities: float) -> Finite:
    """The numbers 0, 1, … with these probabilities."""
    return Finite(np.arange(len(probabilities)), probabilities)


def pair() -> Independent:
    return Independent((exponential(), exponential()))
