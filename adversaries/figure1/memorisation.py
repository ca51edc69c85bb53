"""membership and reconstruct: what learners that must memorise examples reveal of them."""

from __future__ import annotations

import attrs
import numpy as np

from adversaries.common.answer_likelihood import AnswerLikelihood
from adversaries.common.training_samples import (
    build_separable_sample,
    build_tied_sample,
    change_example,
    choose_sample_size,
    swap_nearest_label,
)
from adversaries.figure1.base import Figure1Adversary, chunk_sizes, find_vote_points
from arena import InvalidArgument, Moves, Queries, Sample, Train, Unsupported, count_setting, setting
from arena.capabilities import AnswersInRounds
from arena.concepts import ConceptClass, Thresholds
from arena.messages import list_answers
from arena.players import finite_domain, read_concepts
from arena.settings import one_of

_PROBES = 50  # queries in the second round
_QUERIES_WITHOUT_ROUNDS = 100


@attrs.frozen
class Membership(Figure1Adversary):
    """Membership inference for an example that must be memorised (remark 2 of section 1.3).

    The target is the rarest example labelled 1, which a copy of the commonest example replaces in world 0.
    Every other query is at its point, the rest at other points of the sample in turn, into the learner's
    second round. The score is the log-likelihood ratio of the answers, or the number of answers 1 at the
    target's point.
    """

    name = "membership"

    queries: int | None = count_setting(None, help="default: round 1, if within `patience`, and 50 more")
    others: int = count_setting(2, help="points besides the target's", least=0)
    patience: int = count_setting(100_000, help="the longest round that it waits for")
    sample: Sample | None = setting(None, help="the training set; default: one example among all others")

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        samples, points = self._choose_samples()
        queries = self._query_count
        likelihood = AnswerLikelihood(self.learner, samples, points, games)
        ones = np.zeros(games)
        done = 0

        yield Train(*samples)
        yield from self._give_unlabelled(
            queries, games, lambda size: points[_choose_columns(0, size, len(points))]
        )
        for size in chunk_sizes(queries, games, self.learner):
            columns = _choose_columns(done, size, len(points))
            reply = yield Queries(points[columns])
            done += size
            ones += (reply.label[:, columns == 0] == 1).sum(axis=1)
            if likelihood.is_known:
                for column, answer in zip(columns.tolist(), list_answers([reply]), strict=True):
                    likelihood.add(column, answer)
        return likelihood.score if likelihood.is_known else ones

    @property
    def _query_count(self) -> int:
        if self.queries is not None:
            return self.queries
        learner = self.learner
        first = learner.round(1).answers if isinstance(learner, AnswersInRounds) else _QUERIES_WITHOUT_ROUNDS
        return first + _PROBES if first <= self.patience else _QUERIES_WITHOUT_ROUNDS

    def _choose_samples(self) -> tuple[tuple[Sample, Sample], np.ndarray]:
        sample = self.sample
        if sample is None:
            two = build_separable_sample(self.learner)
            sample = Sample(two.points, two.labels, [max(1, two.size - 1), 1])
        ones = np.flatnonzero(sample.labels == 1)
        if not len(ones) or sample.size == 1:
            raise InvalidArgument("the sample must hold an example labelled 1, and others")
        run = int(ones[sample.counts[ones].argmin()])
        commonest = np.argsort(-sample.counts, kind="stable")
        commonest = commonest[commonest != run] if sample.counts[run] == 1 else commonest
        target = sample.points[run]
        instead = sample.points[commonest[0]], int(sample.labels[commonest[0]])
        worlds = change_example(sample, run, instead, (target, 1), self.learner)
        elsewhere = (sample.points != target).reshape(len(sample.points), -1).any(axis=1)
        others = sample.points[commonest[elsewhere[commonest]]]
        _, first = np.unique(others, axis=0, return_index=True)
        others = others[np.sort(first)][: self.others]
        return worlds, np.concatenate([target[None], others])


def _choose_columns(start: int, size: int, points: int) -> np.ndarray:
    """The points of queries from number `start` on: the target, 0, every other time, the rest in turn."""
    number = np.arange(start, start + size)
    if points == 1:
        return np.zeros(size, int)
    return np.where(number % 2 == 0, 0, 1 + number // 2 % (points - 1))


WORLDS, LABELS = "worlds", "labels"


@attrs.frozen
class Reconstruct(Figure1Adversary):
    """Recovers h_0 from queries at all x ∈ X (section 3 of Private Everlasting Prediction).

    The training sets differ in the label of one example at a point where the labels tie, so that the
    minimisers differ. The score is the number of answers that agree with world 1's minus those that agree
    with world 0's; with `score` = labels, the number of training labels of world 1 that are read back, by
    default a random concept on the whole domain.
    """

    name = "reconstruct"

    score: str = setting(WORLDS, help="answers by world, or labels read back", check=one_of(WORLDS, LABELS))
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
        points = self._choose_points(second)
        return int((self._fit(first, points) != self._fit(second, points)).sum())

    def _label_domain(self, rng: np.random.Generator) -> Sample:
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
        best = self._class.erm(sample.points, sample.labels, sample.counts)
        return self._class.labels(best[None], points)[0]
