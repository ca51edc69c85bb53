"""Online players for tests of races: learners with true and false bounds, valid and invalid adversaries."""

from __future__ import annotations

from typing import ClassVar

import attrs
import numpy as np

from arena import (
    MISTAKES,
    REGRET,
    Adversary,
    Bound,
    Claim,
    Commit,
    Example,
    Hypothesis,
    Learner,
    Moves,
    PrivacyUnit,
    setting,
)
from arena.concepts import ConceptClass, Thresholds
from arena.littlestone import START, soa


class SoaState:
    def __init__(self, concepts: ConceptClass, games: int) -> None:
        self._automaton = soa(concepts)
        self._states = np.full(games, START)

    def hypothesis(self) -> Hypothesis:
        return Hypothesis(self._automaton.hypotheses, self._automaton.functions(self._states))

    def observe(self, x: np.ndarray, y: np.ndarray) -> None:
        columns = self._automaton.concept_class.domain_indices(self._automaton.concept_class.check(x))
        self._states = self._automaton.step(self._states, columns, y == 1)


@attrs.frozen
class TinySoa(Learner):
    """SOA, with a bound that a test can set."""

    name = "tiny-soa"
    protocols = ("Oblivious", "Adaptive")
    theorem = "Littlestone 1988"

    concepts: ConceptClass = setting(Thresholds(range(16)), help="the concept class H")
    rounds: int = setting(100, help="T")
    at_most: float | None = setting(None, help="its bound instead of Ldim")
    beta: float | None = setting(0.0, help="of its bound")
    of: str = setting(MISTAKES, help="of its bound")
    oblivious: bool = setting(False, help="of its bound")

    @property
    def claim(self) -> Claim:
        return Claim(epsilon=np.inf, delta=0, protects=(PrivacyUnit.STREAM_EXAMPLE,))

    def bound(self, rounds: int) -> Bound | None:
        most = soa(self.concepts).mistakes if self.at_most is None else self.at_most
        return Bound(most, self.of, self.beta, self.theorem, self.oblivious)

    def start(self, games: int, rng: np.random.Generator) -> SoaState:
        return SoaState(self.concepts, games)


class GuessState:
    def __init__(self, games: int, rng: np.random.Generator) -> None:
        self._games, self._rng = games, rng

    def hypothesis(self) -> Hypothesis:
        return Hypothesis(Thresholds(), np.where(self._rng.random(self._games) < 0.5, -np.inf, np.inf))

    def observe(self, x: np.ndarray, y: np.ndarray) -> None:
        pass


@attrs.frozen
class Guess(Learner):
    """Predicts a random constant in every round, and so is wrong half the time."""

    name = "guess"
    protocols = ("Adaptive",)

    concepts: ConceptClass = setting(Thresholds(range(16)), help="the concept class H")

    @property
    def claim(self) -> Claim:
        return Claim(epsilon=1, delta=0, protects=(PrivacyUnit.STREAM_EXAMPLE,))

    def start(self, games: int, rng: np.random.Generator) -> GuessState:
        return GuessState(games, rng)


@attrs.frozen
class Drawn(Adversary):
    """Uniform points, labelled by a threshold that is random in each game and flipped with `noise`."""

    name = "drawn"
    protocols: ClassVar[tuple[str, ...]] = ("Adaptive", "Oblivious")

    rounds: int = setting(100, help="T")
    noise: float = setting(0.0, help="of a flipped label")
    protocol: str = setting("Adaptive", help="how it plays")
    lies: bool = setting(False, help="whether it says that it is realizable all the same")
    learner: Learner | None = setting(None, help="the opponent")

    @property
    def realizable(self) -> bool:
        return self.lies or not self.noise

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        size = 16 if self.learner is None else len(self.learner.concepts.domain)  # type: ignore[attr-defined]
        x = rng.integers(0, size, (games, self.rounds)).astype(float)
        y = (x >= rng.integers(0, size + 1, (games, 1))) ^ (rng.random(x.shape) < self.noise)
        if self.protocol == "Oblivious":
            yield Commit(x, y)
            return
        for t in range(self.rounds):
            yield Example(x[:, t], y[:, t])


@attrs.frozen
class Endless(Adversary):
    """Plays as long as it is asked: it has no setting `rounds`."""

    name = "endless"
    protocols = ("Adaptive",)

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        while True:
            yield Example(8.0, 1)


@attrs.frozen
class Gossip(Adversary):
    """Labels the points of a game by the replies in another game, which no adversary may do."""

    name = "gossip"
    protocols = ("Adaptive",)
    rounds: int = setting(100, help="T")

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        y = np.ones(games, bool)
        for _ in range(self.rounds):
            reply = yield Example(8.0, y)
            y = np.roll(~reply.hypothesis(8.0), 1)


__all__ = ["MISTAKES", "REGRET", "Drawn", "Gossip", "Guess", "TinySoa"]
