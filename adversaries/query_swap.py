"""query-swap: one query differs, and the next round, trained on the queries, is asked about it."""

from __future__ import annotations

import attrs
import numpy as np

from adversaries.samples import split_sample
from arena import Adversary, Learner, Moves, Query, Sample, Train, Unsupported, setting
from arena.settings import at_least, whole


@attrs.frozen
class QuerySwap(Adversary):
    """The challenge is a query: a point labelled 0 in world 0, one labelled 1 in world 1. Every other
    query of the round is the former, so that the next round's examples hold a 1 in world 1 only; the
    probes ask for it there.

    The score is the number of probes answered 1. `after` tells how many queries come before the probes:
    by default those that are left of the learner's first round (`round(1).answers`), else 100.
    """

    name = "query-swap"
    protocols = ("Figure1",)

    probes: int = setting(50, help="queries in the next round", check=[whole, at_least(1)])
    after: int | None = setting(
        None,
        help="queries before the probes; default: the rest of the learner's round",
        check=[whole, at_least(0)],
    )
    patience: int = setting(
        100_000, help="the most queries it makes before the probes", check=[whole, at_least(1)]
    )
    sample: Sample | None = setting(None, help="the training set; default: two points, 0 and 1")
    learner: Learner | None = setting(None, help="the spec of the learner it plays against")

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        sample = self.sample or split_sample(self.learner)
        low, high = sample.points.min(), sample.points.max()

        yield Train(sample)
        yield Query(low, high)  # world 0, world 1
        for _ in range(self._rest_of_round()):
            yield Query(low)
        ones = np.zeros(games)
        for _ in range(self.probes):
            reply = yield Query(high)
            ones += reply.label == 1
        return ones

    def _rest_of_round(self) -> int:
        if self.after is not None:
            return self.after
        rounds = getattr(self.learner, "round", None)
        rest = 100 if rounds is None else int(rounds(1).answers) - 1
        if rest > self.patience:
            raise Unsupported(
                f"the learner's first round has {rest + 1:,} answers, more than query-swap's patience",
                value=self.patience,
                remedy="Give the learner shorter rounds (answers, or fewer teachers), or raise patience.",
            )
        return rest
