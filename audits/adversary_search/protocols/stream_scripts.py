"""Searches under Stream and FixedStream: streams with a record, or those of a user, that differ, and records
that depend on what was published."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from typing import Any

import attrs
import numpy as np
from hypothesis import reject
from hypothesis import strategies as st

from arena import FixedStream, InvalidArgument, Learner, PrivacyUnit, Sample, Stream, Training
from arena.capabilities import read_schema
from arena.claims import Neighbours, Relation
from arena.errors import RAISED, is_published_error
from arena.players import read_relation_of
from arena.randomness import block_seed, generator
from arena.records import BLANK_RECORD, Records, record_key
from arena.schemas.schema import Schema
from audits.adversary_search.code_constants import list_code_values, list_constants
from audits.adversary_search.point_strategies import (
    constant_points_of,
    far_points_of,
    points_of,
    round_limit,
    sample_from,
)
from audits.adversary_search.protocols.clipped_sum import list_clipped_sums
from audits.adversary_search.protocols.stream_steps import (
    SWAP_SCORES,
    Arrivals,
    Differ,
    React,
    SteeredScript,
    StreamRecords,
    SwapScore,
)
from audits.adversary_search.records.field_values import list_prominent, offer_constants
from audits.adversary_search.records.obvious_records import list_sizes, list_users
from audits.adversary_search.records.record_strategies import neighbouring_records
from audits.adversary_search.script import INTERACTIVE, SPACES, Point, Script, SearchSpace, Step

Pair = tuple[StreamRecords, StreamRecords]

MAX_ROUNDS = 20  # of a stream, unless a setting of the learner is larger
_SIZES = (1, 2, 3, 4, 2, 3, 4, 5, 6, 8, 8, 12, 16, 20)
_LONG_SIZES = (32, 64, 128, 256)
_OBVIOUS_SIZES = (2, 8, 4, 3, 20, 16, 32)
_MOST_OBVIOUS = 24
_MOST_POINTS = 99  # Hypothesis mixes other things into longer lists
_TRIED_GAMES = 4  # which show after how many rounds a learner raises
_MOST_POOL = 6  # records of the obvious streams
_ONE_IN = 4  # streams whose records depend on what was published
_PLACES = (-1, 0, 1)  # of numbers of a release
_CUTS = (0.5, 0.0, 1.0, 2.0, 3.0, 5.0, 10.0)  # of a published number


@attrs.frozen
class RecordKit:
    """The records of which streams are made.

    pool: the records, the simplest first. join: joins rounds of them, where None stands for no record.
    most, least: the rounds of a stream.
    usual: those after which the learner seems to raise, whatever arrives.
    schema: of a learner that receives records.
    """

    pool: tuple[Any, ...]
    join: Callable[[Sequence[Any]], StreamRecords]
    most: int
    usual: int
    constants: tuple[Any, ...] = ()
    least: int = 0
    schema: Schema | None = None

    @property
    def is_free(self) -> bool:
        """Whether any records may follow each other."""
        if self.schema is None or self.schema.drawable is None:
            return True
        return self.schema.drawable.is_free and not self.schema.unique

    def allows(self, pair: Pair) -> bool:
        """Whether the user's strategy, if there is one, draws these streams."""
        return self.schema is None or all(
            self.schema.can_draw(stream) for stream in pair if isinstance(stream, Records)
        )


@lru_cache(maxsize=64)
def make_kit(learner: Learner, limit: int) -> RecordKit:
    """The records for a learner, in streams of at most `limit` rounds."""
    schema, rounds = read_schema(learner), getattr(learner, "rounds", None)
    most = min(limit, rounds) if isinstance(rounds, int) else limit
    if schema is None and learner.receives_records:
        raise InvalidArgument(
            f"{learner.own_name} needs a strategy of its records",
            remedy="Give data=, such as st.integers(0, 1), or audits.records(..., max_size=8).",
        )
    if schema is None:
        points = (*points_of(learner), *far_points_of(learner), *constant_points_of(learner)[0])
        zero = (np.zeros(learner.point_shape) + 0.0).tolist()
        zero = tuple(zero) if isinstance(zero, list) else zero
        join = partial(_join_points, zero)
        return RecordKit(tuple(dict.fromkeys(points)), join, most, most, list_constants(learner))
    kind = read_relation_of(learner).kind  # the schema says what it lacks for it
    if kind is Neighbours.ADD_OR_REMOVE_USER:
        list_users(schema)
    if kind in (*_BLANKING, Neighbours.ADD_OR_REMOVE_USER):
        schema.fill_blanks([BLANK_RECORD])
    most = most if schema.largest is None else min(most, schema.largest)
    constants = list_code_values(learner)
    examples = offer_constants(schema, constants)[0].examples
    offered = offer_constants(schema, constants)[1]
    pool = {record_key(record): record for record in (*list_prominent(examples), *offered, *examples)}
    records = tuple(pool.values())[:_MOST_POINTS]
    usual = max(_find_horizon(learner, records[:2], most), min(schema.min_size, most))
    return RecordKit(records, _join_records, most, usual, constants, schema.min_size, schema)


def _find_horizon(learner: Learner, records: Sequence[Any], most: int) -> int:
    """The rounds after which a learner raises in some games on each of a few constant streams."""
    lengths = []
    for record in records:
        try:
            state = learner.start(_TRIED_GAMES, generator(block_seed(0, 0)))
        except RAISED:  # in games, this is a failure of the learner
            return most
        training = Training.of([Records([record], [most])], np.zeros(_TRIED_GAMES, np.intp))
        raised = [any(map(is_published_error, releases)) for releases in state.update_many(training)]
        lengths.append(raised.index(True) if True in raised else most)
    return max(1, max(lengths)) if len(set(lengths)) == 1 else most


_BLANKING = (Neighbours.ZERO_OUT_ONE, Neighbours.ADD_OR_REMOVE_ONE)


def _join_points(zero: Point, records: Sequence[Any]) -> StreamRecords:
    return tuple(zero if record is None else record for record in records)


def _join_records(records: Sequence[Any]) -> StreamRecords:
    return Records([BLANK_RECORD if record is None else record for record in records])


def _change(kit: RecordKit, relation: Relation, base: Sequence[Any], places: Sequence[int], new: Any) -> Pair:
    """The stream with other records at these places, where one world has none if neighbours blank them."""
    first, second = list(base), list(base)
    for place in places:
        second[place] = new
        if relation.kind in _BLANKING:
            first[place] = None
    return kit.join(first), kit.join(second)


@st.composite
def _draw_base(draw: st.DrawFn, kit: RecordKit) -> list[Any]:
    """The records of a stream: constant, alternating, in two halves, or any of a few."""
    sizes = [size for size in (*_SIZES, *list_sizes(kit.constants)) if size <= kit.usual]
    longer = [size for size in (*_LONG_SIZES, kit.most) if min(MAX_ROUNDS, kit.usual) < size <= kit.most]
    fitting = [size for size in (*sizes, *longer) if size >= kit.least]
    size = draw(sample_from(fitting or [kit.most]))
    prominent = kit.pool[:_MOST_POOL]
    few = draw(st.lists(st.one_of(sample_from(prominent), sample_from(kit.pool)), min_size=1, max_size=3))
    form = draw(sample_from(["constant", "constant", "turns", "halves", "any"]))
    if form == "constant" or len(few) == 1:
        return [few[0]] * size
    if form == "turns":
        return [few[place % len(few)] for place in range(size)]
    if form == "halves":
        return [few[place * len(few) // size] for place in range(size)]
    return [draw(sample_from(few)) for _ in range(size)]


@st.composite
def _draw_pair(draw: st.DrawFn, kit: RecordKit, relation: Relation) -> Pair:
    base = draw(_draw_base(kit))
    number = min(len(base), draw(sample_from([relation.size, relation.size, 1])))
    start = draw(st.one_of(st.integers(0, len(base) - number), sample_from([0, len(base) - number])))
    spread = number > 1 and draw(st.booleans())
    places = np.linspace(0, len(base) - 1, number).astype(int) if spread else range(start, start + number)
    new = draw(st.one_of(sample_from(kit.pool[:_MOST_POOL]), sample_from(kit.pool)))
    pair = _change(kit, relation, base, list(places), new)
    if pair[0] == pair[1] or not kit.allows(pair):
        reject()
    return pair[::-1] if relation.kind in _BLANKING and draw(st.booleans()) else pair


def _draw_user(schema: Schema, relation: Relation, most: int) -> st.SearchStrategy[Pair]:
    """Streams of which one lacks the records of one user."""

    def align(pair: tuple[Records, Records]) -> Pair:
        shorter, longer = sorted(pair, key=lambda records: records.size)
        if longer.size > most:
            reject()
        rows, kept = longer.rows(), set(schema.users_of(shorter.rows()).tolist())
        owners = schema.users_of(rows).tolist()
        blanked = Records(
            [row if who in kept else BLANK_RECORD for row, who in zip(rows, owners, strict=True)]
        )
        return (blanked, Records(rows)) if pair[0] is shorter else (Records(rows), blanked)

    return neighbouring_records(schema, relation).map(align)


def _draw_streams(
    learner: Learner, protocol: str, limit: int, data: Sample | None
) -> list[st.SearchStrategy[Script]]:
    if PrivacyUnit.STREAM_EXAMPLE not in learner.claim.protects:
        return []
    kit, relation, schema = make_kit(learner, limit), read_relation_of(learner), read_schema(learner)
    if relation.kind is not Neighbours.ADD_OR_REMOVE_USER:
        pairs = _draw_pair(kit, relation)
    elif schema is not None:
        pairs = _draw_user(schema, relation, kit.most)
    else:
        raise InvalidArgument(
            "searches add or remove the user of a stream only for learners that receive records",
            value=learner.own_name,
        )
    fixed = pairs.map(lambda pair: Script(protocol=protocol, steps=(Arrivals(*pair),)))
    if (
        not kit.is_free
        or protocol == FixedStream.name
        or kit.most < 2
        or relation.kind is Neighbours.ADD_OR_REMOVE_USER
    ):
        return [fixed]
    return [*[fixed] * (_ONE_IN - 1), _draw_adaptive(kit, relation, pairs, protocol)]


@st.composite
def _draw_adaptive(
    draw: st.DrawFn, kit: RecordKit, relation: Relation, pairs: st.SearchStrategy[Pair], protocol: str
) -> Script:
    """A stream whose records, or the round of the difference, depend on what was published before."""
    condition: dict[str, Any] = {"place": draw(sample_from(_PLACES)), "cut": draw(sample_from(_CUTS))}
    simple = sample_from(kit.pool[:_MOST_POOL]).map(lambda record: kit.join([record]))
    left = kit.most
    steps: list[Step] = []
    for kind in ["before", "differ", "after"] if relation.size == 1 else ["pair", "after"]:
        times = min(left - (kind == "before"), draw(st.integers(1, 8)))
        if times < 1:
            break
        if kind == "differ":
            new = draw(simple)
            old = kit.join([None]) if relation.kind in _BLANKING else draw(simple)
            if old == new:
                reject()
            times = min(left, draw(sample_from([1, 2, 4, 8, 20])))
            steps.append(Differ(old, new, times, **condition))
        elif kind == "pair":
            pair = draw(pairs)
            steps.append(Arrivals(*pair, **condition))
            times = steps[-1].rounds
        elif kind == "before" and draw(st.booleans()):
            base = [draw(sample_from(kit.pool[:_MOST_POOL]))] * times
            steps.append(Arrivals(kit.join(base), **condition))
        else:
            steps.append(React(draw(simple), draw(simple), times, **condition))
        left -= times
    if kit.most - left < kit.least:
        reject()
    if any(isinstance(step, Differ) for step in steps):
        score = SwapScore(draw(sample_from(SWAP_SCORES)), draw(sample_from(_PLACES)))
        scored = SteeredScript(protocol=protocol, steps=tuple(steps), score=score)
        return draw(sample_from([scored, scored, Script(protocol=protocol, steps=tuple(steps))]))
    return Script(protocol=protocol, steps=tuple(steps))


def _list_obvious(learner: Learner, protocol: str) -> Iterator[Script]:
    """Streams of equal records, of which the first or the last few are others: the most telling first."""
    relation = read_relation_of(learner)
    if relation.kind is Neighbours.ADD_OR_REMOVE_USER:
        return
    kit = make_kit(learner, round_limit(learner, MAX_ROUNDS))
    pool = _list_ends(kit)
    scripts: dict[Script, None] = {}
    for size in _list_obvious_sizes(kit):
        for base in pool:
            for new in pool:
                number = min(relation.size, size)
                for start in dict.fromkeys((0, size - number, size // 2 - 1)):
                    if size > kit.usual or start + number > size or start < 0:
                        continue
                    pair = _change(kit, relation, [base] * size, range(start, start + number), new)
                    if pair[0] != pair[1] and kit.allows(pair):
                        scripts[Script(protocol=protocol, steps=(Arrivals(*pair),))] = None
    yield from list(scripts)[:_MOST_OBVIOUS]


def _list_obvious_sizes(kit: RecordKit) -> list[int]:
    limits = [kit.least] * (kit.least > 0) + [kit.usual] * (kit.usual < max(_OBVIOUS_SIZES))
    return list(dict.fromkeys(size for size in (*_OBVIOUS_SIZES, *limits) if size >= kit.least))


def _list_ends(kit: RecordKit) -> list[Any]:
    """The least and the largest of the simplest records."""
    pool = list(kit.pool[:_MOST_POOL])
    try:
        return list(dict.fromkeys([min(pool), max(pool)]))
    except TypeError:  # without an order
        return pool[:2]


def _list_simpler(learner: Learner, script: Script) -> Iterator[Script]:
    """Shorter streams that differ in the same records."""
    if len(script.steps) != 1 or not isinstance(script.steps[0], Arrivals):
        return
    step = script.steps[0]
    worlds = [_list_rounds(world) for world in (step.world_0, step.world_1) if world is not None]
    rounds = len(worlds[0])
    kit = make_kit(learner, max(rounds, 1))
    join = kit.join
    changed = [place for place in range(rounds) if _differ(worlds, place)]
    if len(worlds) < 2 or not changed:
        return
    for start, end in ((0, max(changed[-1] + 1, rounds // 2)), (0, rounds - 1), (min(changed[0], 1), rounds)):
        if (start, end) != (0, rounds) and changed[-1] < end:
            cut = join(worlds[0][start:end]), join(worlds[1][start:end])
            if not kit.allows(cut):
                continue
            yield attrs.evolve(script, steps=(attrs.evolve(step, world_0=cut[0], world_1=cut[1]),))


def _list_rounds(records: StreamRecords) -> list[Any]:
    rows = records.rows() if isinstance(records, Records) else list(records)
    return [None if row is BLANK_RECORD or row == BLANK_RECORD else row for row in rows]


def _differ(worlds: list[list[Any]], place: int) -> bool:
    one, other = (world[place] for world in worlds)
    if None in (one, other):
        return one is not other
    return record_key(one) != record_key(other)


for _name, _steps in ((Stream.name, (Arrivals, React, Differ)), (FixedStream.name, (Arrivals,))):
    SPACES[_name] = SearchSpace(
        draw=_draw_streams,
        steps=_steps,
        rounds=MAX_ROUNDS,
        budget=attrs.evolve(INTERACTIVE, examples=1_000),  # games of streams are short
        obvious=_list_obvious,
        simplify=_list_simpler,
        scores=list_clipped_sums,
    )
