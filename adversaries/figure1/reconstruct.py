"""reconstruct: queries the whole domain, which reveals the hypothesis of a predictor that never changes."""

from __future__ import annotations

import attrs
import numpy as np

from adversaries.common.training_samples import build_tied_sample, choose_sample_size, swap_nearest_label
from adversaries.figure1.base import Figure1Adversary, chunk_sizes, find_vote_points
from arena import Moves, Queries, Sample, Train, Unsupported, setting
from arena.concepts import ConceptClass, Thresholds
from arena.players import finite_domain, read_concepts
from arena.settings import one_of

WORLDS, LABELS = "worlds", "labels"


@attrs.frozen
class Reconstruct(Figure1Adversary):
    """Recovers h_0 from queries at all x ∈ X (section 3 of Private Everlasting Prediction).

    The training sets differ in the label of one example at a point where the labels tie, so that the
    empirical risk minimisers of the two worlds differ. The score is the number of answers that agree with
    world 1's minimiser minus the number that agree with world 0's. If the domain is not finite, the points of
    the sample are queried.

    With `score` = labels, the score is the number of training labels of world 1 that are read back. By
    default these belong to every point of a finite domain, labelled by a random concept of the class. If the
    class realises all labellings of these points, that is memorisation and not learning.
    """

    name = "reconstruct"

    score: str = setting(
        WORLDS,
        help="what is counted: answers that tell the worlds apart, or training labels read back",
        check=one_of(WORLDS, LABELS),
    )
    sample: Sample | None = setting(None, help="the training set; default: one point with both labels")

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        samples = self._choose_samples(rng)
        points = self._choose_points(samples[1])
        yield Train(*samples)
        size = len(points)
        yield from self._give_unlabelled(size, games, lambda number: points[np.arange(number) % size])
        answers = np.empty((games, size), np.int8)
        done = 0
        for number in chunk_sizes(size, games, self.learner):
            reply = yield Queries(points[done : done + number])
            answers[:, done : done + number] = reply.label
            done += number
        if self.score == LABELS:
            return (answers == samples[1].labels).sum(axis=1).astype(float)
        in_0, in_1 = (self._fit(sample, points) for sample in samples)
        return (answers == in_1).sum(axis=1) - (answers == in_0).sum(axis=1).astype(float)

    @property
    def _class(self) -> ConceptClass:
        return read_concepts(self.learner) or Thresholds()

    def _choose_samples(self, rng: np.random.Generator) -> tuple[Sample, Sample]:
        if self.score == WORLDS:
            sample = self.sample or build_tied_sample(self.learner)
            tied_at_one = self.sample is None
            split = sample.points[0] if tied_at_one else find_vote_points(self.learner, sample).split
            # The tie is in world 1 or in world 0, because classes break ties in either direction.
            pairs = [swap_nearest_label(sample, split, label, self.learner) for label in (1, 0)]
            return max(pairs, key=lambda samples: self._count_differences(*samples))
        sample = self._label_domain(rng) if self.sample is None else self.sample
        run = int(sample.counts.argmin())
        return sample.replace_one(run, sample.points[run], 1 - int(sample.labels[run])), sample

    def _count_differences(self, first: Sample, second: Sample) -> int:
        """The number of queried points at which the minimisers differ."""
        points = self._choose_points(second)
        return int((self._fit(first, points) != self._fit(second, points)).sum())

    def _label_domain(self, rng: np.random.Generator) -> Sample:
        """The points of the domain, as evenly often as possible, labelled by a random concept."""
        concepts = self._class
        if concepts.domain is None:
            raise Unsupported(
                f"{concepts} has no finite domain to memorise",
                remedy="Give it one, as in thresholds:1..16, or bring a sample.",
            )
        points = concepts.check(np.array(concepts.domain))
        options = concepts.dichotomies(points).labels
        size = max(choose_sample_size(self.learner), len(points))
        counts = np.bincount(np.arange(size) % len(points))
        return Sample(points, options[rng.integers(len(options))], counts)

    def _choose_points(self, sample: Sample) -> np.ndarray:
        if self.score == LABELS:
            return sample.points
        domain = finite_domain(self.learner)
        return np.unique(sample.points, axis=0) if domain is None else np.asarray(domain, float)

    def _fit(self, sample: Sample, points: np.ndarray) -> np.ndarray:
        """The labels that the empirical risk minimiser of the sample gives the points."""
        best = self._class.erm(sample.points, sample.labels, sample.counts)
        return self._class.labels(best[None], points)[0]
