"""vote-inference: was this example in the sample? Answers at a few points, weighed by both worlds' laws."""

from __future__ import annotations

from functools import lru_cache

import attrs
import numpy as np

from adversaries.common.answer_likelihood import Judge, chances, laws_of
from adversaries.voting.base import Nature
from adversaries.voting.teacher_votes import Samples, candidates, on_ladder, votes_of
from arena import InvalidArgument, Learner, Moves, Query, Sample, Train, setting
from arena.settings import at_least, one_of, whole

FLIPPED, COPY = "flipped", "copy"
_MOST_TARGETS = 8


@attrs.frozen
class VoteInference(Nature):
    """Membership inference: in world 1 the target is in the sample, in world 0 another example has its place.

    Nature works out the votes of both worlds at the points of the sample, and asks in turn about those few at
    which the first answers differ most (by Hellinger's distance of their laws; by votes, if no law is told).
    The score is the log-likelihood ratio of all answers; without a law, how many were 1 (0, where the target
    is labelled 0).

    Raises: InvalidArgument if the sample has no such target, or it changes no vote at any point.
    """

    name = "vote-inference"

    target: int | None = setting(
        None,
        help="the target's row in the sample, from 0 on; default: of a few rows, the one that tells most",
        check=[whole, at_least(0)],
    )
    instead: str = setting(
        FLIPPED,
        help="what has the target's place in world 0: itself with its label flipped, or a copy of the "
        "example after it",
        check=one_of(FLIPPED, COPY),
    )
    points: int = setting(4, help="the most points to ask about", check=[whole, at_least(1)])

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        case = case_of(self.learner, self.sample, self.target, self.instead)
        points = case.points[: self.points]
        judge = Judge(self.learner, case.samples, points, games)
        yield Train(*case.samples)
        for number in range(self.questions):
            place = number % len(points)
            reply = yield Query(points[place])
            judge.take(place, reply)
        return judge.score if judge.knows else case.sign * judge.score


@attrs.frozen(eq=False)
class Case:
    """The samples without and with the target, and the points (m, ...) that tell them apart, best first.

    telling: how much the first answer tells at the best. sign: 1 if the target's vote there is 1, else -1.
    """

    samples: Samples
    points: np.ndarray
    telling: float
    sign: int


@lru_cache(maxsize=32)
def case_of(learner: Learner | None, sample: Sample | None, target: int | None, instead: str) -> Case:
    """What vote-inference plays with these settings; raises as it does."""
    whole_sample = on_ladder(learner) if sample is None else sample
    spread = np.unique(np.linspace(0, whole_sample.size - 1, _MOST_TARGETS).astype(int)).tolist()
    rows = spread if target is None else [target]
    cases = [_case(learner, (_without(whole_sample, row, instead), whole_sample)) for row in rows]
    best = max((case for case in cases if case is not None), key=lambda case: case.telling, default=None)
    if best is None:
        raise InvalidArgument(
            "the target changes no vote",
            value=f"row {rows[0]}" if len(rows) == 1 else f"{len(rows)} rows",
            remedy="Choose another target, or let each teacher have fewer examples.",
        )
    return best


def _without(sample: Sample, target: int, instead: str) -> Sample:
    """The sample with another example in the target's place."""
    if target >= sample.size:
        raise InvalidArgument(
            f"the target is a row of the sample, from 0 to {sample.size - 1:,}", value=f"row {target:,}"
        )
    points, labels = (array.copy() for array in sample.rows())
    if instead == COPY:
        after = (target + 1) % sample.size
        points[target], labels[target] = points[after], labels[after]
    else:
        labels[target] ^= 1
    return Sample(points, labels)


def _case(learner: Learner | None, samples: Samples) -> Case | None:
    """None if no vote differs."""
    points = candidates(learner, samples[1])
    in_0, in_1 = votes_of(learner, samples, points)
    different = np.flatnonzero(in_0 != in_1)
    if not len(different):
        return None
    telling = _telling(learner, samples, points[different], (in_0 + in_1)[different] / 2)
    order = np.argsort(-telling, kind="stable")
    best = different[order[0]]
    return Case(samples, points[different[order]], float(telling.max()), 1 if in_1[best] > in_0[best] else -1)


def _telling(learner: Learner | None, samples: Samples, points: np.ndarray, votes: np.ndarray) -> np.ndarray:
    """(m,): how much the first answer tells at points (m, ...) with these votes (m,), the more the better."""
    laws = laws_of(learner, samples)
    if laws is None:
        return -np.abs(votes - 0.5)
    in_0, in_1 = (np.sqrt(np.maximum(chances(law, points), 0.0)) for law in laws)
    return np.asarray(((in_0 - in_1) ** 2).sum(axis=0))
