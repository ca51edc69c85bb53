"""The bugs as dp-arena plays them: their schemas as strategies, their mechanisms as learners."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st

import audits
from arena.claims import read_relation
from audits.runs.verdict import Verdict
from benchmarks.bugs.bug import FUNCTION, SESSION, Bug, Field, Schema, play

PAIR_GAMES = 20_000


def make_strategy(field: Field) -> st.SearchStrategy[Any]:
    """The values of a field."""
    if "values" in field:
        return st.sampled_from(field["values"])
    if field["type"] == "integer":
        return st.integers(field["low"], field["high"])
    numbers: st.SearchStrategy[Any] = st.floats(field["low"], field["high"], allow_nan=False)
    return st.one_of(numbers, st.sampled_from(field["special"])) if field["special"] else numbers


def make_data(schema: Schema, relation: str) -> st.SearchStrategy[Any]:
    """The strategy of what the mechanism receives."""
    kind, sizes = schema["kind"], {"min_size": schema["least"], "max_size": schema["most"]}
    if kind == "vector":
        given = read_relation(relation)
        metric = {"L1": "l1", "L2": "l2", "Linf": "linf"}[given.kind.value.split()[1]]
        return audits.vector(
            schema["length"], metric=metric, distance=given.distance, values=make_strategy(schema["record"])
        )
    if kind == "list":
        return audits.records(make_strategy(schema["record"]), blank=schema["blank"], **sizes)
    if kind == "labelled":
        features = st.tuples(*map(make_strategy, schema["features"]))
        return audits.labelled(features, make_strategy(schema["target"]), **sizes)
    columns = {name: make_strategy(column) for name, column in schema["columns"].items()}
    return audits.table(columns, user=schema["user"], **sizes)


def search_bug(bug: Bug, *, twin: bool = False, **options: Any) -> Any:
    """What `audits.search` finds unaided. options: seed, max_seconds, max_calls, ..."""
    mechanism = bug.choose(twin)
    data = make_data(bug.schema, bug.relation)
    if bug.form == SESSION:
        session = audits.session(
            mechanism,
            data=data,
            ask=list(bug.queries),
            epsilon=bug.epsilon,
            delta=bug.delta,
            neighbours=bug.relation,
        )
        return audits.search(session, **options)
    learner = mechanism if bug.form == FUNCTION else audits.stream(mechanism)
    claim = {"epsilon": bug.epsilon, "delta": bug.delta, "neighbours": bug.relation}
    return audits.search(learner, data=data, **claim, **options)


def audit_pair(bug: Bug, *, twin: bool = False, games: int = PAIR_GAMES, seed: int = 0) -> Verdict:
    """An audit with the pair of data sets that shows the violation, until it is refuted."""
    first, second = ([place] for place in (0, 1))
    return audits.audit(
        make_release(bug, twin=twin),
        data=first,
        neighbour=second,
        neighbours="replace one",
        epsilon=bug.epsilon,
        delta=bug.delta,
        games=games,
        seed=seed,
        until_refuted=True,
        faults=True,
        announce=lambda _: None,
    )


def make_release(bug: Bug, *, twin: bool = False) -> Callable[..., Any]:
    """A function that receives the number of a world, and releases what is to be looked at."""

    def release(world: list[int], rng: np.random.Generator) -> Any:
        shown = play(bug, bug.worlds[world[0]], rng, twin=twin)
        return shown if bug.look is None else bug.look(shown)

    def release_with_own_coins(world: list[int]) -> Any:
        return release(world, np.random.default_rng())

    return release_with_own_coins if bug.coins == "own" else release
