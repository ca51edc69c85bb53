"""Hypothesis strategies for legal games: samples, neighbours, and whole scripts.

All of them shrink towards few distinct points, few steps, small counts and no adaptivity.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import attrs
import numpy as np
from hypothesis import reject
from hypothesis import strategies as st

from arena import REFEREES, InvalidArgument, Learner, Sample
from arena.claims import REPLACING, Example
from arena.players import finite_domain, read_relation_of
from audits.adversary_search.point_strategies import (
    choose_from,
    counts_of,
    draw_other_points,
    draw_points,
    far_points_of,
    list_of,
    points_of,
    round_limit,
    sample_from,
)
from audits.adversary_search.script import SPACES, Point, Script, as_point

MAX_QUERIES = 256  # of a game, unless a setting of the learner is larger; of copies of an example
_MAX_ROWS = 64  # of the user's data
_MAX_RUNS = 6  # of a sample whose order matters
_MAX_SPREAD = 32  # distinct points of a sample
_LARGE_SIZE = 10_000
_SMALL_SIZES = range(1, 9)
_LABELS = ((0,), (1,), (0, 1))
_PIECES = (None, None, None, 1, 16)  # of each run of world 0, which a learner must not notice
_EITHER_LABEL = st.sampled_from([0, 1])
_KINDS_OF_CHANGES = st.sampled_from([False, True, True])
_SINGLE = 0
_SHARES = (1, 2, 3, _SINGLE)  # relative sizes of the parts of a sample; or a single example


@lru_cache(maxsize=64)
def _parts(learner: Learner) -> st.SearchStrategy[tuple[list[tuple[Point, tuple[int, ...], int]], int]]:
    # Cached, because building and checking a strategy takes longer than drawing from it.
    part = st.tuples(draw_points(learner), sample_from(_LABELS), sample_from(_SHARES))
    return st.tuples(list_of(part, 3), draw_sizes(learner))


def draw_sizes(learner: Learner) -> st.SearchStrategy[int]:
    if learner.sample_size is not None:
        return st.just(learner.sample_size)
    more = [count for count in counts_of(learner, MAX_QUERIES) if count not in _SMALL_SIZES]
    # Small samples are drawn more often, since each example matters more in them.
    return sample_from([*_SMALL_SIZES] * 3 + more)


def samples(learner: Learner, data: Sample | None = None) -> st.SearchStrategy[Sample]:
    """Samples of the size that the learner needs, or any: most with up to three points; the others are runs
    whose order may matter, some examples of the user's data, or, unless they are large, many points."""
    few = _few_points(learner)
    others = [_runs(learner)]
    if (learner.sample_size or 0) <= _LARGE_SIZE:
        others.append(_many_points(learner))
    if data is not None:
        others += [_rows_of(learner, data)] * 2
    return st.one_of(few, few, few, *others)


@lru_cache(maxsize=64)
def _list_examples(data: Sample) -> tuple[Example, ...]:
    """Distinct examples of the user's data, evenly spread."""
    rows = np.linspace(0, len(data.counts) - 1, min(len(data.counts), _MAX_ROWS)).astype(int)
    listed = [(as_point(data.points[row]), int(data.labels[row])) for row in rows]
    return tuple(dict.fromkeys(listed))


@st.composite
def _rows_of(draw: st.DrawFn, learner: Learner, data: Sample) -> Sample:
    """Some examples of the user's data, the last of them as often as the size asks for."""
    size = learner.sample_size
    rows = draw(list_of(sample_from(_list_examples(data)), _MAX_RUNS))[:size]
    counts = np.ones(len(rows), int)
    counts[-1] += 0 if size is None else size - len(rows)
    points, labels = zip(*rows, strict=True)
    return Sample(np.array(points), labels, counts)


@st.composite
def _runs(draw: st.DrawFn, learner: Learner) -> Sample:
    """Runs of examples, perhaps repeated; the last run fills the size that the learner needs."""
    times = sample_from(counts_of(learner, MAX_QUERIES))
    drawn = draw(list_of(st.tuples(draw_points(learner), st.sampled_from([0, 1]), times), _MAX_RUNS))
    if draw(st.booleans()):  # half up, half down, and so on
        point, label, count = drawn[0]
        drawn = [(point, label, count), (point, 1 - label, count)] * len(drawn)
    size = learner.sample_size
    if size is not None:
        ends = np.minimum(np.cumsum([count for _, _, count in drawn]), size)
        ends[-1] = size
        counts = np.diff(ends, prepend=0).tolist()
        drawn = [(point, label, n) for (point, label, _), n in zip(drawn, counts, strict=True) if n]
    points, labels, counts = zip(*drawn, strict=True)
    return Sample(np.array(points), labels, counts)


@st.composite
def _many_points(draw: st.DrawFn, learner: Learner) -> Sample:
    """Distinct points: of a finite domain; 0, 1, 2, … or fractions; of vectors, those with one entry."""
    size = draw(draw_sizes(learner))
    places = np.arange(min(size, _MAX_SPREAD))
    domain = finite_domain(learner)
    usual = [*points_of(learner), *far_points_of(learner)]
    if domain is not None or learner.point_shape:
        points = np.array(usual)[places % len(usual)]
    else:
        low, high = learner.domain or (0.0, float(draw(st.sampled_from([1, len(places)]))))
        points = low + (high - low) * places / len(places)
    labels = draw(st.sampled_from([0 * places, 0 * places + 1, places % 2, 1 * (places < len(places) // 2)]))
    counts = np.ones(len(places), int)
    counts[-1] += size - len(places)
    return Sample(points, labels, counts)


@st.composite
def _few_points(draw: st.DrawFn, learner: Learner) -> Sample:
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


def neighbours(learner: Learner, data: Sample | None = None) -> st.SearchStrategy[tuple[Sample, Sample]]:
    """Two samples that are neighbours by the learner's claim. If one example is replaced, it differs in its
    label, or in its point and perhaps its label."""
    return draw_neighbours(learner, data).map(lambda drawn: drawn[:2])


@st.composite
def draw_neighbours(
    draw: st.DrawFn, learner: Learner, data: Sample | None
) -> tuple[Sample, Sample, tuple[Point, ...]]:
    """Neighbouring samples, and the points of the example in which they differ."""
    sample = draw(samples(learner, data))
    place = draw(st.integers(0, 2 * len(sample.counts) - 1))
    run, first = place % len(sample.counts), place >= len(sample.counts)
    own = as_point(sample.points[run]), int(sample.labels[run])
    # One time in three only the label changes, since most learners depend on labels.
    other = own[0], 1 - own[1]
    if draw(_KINDS_OF_CHANGES):
        points = [draw_other_points(learner)]
        if data is not None:
            points.append(sample_from(dict.fromkeys(point for point, _ in _list_examples(data))))
        other = draw(st.one_of(points)), draw(_EITHER_LABEL)
        if other == own:
            other = own[0], 1 - own[1]
    isolated = _isolate_first(sample, run) if first else sample
    relation = read_relation_of(learner)
    worlds = make_neighbours(learner, isolated, run, own, other)
    if relation.kind in REPLACING:
        worlds = sample, worlds[1]  # the same list as worlds[0], in fewer runs
    elif draw(st.booleans()):
        worlds = worlds[::-1]
    return *worlds, tuple(dict.fromkeys([own[0], other[0]]))


def make_neighbours(
    learner: Learner, sample: Sample, run: int, first: Example, second: Example
) -> tuple[Sample, Sample]:
    try:
        return read_relation_of(learner).make_neighbours(sample, run, first, second, learner.users_of)
    except InvalidArgument:  # the sample has one user only
        reject()


def _isolate_first(sample: Sample, run: int) -> Sample:
    """The same sample with the first example of `run` on its own, since learners may depend on the order."""
    if sample.counts[run] == 1:
        return sample
    points, labels = (np.insert(array, run, array[run], axis=0) for array in (sample.points, sample.labels))
    counts = np.insert(sample.counts, run, 1)
    counts[run + 1] -= 1
    return Sample(points, labels, counts)


def cut_runs(kind: st.SearchStrategy[Script]) -> st.SearchStrategy[Script]:
    """Scripts whose training sets differ, two in five also in how they are divided into runs. Neighbours are
    neighbouring lists: the division is the adversary's choice."""
    return st.tuples(kind, sample_from(_PIECES)).map(lambda two: attrs.evolve(two[0], pieces=two[1]))


def choose_protocol(learner: Learner, protocol: str | None) -> str:
    """The protocol, by default the first that the learner names and a search can play.
    Raises: InvalidArgument if the learner does not play it, or if it has one world."""
    if protocol is None:
        playable = [name for name in learner.protocols if name in SPACES]
        if not playable:
            raise InvalidArgument(
                f"{learner.own_name} plays no protocol of two worlds",
                value=", ".join(learner.protocols),
                remedy=f"A search needs one of {', '.join(SPACES)}.",
            )
        return playable[0]
    if protocol not in SPACES:
        reason = "has only one world" if protocol in REFEREES else "is not a protocol"
        raise InvalidArgument(f"{protocol} {reason}", remedy=f"A search needs one of {', '.join(SPACES)}.")
    if protocol not in learner.protocols:
        raise InvalidArgument(
            f"learner {learner.own_name} does not play {protocol}",
            remedy=f"It plays {', '.join(learner.protocols) or 'no protocol'}.",
        )
    return protocol


def adversaries(
    learner: Learner,
    protocol: str | None = None,
    *,
    max_rounds: int | None = None,
    data: Sample | None = None,
) -> st.SearchStrategy[Script]:
    """Scripts for a protocol in which the worlds differ in something that the learner's claim protects.
    max_rounds: of a game; default: those of its `SearchSpace`, or up to 1,024 if a setting is that large.
    data: the user's. Raises: InvalidArgument if nothing protected can differ, or no protocol is played."""
    protocol = protocol or choose_protocol(learner, None)
    space = SPACES[protocol]
    kinds = space.draw(learner, protocol, max_rounds or round_limit(learner, space.rounds), data)
    if not kinds:
        raise InvalidArgument(
            f"{learner.own_name} protects nothing that can differ between the worlds of {protocol}",
            remedy=f"It protects {' and '.join(learner.claim.protects) or 'nothing'}.",
        )
    return choose_from(kinds)
