"""Hypothesis strategies for legal games: samples, neighbours, queries, streams, and whole scripts.

All of them shrink towards few distinct points, few steps, small counts and no adaptivity.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TypeVar

import attrs
import numpy as np
from hypothesis import strategies as st

from arena import REFEREES, InvalidArgument, Learner, PrivacyUnit, Sample
from arena.capabilities import finite_domain
from audits.search.script import (
    AGAINST,
    STEPS,
    WITH,
    Ask,
    Challenge,
    Follow,
    Hand,
    Point,
    Script,
    Show,
    Special,
    Step,
    as_point,
)

T = TypeVar("T")

MAX_QUERIES = 256  # of a game of Figure1 or Voting
MAX_EXAMPLES = 64  # of a game of SpecialRound
_MAX_POINTS = 16
_MAX_STRETCHES = 3  # before the challenge, and after it
_SMALL_SIZES = range(1, 9)
_LABELS = ((0,), (1,), (0, 1))
_SINGLE = 0
_SHARES = (1, 2, 3, _SINGLE)  # relative sizes of the parts of a sample; or a single example
# From a hundred choices on, Hypothesis mixes in constants that it finds in the loaded modules, so that the
# same seed would not draw the same games.
_MAX_CHOICES = 99


def _sample_from(items: Iterable[T]) -> st.SearchStrategy[T]:
    return st.sampled_from(list(items)[:_MAX_CHOICES])


def _list_of(items: st.SearchStrategy[T], limit: int) -> st.SearchStrategy[list[T]]:
    """One to `most` items, about as often a single one as several."""
    return st.one_of(
        st.lists(items, min_size=1, max_size=1),
        st.lists(items, min_size=1, max_size=limit),
        st.lists(items, min_size=2, max_size=limit),
    )


@lru_cache(maxsize=64)
def points_of(learner: Learner) -> tuple[Point, ...]:
    """Points to query: `some_points`, and midpoints between them if they are from an infinite range."""
    points = [as_point(point) for point in learner.some_points]
    if not learner.point_shape and finite_domain(learner) is None:
        edges = np.unique(learner.some_points)
        points += [as_point(middle) for middle in (edges[1:] + edges[:-1]) / 2]
    return tuple(dict.fromkeys(points))[:_MAX_POINTS]


@lru_cache(maxsize=64)
def counts_of(learner: Learner, limit: int) -> tuple[int, ...]:
    """Numbers of repetitions up to `limit`: 1 to 20, and those near the learner's integer settings."""
    settings = [getattr(learner, field.name) for field in attrs.fields(type(learner))]
    integers = [value for value in settings if isinstance(value, int) and not isinstance(value, bool)]
    near = {value + step for value in integers for step in (-1, 0, 1)}
    return tuple(sorted(count for count in near | set(range(1, 21)) if 1 <= count <= limit))


@lru_cache(maxsize=64)
def _parts(learner: Learner) -> st.SearchStrategy[tuple[list[tuple[Point, tuple[int, ...], int]], int]]:
    # Cached, because building and checking a strategy takes longer than drawing from it.
    part = st.tuples(_sample_from(points_of(learner)), _sample_from(_LABELS), _sample_from(_SHARES))
    parts = _list_of(part, 3)
    if learner.sample_size is not None:
        return st.tuples(parts, st.just(learner.sample_size))
    more = [count for count in counts_of(learner, MAX_QUERIES) if count not in _SMALL_SIZES]
    # Small samples are drawn more often, since each example matters more in them.
    return st.tuples(parts, _sample_from([*_SMALL_SIZES] * 3 + more))


@st.composite
def samples(draw: st.DrawFn, learner: Learner) -> Sample:
    """Samples of the size that the learner needs, or any, of up to three points with one label or both."""
    parts, size = draw(_parts(learner))
    runs = [(point, label, share) for point, labels, share in parts for label in labels]
    counts = _divide([share for _, _, share in runs], size)
    nonempty = [(point, label, n) for (point, label, _), n in zip(runs, counts, strict=True) if n]
    points, labels, sizes = zip(*nonempty, strict=True)
    return Sample(np.array(points), labels, sizes)


def _divide(shares: Sequence[int], size: int) -> list[int]:
    """Integers in these proportions that add up to `size`; the remainder goes to the first."""
    if not any(shares):
        shares = [1] * len(shares)
    single = [int(share == _SINGLE) for share in shares]
    rest = max(size - sum(single), 0)
    counts = [rest * share // sum(shares) + extra for share, extra in zip(shares, single, strict=True)]
    assigned = 0
    for place, count in enumerate(counts):  # in a tiny sample some parts get no example
        counts[place] = min(count, size - assigned)
        assigned += counts[place]
    counts[0 if counts[0] else shares.index(max(shares))] += size - assigned
    return counts


def neighbours(learner: Learner) -> st.SearchStrategy[tuple[Sample, Sample]]:
    """Two samples that differ in one example: in its label, or in its point and perhaps its label."""
    return _neighbours(learner).map(lambda drawn: drawn[:2])


@st.composite
def _neighbours(draw: st.DrawFn, learner: Learner) -> tuple[Sample, Sample, tuple[Point, ...]]:
    """Neighbouring samples, and the points of the example in which they differ."""
    sample = draw(samples(learner))
    place = draw(st.integers(0, 2 * len(sample.counts) - 1))
    run, first = place % len(sample.counts), place >= len(sample.counts)
    own = as_point(sample.points[run]), int(sample.labels[run])
    points = dict.fromkeys([own[0], *points_of(learner)])
    others = [(point, label) for point in points for label in (1 - own[1], own[1]) if (point, label) != own]
    # One time in three only the label changes, since most learners depend on labels.
    extra = len(others) // 2
    other = others[max(0, draw(st.integers(0, len(others) - 1 + extra)) - extra)]
    isolated = _isolate_first(sample, run) if first else sample
    return sample, isolated.replace_one(run, *other), tuple(dict.fromkeys([own[0], other[0]]))


def _isolate_first(sample: Sample, run: int) -> Sample:
    """The same sample with the first example of `run` on its own, since learners may depend on the order."""
    if sample.counts[run] == 1:
        return sample
    points, labels = (np.insert(array, run, array[run], axis=0) for array in (sample.points, sample.labels))
    counts = np.insert(sample.counts, run, 1)
    counts[run + 1] -= 1
    return Sample(points, labels, counts)


def queries(
    learner: Learner, *, challenge: bool = False, limit: int = MAX_QUERIES
) -> st.SearchStrategy[tuple[Step, ...]]:
    """The steps of a game of Figure1 with at most `limit` queries; with `challenge` one of them differs."""
    if not challenge:
        return _queries_near(learner, (), limit)
    step = _query(learner, (), limit)
    challenges = _two_different(points_of(learner)).map(lambda two: Challenge(*two))
    return _stretches_around(challenges, step, _MAX_STRETCHES, limit)


def _stretches_around(
    single: st.SearchStrategy[Step], step: st.SearchStrategy[Step], most: int, limit: int
) -> st.SearchStrategy[tuple[Step, ...]]:
    """A step in which the worlds differ, with others before and after it."""
    before, after = st.lists(step, max_size=most), st.lists(step, min_size=1, max_size=most)
    return st.tuples(before, single, after).map(
        lambda parts: _shorten_steps([*parts[0], parts[1], *parts[2]], limit)
    )


@lru_cache(maxsize=512)
def _queries_near(
    learner: Learner, near: tuple[Point, ...], limit: int
) -> st.SearchStrategy[tuple[Step, ...]]:
    """The steps of a game without a challenge, with every other query at a point of `near`."""
    return _list_of(_query(learner, near, limit), _MAX_STRETCHES).map(
        lambda steps: _shorten_steps(steps, limit)
    )


def _query(learner: Learner, near: tuple[Point, ...], limit: int) -> st.SearchStrategy[Step]:
    everywhere = points_of(learner)
    points = _sample_from([*near * (len(everywhere) // max(1, len(near))), *everywhere])
    times = _sample_from(counts_of(learner, limit))
    return st.one_of(st.builds(Ask, points, times), st.builds(Follow, points, points, times))


@st.composite
def _swap_training(draw: st.DrawFn, learner: Learner, protocol: str, limit: int) -> Script:
    """A game of Figure1 or Voting in which the training sets differ, with many queries where they differ."""
    world_0, world_1, near = draw(_neighbours(learner))
    steps = draw(_queries_near(learner, near, limit))
    return Script(protocol=protocol, world_0=world_0, world_1=world_1, steps=steps)


def hand_over_points(learner: Learner, *, challenge: bool = False) -> st.SearchStrategy[tuple[Hand, ...]]:
    """Unlabelled points to hand over before the queries; with `challenge` one of them differs."""
    points = points_of(learner)
    hand = st.builds(Hand, _sample_from(points), times=_sample_from(counts_of(learner, MAX_QUERIES)))
    same = st.lists(hand, max_size=2)
    if not challenge:
        return same.map(tuple)
    differing = _two_different(points).map(lambda two: Hand(*two))
    return st.tuples(same, differing, same).map(lambda parts: (*parts[0], parts[1], *parts[2]))


def _swap_unlabelled(learner: Learner, limit: int) -> st.SearchStrategy[Script]:
    return st.tuples(
        samples(learner), hand_over_points(learner, challenge=True), queries(learner, limit=limit)
    ).map(lambda drawn: Script(protocol="Figure1", world_0=drawn[0], handed=drawn[1], steps=drawn[2]))


def _add_unlabelled(learner: Learner, kind: st.SearchStrategy[Script]) -> st.SearchStrategy[Script]:
    return st.tuples(kind, hand_over_points(learner)).map(lambda two: attrs.evolve(two[0], handed=two[1]))


def streams(learner: Learner, *, limit: int = MAX_EXAMPLES) -> st.SearchStrategy[tuple[Step, ...]]:
    """The steps of a game of SpecialRound with at most `limit` rounds, a special one before the last.

    One time in three all examples have the same point, and the special example is a mistake in one world
    only, after as many mistakes as may bring a learner that counts them close to a change.
    """
    rounds = getattr(learner, "rounds", None)
    limit = min(limit, rounds) if isinstance(rounds, int) else limit
    points = points_of(learner)
    times = _sample_from(counts_of(learner, limit))
    shown = st.builds(Show, _sample_from(points), _sample_from([0, 1, WITH, AGAINST]), times)
    examples = [(point, label) for point in points for label in (0, 1)]
    special = _two_different(examples).map(lambda two: Special(*two))
    anything = _stretches_around(special, shown, _MAX_STRETCHES - 1, limit)
    parts = st.tuples(_sample_from(points), times, _sample_from([0, 1]), _sample_from([AGAINST, WITH]), times)
    single_point = parts.map(lambda drawn: _shorten_steps(_single_point_steps(*drawn), limit))
    return st.one_of(anything, anything, single_point)


def _single_point_steps(point: Point, before: int, label: int, probes: str, after: int) -> list[Step]:
    special = Special((point, label), (point, 1 - label))
    return [Show(point, AGAINST, before), special, Show(point, probes, after)]


def choose_protocol(learner: Learner, protocol: str | None) -> str:
    """The protocol, by default the first of `STEPS` that the learner plays.

    Raises: InvalidArgument if the learner does not play it, or if it has one world.
    """
    if protocol is None:
        playable = [name for name in STEPS if name in learner.protocols]
        if not playable:
            raise InvalidArgument(
                f"{learner.name} plays no protocol of two worlds",
                value=", ".join(learner.protocols),
                remedy=f"A search needs one of {', '.join(STEPS)}.",
            )
        return playable[0]
    if protocol not in STEPS:
        reason = "has only one world" if protocol in REFEREES else "is not a protocol"
        raise InvalidArgument(f"{protocol} {reason}", remedy=f"A search needs one of {', '.join(STEPS)}.")
    if protocol not in learner.protocols:
        raise InvalidArgument(
            f"learner {learner.name} does not play {protocol}",
            remedy=f"It plays {', '.join(learner.protocols) or 'no protocol'}.",
        )
    return protocol


def adversaries(
    learner: Learner, protocol: str | None = None, *, max_rounds: int | None = None
) -> st.SearchStrategy[Script]:
    """Scripts for a protocol in which the worlds differ in something that the learner's claim protects.

    protocol: default: the first of Figure1, Release, Voting and SpecialRound that the learner plays.
    max_rounds: of a game; default: 256 queries, 64 examples.

    Raises: InvalidArgument if the claim protects nothing that can differ, or if no protocol is played.
    """
    protocol = protocol or choose_protocol(learner, None)
    protects = learner.claim.protects
    kinds: list[st.SearchStrategy[Script]] = []
    if protocol == "Release" and PrivacyUnit.TRAINING_EXAMPLE in protects:
        pairs = neighbours(learner)
        kinds = [pairs.map(lambda two: Script(protocol=protocol, world_0=two[0], world_1=two[1]))]
    if protocol == "SpecialRound" and PrivacyUnit.STREAM_EXAMPLE in protects:
        stream = streams(learner, limit=max_rounds or MAX_EXAMPLES)
        kinds = [stream.map(lambda steps: Script(protocol=protocol, steps=steps))]
    if protocol in ("Figure1", "Voting"):
        limit = max_rounds or MAX_QUERIES
        hands = PrivacyUnit.UNLABELLED_EXAMPLE in protects and protocol == "Figure1"
        if hands:
            kinds.append(_swap_unlabelled(learner, limit))
        if PrivacyUnit.TRAINING_EXAMPLE in protects:
            kinds.append(_swap_training(learner, protocol, limit))
        if PrivacyUnit.QUERY in protects and protocol == "Figure1":  # the points of Voting are public
            kinds.append(
                st.tuples(samples(learner), queries(learner, challenge=True, limit=limit)).map(
                    lambda drawn: Script(protocol=protocol, world_0=drawn[0], steps=drawn[1])
                )
            )
        if hands:
            kinds[1:] = [_add_unlabelled(learner, kind) for kind in kinds[1:]]
    if not kinds:
        raise InvalidArgument(
            f"{learner.name} protects nothing that can differ between the worlds of {protocol}",
            remedy=f"It protects {' and '.join(protects) or 'nothing'}.",
        )
    return st.one_of(kinds)


def _two_different(items: Sequence[T]) -> st.SearchStrategy[tuple[T, T]]:
    places = range(len(items))
    return _sample_from(places).flatmap(
        lambda a: _sample_from([b for b in places if b != a]).map(lambda b: (items[a], items[b]))
    )


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
