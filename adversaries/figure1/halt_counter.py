"""halt-counter: reads a query off the moment at which a learner halts."""

from __future__ import annotations

import attrs
import numpy as np

from adversaries.figure1.training_sets import telling_points, tied_sample
from arena import Adversary, Learner, Moves, Query, Sample, Train, setting
from arena.settings import at_least, whole


@attrs.frozen
class HaltCounter(Adversary):
    """Spend the halting budget down to one, then let the challenge spend the last unit or not.

    Against the first version of GenericBBL, which halts after exactly c outcomes ⊤. At `split` the votes
    tie, so a query there costs one ⊤; at `clear` they agree, and it costs none. c − 1 queries at `split`,
    then the challenge: `clear` in world 0, `split` in world 1. Its label is withheld, but in world 1 it
    was the c-th ⊤, and the next query meets silence.

    With data of the user's, or points not given, it finds `split` and `clear` by training the learner's
    spec at a table of its own. The score is 1 where the learner has halted.
    """

    name = "halt-counter"
    protocols = ("Figure1",)
    returns_score = True

    budget: int | None = setting(
        None, help="c; default: the learner's `halts`, else 8", check=[whole, at_least(1)]
    )
    split: float | None = setting(None, unit="point", help="where the votes tie; default: found")
    clear: float | None = setting(None, unit="point", help="where the votes agree; default: found")
    sample: Sample | None = setting(None, help="the training set; default: one point with both labels")
    learner: Learner | None = setting(None, help="the spec of the learner it plays against")

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        sample = self.sample or tied_sample(self.learner)
        found = telling_points(self.learner, sample)
        split = found.split if self.split is None else self.split
        clear = found.clear if self.clear is None else self.clear
        budget = getattr(self.learner, "halts", 8) if self.budget is None else self.budget

        yield Train(sample)  # the same in both worlds
        for _ in range(budget - 1):
            yield Query(split)
        yield Query(clear, split)  # world 0, world 1: the label is withheld
        reply = yield Query(clear)
        return reply.halted
