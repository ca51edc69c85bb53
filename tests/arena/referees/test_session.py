"""Session: queries in an order that depends on replies, sessions within sessions, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
import pytest
from hypothesis import strategies as st
from support.flawed.sessions import FallingOdometer, Odometer

import audits
from arena import (
    Adversary,
    Ask,
    Learner,
    Move,
    Open,
    PrivacyUnit,
    ProtocolViolation,
    Replied,
    Session,
    Stop,
    Train,
    play,
)
from arena.records import Records
from arena.referees.session_moves import QueryAt, key_query
from arena.referees.session_replies import OPENED, SILENCE
from arena.released.encoding import encode_values, hash_values
from arena.released.types import Symbol

NUMBERS = st.lists(st.integers(0, 9))
ONE, TWO = Records([1]), Records([1, 5])


class Counter:
    """Exact counts of what is at most the query; halts after three; refuses 7; raises for more than nine."""

    def __init__(self, data: list[int], rng: np.random.Generator) -> None:
        self.data, self.rng, self.asked, self.halted = data, rng, 0, False

    def ask(self, query: int) -> float | None:
        if self.halted:
            return None
        self.asked += 1
        self.halted = self.asked >= 3
        if query > 9:
            raise ValueError(f"of {self.data} nothing is {query}")
        return None if query == 7 else sum(value <= query for value in self.data)

    def open(self, kind: str) -> Counter | None:
        return Counter(self.data, self.rng) if kind == "part" else None


class Talkative(Counter):
    def ask(self, query: int) -> float | None:
        self.halted, halted = False, self.halted
        answer = super().ask(query)
        self.halted = self.halted or halted
        return answer


def make(factory: type = Counter, **settings: Any) -> Learner:
    settings = {"data": NUMBERS, "ask": st.integers(0, 9), "neighbours": "add or remove one"} | settings
    return audits.session(factory, **settings)


@attrs.frozen
class Scripted(Adversary):
    """Yields these moves, some of which are functions of the last reply."""

    moves: tuple[Any, ...]
    name = "scripted"
    protocols = ("Session",)

    def play(self, games: int, rng: np.random.Generator) -> Any:
        reply: Any = None
        for move in self.moves:
            reply = yield move if isinstance(move, Move) else move(reply)


def run(*moves: Move | Callable[[Any], Move], learner: Learner | None = None, **options: Any) -> Any:
    worlds = np.array([False, True])
    given = {"games": 2, "seed": 1, "worlds": worlds, "record": True} | options
    played = play(learner or make(), Scripted((Train(ONE, TWO), *moves)), Session(), **given)
    return played


def code(symbol: Symbol) -> float:
    return float(encode_values([symbol])[0])


def values(played: Any) -> list[list[float]]:
    return [reply.value.tolist() for reply in played.replies[1:]]


@pytest.mark.thorough
def test_queries_are_answered_on_the_data_of_the_games_world() -> None:
    played = run(Ask(9), Ask(1))
    assert values(played) == [[1, 2], [1, 1]]
    assert played.challenges == {PrivacyUnit.TRAINING_EXAMPLE}


def test_a_query_may_depend_on_the_replies() -> None:
    played = run(Ask(9), lambda reply: Ask(0, choices=[5], which=(reply.value > 1).astype(int)))
    assert values(played)[1] == [0, 2]


def test_refusals_and_exceptions_are_replies() -> None:
    played = run(Ask(7), Ask(12))
    none = encode_values([None, "x"])[0]
    raised = [
        [Symbol("raised", "ValueError: of [#] nothing is #"), 1.0, 12.0],
        [Symbol("raised", "ValueError: of [#, #] nothing is #"), 1.0, 5.0, 12.0],
    ]
    assert values(played)[0] == [none, none]
    assert hash_values(played.replies[2].value).tolist() == hash_values(encode_values(raised)).tolist()


def test_a_session_that_has_halted_is_silent() -> None:
    played = run(*[Ask(9)] * 4)
    assert values(played)[3] == [code(SILENCE)] * 2
    assert played.replies[3].halted.all()
    assert not played.replies[2].halted.any()


def test_an_exception_where_the_object_is_made_is_shown() -> None:
    class Picky(Counter):
        def __init__(self, data: list[int], rng: np.random.Generator) -> None:
            if len(data) > 1:
                raise KeyError(data)
            super().__init__(data, rng)

    played = run(Ask(9), learner=make(Picky))
    shown = [OPENED, [Symbol("raised", "KeyError: [#, #]"), 1.0, 5.0]]
    assert hash_values(played.replies[0].value).tolist() == hash_values(encode_values(shown)).tolist()
    assert values(played) == [[1, code(SILENCE)]]


def test_sessions_in_a_session_are_asked_in_any_order() -> None:
    played = run(Open("part"), Open("part"), Ask(9, session=2), Ask(0, session=1), Ask(9), Ask(1, session=2))
    opened = [code(OPENED)] * 2
    assert values(played) == [opened, opened, [1, 2], [0, 0], [1, 2], [1, 1]]


def test_a_session_that_is_not_opened_is_silent() -> None:
    played = run(Open("whole"), Ask(9, session=1))
    assert values(played)[1] == [code(SILENCE)] * 2


def test_a_game_may_be_stopped_by_what_it_shows() -> None:
    played = run(Ask(9), lambda reply: Stop(where=reply.value > 1), Ask(9))
    assert values(played)[2] == [1, code(SILENCE)]


def test_a_session_is_not_used_after_its_parent_was_closed() -> None:
    rule = "a session is used while it and the sessions that it was opened in are open; got session 1"
    with pytest.raises(ProtocolViolation, match=rule):
        run(Open("part"), Stop(), Ask(9, session=1))
    with pytest.raises(ProtocolViolation, match="was opened before; expected a number from 0 to 0; got 1"):
        run(Ask(9, session=1))


def test_a_session_that_answers_after_it_has_halted_is_refused() -> None:
    with pytest.raises(
        ProtocolViolation, match=r"Talkative, round 4.*: a session that has halted answers nothing"
    ):
        run(*[Ask(9)] * 4, learner=make(Talkative))


def test_a_halted_session_stays_halted() -> None:
    class Waking(Counter):
        def ask(self, query: int) -> float | None:
            self.halted = not self.halted
            return 1.0 if self.halted else None

    with pytest.raises(ProtocolViolation, match="a halted session stays halted"):
        run(Ask(9), Ask(9), learner=make(Waking))


def test_queries_differ_once_if_the_claim_protects_them() -> None:
    learner = make(protects="queries")
    once, twice = (Scripted((Train(TWO), Ask(9, 0), *more)) for more in ((), (Ask(0, 9),)))
    played = play(learner, once, Session(), games=2, seed=1, worlds=np.array([False, True]), record=True)
    assert values(played) == [[2, 0]]
    assert played.challenges == {PrivacyUnit.QUERY}
    with pytest.raises(ProtocolViolation, match="the worlds differ once; expected the same question"):
        play(learner, twice, Session(), games=2, seed=1)


def test_which_names_one_of_the_queries() -> None:
    with pytest.raises(ProtocolViolation, match="which says of each game which of the queries it is asked"):
        run(Ask(0, which=np.array([0, 1])))


def test_rounds_are_limited() -> None:
    adversary = Scripted((Train(ONE, TWO), Ask(1), Ask(1)))
    with pytest.raises(ProtocolViolation, match="max_rounds = 1 has at most 1 round"):
        play(make(), adversary, Session(1), games=2, seed=1)


def test_an_odometer_is_shown_and_never_falls() -> None:
    settings = {"ask": st.just((5, 1.0)), "odometer": "spent"}
    played = run(Ask((9, 1.0)), Ask((9, 0.5)), learner=make(Odometer, **settings))
    assert played.replies[-1].loss.tolist() == [[1.5, 0.0]] * 2
    rule = r"the loss that an odometer reports never falls; expected at least \(ε, δ\) = \(1.0, 0.0\)"
    with pytest.raises(ProtocolViolation, match=rule):
        run(Ask((9, 1.0)), Ask((9, 1.0)), learner=make(FallingOdometer, **settings))


@pytest.mark.parametrize("coins", ["global", "given"])
def test_games_repeat_and_do_not_depend_on_other_games(coins: str) -> None:
    class Global:
        def __init__(self, data: list[int]) -> None:
            self.data = data

        def ask(self, query: int) -> float:
            return float(np.random.normal())  # noqa: NPY002 - as a user's object may

    class Given(Global):
        def __init__(self, data: list[int], rng: np.random.Generator) -> None:
            super().__init__(data)
            self.rng = rng

        def ask(self, query: int) -> float:
            return float(self.rng.normal())

    learner = make(Given) if coins == "given" else make(Global, coins="global")
    moves = Train(ONE), Ask(1), Ask(2), Ask(3)
    many, few = (play(learner, Scripted(moves), Session(), games=n, seed=3, record=True) for n in (8, 4))
    for reply, other in zip(many.replies, few.replies, strict=True):
        assert isinstance(reply, Replied)
        assert np.array_equal(reply.value[:4], other.value)
    assert len({reply.value[0] for reply in many.replies}) == 4


def test_a_vectorised_object_plays_all_games() -> None:
    class Many:
        def __init__(self, data: list[int], games: int, rng: np.random.Generator) -> None:
            self.data, self.games = data, games

        def ask(self, query: int) -> np.ndarray:
            return np.full(self.games, float(sum(value <= query for value in self.data)))

    assert values(run(Ask(9), learner=make(Many, vectorised=True))) == [[1, 2]]


def test_queries_are_compared_by_value_and_callables_by_code() -> None:
    assert key_query((0, 5)) == key_query((0, 5)) != key_query((0, 6))
    assert key_query(len) == key_query(len) != key_query(sum)
    assert key_query(QueryAt(1)) != key_query(QueryAt(2))
    assert key_query(object()) != key_query(object())
