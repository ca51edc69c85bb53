"""poison: some of the queries are chosen, to spoil what the next rounds learn from them."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

from adversaries.figure1.honest import Honest
from adversaries.figure1.poisonous_points import CROWD, REPEAT, SHIFT, bank_of
from adversaries.figure1.round_lengths import handed, stretches
from arena import Moves, Queries, Train, setting
from arena.settings import at_least, at_most, less_than, more_than, one_of

_REACH = 0.05


@attrs.frozen
class Poison(Honest):
    """`honest`, but for a part of the queries, which an enemy chooses who knows D and the target: remark 3
    of section 1.3 of Private Everlasting Prediction.

    crowd: many distinct points on which the target and a rival that errs little disagree. LabelBoost weighs M
    dichotomies with e errors as M·exp(−e/2), so a crowd of dichotomies with few errors outnumbers the others;
    how many errors that may be is what Lemma C.2 bounds, and the default of `reach` follows from it.
    repeat: one point all the time, that which teaches least: trained on it alone, a teacher errs most. So
    much of S_{i+1} is lost.
    shift: points where D has none; what is labelled there teaches nothing about D.

    Unlabelled points that a learner wants besides are honest. The score is the number of answers that tell
    the truth, among those to honest queries.
    """

    name = "poison"

    fraction: float = setting(
        0.3, unit="fraction", help="of the queries that are chosen", check=[at_least(0), at_most(1)]
    )
    aim: str = setting(CROWD, help="what the chosen ones are", check=one_of(CROWD, REPEAT, SHIFT))
    reach: float | None = setting(
        None,
        unit="error rate",
        help="of the rival of a crowd; default: 2 ln(p |Ŝ_1|)/|Ŝ_1|, if the learner tells sizes, else 0.05",
        check=[more_than(0), less_than(1)],
    )

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        if not games:
            return np.zeros(0)
        people = self.population(games, rng)
        bank = bank_of(self.aim, people, self.taught, games, self.reach_run, rng) if self.fraction else []
        yield Train(people.samples(rng, self.examples, self.noise))
        yield from handed(self.learner, self.queries, games, lambda size: people.draw(rng, size)[0])
        right = np.zeros(games)
        for stretch in stretches(self.queries, games, self.learner):
            points, truth = people.draw(rng, stretch)
            chosen = rng.random((games, stretch)) < self.fraction
            for game, some in enumerate(bank):
                here = chosen[game]
                points[game, here] = some[rng.integers(len(some), size=np.count_nonzero(here))]
            reply = yield Queries(points)
            right += ((reply.label == truth) & ~chosen).sum(axis=1)
        return right

    @property
    def reach_run(self) -> float:
        """The error of the rival.

        With p|D̂| dichotomies at e errors, and |D̂|/|Ŝ| honest ones an error on either side of the target, the
        former weigh more up to e = 2 ln(p|Ŝ|), to leading order.
        """
        if self.reach is not None:
            return self.reach
        spec: Any = self.learner
        if not hasattr(spec, "rate_run"):
            return _REACH
        seen = spec.round(1).examples * spec.rate_run
        return float(min(0.5, max(1.0, 2 * np.log(max(1.0, self.fraction * seen))) / max(1.0, seen)))
