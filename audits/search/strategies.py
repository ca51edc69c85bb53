"""Hypothesis strategies for legal games: samples, neighbours, queries, streams, whole adversaries.

All of them shrink towards few distinct points, few steps, small counts and no adaptivity.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TypeVar

import attrs
import numpy as np
from hypothesis import strategies as st

from arena import InvalidArgument, Learner, PrivacyUnit, Sample
from arena.capabilities import finite_domain
from audits.search.script import (
    AGAINST,
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

MOST_ROUNDS = 256
MOST_OBSERVED = 64
_MOST_POINTS = 16
_MOST_STRETCHES = 3  # before the challenge, and after it
_SMALL = range(1, 9)
_LABELS = ((0,), (1,), (0, 1))
_SINGLE = 0
_SHARES = (1, 2, 3, _SINGLE)  # of the sample, relative to those of its other parts; or one example alone
# From a hundred on Hypothesis mixes numbers in which it finds in the modules that happen to be loaded, and
# the same seed would not draw the same games.
_FEW = 99


def _of(items: Iterable[T]) -> st.SearchStrategy[T]:
    return st.sampled_from(list(items)[:_FEW])


def _few_of(items: st.SearchStrategy[T], most: int) -> st.SearchStrategy[list[T]]:
    """One to `most` of them, about as often one as several."""
    return st.one_of(
        st.lists(items, min_size=1, max_size=1),
        st.lists(items, min_size=1, max_size=most),
        st.lists(items, min_size=2, max_size=most),
    )


@lru_cache(maxsize=64)
def points_of(learner: Learner) -> tuple[Point, ...]:
    """Points worth asking about: `some_points`, and between them where they are numbers of no finite
    domain."""
    some = [as_point(point) for point in learner.some_points]
    if not learner.point_shape and finite_domain(learner) is None:
        edges = np.unique(learner.some_points)
        some += [as_point(middle) for middle in (edges[1:] + edges[:-1]) / 2]
    return tuple(dict.fromkeys(some))[:_MOST_POINTS]


@lru_cache(maxsize=64)
def counts_of(learner: Learner, most: int) -> tuple[int, ...]:
    """How often things may be repeated: 1 to 20, and the whole-number settings of the learner with their
    neighbours, up to `most`. Constants of a program are where its behaviour turns."""
    settings = [getattr(learner, field.name) for field in attrs.fields(type(learner))]
    whole = [value for value in settings if isinstance(value, int) and not isinstance(value, bool)]
    near = {value + step for value in whole for step in (-1, 0, 1)}
    return tuple(sorted(count for count in near | set(range(1, 21)) if 1 <= count <= most))


def samples(learner: Learner) -> st.SearchStrategy[Sample]:
    """Samples of as many examples as the learner needs, or of a few if any number will do: up to three
    points, each with either label or with both alike, in shares of the whole or single."""
    return _samples(learner)


@lru_cache(maxsize=64)
def _parts(learner: Learner) -> st.SearchStrategy[tuple[list[tuple[Point, tuple[int, ...], int]], int]]:
    """The parts of a sample, and its size."""
    # Made once: to make and check a strategy takes longer than to draw from it.
    part = st.tuples(_of(points_of(learner)), _of(_LABELS), _of(_SHARES))
    parts = _few_of(part, 3)
    if learner.sample_size is not None:
        return st.tuples(parts, st.just(learner.sample_size))
    more = [count for count in counts_of(learner, MOST_ROUNDS) if count not in _SMALL]
    # One example weighs the more the fewer there are.
    return st.tuples(parts, _of([*_SMALL, *_SMALL, *_SMALL, *more]))


@st.composite
def _samples(draw: st.DrawFn, learner: Learner) -> Sample:
    parts, size = draw(_parts(learner))
    runs = [(point, label, share) for point, labels, share in parts for label in labels]
    counts = _divided([share for _, _, share in runs], size)
    kept = [(point, label, n) for (point, label, _), n in zip(runs, counts, strict=True) if n]
    points, labels, held = zip(*kept, strict=True)
    return Sample(np.array(points), labels, held)


def _divided(shares: Sequence[int], size: int) -> list[int]:
    """Whole numbers that add up to `size`, in these shares; what is left over goes to the first."""
    if not any(shares):
        shares = [1] * len(shares)
    single = [int(share == _SINGLE) for share in shares]
    rest = max(size - sum(single), 0)
    counts = [rest * share // sum(shares) + one for share, one in zip(shares, single, strict=True)]
    ahead = 0
    for place, count in enumerate(counts):  # of a tiny sample not every part gets an example
        counts[place] = min(count, size - ahead)
        ahead += counts[place]
    counts[0 if counts[0] else shares.index(max(shares))] += size - ahead
    return counts


def neighbours(learner: Learner) -> st.SearchStrategy[tuple[Sample, Sample]]:
    """Two samples that differ in one place: its label, or its point and perhaps its label."""
    return _neighbours(learner).map(lambda drawn: drawn[:2])


@st.composite
def _neighbours(draw: st.DrawFn, learner: Learner) -> tuple[Sample, Sample, tuple[Point, ...]]:
    """Neighbours, and the points of the example in which they differ."""
    sample = draw(_samples(learner))
    place = draw(st.integers(0, 2 * len(sample.counts) - 1))
    run, first = place % len(sample.counts), place >= len(sample.counts)
    own = as_point(sample.points[run]), int(sample.labels[run])
    points = dict.fromkeys([own[0], *points_of(learner)])
    others = [(point, label) for point in points for label in (1 - own[1], own[1]) if (point, label) != own]
    # One time in three the label alone changes, which is what most learners look at.
    often = len(others) // 2
    other = others[max(0, draw(st.integers(0, len(others) - 1 + often)) - often)]
    apart = _with_first_apart(sample, run) if first else sample
    return sample, apart.replace_one(run, *other), tuple(dict.fromkeys([own[0], other[0]]))


def _with_first_apart(sample: Sample, run: int) -> Sample:
    """The same sample with a run of its own for the first example of `run`: some learners mind order."""
    if sample.counts[run] == 1:
        return sample
    points, labels = (np.insert(array, run, array[run], axis=0) for array in (sample.points, sample.labels))
    counts = np.insert(sample.counts, run, 1)
    counts[run + 1] -= 1
    return Sample(points, labels, counts)


def queries(
    learner: Learner, *, challenge: bool = False, most: int = MOST_ROUNDS
) -> st.SearchStrategy[tuple[Step, ...]]:
    """The steps of a game of Figure 1, of at most `most` queries; with `challenge` one of them differs."""
    if not challenge:
        return _queries_near(learner, (), most)
    step = _query(learner, (), most)
    apart = _two_of(points_of(learner)).map(lambda two: Challenge(*two))
    return st.tuples(
        st.lists(step, max_size=_MOST_STRETCHES), apart, st.lists(step, min_size=1, max_size=_MOST_STRETCHES)
    ).map(lambda parts: _fitting([*parts[0], parts[1], *parts[2]], most))


@lru_cache(maxsize=512)
def _queries_near(
    learner: Learner, near: tuple[Point, ...], most: int
) -> st.SearchStrategy[tuple[Step, ...]]:
    """The steps of a game without a challenge, every other query at a point of `near`."""
    return _few_of(_query(learner, near, most), _MOST_STRETCHES).map(lambda steps: _fitting(steps, most))


def _query(learner: Learner, near: tuple[Point, ...], most: int) -> st.SearchStrategy[Step]:
    some = points_of(learner)
    points = _of([*near * (len(some) // max(1, len(near))), *some])
    times = _of(counts_of(learner, most))
    return st.one_of(st.builds(Ask, points, times), st.builds(Follow, points, points, times))


@st.composite
def _in_training(draw: st.DrawFn, learner: Learner, protocol: str, most: int) -> Script:
    """A game of Figure 1 or Voting in which training sets differ, and what it asks is often where they do."""
    world_0, world_1, near = draw(_neighbours(learner))
    steps = draw(_queries_near(learner, near, most))
    return Script(protocol=protocol, world_0=world_0, world_1=world_1, steps=steps)


def unlabelled(learner: Learner, *, challenge: bool = False) -> st.SearchStrategy[tuple[Hand, ...]]:
    """Unlabelled points to hand over before the queries; with `challenge` one of them differs."""
    points = points_of(learner)
    some = st.lists(st.builds(Hand, _of(points), times=_of(counts_of(learner, MOST_ROUNDS))), max_size=2)
    if not challenge:
        return some.map(tuple)
    apart = _two_of(points).map(lambda two: Hand(*two))
    return st.tuples(some, apart, some).map(lambda parts: (*parts[0], parts[1], *parts[2]))


def _in_unlabelled(learner: Learner, most: int) -> st.SearchStrategy[Script]:
    """A game of Figure 1 in which one unlabelled point differs."""
    return st.tuples(samples(learner), unlabelled(learner, challenge=True), queries(learner, most=most)).map(
        lambda drawn: Script(protocol="Figure1", world_0=drawn[0], handed=drawn[1], steps=drawn[2])
    )


def _with_unlabelled(learner: Learner, kind: st.SearchStrategy[Script]) -> st.SearchStrategy[Script]:
    """The games of a kind, with unlabelled points handed over in them."""
    return st.tuples(kind, unlabelled(learner)).map(lambda two: attrs.evolve(two[0], handed=two[1]))


def streams(learner: Learner, *, most: int = MOST_OBSERVED) -> st.SearchStrategy[tuple[Step, ...]]:
    """The steps of a game of SpecialRound of at most `most` rounds, of which one is special and not the
    last. One time in three all are of one point, and the special example is a mistake or is none, amid as
    many as may bring a learner that counts them to the brink."""
    rounds = getattr(learner, "rounds", None)
    most = min(most, rounds) if isinstance(rounds, int) else most
    points = points_of(learner)
    shown = st.builds(Show, _of(points), _of([0, 1, WITH, AGAINST]), _of(counts_of(learner, most)))
    examples = [(point, label) for point in points for label in (0, 1)]
    special = _two_of(examples).map(lambda two: Special(*two))
    anything = st.tuples(
        st.lists(shown, max_size=_MOST_STRETCHES - 1),
        special,
        st.lists(shown, min_size=1, max_size=_MOST_STRETCHES - 1),
    ).map(lambda parts: _fitting([*parts[0], parts[1], *parts[2]], most))
    times = _of(counts_of(learner, most))
    at_brink = st.tuples(_of(points), times, _of([0, 1]), _of([AGAINST, WITH]), times).map(
        lambda drawn: _fitting(_brink(*drawn), most)
    )
    return st.one_of(anything, anything, at_brink)


def _brink(point: Point, before: int, label: int, probes: str, after: int) -> list[Step]:
    special = Special((point, label), (point, 1 - label))
    return [Show(point, AGAINST, before), special, Show(point, probes, after)]


def adversaries(
    learner: Learner, protocol: str, *, most_rounds: int | None = None
) -> st.SearchStrategy[Script]:
    """Adversaries of a protocol whose challenges the learner's claim protects.

    most_rounds: of a game; default: 256 queries, 64 examples.

    Raises: InvalidArgument if the claim protects nothing that can differ under the protocol.
    """
    protects = learner.claim.protects
    kinds: list[st.SearchStrategy[Script]] = []
    if protocol == "Release" and PrivacyUnit.TRAINING_EXAMPLE in protects:
        kinds = [
            neighbours(learner).map(lambda two: Script(protocol=protocol, world_0=two[0], world_1=two[1]))
        ]
    if protocol == "SpecialRound" and PrivacyUnit.STREAM_EXAMPLE in protects:
        stream = streams(learner, most=most_rounds or MOST_OBSERVED)
        kinds = [stream.map(lambda steps: Script(protocol=protocol, steps=steps))]
    if protocol in ("Figure1", "Voting"):
        most = most_rounds or MOST_ROUNDS
        hands = PrivacyUnit.UNLABELLED_EXAMPLE in protects and protocol == "Figure1"
        if hands:
            kinds.append(_in_unlabelled(learner, most))
        if PrivacyUnit.TRAINING_EXAMPLE in protects:
            kinds.append(_in_training(learner, protocol, most))
        if PrivacyUnit.QUERY in protects and protocol == "Figure1":  # the points of Voting are public
            kinds.append(
                st.tuples(samples(learner), queries(learner, challenge=True, most=most)).map(
                    lambda drawn: Script(protocol=protocol, world_0=drawn[0], steps=drawn[1])
                )
            )
        if hands:
            kinds[1:] = [_with_unlabelled(learner, kind) for kind in kinds[1:]]
    if not kinds:
        raise InvalidArgument(
            f"{learner.name} promises nothing that could differ under {protocol}",
            remedy=f"It protects {' and '.join(protects) or 'nothing'}.",
        )
    return st.one_of(kinds)


def _two_of(items: Sequence[T]) -> st.SearchStrategy[tuple[T, T]]:
    """Two different ones."""
    places = [(a, b) for a in range(len(items)) for b in range(len(items)) if a != b]
    return _of(range(len(items))).flatmap(
        lambda a: _of([b for x, b in places if x == a]).map(lambda b: (items[a], items[b]))
    )


def _fitting(steps: Sequence[Step], most: int) -> tuple[Step, ...]:
    """The steps with their repeats cut: a game has at most `most` rounds, and every step at least one. Equal
    steps in a row become one."""
    left = most - len(steps)
    fitting: list[Step] = []
    for step in steps:
        times = min(step.rounds, left + 1)
        left -= times - 1
        step = step if times == step.rounds else step.cut(times)
        if fitting and _alike(fitting[-1], step):
            step = step.cut(fitting.pop().rounds + times)
        fitting.append(step)
    return tuple(fitting)


def _alike(one: Step, other: Step) -> bool:
    """Whether they differ at most in how often they are made."""
    return hasattr(one, "times") and type(one) is type(other) and one.cut(1) == other.cut(1)
