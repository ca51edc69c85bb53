"""iid, sorted, drift: random examples of a class that do not depend on the learner."""

from __future__ import annotations

from abc import abstractmethod

import attrs
import numpy as np

from adversaries.common.prepared_sequences import ADAPTIVE, OBLIVIOUS, protocol_setting
from adversaries.online.base import ClassAdversary, domain_points
from arena import Commit, Example, Moves, count_setting, setting
from arena.concepts import ConceptClass
from arena.littlestone.concept_sets import concept_sets
from arena.settings import at_least, at_most, one_of

INCREASING, DECREASING, INWARD = "increasing", "decreasing", "inward"


@attrs.frozen
class PreparedExamples(ClassAdversary):
    """Base of the adversaries that draw all their examples before the first hypothesis.

    Under Oblivious they commit to the examples. With `protocol` set to Adaptive they give the same examples
    round by round. A subclass implements `_draw_examples`.
    """

    protocols = (OBLIVIOUS, ADAPTIVE)

    protocol: str = protocol_setting()

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        concept_class = self._concept_class
        points = domain_points(concept_class)
        columns, y = self._draw_examples(concept_class, games, rng)
        if self.protocol == OBLIVIOUS:
            yield Commit(points[columns], y)
            return None
        for t in range(self.rounds):
            yield Example(points[columns[:, t]], y[:, t])
        return None

    @abstractmethod
    def _draw_examples(
        self, concept_class: ConceptClass, games: int, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """The examples of every game, (games, rounds) each: the columns of the points, and the labels."""


@attrs.frozen
class IidExamples(PreparedExamples):
    """Independent points, labelled by a target that is uniform among all labellings of the domain.

    The k-th point of the domain, from 0, has a probability proportional to (k + 1)^-skew. Each label is
    flipped with probability `noise`; without noise the game is realizable.
    """

    name = "iid"

    skew: float = setting(
        0.0, help="0: all points are equally likely; more: the first are likelier", check=at_least(0)
    )
    noise: float = setting(
        0.0, unit="probability", help="of a flipped label", check=[at_least(0), at_most(1)]
    )

    @property
    def realizable(self) -> bool:
        return self.noise == 0

    def _draw_examples(
        self, concept_class: ConceptClass, games: int, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        labels = concept_sets(concept_class).labels
        columns = self._draw_columns(labels.shape[1], games, rng)
        y = labels[self._draw_targets(len(labels), games, rng), columns]
        return columns, y ^ (rng.random(y.shape) < self.noise) if self.noise else y

    def _draw_targets(self, concepts: int, games: int, rng: np.random.Generator) -> np.ndarray:
        """(games, rounds) or (games, 1): the concepts that label the points, before the noise."""
        return rng.integers(0, concepts, (games, 1))

    def _draw_columns(self, size: int, games: int, rng: np.random.Generator) -> np.ndarray:
        """(games, rounds): the columns of the points, on a domain of `size` points."""
        columns = np.arange(size, dtype=np.min_scalar_type(size))
        if not self.skew:
            return rng.choice(columns, (games, self.rounds))
        weight = np.arange(1, size + 1) ** -float(self.skew)
        return rng.choice(columns, (games, self.rounds), p=weight / weight.sum())


@attrs.frozen
class SortedExamples(IidExamples):
    """The examples of `iid` in the order of the domain.

    order: increasing; decreasing; or inward: the first, the last, the second, the last but one, and so on.
    """

    name = "sorted"

    order: str = setting(
        INCREASING, help="increasing, decreasing or inward", check=one_of(INCREASING, DECREASING, INWARD)
    )

    def _draw_columns(self, size: int, games: int, rng: np.random.Generator) -> np.ndarray:
        columns = np.sort(super()._draw_columns(size, games, rng), axis=1)
        if self.order == INCREASING:
            return columns
        if self.order == DECREASING:
            return columns[:, ::-1]
        t = np.arange(self.rounds)
        return columns[:, np.where(t % 2 == 0, t // 2, self.rounds - 1 - t // 2)]


@attrs.frozen
class DriftingExamples(IidExamples):
    """The examples of `iid`, with a new target every `every` rounds.

    The targets are independent. The game counts as not realizable, even if the same target is drawn again.
    """

    name = "drift"
    realizable = False

    every: int = count_setting(50, help="how many rounds a target lasts")

    def _draw_targets(self, concepts: int, games: int, rng: np.random.Generator) -> np.ndarray:
        targets = rng.integers(0, concepts, (games, -(-self.rounds // self.every)))
        return targets[:, np.arange(self.rounds) // self.every]
