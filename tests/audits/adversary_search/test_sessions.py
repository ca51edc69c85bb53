"""Searches of sessions: what they find unaided, and correct ones that they do not refute."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st
from support.flawed.sessions import AGES, CASES, DIGITS, HalfOdometer, Odometer, Server, SessionCase
from support.paths import ROOT

import audits
from arena import InvalidArgument, Learner, Session, play
from arena.records import Records
from audits.adversary_search import SPACES, Script, SearchTarget
from audits.adversary_search.evidence import weigh_games
from audits.adversary_search.protocols.session_probes import list_alike, list_queries, probe_queries
from audits.adversary_search.protocols.session_scripts import AskByReplies, AskQuery, OpenSession
from audits.distinguishers.view_features import view_features
from audits.runs import limits

BY_NAME = {case.name: case for case in CASES}
QUICK = ("exhausted", "sums", "seeded", "empty", "flipped", "shared")


def make(case: SessionCase, factory: type) -> Learner:
    given: dict[str, Any] = {"data": case.data, "ask": case.ask, "open": case.children}
    return audits.session(factory, epsilon=case.epsilon, neighbours=case.neighbours, **given)


@pytest.mark.thorough
@pytest.mark.parametrize("name", QUICK)
def test_a_flawed_session_is_refuted_unaided(name: str) -> None:
    case = BY_NAME[name]
    assert audits.search(make(case, case.flawed)).refuted


@pytest.mark.slow
@pytest.mark.parametrize("name", BY_NAME)
@pytest.mark.parametrize("seed", range(3))
def test_every_flawed_session_is_refuted(name: str, seed: int) -> None:
    case = BY_NAME[name]
    assert audits.search(make(case, case.flawed), seed=seed).refuted


@pytest.mark.slow
@pytest.mark.parametrize("name", BY_NAME)
def test_no_twin_is_refuted(name: str) -> None:
    case = BY_NAME[name]
    assert not audits.search(make(case, case.twin), examples=40).refuted


@pytest.mark.thorough
def test_a_twin_is_not_refuted() -> None:
    case = BY_NAME["sums"]
    assert not audits.search(make(case, case.twin), examples=10).refuted


@pytest.mark.slow
def test_an_odometer_that_reports_half_is_refuted_and_a_true_one_is_not() -> None:
    settings: dict[str, Any] = {
        "data": AGES,
        "ask": st.tuples(st.integers(0, 100), st.sampled_from([0.5, 1.0])),
        "odometer": "spent",
        "neighbours": "add or remove one",
    }
    result = audits.search(audits.session(HalfOdometer, **settings), examples=20)
    assert result.refuted
    assert result.games <= 2_000
    assert not audits.search(audits.session(Odometer, **settings), examples=5).refuted


@pytest.mark.thorough
def test_probing_finds_what_differs() -> None:
    learner = make(BY_NAME["refunded"], Server)
    found = probe_queries(learner, Records([]), Records([50]))
    assert min(found.telling) >= 50 > max(found.still)
    both = probe_queries(learner, Records([20]), Records([20, 50]))
    assert both.opposites == ()


class Rollback:
    """Counts for half of the budget each; a query that it does not support sets the budget back."""

    def __init__(self, data: list[int], rng: np.random.Generator) -> None:
        self.data, self.rng, self.spent = data, rng, 0.0

    def ask(self, query: str) -> float | None:
        if self.spent >= 1:
            return None
        if query == "median":
            self.spent = 0.0
            raise ValueError("not supported")
        self.spent += 0.5
        return len(self.data) + self.rng.laplace(scale=2)


def test_queries_are_asked_in_turn_with_one_that_is_refused() -> None:
    given: dict[str, Any] = {"data": audits.records(st.integers(0, 9)), "neighbours": "add or remove one"}
    learner = audits.session(Rollback, ask=["count", "median"], epsilon=1.0, **given)
    assert probe_queries(learner, Records([]), Records([3])).fixed == ("median",)
    scripts = list(SPACES[Session.name].obvious(learner, Session.name))
    asked = [[step.query for step in script.steps if isinstance(step, AskQuery)] for script in scripts]
    assert ["count", "median"] * 4 in [queries[:8] for queries in asked]


def test_probing_finds_opposite_queries() -> None:
    class Ranges(Server):
        def count(self, query: tuple[int, int]) -> int:
            return sum(query[0] <= value < query[1] for value in self.data)

    ranges = st.tuples(st.integers(0, 9), st.integers(0, 9))
    learner = audits.session(Ranges, data=st.lists(st.integers(0, 9)), ask=ranges, epsilon=1.0)
    up, down = probe_queries(learner, Records([2]), Records([7])).opposites[0]
    assert up[0] <= 7 < up[1]
    assert down[0] <= 2 < down[1]


@pytest.mark.thorough
def test_queries_that_no_code_can_write_are_named_by_their_place() -> None:
    class Applied(Server):
        def answer(self, query: Any) -> float:
            return float(query(self.data)) + self.noise(query)

    learner = audits.session(Applied, data=AGES, ask=[len, lambda data: sum(data)], epsilon=1.0)
    assert list(map(repr, list_queries(learner))) == ["QueryAt(0)", "QueryAt(1)"]
    assert audits.search(learner, examples=30).refuted  # one more record, or a larger one, by noise of 4


class Renewed(Server):
    """Says once that a count exceeds a noisy threshold, or again after the order that draws a new one."""

    renews = True

    def prepare(self) -> None:
        self.bar = 2 + self.rng.laplace(scale=2.0)
        self.done = False

    def ask(self, query: int) -> bool | None:
        if query < 0 and self.renews:
            self.prepare()
        if query < 0 or self.done:
            return None
        self.done = bool(self.count(query) + self.noise(query) >= self.bar)
        return self.done


class RenewedTwin(Renewed):
    renews = False


@pytest.mark.thorough
def test_orders_are_found_and_given_in_turn_with_queries() -> None:
    case = SessionCase("renewed", Renewed, RenewedTwin, DIGITS, st.integers(-1, 2))
    flawed, twin = make(case, case.flawed), make(case, case.twin)
    assert probe_queries(flawed, Records([]), Records([2])).fixed == (-1,)
    in_turn = next(script for script in SPACES["Session"].obvious(flawed, "Session") if len(script.steps) > 9)

    def weigh(learner: Learner) -> float:
        target = SearchTarget(learner=learner, claim=learner.claim, pairs=2_048, seed=0)
        return weigh_games(target, in_turn, pairs=2_048, stage="test").z

    assert weigh(flawed) > 4.0
    assert weigh(twin) < 2.0


NOW = [0.0]


class Slow(Server):
    """A query takes 10 ms, by a clock that only queries move."""

    def answer(self, query: int) -> float:
        NOW[0] += 0.01
        return float(super().answer(query))


@pytest.mark.thorough
@pytest.mark.parametrize("limit", [{"max_seconds": 25}, {"max_seconds": 150}, {"max_calls": 900}])
def test_probing_leaves_time_to_play(limit: dict[str, int], monkeypatch: pytest.MonkeyPatch) -> None:
    NOW[0] = 0.0
    monkeypatch.setattr(limits, "clock", lambda: NOW[0])
    learner = make(BY_NAME["refunded"], Slow)
    with limits.Limits() as counted:
        result = audits.search(learner, announce=lambda text: None, **limit)
    assert result.examples > 0
    assert {result.stopped} == set(limit)
    assert counted.calls <= limit.get("max_calls", 10**6)
    assert 2 * result.games >= 0.2 * counted.calls
    found = probe_queries(learner, Records([]), Records([50]))  # without limits, it is probed all the same
    assert min(found.telling) >= 50 > max(found.still)


def test_several_methods_are_asked_by_name() -> None:
    class Two(Server):
        def total(self, limit: int) -> float:
            return float(sum(min(value, limit) for value in self.data))

    ask = {"ask": st.integers(0, 9), "total": st.integers(0, 9)}
    learner = audits.session(Two, data=AGES, ask=ask, epsilon=1.0)
    assert {query.method for query in list_queries(learner)} == {"ask", "total"}


class Private:
    """Randomised response about whether a query is even."""

    loss = 1.0

    def __init__(self, data: list[int], rng: np.random.Generator) -> None:
        self.rng = rng

    def ask(self, query: int) -> bool:
        return bool((query % 2 == 0) ^ (self.rng.random() < 1 / (1 + np.exp(self.loss))))


class OneCoin(Private):
    """The coin is drawn once, and a query whose answer is known shows it."""

    def __init__(self, data: list[int], rng: np.random.Generator) -> None:
        self.flip = rng.random() < 1 / (1 + np.e)

    def ask(self, query: int) -> bool:
        return bool((query % 2 == 0) ^ self.flip)


@pytest.mark.thorough
def test_claims_may_protect_queries() -> None:
    given: dict[str, Any] = {"data": AGES, "ask": st.integers(0, 9), "epsilon": 1.0, "protects": "queries"}
    assert audits.search(audits.session(OneCoin, **given), examples=60).refuted
    assert not audits.search(audits.session(Private, **given), examples=10).refuted


@pytest.mark.thorough
@pytest.mark.parametrize("games", [2, 40])
def test_features_of_a_game_do_not_depend_on_other_games(games: int) -> None:
    case = BY_NAME["refunded"]
    adaptive = AskByReplies(above=0.0, one=80, zero=10, times=2)
    script = Script(
        protocol="Session",
        world_0=Records([1]),
        world_1=Records([1, 2]),
        steps=(AskQuery(50), adaptive, AskQuery(50)),
    )
    learner = make(case, case.flawed)
    names = tuple(view_features(_play(learner, script, 40)).names)
    few, many = (view_features(_play(learner, script, number)).columns(names) for number in (games, 40))
    assert np.array_equal(few, many[:games])


def _play(learner: Learner, script: Script, games: int) -> Any:
    return play(learner, script, Session(), games=games, seed=5, worlds=np.zeros(games, bool), record=True)


@pytest.mark.thorough
def test_scripts_open_sessions_at_once() -> None:
    case = BY_NAME["lazy"]
    scripts = list(SPACES["Session"].obvious(make(case, case.flawed), "Session"))
    assert max(sum(isinstance(step, OpenSession) for step in script.steps) for script in scripts) >= 8


class Decades:
    """1-DP by parallel composition of sessions about 0-10 and 10-20, if no record is in both."""

    last = 10

    def __init__(self, data: list[int], rng: np.random.Generator) -> None:
        self.data, self.rng, self.opened = data, rng, set[int]()

    def open(self, low: int) -> Server:
        if low in self.opened:
            raise KeyError(low)
        self.opened.add(low)
        return Server([value - low for value in self.data if low <= value <= low + self.last], self.rng)


@pytest.mark.thorough
def test_objects_that_only_open_sessions_are_asked_in_one_of_each_kind() -> None:
    given: dict[str, Any] = {"data": st.lists(st.integers(0, 20)), "ask": st.integers(0, 9), "open": [0, 10]}
    learner = audits.session(Decades, epsilon=1.0, neighbours="add or remove one", **given)
    scripts = SPACES["Session"].obvious(learner, "Session")
    opened = [[step.kind for step in script.steps if isinstance(step, OpenSession)] for script in scripts]
    assert any(sorted(kinds) == [0, 10] for kinds in opened)


def test_what_has_a_field_in_common_is_asked_next() -> None:
    assert list_alike((1, 4), [(6, 9), (6, 4), (1, 0), (1, 1), 4]) == [(1, 0), (6, 4)]
    assert list_alike(4, [4]) == []


def test_objects_that_cannot_be_asked_are_refused() -> None:
    class Mute:
        def __init__(self, data: list[int], rng: np.random.Generator) -> None:
            pass

    class Broken(Server):
        def answer(self, query: int) -> float:
            raise RuntimeError("no database")

    given: dict[str, Any] = {"data": AGES, "ask": st.integers(0, 9)}
    with pytest.raises(InvalidArgument, match="the object of a session has a method that takes a query"):
        audits.session(Mute, **given)
    with pytest.raises(
        InvalidArgument, match="for all of the first queries, got 'RuntimeError: no database'"
    ):
        audits.session(Broken, **given)
    with pytest.raises(InvalidArgument, match="queries are given by a strategy or a list"):
        audits.session(Server, data=AGES, ask=3)


GUIDE = ROOT / "docs" / "guides" / "audit_an_interactive_system.md"


@pytest.mark.slow
def test_the_code_of_the_guide_finds_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    server, odometer, _, streams = re.findall(
        r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL
    )
    names: dict[str, Any] = {"__name__": __name__}
    exec(server, names)
    assert "Server: refuted" in names["result"].headline
    exec(odometer, names)
    assert "Odometer: refuted, it reports at least" in capsys.readouterr().out
    exec(streams, names)
    assert capsys.readouterr().out == "True False\n"
    names = {"__name__": __name__}
    exec(
        server.replace("return count\n", "return query\n").replace("(server)", "(server, examples=20)"), names
    )
    assert not names["result"].refuted


class Service(Server):
    """Counts with much noise, says the exact sum, and cannot divide."""

    def low(self, limit: int) -> float:
        return sum(value < limit for value in self.data) + self.rng.laplace(scale=100)

    def total(self) -> int:
        return sum(self.data)

    def divide(self, by: int) -> float:
        raise ZeroDivisionError("by anything")


@pytest.mark.thorough
@pytest.mark.parametrize("queries", [[None], [()], st.none(), st.just(())], ids=repr)
def test_a_method_without_an_argument_is_searched(queries: Any) -> None:
    ask = {"low": st.integers(0, 120), "total": queries}
    learner = audits.session(Service, data=AGES, ask=ask, epsilon=1.0, neighbours="add or remove one")
    assert audits.search(learner, max_calls=4_000).refuted


@pytest.mark.thorough
def test_a_search_says_which_queries_failed_in_every_game() -> None:
    ask = {"low": [3], "divide": [1, 2]}
    learner = audits.session(Service, data=AGES, ask=ask, epsilon=1.0, neighbours="add or remove one")
    result = audits.search(learner, examples=4, games=200)
    assert isinstance(result, audits.SearchResult)
    assert result.untested == ("divide(1) (ZeroDivisionError)", "divide(2) (ZeroDivisionError)")
    assert "raised an exception in every game: divide(1)" in result.explain()
    assert "Service.divide raised an exception" in result.summary()


def test_queries_of_every_method_are_probed() -> None:
    ask = {"low": st.integers(0, 10**6), **{f"m{number}": [None] for number in range(9)}}
    many = type("Many", (Service,), {f"m{number}": lambda self: 1 for number in range(9)})
    learner = audits.session(many, data=AGES, ask=ask, epsilon=1.0)
    assert {query.method for query in list_queries(learner)} == set(ask)
