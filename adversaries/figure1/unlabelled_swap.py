"""unlabelled-swap: one unlabelled point differs, and a later round, trained on them, is asked about it."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

from adversaries.figure1.base import NextRounds, repeated
from adversaries.figure1.round_lengths import stretches, unlabelled_needed
from arena import Moves, Train, Unlabelled


@attrs.frozen
class UnlabelledSwap(NextRounds):
    """query-swap for learners that learn from fresh unlabelled points: the challenge is one of these, every
    other point of its pool is labelled 0, and the probes ask for it in a later round.

    The score is the number of probes answered 1.
    """

    name = "unlabelled-swap"

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        sample = self._training
        low, high = self._points(sample)
        spec: Any = self.learner
        before, rest, between = 0, 0, 0
        if hasattr(spec, "unlabelled"):
            before, rest, between = self._cut(lambda index: int(spec.pool_size(index)), "points")

        yield Train(sample)
        for point, times in ((low, before), (None, 1), (low, rest), (high, between)):
            if point is None:
                yield Unlabelled(repeated(low, 1), repeated(high, 1))  # world 0, world 1
                continue
            for stretch in stretches(times, games, self.learner):
                yield Unlabelled(repeated(point, stretch))
        asked = sum(self._waiting()) + 1
        more = unlabelled_needed(spec, asked + self.probes) - (before + 1 + rest + between)
        for stretch in stretches(max(0, more), games, spec):  # the probes may go on for several rounds
            yield Unlabelled(repeated(low, stretch))
        yield from self._asked(low, asked, games)
        return (yield from self._probed(high, games))
