"""Searches under SpecialRound: streams of examples, one of which differs between the worlds."""

from __future__ import annotations

from typing import Any, ClassVar

import attrs
import numpy as np
from hypothesis import strategies as st

from arena import Example, Learner, Move, PrivacyUnit, Ready, Sample, SpecialRound
from audits.adversary_search.point_strategies import (
    MAX_STRETCHES,
    constant_points_of,
    counts_of,
    draw_points,
    far_points_of,
    place_challenge,
    points_of,
    sample_from,
    shorten_steps,
    stretches_around,
    two_different,
)
from audits.adversary_search.script import (
    SPACES,
    AnswerHistory,
    Memory,
    Point,
    Script,
    SearchSpace,
    Step,
    as_point,
    select_points,
)

WITH, AGAINST = "with", "against"
MAX_EXAMPLES = 64  # of a game, unless a setting of the learner is larger


@attrs.frozen
class Show(Step):
    """SpecialRound: show the example (point, label), `times` times.
    The label "with" is the prediction of the last hypothesis at the point, and "against" the opposite."""

    point: Point = attrs.field(converter=as_point)
    label: int | str = 0
    times: int = 1

    def move(self, last: Any, now: np.ndarray, history: AnswerHistory) -> Move:
        if self.label not in (WITH, AGAINST):
            return Example(self.point, self.label)
        predicted = last.hypothesis(np.asarray(self.point))
        return Example(self.point, predicted if self.label == WITH else ~predicted)

    def read_answer(self, last: Any, reply: Any) -> np.ndarray:
        return np.asarray(last.hypothesis(np.asarray(self.point)), bool)


@attrs.frozen
class Special(Step):
    """SpecialRound: show the example `world_0` in world 0 and `world_1` in world 1, each (point, label).
    times, when: as in `Challenge`."""

    world_0: tuple[Point, int]
    world_1: tuple[Point, int]
    times: int = 1
    when: Memory | None = None

    challenges: ClassVar[bool] = True

    def move(self, last: Any, now: np.ndarray, history: AnswerHistory) -> Move:
        (x, y), (other_x, other_y) = self.world_0, self.world_1
        return Example(x, y, select_points(now, other_x, x), np.where(now, other_y, y))

    def read_answer(self, last: Any, reply: Any) -> np.ndarray:
        return np.asarray(last.hypothesis(np.asarray(self.world_0[0])), bool)


def streams(learner: Learner, *, limit: int = MAX_EXAMPLES) -> st.SearchStrategy[tuple[Step, ...]]:
    """The steps of a game of SpecialRound with at most `limit` rounds, a special one before the last.

    One time in three all examples have the same point, and the special example is a mistake in one world
    only, after as many mistakes as may bring a learner that counts them close to a change.
    """
    rounds = getattr(learner, "rounds", None)
    limit = min(limit, rounds) if isinstance(rounds, int) else limit
    points = draw_points(learner)
    times = sample_from(counts_of(learner, limit))
    shown = st.builds(Show, points, sample_from([0, 1, WITH, AGAINST]), times)
    special_points = [*constant_points_of(learner)[0], *far_points_of(learner)]
    usual, other = (
        [(p, y) for p in points for y in (0, 1)] for points in (points_of(learner), special_points)
    )
    examples = st.one_of(two_different(usual), two_different([*usual, *other]))
    special = place_challenge(learner, limit, examples.map(lambda two: Special(*two)))
    anything = stretches_around(special, shown, MAX_STRETCHES - 1, limit)

    def around_one(drawn: tuple[Point, int, int, str, int]) -> tuple[Step, ...]:
        point, before, label, probes, after = drawn
        special = Special((point, label), (point, 1 - label))
        return shorten_steps([Show(point, AGAINST, before), special, Show(point, probes, after)], limit)

    parts = st.tuples(points, times, sample_from([0, 1]), sample_from([AGAINST, WITH]), times)
    return st.one_of(anything, anything, parts.map(around_one))


def _draw_streams(
    learner: Learner, protocol: str, limit: int, data: Sample | None
) -> list[st.SearchStrategy[Script]]:
    if PrivacyUnit.STREAM_EXAMPLE not in learner.claim.protects:
        return []
    return [streams(learner, limit=limit).map(lambda steps: Script(protocol=protocol, steps=steps))]


SPACES[SpecialRound.name] = SearchSpace(
    draw=_draw_streams, steps=(Show, Special), opening=(Ready,), rounds=MAX_EXAMPLES
)
