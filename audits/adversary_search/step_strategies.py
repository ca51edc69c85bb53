"""Hypothesis strategies for the steps of a game: queries, streams, unlabelled points, and gradients."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import product
from typing import Any

import attrs
import numpy as np
from hypothesis import strategies as st

from arena import Learner
from arena.step_scores import RATIO, StepScore
from audits.adversary_search.point_strategies import (
    constant_points_of,
    counts_of,
    draw_points,
    far_points_of,
    list_of,
    points_of,
    sample_from,
    two_different,
    two_points,
)
from audits.adversary_search.script import (
    AGAINST,
    ENDS,
    ODD,
    SEEN,
    WITH,
    Ask,
    Challenge,
    Follow,
    Hand,
    Memory,
    Point,
    Show,
    Special,
    Step,
)

MAX_QUERIES = 256  # of a game of Figure1 or Voting, unless a setting of the learner is larger
_MAX_SINGLE = 4  # coordinates along which gradients are chosen alone
_MAX_TOGETHER = 16  # coordinates of one gradient, spread over the layers of a model
MAX_EXAMPLES = 64  # of a game of SpecialRound, unless a setting of the learner is larger
_MAX_STRETCHES = 3  # before the challenge, and after it
_PATTERNS = ["".join(bits) for length in range(1, 5) for bits in product("01", repeat=length)]
_MEMORIES = sample_from([Memory(kind, bits) for bits in _PATTERNS for kind in (ENDS, SEEN)] + [Memory(ODD)])


def queries(
    learner: Learner, *, challenge: bool = False, limit: int = MAX_QUERIES
) -> st.SearchStrategy[tuple[Step, ...]]:
    """The steps of a game of Figure1 with at most `limit` queries; with `challenge` one of them differs."""
    if not challenge:
        return queries_near(learner, (), limit)
    step = _query(learner, (), limit)
    challenges = _place_challenge(learner, limit, two_points(learner).map(lambda two: Challenge(*two)))
    return _stretches_around(challenges, step, _MAX_STRETCHES, limit)


@st.composite
def driven_queries(
    draw: st.DrawFn, learner: Learner, down: Point, up: Point, tested: Point | None, limit: int
) -> tuple[Step, ...]:
    """Queries at points of clear answers, 0 and 1, that drive the answers to a pattern, and what follows.

    That is a challenge with these two points or, where training sets differ at `tested`, queries there.
    """
    pattern = draw(sample_from(_PATTERNS))
    driven = [Ask(up if bit == "1" else down) for bit in pattern]
    times = draw(sample_from(counts_of(learner, limit)))
    if tested is not None:
        return _shorten_steps([*driven, Ask(tested, times)], limit)
    challenge = Challenge(*draw(st.sampled_from([(down, up), (up, down)])))
    return _shorten_steps([*driven, challenge, Ask(draw(st.sampled_from([down, up])), times)], limit)


def _stretches_around(
    single: st.SearchStrategy[Step], step: st.SearchStrategy[Step], most: int, limit: int
) -> st.SearchStrategy[tuple[Step, ...]]:
    """A step in which the worlds differ, with others before and after it."""
    before, after = st.lists(step, max_size=most), st.lists(step, min_size=1, max_size=most)
    return st.tuples(before, single, after).map(
        lambda parts: _shorten_steps([*parts[0], parts[1], *parts[2]], limit)
    )


def _place_challenge(
    learner: Learner, limit: int, challenges: st.SearchStrategy[Step]
) -> st.SearchStrategy[Step]:
    """Challenges, one in three at a place that depends on the answers."""
    times = sample_from([count for count in counts_of(learner, limit) if count > 1] or [1])
    placed = st.tuples(challenges, times, _MEMORIES).map(
        lambda drawn: attrs.evolve(drawn[0], times=drawn[1], when=drawn[2])  # type: ignore[call-arg]
    )
    return st.one_of(challenges, challenges, placed)


@lru_cache(maxsize=512)
def queries_near(
    learner: Learner, near: tuple[Point, ...], limit: int
) -> st.SearchStrategy[tuple[Step, ...]]:
    """The steps of a game without a challenge, with every other query at a point of `near`."""
    return list_of(_query(learner, near, limit), _MAX_STRETCHES).map(
        lambda steps: _shorten_steps(steps, limit)
    )


def _query(learner: Learner, near: tuple[Point, ...], limit: int) -> st.SearchStrategy[Step]:
    points = draw_points(learner, near)
    times = sample_from(counts_of(learner, limit))
    ask, follow = st.builds(Ask, points, times), st.builds(Follow, points, points, times)
    return st.one_of(ask, follow, st.builds(Follow, points, points, times, _MEMORIES))


def hand_over_points(learner: Learner, *, challenge: bool = False) -> st.SearchStrategy[tuple[Hand, ...]]:
    """Unlabelled points to hand over before the queries; with `challenge` one of them differs."""
    hand = st.builds(Hand, draw_points(learner), times=sample_from(counts_of(learner, MAX_QUERIES)))
    same = st.lists(hand, max_size=2)
    if not challenge:
        return same.map(tuple)
    differing = two_points(learner).map(lambda two: Hand(*two))
    return st.tuples(same, differing, same).map(lambda parts: (*parts[0], parts[1], *parts[2]))


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
    special = _place_challenge(learner, limit, examples.map(lambda two: Special(*two)))
    anything = _stretches_around(special, shown, _MAX_STRETCHES - 1, limit)
    parts = st.tuples(points, times, sample_from([0, 1]), sample_from([AGAINST, WITH]), times)
    single_point = parts.map(lambda drawn: _shorten_steps(_single_point_steps(*drawn), limit))
    return st.one_of(anything, anything, single_point)


def _single_point_steps(point: Point, before: int, label: int, probes: str, after: int) -> list[Step]:
    special = Special((point, label), (point, 1 - label))
    return [Show(point, AGAINST, before), special, Show(point, probes, after)]


def _shorten_steps(steps: Sequence[Step], limit: int) -> tuple[Step, ...]:
    """The steps with fewer repetitions, in at most `limit` rounds; equal consecutive steps are joined."""
    left = limit - len(steps)
    fitting: list[Step] = []
    for step in steps:
        times = min(step.rounds, left + 1)
        left -= times - 1
        step = step if times == step.rounds else step.shorten(times)
        if fitting and _same_step(fitting[-1], step):
            step = step.shorten(fitting.pop().rounds + times)
        fitting.append(step)
    return tuple(fitting)


def _same_step(one: Step, other: Step) -> bool:
    return hasattr(one, "times") and type(one) is type(other) and one.shorten(1) == other.shorten(1)


def list_directions(parameters: int) -> list[tuple[int, ...]]:
    """Coordinates of a gradient: a single one, the first and the last, or several over all of them.

    A gradient along one coordinate lies in one layer of a model, and is clipped rightly where each layer is.
    """
    single = [(place,) for place in range(min(parameters, _MAX_SINGLE))]
    spread = np.linspace(0, parameters - 1, min(parameters, _MAX_TOGETHER)).astype(int).tolist()
    together = [coordinates for coordinates in ((0, parameters - 1), tuple(spread)) if parameters > 1]
    return [*single, *dict.fromkeys(together)]


def score_steps(
    learner: Any, kind: str | None, coordinates: tuple[int, ...] = (0,), opposite: int = 0
) -> StepScore | None:
    """The score of this kind for the learner's steps. opposite: examples that pull against the canary."""
    if kind is None:
        return None
    if kind != RATIO:
        return StepScore(kind, coordinates)
    return StepScore.for_canary(kind, learner, coordinates=coordinates, opposite=opposite)
