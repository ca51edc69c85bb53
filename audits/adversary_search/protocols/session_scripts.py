"""Searches under Session: neighbouring data, and queries in an order that may depend on replies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import cycle, islice, permutations
from typing import Any, ClassVar

import attrs
import numpy as np
from hypothesis import strategies as st

from arena import Learner, Move, PrivacyUnit, Sample, Session
from arena.capabilities import read_schema
from arena.players import read_relation_of
from arena.records import Records
from arena.referees.session_moves import Ask, Open, QueryAt, Stop, describe_query, key_query
from arena.released.encoding import is_category
from arena.schemas.schema import spread_out
from audits.adversary_search.code_constants import list_code_values
from audits.adversary_search.point_strategies import choose_from, list_of, sample_from, shorten_steps
from audits.adversary_search.protocols.session_probes import (
    Queries,
    find_failing,
    list_alike,
    list_queries,
    probe_queries,
)
from audits.adversary_search.records.obvious_records import (
    are_neighbours,
    list_obvious,
    list_simpler,
    list_sizes,
)
from audits.adversary_search.records.record_strategies import check_relation, neighbouring_records
from audits.adversary_search.script import (
    ENDS,
    INTERACTIVE,
    LAST_IS_1,
    ODD,
    SEEN,
    SPACES,
    AnswerHistory,
    Memory,
    Script,
    SearchSpace,
    Step,
    memories_of,
)

ROUNDS = 64  # of a game, unless the learner says another number
_TIMES = (1, 1, 1, 2, 3, 4, 8, 16)
_PAIRS_OF_QUERIES = (2, 4, 10, 20, 32)  # times that two queries are asked in turn
_IN_TURN, _OFTEN, _WAIT = 40, 40, 12  # rounds
_MOST_OBVIOUS = 14  # pairs of datasets that are probed
_MOST_SPREAD = 4  # records of further ones
_MOST_PAIRS = 3  # of which each way to ask is tried
_MOST_CHILDREN = 16
_EACH = 4  # times that one session of each kind is asked
_MOST_STEPS = 6
_ABOVE = 0.5
_MEMORIES = st.sampled_from(
    [LAST_IS_1, Memory(ENDS, "0"), Memory(ENDS, "11"), Memory(ENDS, "00"), Memory(SEEN, "1"), Memory(ODD)]
)


@attrs.frozen
class SessionStep(Step):
    """A step of Session. A reply counts as 1 if it is a number above `above`."""

    above: float = attrs.field(default=_ABOVE, kw_only=True)
    session: int = attrs.field(default=0, kw_only=True)

    def read_answer(self, last: Any, reply: Any) -> np.ndarray:
        value = np.asarray(reply.value, np.float64)
        if value.ndim != 1:
            return np.zeros(len(value), bool)
        return (value > self.above) & ~is_category(value)


@attrs.frozen
class AskQuery(SessionStep):
    """Session: ask `query`, `times` times."""

    query: Any = attrs.field(eq=key_query)
    times: int = 1

    def move(self, last: Any, now: np.ndarray, history: AnswerHistory) -> Move:
        return Ask(self.query, session=self.session)


@attrs.frozen
class AskByReplies(SessionStep):
    """Session: ask `one` in the games in which `when` holds and `zero` elsewhere, `times` times."""

    one: Any = attrs.field(eq=key_query)
    zero: Any = attrs.field(eq=key_query)
    times: int = 1
    when: Memory = LAST_IS_1

    def move(self, last: Any, now: np.ndarray, history: AnswerHistory) -> Move:
        which = history.holds(self.when).astype(int)
        return Ask(self.zero, choices=[self.one], which=which, session=self.session)


@attrs.frozen
class AskDifferent(SessionStep):
    """Session: ask `world_0` in world 0 and `world_1` in world 1, where the claim protects queries."""

    world_0: Any = attrs.field(eq=key_query)
    world_1: Any = attrs.field(eq=key_query)

    challenges: ClassVar[bool] = True

    def move(self, last: Any, now: np.ndarray, history: AnswerHistory) -> Move:
        return Ask(self.world_0, self.world_1, session=self.session)


@attrs.frozen
class OpenSession(SessionStep):
    """Session: open a session of this kind."""

    kind: Any = attrs.field(eq=key_query)

    def move(self, last: Any, now: np.ndarray, history: AnswerHistory) -> Move:
        return Open(self.kind, session=self.session)


@attrs.frozen
class StopSession(SessionStep):
    """Session: stop a session in the games in which `when` holds; without it, in all."""

    when: Memory | None = None

    def move(self, last: Any, now: np.ndarray, history: AnswerHistory) -> Move:
        return Stop(self.session, None if self.when is None else history.holds(self.when))


# --- what is tried first ------------------------------------------------------------------------------------


Plan = tuple[str, float, tuple[Step, ...]]  # its name, how clear it should be, its steps


def _list_plans(found: Queries, rounds: int) -> Iterator[Plan]:
    """Ways to ask: about what differs and what does not, once or again; in turn about what is larger in one
    world and what is larger in the other, about all that differs, or about what is refused."""
    telling, still = found.telling[:4], found.still[:4]
    if not telling:
        return
    first, effect = telling[0], found.effect
    # Queries that have a field in common may be answered from each other's answers.
    alike = list_alike(first, found.still)[:2] or still[:1]

    def ask(*queries: Any, times: int = 1) -> tuple[Step, ...]:
        return tuple(AskQuery(query, times, above=found.level) for query in queries)

    yield "mixed", effect, ask(first, *alike, *telling[1:2], first)
    if found.opposites:
        two = ask(*found.opposites[0])
        yield "in turn", found.contrast, tuple(islice(cycle(two), min(rounds, _IN_TURN)))
    for name, order in zip(("ordered", "ordered, too"), found.fixed, strict=False):
        yield name, effect, tuple(islice(cycle(ask(first, order)), min(rounds, ROUNDS)))
    yield "again", effect, ask(first, times=min(rounds, 8))
    yield "often", effect, ask(first, times=min(rounds, _OFTEN))
    for name, query in zip(("rare", "rare, too"), found.rare, strict=False):
        yield name, effect, ask(query, times=rounds)
    if len(found.telling) > len(telling):
        yield "every", effect, ask(*islice(cycle(found.telling), min(rounds, _OFTEN)))
    yield "after one", effect, (*ask(*still[:1]), *ask(first))
    yield "all", effect * np.sqrt(len(telling)), ask(*telling, *telling[:2])
    if still and rounds > _WAIT:
        yield "late", effect, (*ask(still[0], times=_WAIT), *ask(first))


def _list_child_plans(kinds: Sequence[Any], probes: Sequence[Queries]) -> Iterator[Plan]:
    """Several sessions at once, which are asked in turn; and one after the other; of one kind and of each."""
    clearest = sorted(zip(kinds, probes, strict=True), key=lambda of_kind: -of_kind[1].effect)
    for kind, found in clearest:
        if not found.telling:
            continue
        first, *others = [found.telling[0], *found.still[:1]]
        opened = tuple(OpenSession(kind) for _ in range(_MOST_CHILDREN))
        asked = [AskQuery(first, session=child + 1) for child in range(_MOST_CHILDREN)]
        effect = found.effect
        yield "all at once", effect, (*opened, *asked, *asked)
        if others:
            yield "two", effect, (*opened[:2], AskQuery(first, session=1), AskQuery(others[0], session=2))
        yield "two in turn", effect, (*opened[:2], *(step for _ in range(4) for step in asked[:2]))
        in_a_row = tuple(step for two in zip(opened, asked, strict=True) for step in (*two, two[1]))
        yield "one by one", effect, in_a_row
        yield "one", effect, (opened[0], AskQuery(first, 8, session=1))
    if len(kinds) > 1:
        few = clearest[:_MOST_CHILDREN]
        each = [
            AskQuery((*found.telling, *found.still)[0], _EACH, session=child)
            for child, (_, found) in enumerate(few, start=1)
        ]
        effect = float(np.linalg.norm([found.effect for found in probes]))
        yield "each kind", effect, (*(OpenSession(kind) for kind, _ in few), *each)


def _limit_rounds(learner: Any) -> int:
    return ROUNDS if learner.rounds is None else int(learner.rounds)


def _list_pairs(learner: Any) -> list[tuple[Records, Records]]:
    """Pairs of neighbouring datasets to try first: with as many records as the code mentions, those that a
    person would try, and with few records of any kind."""
    schema, relation = learner.schema, read_relation_of(learner)
    check_relation(schema, relation)
    constants = list_code_values(learner)
    obvious = list_obvious(schema, relation, constants)
    of_size = {first.size: (first, second) for first, second in reversed(obvious)}
    pairs = [of_size[size] for size in list_sizes(constants) if size in of_size]
    pairs += spread_out(obvious, _MOST_OBVIOUS)
    with suppress(TypeError):  # of records without an order
        ordered = sorted(schema.examples)
        some = [ordered[place] for place in np.linspace(0, len(ordered) - 1, _MOST_SPREAD).astype(int)]
        for first, second in permutations(some, 2):
            lists = ([second], [second, first]) if relation.adds_or_removes else ([first], [second])
            pairs.append((Records(lists[0]), Records(lists[1])))
    return [
        (first, second)
        for first, second in dict.fromkeys(pairs)
        if are_neighbours(schema, relation, first, second)
    ]


def _list_obvious(learner: Any, protocol: str) -> Iterator[Script]:
    """Each way to ask, with the datasets that some query tells apart best."""
    if PrivacyUnit.TRAINING_EXAMPLE not in learner.claim.protects:
        return
    ways: dict[str, list[tuple[float, int, Script]]] = {}
    for worlds in _list_pairs(learner):
        kinds = learner.kinds
        plans = [*_list_child_plans(kinds, [probe_queries(learner, *worlds, kind) for kind in kinds])]
        plans += _list_plans(probe_queries(learner, *worlds), _limit_rounds(learner))
        for name, clear, steps in plans:
            script = _make_script(*worlds, steps)
            # The clearest, and of about equally clear ones the smallest.
            ways.setdefault(name, []).append((-round(clear, 1), worlds[0].size + worlds[1].size, script))
    best = [sorted(of_way, key=lambda way: way[:2])[:_MOST_PAIRS] for of_way in ways.values()]
    yield from dict.fromkeys(
        of_way[turn][2] for turn in range(_MOST_PAIRS) for of_way in best if turn < len(of_way)
    )


def _list_untested(learner: Any, protocol: str) -> Iterator[str]:
    """The queries that raised an exception in every game that probed them."""
    if PrivacyUnit.TRAINING_EXAMPLE in learner.claim.protects:
        for query, error in find_failing(learner, _list_pairs(learner)):
            shown = learner.find_query(query) if isinstance(query, QueryAt) else query
            yield f"{describe_query(shown)} ({error})"


def _make_script(world_0: Records, world_1: Records | None, steps: Sequence[Step]) -> Script:
    if not memories_of(steps):  # then no reply counts as 1 or 0
        steps = [attrs.evolve(step, above=_ABOVE) for step in steps]  # type: ignore[call-arg]
    return Script(protocol=Session.name, world_0=world_0, world_1=world_1, steps=shorten_steps(steps, 10**6))


# --- what is drawn ------------------------------------------------------------------------------------------


@st.composite
def _draw_steps(draw: st.DrawFn, found: Queries, every: Sequence[Any], limit: int) -> tuple[Step, ...]:
    telling = sample_from(found.telling[:12] or every)
    query = choose_from([telling, telling, sample_from(found.still[:24] or every), sample_from(every)])
    times = sample_from([number for number in _TIMES if number <= limit])
    level = st.just(found.level)
    ask = st.builds(AskQuery, query, times, above=level)
    kinds = [list_of(ask, _MOST_STEPS)] * 2
    adaptive = st.builds(AskByReplies, query, query, times, _MEMORIES, above=level)
    kinds.append(list_of(st.one_of(ask, adaptive), _MOST_STEPS))
    number = sample_from([number for number in _PAIRS_OF_QUERIES if 2 * number <= limit] or [1])
    pairs = [st.tuples(telling, query)]
    if found.opposites:
        pairs.append(sample_from(found.opposites))
    in_turn = st.tuples(choose_from(pairs), number)
    kinds.append(
        in_turn.map(lambda drawn: [AskQuery(query, above=found.level) for query in drawn[0]] * drawn[1])
    )
    return shorten_steps(draw(choose_from(kinds)), limit)


@st.composite
def _draw_children(draw: st.DrawFn, kind: Any, found: Queries, limit: int) -> tuple[Step, ...]:
    """Sessions that are opened first, or as others are asked, and queries to any of them."""
    number = draw(st.integers(1, _MOST_CHILDREN))
    telling, still = (
        sample_from(found.telling[:8] or found.still[:8]),
        sample_from(found.still[:8] or found.telling[:8]),
    )
    query = choose_from([telling, telling, still])
    steps: list[Step] = []
    opened = 0
    at_once = draw(st.booleans())
    for child in range(number):
        if at_once or opened <= child:
            steps.append(OpenSession(kind))
            opened += 1
        if not at_once:
            steps.append(AskQuery(draw(query), draw(sample_from([1, 2, 4])), session=opened))
    if at_once:
        turns = draw(st.lists(st.tuples(query, st.integers(1, number)), min_size=1, max_size=12))
        steps += [AskQuery(asked, session=child) for asked, child in turns]
    return tuple(steps[:limit])


@st.composite
def _draw_session(draw: st.DrawFn, learner: Any, limit: int) -> Script:
    schema, relation = learner.schema, read_relation_of(learner)
    worlds = draw(neighbouring_records(schema, relation, constants=list_code_values(learner)))
    kinds = learner.kinds
    if kinds and draw(st.booleans()):
        kind = draw(sample_from(kinds))
        steps = draw(_draw_children(kind, probe_queries(learner, *worlds, kind), limit))
    else:
        steps = draw(_draw_steps(probe_queries(learner, *worlds), list_queries(learner), limit))
    return _make_script(*worlds, steps)


@st.composite
def _draw_different(draw: st.DrawFn, learner: Any, limit: int) -> Script:
    """Games in which one query differs between the worlds."""
    every = list_queries(learner)
    records = draw(sample_from(learner.some_records))
    ask = st.builds(AskQuery, sample_from(every), sample_from(_TIMES))
    two = draw(st.tuples(sample_from(every), sample_from(every)).filter(lambda two: two[0] != two[1]))
    before, after = draw(st.lists(ask, max_size=3)), draw(st.lists(ask, max_size=3))
    return _make_script(records, None, shorten_steps([*before, AskDifferent(*two), *after], limit))


def _draw_kinds(
    learner: Learner, protocol: str, limit: int, data: Sample | None
) -> list[st.SearchStrategy[Script]]:
    limit = min(limit, _limit_rounds(learner))
    if PrivacyUnit.QUERY in learner.claim.protects:
        return [_draw_different(learner, limit)]
    schema = read_schema(learner)
    assert schema is not None
    check_relation(schema, read_relation_of(learner))
    return [_draw_session(learner, limit)]


def _list_simpler(learner: Learner, script: Script) -> Iterator[Script]:
    """Fewer steps, then simpler data."""
    for place in range(len(script.steps)):
        if len(script.steps) > 1 and not isinstance(script.steps[place], OpenSession):
            steps = script.steps[:place] + script.steps[place + 1 :]
            yield attrs.evolve(script, steps=shorten_steps(steps, 10**6))
    for place, step in enumerate(script.steps):
        if step.rounds > 1:
            steps = (*script.steps[:place], step.shorten(step.rounds // 2), *script.steps[place + 1 :])
            yield attrs.evolve(script, steps=steps)
    schema, (first, second) = read_schema(learner), (script.world_0, script.world_1)
    if schema is not None and isinstance(first, Records) and isinstance(second, Records):
        for worlds in list_simpler(schema, read_relation_of(learner), first, second):
            yield attrs.evolve(script, world_0=worlds[0], world_1=worlds[1])


SPACES[Session.name] = SearchSpace(
    draw=_draw_kinds,
    steps=(AskQuery, AskByReplies, AskDifferent, OpenSession, StopSession),
    rounds=ROUNDS,
    budget=INTERACTIVE,
    obvious=_list_obvious,
    simplify=_list_simpler,
    untested=_list_untested,
)
