"""Adversaries of sessions: conformance, what they choose, and what they refute."""

from __future__ import annotations

from typing import Any

import pytest
from support.flawed.sessions import CASES

import audits
from adversaries.sessions.repeated_queries import (
    QueryDifference,
    RepeatedQuery,
    SessionAdversary,
    ThresholdWalk,
    find_telling_queries,
)
from arena import InvalidArgument, Learner, Session
from arena.testing import check_adversary
from learners.sessions.servers import COMMON, FilterServer, FlawedServer, QueryServer

BY_NAME = {case.name: case for case in CASES}
KINDS = (RepeatedQuery, QueryDifference, ThresholdWalk)


def serve(factory: type, case: str) -> Learner:
    given: dict[str, Any] = {"data": BY_NAME[case].data, "ask": BY_NAME[case].ask}
    return audits.session(factory, epsilon=1.0, neighbours="add or remove one", **given)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("learner", [QueryServer(neighbours="replace one"), FilterServer()], ids=str)
def test_they_conform(kind: type[SessionAdversary], learner: Learner) -> None:
    check_adversary(kind(learner=learner), learner, Session())


def test_queries_are_found_by_simulation() -> None:
    telling = find_telling_queries(QueryServer(), contrast=True)
    assert telling.worlds[1].rows() == [100]
    assert QueryServer().some_queries[telling.places[0]] == 100
    assert QueryServer().some_queries[telling.still] < 100
    assert telling.change.tolist() == pytest.approx([1.0])


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("kind", "learner", "games"),
    [
        (RepeatedQuery, FlawedServer(), 400),
        (QueryDifference, FlawedServer(flaw=COMMON), 400),
        pytest.param(RepeatedQuery, "refunded", 400, marks=pytest.mark.slow),
        pytest.param(ThresholdWalk, "paid", 1_500, marks=pytest.mark.slow),
    ],
)
def test_flawed_servers_are_refuted_and_their_twins_are_not(
    kind: type[SessionAdversary], learner: Learner | str, games: int
) -> None:
    flawed = serve(BY_NAME[learner].flawed, learner) if isinstance(learner, str) else learner
    twin = serve(BY_NAME[learner].twin, learner) if isinstance(learner, str) else QueryServer()
    assert audits.audit(flawed, kind(learner=flawed), games=games).refuted
    assert not audits.audit(twin, kind(learner=twin), games=200).refuted


def test_other_learners_are_refused() -> None:
    with pytest.raises(InvalidArgument, match="queries are chosen among those that the learner names"):
        find_telling_queries(None)


@pytest.mark.thorough
def test_sessions_meet_in_tournaments() -> None:
    names = [kind.name for kind in KINDS]
    learners = ["query-server", "filter-server", "flawed-server"]
    result = audits.tournament(learners, names, games=200)
    assert len(result.rows) == len(names) * len(learners)
    assert {row.cell.learner for row in result.refuted} == {"flawed-server"}
