"""Online learners without privacy, for adversaries to play against."""

from __future__ import annotations

from typing import ClassVar

import attrs
import numpy as np

from arena import STREAM_EXAMPLE, Claim, Hypothesis, Learner
from arena.concepts import ConceptClass, Functions, Thresholds
from arena.littlestone import START, Automaton, halving, soa


@attrs.frozen
class Opponent(Learner):
    """What the learners of this file share: no privacy, and a class."""

    protocols: ClassVar[tuple[str, ...]] = ("Oblivious", "Adaptive", "SpecialRound")

    concepts: ConceptClass = Thresholds(range(16))

    @property
    def point_shape(self) -> tuple[int, ...]:
        return self.concepts.point_shape

    @property
    def claim(self) -> Claim:
        return Claim(epsilon=np.inf, delta=0, protects=(STREAM_EXAMPLE,))


@attrs.frozen
class Conservative(Opponent):
    """SOA, or Halving."""

    name = "conservative"
    halves: bool = False

    def seat(self, games: int, rng: np.random.Generator) -> SeatedConservative:
        return SeatedConservative((halving if self.halves else soa)(self.concepts), games)


class SeatedConservative:
    def __init__(self, automaton: Automaton, games: int) -> None:
        self.automaton = automaton
        self.states = np.full(games, START)

    def hypothesis(self) -> Hypothesis:
        return Hypothesis(self.automaton.hypotheses, self.automaton.functions(self.states))

    def observe(self, x: np.ndarray, y: np.ndarray) -> None:
        columns = self.automaton.concept_class.place(self.automaton.concept_class.check(x))
        self.states = np.asarray(self.automaton.step(self.states, columns, y == 1))


@attrs.frozen
class Lazy(Opponent):
    """SOA that takes a mistake to heart only with some chance, by the coins of each game."""

    name = "lazy"
    chance: float = 0.3

    def seat(self, games: int, rng: np.random.Generator) -> SeatedLazy:
        return SeatedLazy(soa(self.concepts), games, self.chance, rng)


class SeatedLazy(SeatedConservative):
    def __init__(self, automaton: Automaton, games: int, chance: float, rng: np.random.Generator) -> None:
        super().__init__(automaton, games)
        self.chance, self.rng = chance, rng

    def observe(self, x: np.ndarray, y: np.ndarray) -> None:
        before = self.states
        super().observe(x, y)
        self.states = np.where(self.rng.random(len(before)) < self.chance, self.states, before)


@attrs.frozen
class Guesser(Opponent):
    """A new random function every round, whatever it is told."""

    name = "guesser"

    def seat(self, games: int, rng: np.random.Generator) -> SeatedGuesser:
        return SeatedGuesser(self.concepts, games, rng)


class SeatedGuesser:
    def __init__(self, concepts: ConceptClass, games: int, rng: np.random.Generator) -> None:
        self.rng = rng
        assert concepts.domain is not None
        self.table = Functions(concepts, rng.random((4096, len(concepts.domain))) < 0.5)
        self.games = games

    def hypothesis(self) -> Hypothesis:
        return Hypothesis(self.table, self.rng.integers(0, 4096, self.games))

    def observe(self, x: np.ndarray, y: np.ndarray) -> None:
        pass
