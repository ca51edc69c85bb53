"""Hypothesis strategies for legal games: samples, neighbours, and whole scripts.

All of them shrink towards few distinct points, few steps, small counts and no adaptivity.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import attrs
import numpy as np
from hypothesis import reject
from hypothesis import strategies as st

from arena import REFEREES, InvalidArgument, Learner, PrivacyUnit, Sample
from arena.capabilities import TrainsByNoisySteps, finite_domain
from arena.neighbours import REPLACING, Example
from arena.players import read_relation_of
from arena.step_scores import STEP_SCORES
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
    two_points,
)
from audits.adversary_search.script import STEPS, Point, Pull, Script, TrainingScript, as_point
from audits.adversary_search.step_strategies import (
    MAX_EXAMPLES,
    MAX_QUERIES,
    driven_queries,
    hand_over_points,
    list_directions,
    queries,
    queries_near,
    score_steps,
    streams,
)

_LONG = 1e6  # the length of a gradient that is clipped
_STEP_SCORES = (*STEP_SCORES, None)  # None: a score is chosen among those of all views, or learned
_MAX_ROWS = 64  # of the user's data
_MAX_RUNS = 6  # of a sample whose order matters
_MAX_SPREAD = 32  # distinct points of a sample
_LARGE_SIZE = 10_000
_CLEAR_SIZES = (20, 1_000)  # of samples whose answers are to be clear
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
    return st.tuples(list_of(part, 3), _sizes(learner))


def _sizes(learner: Learner) -> st.SearchStrategy[int]:
    if learner.sample_size is not None:
        return st.just(learner.sample_size)
    more = [count for count in counts_of(learner, MAX_QUERIES) if count not in _SMALL_SIZES]
    # Small samples are drawn more often, since each example matters more in them.
    return sample_from([*_SMALL_SIZES] * 3 + more)


def samples(learner: Learner, data: Sample | None = None) -> st.SearchStrategy[Sample]:
    """Samples of the size that the learner needs, or any.

    Most have up to three points with one label or both; the others are runs whose order may matter, some
    examples of the user's data, or have many distinct points, but not in a large sample, where single
    examples weigh little and cost much time.
    """
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
    size = draw(_sizes(learner))
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
    """Two samples that are neighbours by the learner's claim.

    If one example is replaced, it differs in its label, or in its point and perhaps its label.
    """
    return _neighbours(learner, data).map(lambda drawn: drawn[:2])


@st.composite
def _neighbours(
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
    worlds = _make_neighbours(learner, isolated, run, own, other)
    if relation.kind in REPLACING:
        worlds = sample, worlds[1]  # the same list as worlds[0], in fewer runs
    elif draw(st.booleans()):
        worlds = worlds[::-1]
    return *worlds, tuple(dict.fromkeys([own[0], other[0]]))


def _make_neighbours(
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


@st.composite
def _swap_training(
    draw: st.DrawFn, learner: Learner, protocol: str, limit: int, data: Sample | None
) -> Script:
    """A game of Figure1 or Voting in which the training sets differ, with many queries where they differ."""
    world_0, world_1, near = draw(_neighbours(learner, data))
    steps = draw(queries_near(learner, near, limit))
    return Script(protocol=protocol, world_0=world_0, world_1=world_1, steps=steps)


@st.composite
def _drive_answers(
    draw: st.DrawFn, learner: Learner, protocol: str, limit: int, *, challenge: bool
) -> Script:
    """A game in which clear answers come in a pattern before the worlds differ."""
    down, up = draw(two_points(learner))
    size = learner.sample_size or draw(st.sampled_from(_CLEAR_SIZES))
    if size < 3:
        reject()
    sample = Sample([down, up], [0, 1], [size - size // 2, size // 2])
    if challenge:
        steps = draw(driven_queries(learner, down, up, None, limit))
        return Script(protocol=protocol, world_0=sample, steps=steps)
    tested = draw(draw_points(learner))
    sample = Sample([down, up, tested], [0, 1, 0], [size - size // 2 - 1, size // 2, 1])
    worlds = _make_neighbours(learner, sample, 2, (tested, 0), (tested, 1))
    steps = draw(driven_queries(learner, down, up, tested, limit))
    return Script(protocol=protocol, world_0=worlds[0], world_1=worlds[1], steps=steps)


def _drive_kinds(learner: Learner, protocol: str, limit: int) -> list[st.SearchStrategy[Script]]:
    protects = learner.claim.protects
    challenges = [False] * (PrivacyUnit.TRAINING_EXAMPLE in protects)
    challenges += [True] * (PrivacyUnit.QUERY in protects and protocol == "Figure1")
    return [_drive_answers(learner, protocol, limit, challenge=challenge) for challenge in challenges]


def _train(learner: Learner, data: Sample | None) -> st.SearchStrategy[Script]:
    """Training runs on neighbours, most with canaries and scores of steps if the learner tells its steps."""
    runs = _neighbours(learner, data).map(
        lambda drawn: TrainingScript(protocol="TrainingRun", world_0=drawn[0], world_1=drawn[1])
    )
    if not isinstance(learner, TrainsByNoisySteps):
        return runs
    scored = st.tuples(runs, st.sampled_from(_STEP_SCORES)).map(
        lambda drawn: attrs.evolve(drawn[0], score=score_steps(learner, drawn[1]), updates=learner.steps)
    )
    canaries = _plant_canary(learner)
    return choose_from([canaries, canaries, canaries, scored])


@st.composite
def _plant_canary(draw: st.DrawFn, learner: Any) -> Script:
    """A training run in which all examples are equal, except for a canary in world 1."""
    common, own = draw(two_points(learner))
    others, relation = draw(_sizes(learner)) - 1, read_relation_of(learner)
    sample = Sample([common, own], [0, 1], [others, 1]) if others else Sample([own], [1])
    worlds = _make_neighbours(learner, sample, len(sample.counts) - 1, (own, 0), (own, 1))
    coordinates = draw(st.sampled_from(list_directions(learner.parameters)))
    length = draw(st.sampled_from((_LONG, _LONG, learner.clip, 0.0, None)))
    rest = draw(st.sampled_from((0.0, -_LONG, None)))
    sizes = {(own, 1): length, (common, 0): rest if others else None}
    if relation.kind in REPLACING and length is not None:
        sizes[own, 0] = -length
    return TrainingScript(
        protocol="TrainingRun",
        world_0=worlds[0],
        world_1=worlds[1],
        pulls=tuple(Pull(*example, coordinates, size) for example, size in sizes.items() if size is not None),
        parameters=learner.parameters,
        updates=learner.steps,
        score=score_steps(
            learner, draw(st.sampled_from(_STEP_SCORES)), coordinates, others if rest == -_LONG else 0
        ),
    )


def _swap_unlabelled(learner: Learner, limit: int) -> st.SearchStrategy[Script]:
    return st.tuples(
        samples(learner), hand_over_points(learner, challenge=True), queries(learner, limit=limit)
    ).map(lambda drawn: Script(protocol="Figure1", world_0=drawn[0], handed=drawn[1], steps=drawn[2]))


def _add_unlabelled(learner: Learner, kind: st.SearchStrategy[Script]) -> st.SearchStrategy[Script]:
    return st.tuples(kind, hand_over_points(learner)).map(lambda two: attrs.evolve(two[0], handed=two[1]))


def _cut_runs(kind: st.SearchStrategy[Script]) -> st.SearchStrategy[Script]:
    """Scripts whose training sets differ, two in five also in how they are divided into runs.

    Neighbours are neighbouring lists: the division is the adversary's choice.
    """
    return st.tuples(kind, sample_from(_PIECES)).map(lambda two: attrs.evolve(two[0], pieces=two[1]))


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
    learner: Learner,
    protocol: str | None = None,
    *,
    max_rounds: int | None = None,
    data: Sample | None = None,
) -> st.SearchStrategy[Script]:
    """Scripts for a protocol in which the worlds differ in something that the learner's claim protects.

    protocol: default: the first of Figure1, Release, Voting, TrainingRun and SpecialRound that the learner
        plays.
    max_rounds: of a game; default: 256 queries, 64 examples, or up to 1,024 if a setting is that large.
    data: the user's, whose examples occur in some samples, with points of the learner's shape.

    Raises: InvalidArgument if the claim protects nothing that can differ, or if no protocol is played.
    """
    protocol = protocol or choose_protocol(learner, None)
    protects = learner.claim.protects
    kinds: list[st.SearchStrategy[Script]] = []
    if protocol == "Release" and PrivacyUnit.TRAINING_EXAMPLE in protects:
        pairs = neighbours(learner, data)
        scripts = pairs.map(lambda two: Script(protocol=protocol, world_0=two[0], world_1=two[1]))
        kinds = [_cut_runs(scripts)]
    if protocol == "TrainingRun" and PrivacyUnit.TRAINING_EXAMPLE in protects:
        kinds = [_cut_runs(_train(learner, data))]
    if protocol == "SpecialRound" and PrivacyUnit.STREAM_EXAMPLE in protects:
        stream = streams(learner, limit=max_rounds or round_limit(learner, MAX_EXAMPLES))
        kinds = [stream.map(lambda steps: Script(protocol=protocol, steps=steps))]
    if protocol in ("Figure1", "Voting"):
        limit = max_rounds or round_limit(learner, MAX_QUERIES)
        if PrivacyUnit.TRAINING_EXAMPLE in protects:
            kinds.append(_cut_runs(_swap_training(learner, protocol, limit, data)))
        if PrivacyUnit.QUERY in protects and protocol == "Figure1":  # the points of Voting are public
            kinds.append(
                st.tuples(samples(learner, data), queries(learner, challenge=True, limit=limit)).map(
                    lambda drawn: Script(protocol=protocol, world_0=drawn[0], steps=drawn[1])
                )
            )
        kinds = [*kinds * 2, *_drive_kinds(learner, protocol, limit)]
        if PrivacyUnit.UNLABELLED_EXAMPLE in protects and protocol == "Figure1":
            kinds = [_add_unlabelled(learner, kind) for kind in kinds]
            kinds = [*[_swap_unlabelled(learner, limit)] * 2, *kinds]
    if not kinds:
        raise InvalidArgument(
            f"{learner.name} protects nothing that can differ between the worlds of {protocol}",
            remedy=f"It protects {' and '.join(protects) or 'nothing'}.",
        )
    return choose_from(kinds)
