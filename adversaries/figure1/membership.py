"""membership: infers whether an example was in the training set, for learners that must memorise it."""

from __future__ import annotations

import attrs
import numpy as np

from adversaries.common.answer_likelihood import AnswerLikelihood
from adversaries.common.training_samples import build_separable_sample, change_example
from adversaries.figure1.base import Figure1Adversary, chunk_sizes
from arena import InvalidArgument, Moves, Queries, Sample, Train, count_setting, setting
from arena.capabilities import AnswersInRounds
from arena.replies import list_answers

_PROBES = 50  # queries in the second round
_QUERIES_WITHOUT_ROUNDS = 100


@attrs.frozen
class Membership(Figure1Adversary):
    """Membership inference for an example that must be memorised (remark 2 of section 1.3).

    The target is the rarest example labelled 1. It is in the training set in world 1; in world 0 it is
    replaced by a copy of the commonest example. Every other query is at the target's point, those between at
    other points of the sample in turn, into the learner's second round, which is trained on the first. The
    score is the log-likelihood ratio of all answers if the output distribution is known, and otherwise the
    number of answers 1 at the target's point.
    """

    name = "membership"

    queries: int | None = count_setting(
        None, help="queries in all; default: the learner's first round, if within `patience`, and 50 more"
    )
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
        """The samples without and with the target, and the points to query, that of the target first."""
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
