"""Broken players, one for each check of `arena.testing`: the checks are tested by catching them."""

from __future__ import annotations

import random
import threading
from typing import Any

import attrs
import numpy as np

from arena import QUERY, TRAINING_EXAMPLE, Adversary, Claim, Learner, Moves, Query, Sample, Train, Training

SAMPLE = Sample([0.0, 1.0], [0, 1], [2, 2])


class CoinSeat:
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
    """A learner with nothing wrong with it, and the base of those that follow."""

    name = "coin"
    protocols = ("Figure1",)
    seat_class = CoinSeat

    @property
    def claim(self) -> Claim:
        return Claim(epsilon=1, delta=0, protects=(TRAINING_EXAMPLE, QUERY))

    def seat(self, games: int, rng: np.random.Generator) -> Any:
        return self.seat_class(games, rng)


@attrs.define(frozen=False, eq=True, unsafe_hash=True)
class Thawed(Coin):
    """Its settings can be changed under way."""

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
    """Two specs with the same settings differ."""

    __eq__ = object.__eq__
    __hash__ = object.__hash__


@attrs.frozen
class Boaster(Coin):
    """Its claim is a number."""

    @property
    def claim(self) -> Any:
        return 1.0


class GlobalNumpySeat(CoinSeat):
    def coins(self) -> np.ndarray:
        return np.random.rand(self.games)  # noqa: NPY002 - this is the mutation


class GlobalPythonSeat(CoinSeat):
    def coins(self) -> np.ndarray:
        return np.array([random.random() for _ in range(self.games)])


class UnseededSeat(CoinSeat):
    def __init__(self, games: int, rng: np.random.Generator) -> None:
        super().__init__(games, np.random.default_rng())


class SharedCoinSeat(CoinSeat):
    def coins(self) -> np.ndarray:
        return np.full(self.games, self.rng.random())


class CrossTalkSeat(CoinSeat):
    def predict(self, x: np.ndarray) -> np.ndarray:
        return super().predict(np.full(self.games, x.mean() if self.games else 0.0))


class LonelySeat(CoinSeat):
    def predict(self, x: np.ndarray) -> np.ndarray:
        return super().predict(x if self.games > 1 else 1 - x)


class ScribblerSeat(CoinSeat):
    def predict(self, x: np.ndarray) -> np.ndarray:
        x[:] = 0.0
        return super().predict(x)


class PairOnlySeat(CoinSeat):
    def predict(self, x: np.ndarray) -> np.ndarray:
        return super().predict(x) if self.games else np.zeros(1, bool)


def seated(kind: type[CoinSeat]) -> Coin:
    """A coin whose seat is of this kind."""
    return attrs.make_class(
        kind.__name__.removesuffix("Seat"),
        {},
        bases=(Coin,),
        frozen=True,
        class_body={"seat_class": kind, "__module__": __name__},
    )()


GlobalNumpy, GlobalPython, Unseeded, SharedCoin, CrossTalk, Lonely, Scribbler, PairOnly = (
    type(seated(kind))
    for kind in (
        GlobalNumpySeat,
        GlobalPythonSeat,
        UnseededSeat,
        SharedCoinSeat,
        CrossTalkSeat,
        LonelySeat,
        ScribblerSeat,
        PairOnlySeat,
    )
)


@attrs.frozen
class Asker(Adversary):
    """An adversary with nothing wrong with it: asks 1, then where it was told 1 asks 1 again, else 0."""

    name = "asker"
    protocols = ("Figure1",)

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        yield Train(SAMPLE, SAMPLE.replaced(0, 0.0, 1))
        reply = yield Query(1.0)
        reply = yield Query(self.then(reply.label, rng))
        return self.score(reply.label, rng)

    def then(self, label: np.ndarray, rng: np.random.Generator) -> Any:
        return (label == 1).astype(float)

    def score(self, label: np.ndarray, rng: np.random.Generator) -> Any:
        return label + 0.1 * rng.random(len(label))


@attrs.frozen
class LooksAside(Asker):
    """Scores a game by how it compares with the others of the table."""

    def score(self, label: np.ndarray, rng: np.random.Generator) -> Any:
        return label - label.mean()


@attrs.frozen
class LooksAtItsNeighbour(Asker):
    """Scores a game by the other game of its pair."""

    def score(self, label: np.ndarray, rng: np.random.Generator) -> Any:
        return label - label.reshape(-1, 2)[:, ::-1].ravel()


@attrs.frozen
class MovesAside(Asker):
    """Asks where the majority of the table was told 1."""

    def then(self, label: np.ndarray, rng: np.random.Generator) -> Any:
        return float(np.mean(label) > 0.5)


@attrs.frozen
class TouchyAsker(Asker):
    """Raises where any game of the table has halted."""

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        yield Train(SAMPLE)
        reply = yield Query(1.0)
        if reply.halted.any():
            raise RuntimeError("not again")
        return reply.label


@attrs.frozen
class GlobalAsker(Asker):
    def score(self, label: np.ndarray, rng: np.random.Generator) -> Any:
        return label + np.random.rand(len(label))  # noqa: NPY002 - this is the mutation


@attrs.frozen
class UnseededAsker(Asker):
    def score(self, label: np.ndarray, rng: np.random.Generator) -> Any:
        return label + np.random.default_rng().random(len(label))


@attrs.frozen
class ForgetfulAsker(Asker):
    """Gives one score for the whole table."""

    def score(self, label: np.ndarray, rng: np.random.Generator) -> Any:
        return 1.0


@attrs.frozen
class CheatingAsker(Asker):
    """Makes a second challenge."""

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        yield Train(SAMPLE, SAMPLE.replaced(0, 0.0, 1))
        yield Query(0.0, 1.0)
        return None
