"""membership: was this example in the training set? The question of learners that must memorise."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

from adversaries.common.answer_likelihood import Judge
from adversaries.figure1.round_lengths import handed, stretches
from adversaries.figure1.training_sets import divide_sample
from arena import Adversary, InvalidArgument, Learner, Moves, Queries, Sample, Train, setting
from arena.replies import list_answers
from arena.settings import at_least, whole

_PROBES = 50  # queries in the round after the first
_WITHOUT_ROUNDS = 100


@attrs.frozen
class Membership(Adversary):
    """Membership inference on what has to be memorised (remark 2 of section 1.3): of the examples labelled 1
    the target is the rarest, in the training set in world 1; in world 0 a copy of the commonest example has
    its place.

    Every other query is the target's point, the others are points of the sample in turn, and they go on into
    the learner's second round, which by then is trained on them. The score is the log-likelihood ratio of all
    answers if the learner tells its law, else how many at the target's point were 1.

    The default sample is one example labelled 1 among all others at one point labelled 0.
    """

    name = "membership"
    protocols = ("Figure1",)
    returns_score = True

    queries: int | None = setting(
        None,
        help="queries in all; default: the learner's first round, if within `patience`, and 50 more",
        check=[whole, at_least(1)],
    )
    others: int = setting(2, help="points besides the target's", check=[whole, at_least(0)])
    patience: int = setting(100_000, help="the longest round that it waits for", check=[whole, at_least(1)])
    sample: Sample | None = setting(None, help="the training set; default: one example among all others")
    learner: Learner | None = setting(None, help="the spec of the learner it plays against")

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        worlds, points = self._case()
        asked = self._asked
        judge = Judge(self.learner, worlds, points, games)
        ones = np.zeros(games)
        done = 0

        yield Train(*worlds)
        yield from handed(self.learner, asked, games, lambda size: points[_places(0, size, len(points))])
        for stretch in stretches(asked, games, self.learner):
            places = _places(done, stretch, len(points))
            reply = yield Queries(points[places])
            done += stretch
            ones += (reply.label[:, places == 0] == 1).sum(axis=1)
            if judge.knows:
                for place, answer in zip(places.tolist(), list_answers([reply]), strict=True):
                    judge.take(place, answer)
        return judge.score if judge.knows else ones

    @property
    def _asked(self) -> int:
        if self.queries is not None:
            return self.queries
        spec: Any = self.learner
        first = int(spec.round(1).answers) if hasattr(spec, "round") else _WITHOUT_ROUNDS
        return first + _PROBES if first <= self.patience else _WITHOUT_ROUNDS

    def _case(self) -> tuple[tuple[Sample, Sample], np.ndarray]:
        """The samples without and with the target, and the points to ask about, the target's first."""
        sample = self.sample or _one_among_all(self.learner)
        ones = np.flatnonzero(sample.labels == 1)
        if not len(ones) or sample.size == 1:
            raise InvalidArgument("the sample must hold an example labelled 1, and others")
        run = int(ones[sample.counts[ones].argmin()])
        commonest = np.argsort(-sample.counts, kind="stable")
        commonest = commonest[commonest != run] if sample.counts[run] == 1 else commonest
        without = sample.replace_one(run, sample.points[commonest[0]], int(sample.labels[commonest[0]]))
        target = sample.points[run]
        apart = (sample.points != target).reshape(len(sample.points), -1).any(axis=1)
        kinds = sample.points[[place for place in commonest if apart[place]]]
        _, first = np.unique(kinds, axis=0, return_index=True)
        others = kinds[np.sort(first)][: self.others]
        return (without, sample), np.concatenate([target[None], others])


def _one_among_all(learner: Learner | None) -> Sample:
    two = divide_sample(learner)
    return Sample(two.points, two.labels, [max(1, two.size - 1), 1])


def _places(start: int, size: int, points: int) -> np.ndarray:
    """Of queries from number `start` on: the target, 0, at every even one, the others in turn between."""
    number = np.arange(start, start + size)
    if points == 1:
        return np.zeros(size, int)
    return np.where(number % 2 == 0, 0, 1 + number // 2 % (points - 1))
