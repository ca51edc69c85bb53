"""Random examples that do not depend on the learner: committed, iid, sorted, drift and point-functions."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable

import attrs
import numpy as np

from adversaries.common.shared_settings import (
    ADAPTIVE,
    ALL,
    OBLIVIOUS,
    ONE,
    decoys_setting,
    draw_start_rounds,
    protocol_setting,
    start_setting,
)
from adversaries.online.base import ClassAdversary, domain_points, first_labels
from arena import Adversary, Commit, Example, Learner, Moves, Unsupported, count_setting, setting
from arena.concepts import ConceptClass
from arena.littlestone.concept_sets import concept_sets
from arena.players import finite_domain
from arena.settings import at_least, at_most, one_of


@attrs.frozen
class CommittedExamples(Adversary):
    """Commits to T random examples: uniform points of [0, 1], labelled by a threshold and a little noise.

    Each label is flipped with probability `noise`. `iid` does the same on the domain of a learner's class.
    """

    name = "committed"
    protocols = ("Oblivious",)
    returns_score = False

    rounds: int = count_setting(100, help="T, the number of rounds")
    threshold: float = setting(0.5, unit="point", help="points from here on are labelled 1")
    noise: float = setting(
        0.0, unit="probability", help="that a label is flipped", check=[at_least(0), at_most(1)]
    )
    learner: Learner | None = setting(None, help="the configuration of the learner it plays against")

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        if self.learner is not None and (self.learner.point_shape or finite_domain(self.learner)):
            raise Unsupported(
                f"{self.name} draws points from [0, 1], which {self.learner.own_name} does not receive",
                remedy="Play iid, which draws from the domain of the learner's class.",
            )
        x = rng.random((games, self.rounds))
        flipped = rng.random((games, self.rounds)) < self.noise
        yield Commit(x, (x >= self.threshold) ^ flipped)
        return None


INCREASING, DECREASING, INWARD = "increasing", "decreasing", "inward"


@attrs.frozen
class PreparedExamples(ClassAdversary):
    """Base of the adversaries that draw all examples beforehand, and commit to them or give them in turn."""

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
        """The columns of the points and the labels, (games, rounds) each."""


@attrs.frozen
class IidExamples(PreparedExamples):
    """Independent points, labelled by a target that is uniform among all labellings of the domain.

    The k-th point of the domain, from 0, has a probability proportional to (k + 1)^-skew. Each label is
    flipped with probability `noise`; without noise the game is realizable.
    """

    name = "iid"

    skew: float = setting(0.0, help="0: all points alike; more: the first are likelier", check=at_least(0))
    noise: float = setting(
        0.0, unit="probability", help="that a label is flipped", check=[at_least(0), at_most(1)]
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


@attrs.frozen
class PointFunctions(PreparedExamples):
    """A background labelled by b until round t*, and from then on a new point with the label against b.

    The game of the lower bounds of Dmitriev et al., Cohen et al. and Li et al. (2024):
    docs/proofs/hidden_point.md. Some concept agrees with b on the background, one point or all but x*, and
    not at x*. In a share `decoys` of the games x* never comes. b is the labelling with the most points to
    hide at, on a tie the learner's own h_1.
    """

    name = "point-functions"
    realizable = True

    background: str = setting(ONE, help="one point, or all but the hidden one", check=one_of(ONE, ALL))
    start: str = start_setting()
    decoys: float = decoys_setting()

    def _draw_examples(
        self, concept_class: ConceptClass, games: int, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        learner = self.learner
        first = () if learner is None else (first_labels(learner, domain_points(concept_class)),)
        places = find_hiding_places(concept_class, first, everywhere=self.background == ALL)
        hidden = rng.choice(places.hidden, games)[:, None]
        columns = np.full((games, self.rounds), places.known, np.int32)
        if self.background == ALL:
            columns = rng.integers(0, len(places.b) - 1, columns.shape, np.int32)
            columns += columns >= hidden
        start = draw_start_rounds(self.start, self.rounds, games, rng)
        late = np.arange(1, self.rounds + 1) >= start[:, None]
        late &= (rng.random(games) >= self.decoys)[:, None]
        return np.where(late, hidden, columns), np.where(late, ~places.b[hidden], places.b[columns])


@attrs.frozen(eq=False)
class HidingPlaces:
    """The points at which a label can hide: b (points,) bool, the labels of the background; known, the column
    of the background's point, if it is one; hidden, the columns x*."""

    b: np.ndarray
    known: int
    hidden: np.ndarray


def find_hiding_places(
    concept_class: ConceptClass, first: Iterable[np.ndarray] = (), *, everywhere: bool
) -> HidingPlaces:
    """The background (one point, or `everywhere` but x*) with the most hiding places, where b is one of
    `first`, constant, or a concept. Raises: Unsupported if there are none."""
    labels = concept_sets(concept_class).labels
    points = labels.shape[1]
    constant = np.array([[False], [True]]) & np.ones(points, bool)
    best = HidingPlaces(constant[0], 0, np.array([], np.intp))
    for b in (*first, *constant, *labels):
        differs = labels != b
        for known in range(1 if everywhere else points):
            candidates = differs.sum(axis=1) == 1 if everywhere else ~differs[:, known]
            hides = differs[candidates].any(axis=0)
            if hides.sum() > len(best.hidden):
                best = HidingPlaces(b, known, np.flatnonzero(hides))
            if len(best.hidden) >= points - (not everywhere):
                break
    if points < 2 or not len(best.hidden):
        raise Unsupported(
            f"{concept_class} has no point whose label can hide behind others",
            remedy="Choose a class with concepts that differ at one point and agree at another.",
        )
    return best
