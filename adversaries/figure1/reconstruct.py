"""reconstruct: asks the whole domain, so that a predictor which never changes gives its hypothesis away."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

from adversaries.figure1.round_lengths import handed, stretches
from adversaries.figure1.training_sets import needed, swapped_label, telling_points, tied_sample
from arena import Adversary, Learner, Moves, Queries, Sample, Train, Unsupported, setting
from arena.concepts import ConceptClass, Thresholds
from arena.points import finite_domain
from arena.settings import one_of

WORLDS, LABELS = "worlds", "labels"


@attrs.frozen
class Reconstruct(Adversary):
    """Section 3 of Private Everlasting Prediction: against a predictor that answers from its training set
    alone, all queries x ∈ X recover h_0, and with it all that h_0 owes to one example.

    The training sets differ in the label of one example where the labels tie, so that the two empirical
    risk minimisers of the learner's class differ. The score counts, over the domain, how much nearer the
    answers are to world 1's minimiser than to world 0's. Where no domain is finite, the points of the sample
    are asked.

    With `score` = labels it counts the training labels that it reads back, of world 1's set: by default one
    point of a finite domain after the other, labelled at random by a concept of the class. Of a class that
    can label these points in any way, that is memory, and no learning.
    """

    name = "reconstruct"
    protocols = ("Figure1",)
    returns_score = True

    score: str = setting(
        WORLDS,
        help="what is counted: answers that tell the worlds apart, or training labels read back",
        check=one_of(WORLDS, LABELS),
    )
    sample: Sample | None = setting(None, help="the training set; default: one point with both labels")
    learner: Learner | None = setting(None, help="the spec of the learner it plays against")

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        worlds = self._worlds(rng)
        points = self._asked(worlds[1])
        yield Train(*worlds)
        yield from handed(
            self.learner, len(points), games, lambda size: points[np.arange(size) % len(points)]
        )
        said = np.empty((games, len(points)), np.int8)
        done = 0
        for stretch in stretches(len(points), games, self.learner):
            reply = yield Queries(points[done : done + stretch])
            said[:, done : done + stretch] = reply.label
            done += stretch
        if self.score == LABELS:
            return (said == worlds[1].labels).sum(axis=1).astype(float)
        in_0, in_1 = (self._fitted(world, points) for world in worlds)
        return (said == in_1).sum(axis=1) - (said == in_0).sum(axis=1).astype(float)

    @property
    def _class(self) -> ConceptClass:
        found: Any = getattr(self.learner, "concepts", None)
        return Thresholds() if found is None else found

    def _worlds(self, rng: np.random.Generator) -> tuple[Sample, Sample]:
        if self.score == WORLDS:
            sample = self.sample or tied_sample(self.learner)
            tied_at_one = self.sample is None
            split = sample.points[0] if tied_at_one else telling_points(self.learner, sample).split
            return max(_swaps(sample, split), key=lambda worlds: self._apart(*worlds))
        sample = self._labelled_domain(rng) if self.sample is None else self.sample
        run = int(sample.counts.argmin())
        return sample.replace_one(run, sample.points[run], 1 - int(sample.labels[run])), sample

    def _apart(self, first: Sample, second: Sample) -> int:
        """At how many points that are asked the minimisers differ."""
        points = self._asked(second)
        return int((self._fitted(first, points) != self._fitted(second, points)).sum())

    def _labelled_domain(self, rng: np.random.Generator) -> Sample:
        """Every point of the domain as often as any other, or once more, labelled by a concept."""
        concepts = self._class
        if concepts.domain is None:
            raise Unsupported(
                f"{concepts} has no finite domain to memorise",
                remedy="Give it one, as in thresholds:1..16, or bring a sample.",
            )
        points = concepts.check(np.array(concepts.domain))
        options = concepts.dichotomies(points).labels
        counts = np.bincount(np.arange(max(needed(self.learner), len(points))) % len(points))
        return Sample(points, options[rng.integers(len(options))], counts)

    def _asked(self, sample: Sample) -> np.ndarray:
        if self.score == LABELS:
            return sample.points
        domain = finite_domain(self.learner)
        return np.unique(sample.points, axis=0) if domain is None else np.asarray(domain, float)

    def _fitted(self, sample: Sample, points: np.ndarray) -> np.ndarray:
        """The labels of the points by the best concept for the sample."""
        best = self._class.erm(sample.points, sample.labels, sample.counts)
        return self._class.labels(best[None], points)[0]


def _swaps(sample: Sample, point: Any) -> list[tuple[Sample, Sample]]:
    """Neighbours of which world 1's has one label 1 more at the point. A sample that ties is world 1's in the
    first and world 0's in the second: classes break ties either way.
    """
    distance = np.abs(sample.points - point).reshape(len(sample.points), -1).max(axis=1)
    run = int(np.lexsort((sample.labels, distance))[0])
    at = sample.points[run]
    return [swapped_label(sample, point), (sample.replace_one(run, at, 0), sample.replace_one(run, at, 1))]
