"""Servers that answer counting queries: conformance, answers, budgets and losses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.simple_players import script

import audits
from arena import Ask, Learner, Move, Open, Session, Train, play
from arena.records import Records
from arena.referees.session_replies import SILENCE
from arena.released.encoding import encode_values
from arena.testing import check_learner
from learners.sessions.servers import COMMON, FilterServer, FlawedServer, QueryServer

SERVERS = [QueryServer(), QueryServer(neighbours="zero out one"), FilterServer(), FilterServer(reports=True)]
SERVERS += [FlawedServer(), FlawedServer(flaw=COMMON)]
REFUSAL, SILENT = encode_values([None, SILENCE]).tolist()


def ask(learner: Learner, *moves: Move, games: int = 2_000) -> list[Any]:
    moves = (Train(Records([0, 10, 60])), *moves)
    played = play(learner, script(*moves), Session(), games=games, seed=3, record=True)
    return list(played.replies[1:])


@pytest.mark.thorough
@pytest.mark.parametrize("learner", SERVERS, ids=str)
def test_they_conform(learner: Learner) -> None:
    check_learner(learner)


def test_a_server_answers_counts_with_noise_and_halts() -> None:
    replies = ask(QueryServer(answers=2, epsilon=4.0), *(Ask(limit) for limit in (10, 60, 60)))
    assert np.median(replies[0].value) == pytest.approx(2, abs=0.06)
    assert np.median(replies[1].value) == pytest.approx(3, abs=0.06)
    assert np.abs(replies[1].value - 3).mean() == pytest.approx(0.5, rel=0.1)
    assert [bool(reply.halted.all()) for reply in replies] == [False, True, True]
    assert (replies[2].value == SILENT).all()


def test_a_filter_refuses_what_exceeds_the_budget_and_reports_what_is_spent() -> None:
    moves = [Ask((10, share)) for share in (0.75, 0.5, 0.25)]
    replies = ask(FilterServer(reports=True), *moves, Open("more"), Ask((10, 0.1), session=1), games=4)
    assert [reply.loss[0, 0] for reply in replies] == [0.75, 0.75, 1.0, 1.0, 1.0]
    assert [bool((reply.value == REFUSAL).all()) for reply in replies] == [False, True, False, True, False]
    assert (replies[4].value == SILENT).all()


def test_flaws_are_what_they_say() -> None:
    first, second, third = ask(FlawedServer(flaw=COMMON), Ask(10), Ask(60), Ask(60), games=50)
    assert np.allclose(second.value - first.value, 1.0)
    assert np.array_equal(second.value, third.value)
    replies = ask(FlawedServer(answers=1), Ask(10), Ask(10), games=50)
    assert replies[1].halted.all()  # one answer was all
    replies = ask(FlawedServer(answers=2), *[Ask(10)] * 9, games=50)
    assert not replies[-1].halted.any()
    assert not np.isin(replies[-1].value, (REFUSAL, SILENT, *replies[0].value)).any()


@pytest.mark.slow
@pytest.mark.parametrize("learner", SERVERS[:4], ids=str)
def test_correct_servers_are_not_refuted(learner: Learner) -> None:
    assert not audits.search(learner, examples=60).refuted
