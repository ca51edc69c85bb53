"""Broken learners, one for each check of `check_learner`, which must catch them."""

from __future__ import annotations

import random
import threading
from typing import Any

import attrs
import numpy as np
from support.simple_players import LastLabel, LastLabelState

from arena import Claim, Hypothesis, Learner, PrivacyUnit, Training


class CoinState:
    """Answers 1 with probability 1/4 below 1/2 and 3/4 from there on."""

    def __init__(self, games: int, rng: np.random.Generator) -> None:
        self.games, self.rng = games, rng
        self.halted = np.zeros(games, bool)

    def train(self, training: Training) -> None:
        pass

    def coins(self) -> np.ndarray:
        return self.rng.random(self.games)

    def predict(self, x: np.ndarray) -> np.ndarray:
        return self.coins() < np.where(x >= 0.5, 0.75, 0.25)


@attrs.frozen
class Coin(Learner):
    """A sound learner, and the base of the broken ones."""

    name = "coin"
    protocols = ("Figure1",)
    State = CoinState

    claim = Claim(epsilon=1, delta=0, protects=(PrivacyUnit.TRAINING_EXAMPLE, PrivacyUnit.QUERY))

    def start(self, games: int, rng: np.random.Generator) -> Any:
        return self.State(games, rng)


@attrs.define(frozen=False, eq=True, unsafe_hash=True)
class Thawed(Coin):
    """Its settings can be changed."""

    level: float = 0.5
    __setattr__ = object.__setattr__


@attrs.frozen
class Nameless(Coin):
    name = ""


@attrs.frozen
class Homeless(Coin):
    protocols = ("Figure2",)


@attrs.frozen
class Unpicklable(Coin):
    lock: Any = attrs.field(factory=threading.Lock, eq=False)


@attrs.frozen(eq=False)
class Unequal(Coin):
    """Two configurations with the same settings differ."""

    __eq__ = object.__eq__
    __hash__ = object.__hash__


@attrs.frozen
class Boaster(Coin):
    """Its claim is a number."""

    claim = 1.0


@attrs.frozen
class GlobalNumpy(Coin):
    class State(CoinState):
        def coins(self) -> np.ndarray:
            return np.random.rand(self.games)  # noqa: NPY002 - this is the mutation


@attrs.frozen
class GlobalPython(Coin):
    class State(CoinState):
        def coins(self) -> np.ndarray:
            return np.array([random.random() for _ in range(self.games)])


@attrs.frozen
class Unseeded(Coin):
    class State(CoinState):
        def __init__(self, games: int, rng: np.random.Generator) -> None:
            super().__init__(games, np.random.default_rng())


@attrs.frozen
class SharedCoin(Coin):
    class State(CoinState):
        def coins(self) -> np.ndarray:
            return np.full(self.games, self.rng.random())


@attrs.frozen
class CrossTalk(Coin):
    class State(CoinState):
        def predict(self, x: np.ndarray) -> np.ndarray:
            return super().predict(np.full(self.games, x.mean() if self.games else 0.0))


@attrs.frozen
class Lonely(Coin):
    class State(CoinState):
        def predict(self, x: np.ndarray) -> np.ndarray:
            return super().predict(x if self.games > 1 else 1 - x)


@attrs.frozen
class Scribbler(Coin):
    class State(CoinState):
        def predict(self, x: np.ndarray) -> np.ndarray:
            x[:] = 0.0
            return super().predict(x)


@attrs.frozen
class PairOnly(Coin):
    class State(CoinState):
        def predict(self, x: np.ndarray) -> np.ndarray:
            return super().predict(x) if self.games else np.zeros(1, bool)


class UnseededGuessState(LastLabelState):
    """Its hypotheses are drawn from a generator of its own."""

    def hypothesis(self) -> Hypothesis:
        self.last = np.random.default_rng().random(len(self.last)) < 0.5
        return super().hypothesis()


@attrs.frozen
class UnseededGuess(LastLabel):
    def start(self, games: int, rng: np.random.Generator) -> UnseededGuessState:
        return UnseededGuessState(games)


# --- what a learner declares --------------------------------------------------------------------------------


@attrs.frozen
class CommonRandomNumbers(Coin):
    """It has common random numbers, and declares it."""

    common_random_numbers = True


@attrs.frozen
class Planar(CommonRandomNumbers):
    """It has common random numbers, and points in the plane."""

    point_shape = (2,)

    class State(CoinState):
        def predict(self, x: np.ndarray) -> np.ndarray:
            return super().predict(x[:, 0])


@attrs.frozen
class Sparing(CommonRandomNumbers):
    """Draws random numbers only in the games that need them."""

    class State(CoinState):
        def predict(self, x: np.ndarray) -> np.ndarray:
            label = np.zeros(self.games, bool)
            asked = np.flatnonzero(x >= 0.5)
            label[asked] = self.rng.random(asked.size) < 0.5
            return label


@attrs.frozen
class Wasteful(CommonRandomNumbers):
    """Draws more random numbers for some games after those of all games."""

    protocols = ("Release",)

    class State(CoinState):
        def release(self, training: Training) -> np.ndarray:
            coins = self.coins()
            for sample, games in training.groups():
                self.rng.random(len(games) if sample.labels.all() else 0)
            return coins


@attrs.frozen
class WrongShape(Coin):
    some_points = np.zeros((2, 3))


@attrs.frozen
class Pointless(Coin):
    some_points = np.zeros(0)


@attrs.frozen
class Listed(Coin):
    some_points = (0.0, 1.0)


@attrs.frozen
class Narrow(Coin):
    """Fails at one of its points."""

    class State(CoinState):
        def predict(self, x: np.ndarray) -> np.ndarray:
            if ((x > 0) & (x < 1)).any():
                raise ValueError("between")
            return super().predict(x)


# --- capabilities -------------------------------------------------------------------------------------------


@attrs.frozen
class FarVotes(Coin):
    """Its shares of votes exceed 1."""

    class State(CoinState):
        def votes(self, x: Any) -> np.ndarray:
            return np.full(self.games, 1.5)


@attrs.frozen
class OneVote(Coin):
    """Gives one share of votes for all games."""

    class State(CoinState):
        def votes(self, x: Any) -> float:
            return 0.5


@attrs.frozen
class NoAnswers:
    answers = 0
    examples = 1


@attrs.frozen
class EmptyRounds(Coin):
    """Its rounds answer nothing."""

    rounds = None
    rate_run = 1.0

    def round(self, index: int) -> NoAnswers:
        return NoAnswers()

    def pool_size(self, index: int) -> int:
        return 0


@attrs.frozen
class NegativeCosts(Coin):
    def other_costs(self) -> dict[str, float]:
        return {"other": -1.0}


@attrs.frozen
class Mute(Coin):
    """Explains itself by a number."""

    def explain(self) -> dict[str, Any]:
        return {"rate": 0.5}


@attrs.frozen
class BareBound(LastLabel):
    """Its bound is a number."""

    def bound(self, rounds: int) -> Any:
        return 3


class InstructedState(LastLabelState):
    updates: set[bool]

    def instruct(self, update: np.ndarray) -> None:
        self.updates |= set(update.tolist())


@attrs.frozen
class Instructed(LastLabel):
    """Takes instructions, and collects them in `updates`."""

    updates: set[bool] = attrs.field(factory=set, eq=False)

    def start(self, games: int, rng: np.random.Generator) -> InstructedState:
        state = InstructedState(games)
        state.updates = self.updates
        return state
