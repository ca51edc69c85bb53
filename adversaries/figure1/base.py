"""What the adversaries share that look for one point of a round in the rounds that learn from it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import attrs
import numpy as np

from adversaries.figure1.round_lengths import stretches
from adversaries.figure1.training_sets import divide_sample, plain
from arena import Adversary, InvalidArgument, Learner, Moves, Queries, Sample, Unsupported, setting
from arena.settings import at_least, whole

_WITHOUT_ROUNDS = 100  # queries before the probes, where nothing is known of rounds


@attrs.frozen
class NextRounds(Adversary):
    """Base of the specs, which write `play`.

    Of round `round` the points are `low`, labelled 0, but for the challenge, which is `high`, labelled 1, in
    world 1; so the next round's examples hold a 1 in that world only. Where the probes come two rounds later,
    the points of the round between are `high`: how LabelBoost labels them depends on whether it sees the 1.
    """

    protocols = ("Figure1",)
    returns_score = True

    probes: int = setting(50, help="queries in the round of the probes", check=[whole, at_least(1)])
    round: int = setting(1, help="the round of the challenge", check=[whole, at_least(1)])
    later: int = setting(1, help="rounds from it to that of the probes", check=[whole, at_least(1)])
    after: int | None = setting(
        None,
        help="queries between the challenge and the probes; default: those that the rounds have left",
        check=[whole, at_least(0)],
    )
    patience: int = setting(
        100_000, help="the most queries it makes before the probes", check=[whole, at_least(1)]
    )
    sample: Sample | None = setting(None, help="the training set; default: two points, 0 and 1")
    learner: Learner | None = setting(None, help="the spec of the learner it plays against")

    @property
    def _training(self) -> Sample:
        return self.sample or divide_sample(self.learner)

    def _points(self, sample: Sample) -> tuple[Any, Any]:
        """`low` and `high`: the lowest and highest point of the sample; of vectors, the first that is
        labelled 0 and the first that is labelled 1.
        """
        if sample.points.ndim == 1:
            return plain(sample.points.min()), plain(sample.points.max())
        if len(np.unique(sample.labels)) < 2:
            raise InvalidArgument("the sample must have both labels", remedy="Bring another.")
        low, high = (int(np.flatnonzero(sample.labels == label)[0]) for label in (0, 1))
        return sample.points[low], sample.points[high]

    def _waiting(self) -> tuple[int, int, int]:
        """The queries before the challenge, after it in its round, and in the rounds between."""
        spec: Any = self.learner
        if not hasattr(spec, "round"):
            return 0, _WITHOUT_ROUNDS if self.after is None else self.after, 0
        before, rest, between = self._cut(lambda index: int(spec.round(index).answers), "answers")
        return (before, rest, between) if self.after is None else (before, self.after, 0)

    def _cut(self, size: Callable[[int], int], what: str) -> tuple[int, int, int]:
        """How many things come before the challenge, after it in its round, and in the rounds between, if
        round i has size(i) of them.
        """
        before = sum(size(i) for i in range(1, self.round))
        between = sum(size(i) for i in range(self.round + 1, self.round + self.later))
        rest = size(self.round) - 1
        total = before + 1 + rest + between
        if total > self.patience and self.after is None:
            raise Unsupported(
                f"the rounds before the probes have {total:,} {what}, more than the patience of {self.name}",
                value=self.patience,
                remedy=f"Give the learner shorter rounds (fewer {what}, or teachers), or raise patience.",
            )
        return before, rest, between

    def _asked(self, point: Any, times: int, games: int) -> Iterator[Queries]:
        """So many queries of one point."""
        for stretch in stretches(times, games, self.learner):
            yield Queries(repeated(point, stretch))

    def _probed(self, point: Any, games: int) -> Moves:
        """The probes; returns how many of them were answered 1."""
        ones = np.zeros(games)
        for stretch in stretches(self.probes, games, self.learner):
            reply = yield Queries(repeated(point, stretch))
            ones += (reply.label == 1).sum(axis=1)
        return ones


def repeated(point: Any, times: int) -> np.ndarray:
    """(times, ...): one point again and again."""
    return np.repeat(np.asarray(point)[None], times, axis=0)
