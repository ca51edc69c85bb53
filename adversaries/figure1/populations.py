"""D, of which utility theorems speak: examples drawn from it, and the truth about points."""

from __future__ import annotations

from abc import ABC, abstractmethod

import attrs
import numpy as np

from arena import InvalidArgument, Learner, Sample, Unsupported
from arena.concepts import ConceptClass, Thresholds

_MOST_NUMBERS = 2**27  # coordinates of the points of a table's training sets


class Population(ABC):
    """D for each of n games: a law of examples, and with it a label for every point."""

    @abstractmethod
    def draw(self, rng: np.random.Generator, size: int) -> tuple[np.ndarray, np.ndarray]:
        """`size` independent examples of every game: points (n, size, ...) and their labels (n, size)."""

    @abstractmethod
    def truth(self, points: np.ndarray) -> np.ndarray:
        """(n, k) bool: the labels of points (n, k, ...)."""

    @abstractmethod
    def samples(self, rng: np.random.Generator, size: int, noise: float) -> list[Sample]:
        """A sample of `size` independent examples for every game, each label flipped with chance `noise`."""


@attrs.frozen(eq=False)
class Listed(Population):
    """Finitely many kinds of examples.

    Shapes: points (k, ...), labels (n, k) bool, or (1, k) where all games have the same; chances (k,).
    """

    games: int
    points: np.ndarray
    labels: np.ndarray
    chances: np.ndarray

    def draw(self, rng: np.random.Generator, size: int) -> tuple[np.ndarray, np.ndarray]:
        # Inversion: Generator.choice searches as this does, but checks the chances every time.
        ends = np.cumsum(self.chances)
        which = np.searchsorted(ends, rng.random((self.games, size)) * ends[-1], side="right")
        labels = np.broadcast_to(self.labels, (self.games, len(self.points)))
        return self.points[which], np.take_along_axis(labels, which, axis=1)

    def truth(self, points: np.ndarray) -> np.ndarray:
        """The label that is likeliest at the point; of labels as likely, 1. Points that are not listed have
        the label of the nearest that is."""
        kinds, which = np.unique(self.points, axis=0, return_inverse=True)
        weight = np.zeros((len(kinds), len(self.labels)))
        np.add.at(weight, which.ravel(), (np.where(self.labels, 1, -1) * self.chances).T)
        place = _nearest(kinds, points.reshape(-1, *points.shape[2:])).reshape(points.shape[:2])
        ones = np.broadcast_to(weight.T >= 0, (self.games, len(kinds)))
        return np.take_along_axis(ones, place, axis=1)

    def samples(self, rng: np.random.Generator, size: int, noise: float) -> list[Sample]:
        counts = rng.multinomial(size, self.chances / self.chances.sum(), self.games)
        flipped = rng.binomial(counts, noise) if noise else np.zeros_like(counts)
        labels = np.broadcast_to(self.labels, counts.shape)
        return [
            _sample(np.concatenate([self.points] * 2), np.append(said, ~said), np.append(kept, turned))
            for said, kept, turned in zip(labels, counts - flipped, flipped, strict=True)
        ]


@attrs.frozen(eq=False)
class Drawn(Population):
    """The uniform law of a class without a finite domain (`draw_points`), labelled by a target.

    targets: (n, ...), a concept a game.
    """

    concepts: ConceptClass
    targets: np.ndarray

    def draw(self, rng: np.random.Generator, size: int) -> tuple[np.ndarray, np.ndarray]:
        games = len(self.targets)
        points = self.concepts.draw_points(rng, games * size)
        points = points.reshape(games, size, *points.shape[1:])
        return points, self.truth(points)

    def truth(self, points: np.ndarray) -> np.ndarray:
        games, each = points.shape[:2]
        targets = np.repeat(self.targets, each, axis=0)
        flat = points.reshape(games * each, *points.shape[2:])
        return self.concepts.label(targets, flat).reshape(games, each)

    def samples(self, rng: np.random.Generator, size: int, noise: float) -> list[Sample]:
        numbers = len(self.targets) * size * int(np.prod(self.concepts.point_shape, dtype=int))
        if numbers > _MOST_NUMBERS:
            raise Unsupported(
                f"{len(self.targets):,} training sets of {size:,} points from no finite domain are too many "
                "to draw",
                remedy="Play fewer games at a table, give a smaller learner, or a class of a finite domain.",
            )
        points, labels = self.draw(rng, size)
        if noise:
            labels ^= rng.random(labels.shape) < noise
        return [Sample(*example) for example in zip(points, labels, strict=True)]


def population(
    games: int,
    rng: np.random.Generator,
    *,
    concepts: ConceptClass | None,
    learner: Learner | None,
    sample: Sample | None,
) -> Population:
    """The user's data, drawn with replacement, its labels being the truth; or else the uniform law of a class
    (`concepts`, else the learner's, else thresholds on the line), each game with a target of its own.

    Raises: Unsupported if the class draws no targets; InvalidArgument if its points are not the learner's.
    """
    if sample is not None:
        return Listed(games, sample.points, sample.labels[None] == 1, sample.counts / sample.size)
    given = class_of(concepts, learner)
    if learner is not None and given.point_shape != learner.point_shape:
        raise InvalidArgument(
            f"{learner.name} receives points of shape {learner.point_shape}",
            value=given,
            remedy="Leave `concepts` to the learner's.",
        )
    targets = np.array([given.draw_concept(rng) for _ in range(games)])
    if given.domain is None:
        return Drawn(given, targets)
    points = given.check(np.array(given.domain))
    chances = np.full(len(points), 1 / len(points))
    return Listed(games, points, given.labels(targets, points), chances)


def class_of(concepts: ConceptClass | None, learner: Learner | None) -> ConceptClass:
    """`concepts`, else the learner's, else thresholds on the line."""
    return concepts or getattr(learner, "concepts", None) or Thresholds()


def _sample(points: np.ndarray, labels: np.ndarray, counts: np.ndarray) -> Sample:
    there = counts > 0
    return Sample(points[there], labels[there], counts[there])


def _nearest(kinds: np.ndarray, points: np.ndarray) -> np.ndarray:
    """The place among `kinds` (k, ...), sorted, of the one nearest to each point (m, ...)."""
    if kinds.ndim == 1:
        after = np.clip(np.searchsorted(kinds, points), 1, max(1, len(kinds) - 1))
        after = np.minimum(after, len(kinds) - 1)
        before = np.maximum(after - 1, 0)
        return np.where(points - kinds[before] < kinds[after] - points, before, after)
    from scipy.spatial import cKDTree  # slow to import

    return np.asarray(cKDTree(kinds).query(points)[1])
