"""iid, sorted, drift: examples of a class that are drawn beforehand, whatever the learner does."""

from __future__ import annotations

from abc import abstractmethod

import attrs
import numpy as np

from adversaries.online.base import class_for, domain_of
from arena import Adversary, Commit, Example, Learner, Moves, setting
from arena.concepts import ConceptClass
from arena.littlestone.concept_sets import concept_sets
from arena.settings import at_least, at_most, one_of, whole

ADAPTIVE, OBLIVIOUS = "Adaptive", "Oblivious"
INCREASING, DECREASING, INWARD = "increasing", "decreasing", "inward"


@attrs.frozen
class Prepared(Adversary):
    """Base of the adversaries that know all their examples before the first hypothesis.

    They play Oblivious, where they commit; with `protocol` set to Adaptive they hand out the same examples
    round by round. A subclass writes `_examples`.
    """

    protocols = (OBLIVIOUS, ADAPTIVE)
    returns_score = False

    rounds: int = setting(100, help="T", check=[whole, at_least(1)])
    protocol: str = setting(
        OBLIVIOUS,
        help="Oblivious: commits beforehand; Adaptive: gives the same examples round by round",
        check=one_of(OBLIVIOUS, ADAPTIVE),
    )
    concepts: ConceptClass | None = setting(None, help="the concept class; default: the learner's")
    learner: Learner | None = setting(None, help="the spec of the learner it plays against")

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        concept_class = class_for(self.learner, self.concepts)
        points = domain_of(concept_class)
        columns, y = self._examples(concept_class, games, rng)
        if self.protocol == OBLIVIOUS:
            yield Commit(points[columns], y)
            return None
        for t in range(self.rounds):
            yield Example(points[columns[:, t]], y[:, t])
        return None

    @abstractmethod
    def _examples(
        self, concept_class: ConceptClass, games: int, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """The examples of every game, (games, rounds) each: the columns of the points, and the labels."""


@attrs.frozen
class Iid(Prepared):
    """Independent draws of points, labelled by a concept that is drawn for each game, all labellings of the
    domain by the class being as likely.

    The point in place k of the domain, from 0, has a chance in proportion to (k + 1)^-skew. Each label is
    flipped with chance `noise`; without noise the game is realizable.
    """

    name = "iid"

    skew: float = setting(
        0.0, help="0: all points are as likely; more: the first are likelier", check=at_least(0)
    )
    noise: float = setting(
        0.0, unit="probability", help="of a flipped label", check=[at_least(0), at_most(1)]
    )

    @property
    def realizable(self) -> bool:
        return self.noise == 0

    def _examples(
        self, concept_class: ConceptClass, games: int, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        columns = self._drawn(len(domain_of(concept_class)), games, rng)
        labels = concept_sets(concept_class).labels
        y = labels[self._targets(len(labels), games, rng), columns]
        return columns, y ^ (rng.random(y.shape) < self.noise) if self.noise else y

    def _targets(self, concepts: int, games: int, rng: np.random.Generator) -> np.ndarray:
        """(games, rounds) or (games, 1): the concepts that label, before the noise."""
        return rng.integers(0, concepts, (games, 1))

    def _drawn(self, size: int, games: int, rng: np.random.Generator) -> np.ndarray:
        """(games, rounds): the columns of the points, of `size` points."""
        columns = np.arange(size, dtype=np.min_scalar_type(size))
        if not self.skew:
            return rng.choice(columns, (games, self.rounds))
        weight = np.arange(1, size + 1) ** -float(self.skew)
        return rng.choice(columns, (games, self.rounds), p=weight / weight.sum())


@attrs.frozen
class Sorted(Iid):
    """The examples of `iid` in the order of the domain.

    order: increasing; decreasing; or inward: the first, the last, the second, the last but one, and so on.
    """

    name = "sorted"

    order: str = setting(
        INCREASING, help="increasing, decreasing or inward", check=one_of(INCREASING, DECREASING, INWARD)
    )

    def _drawn(self, size: int, games: int, rng: np.random.Generator) -> np.ndarray:
        columns = np.sort(super()._drawn(size, games, rng), axis=1)
        if self.order == INCREASING:
            return columns
        if self.order == DECREASING:
            return columns[:, ::-1]
        t = np.arange(self.rounds)
        return columns[:, np.where(t % 2 == 0, t // 2, self.rounds - 1 - t // 2)]


@attrs.frozen
class Drift(Iid):
    """The examples of `iid`, but that each game has another target from time to time.

    Targets are drawn independently, one for every `every` rounds. It is not realizable, even if the same
    concept is drawn every time.
    """

    name = "drift"
    realizable = False

    every: int = setting(50, help="how many rounds a target lasts", check=[whole, at_least(1)])

    def _targets(self, concepts: int, games: int, rng: np.random.Generator) -> np.ndarray:
        targets = rng.integers(0, concepts, (games, -(-self.rounds // self.every)))
        return targets[:, np.arange(self.rounds) // self.every]
