"""What is printed of an adversary, of any protocol, is that adversary again, and plays the same games."""

from __future__ import annotations

import importlib
import os
import runpy
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from support.paths import ROOT
from support.simple_players import HalfTheNoise, OnePoint, RaisesOnLabels
from support.voting import Screened

import audits
from arena import CannotBeSent, InvalidArgument, Learner, Sample, play
from arena.step_scores import RATIO, StepScore
from audits import cli
from audits.adversary_search import Ask, Challenge, Follow, Score, Script, Show, Special, search
from audits.adversary_search.protocols.query_scripts import Hand
from audits.adversary_search.protocols.round_scripts import Pull, TrainingScript
from audits.adversary_search.script import Memory
from audits.registry.match import configure_game
from audits.registry.players import ADVERSARIES
from audits.registry.record_code import write_assignments
from audits.registry.user_files import PLUGIN_PREFIX, load_function
from audits.runs.replay import name_player, write_replay
from learners.everlasting.paper_versions import EverlastingFresh, EverlastingV1
from learners.foreign.function import Function
from learners.online.noisy_majority import NoisyMajority
from learners.releases.choices import RandomisedResponse
from learners.releases.counts import LaplaceCount
from learners.training.dp_sgd import DPSGD

V1 = EverlastingV1(teachers=21, chunk=1, training_rate=0.5, rounds=1, answers=300, halts=3)
FRESH = EverlastingFresh(
    teachers=4, chunk=1, training_rate=0.1, rate=0.2, answers=2, noise=0.5, pool=10, rounds=2
)
TIED = Sample([0.5, 0.5], [0, 1], [21, 21])
PAIR = {"world_0": Sample([0.0], [0], [5]), "world_1": Sample([0.0, 0.0], [0, 1], [4, 1])}
VECTOR = Sample([[0.0, 1.0], [1.0, 1.0]], [0, 1], [1, 2])
FOLLOWS = (
    Ask(0.5, 3),
    Follow(0.5, 0.25, 4, Memory("seen", "11")),
    Challenge(0.0, 0.5, 5, Memory("ends", "01")),
    Follow(0.25, 0.5, 2, Memory("odd")),
)
SHOWS = (Show(0.5, "with", 2), Special((0.5, 0), (0.25, 1), 4, Memory("ends", "1")), Show(0.5, "against", 3))
CASES: list[tuple[Learner, Script]] = [
    (V1, Script(protocol="Figure1", world_0=TIED, steps=FOLLOWS, score=Score("answers 1", sign=-1))),
    (V1, Script(protocol="Figure1", world_0=TIED, pieces=3, steps=FOLLOWS)),
    (
        FRESH,
        Script(
            protocol="Figure1",
            world_0=Sample([0.0, 1.0], [0, 1], [20, 20]),
            handed=(Hand(0.0, 1.0), Hand(0.0, times=9)),
            steps=(Ask(0.0, 2), Ask(1.0, 3)),
        ),
    ),
    (
        OnePoint(),
        Script(
            protocol="Figure1",
            world_0=VECTOR,
            world_1=VECTOR.replace_one(1, [1.0, 1.0], 0),
            steps=(Follow((0.0, 0.0), (1.0, 1.0), 3),),
            score=Score("answers 1"),
        ),
    ),
    (
        Screened(teachers=5, queries=9),
        Script(
            protocol="Voting",
            world_0=Sample([0.0, 0.0], [0, 1], [3, 2]),
            world_1=Sample([0.0, 0.0, 0.0], [0, 1, 1], [2, 1, 2]),
            steps=(Ask(0.0, 2), Follow(0.0, 1.0, 3), Ask(0.0, 4)),
            score=Score("answer 2", "equal", 2.0),
        ),
    ),
    (NoisyMajority(), Script(protocol="SpecialRound", steps=SHOWS)),
    (
        NoisyMajority(),
        Script(protocol="SpecialRound", steps=SHOWS, score=Score("hypotheses", "at most", -np.inf)),
    ),
    (LaplaceCount(), Script(protocol="Release", **PAIR, score=Score("value", "distance", 1.5, -1))),
    (
        RandomisedResponse(size=40),
        Script(
            protocol="Release",
            world_0=Sample(np.arange(40) / 64, np.zeros(40)),
            world_1=Sample(np.arange(40) / 64, np.arange(40) == 0),
            score=Score("value", "weighted", weights=(1.0, -0.25) * 20),
        ),
    ),
    (
        DPSGD(size=3, batch=2, steps=2, features=2, noise=2.0),
        TrainingScript(
            protocol="TrainingRun",
            world_0=VECTOR.remove_one(1),
            world_1=VECTOR,
            pulls=(Pull((0.0, 1.0), 0, (1,), 1e6), Pull((1.0, 1.0), 1, (0, 1), -0.5)),
            parameters=2,
            score=StepScore(RATIO, (1,), clip=0.5, rate=0.25, noise=2.0, shift=2.0, replaced=True),
        ),
    ),
]


@pytest.mark.parametrize(("learner", "script"), CASES, ids=lambda case: getattr(case, "protocol", ""))
def test_what_is_printed_plays_the_same_games(learner: Learner, script: Script, tmp_path: Path) -> None:
    (tmp_path / "found.py").write_text(write_assignments(found=script))
    printed = ADVERSARIES.find_instance(f"{tmp_path / 'found.py'}:found")
    assert printed == script
    _, referee = configure_game(type(script.referee), printed)
    assert referee == script.referee
    games = [
        play(learner, player, referee, games=50, seed=3, record=True).transcript
        for player in (script, printed)
    ]
    assert games[0] is not None
    assert games[1] is not None
    assert games[0].table(0, 1) == games[1].table(0, 1)


class Counter:
    """Its method is a mechanism. To load its pickle here gives the class new functions."""

    scale = 3.0

    def count(self, data: Any, rng: np.random.Generator) -> float:
        return float(np.sum(data) + self.scale * rng.laplace())


class Doubler:
    """Its function is a mechanism."""

    @staticmethod
    def count_twice(data: Any, rng: np.random.Generator) -> float:
        return 2 * float(np.sum(data) + rng.laplace())


def count(data: Any, rng: np.random.Generator) -> float:
    return float(np.sum(data) + rng.laplace())


def make_count(scale: float) -> Callable[..., float]:
    return lambda data, rng: scale * count(data, rng)


def take_scale(data: Any, rng: np.random.Generator, scale: float) -> float:
    return scale * count(data, rng)


named_count = make_count(0.25)
FUNCTIONS = {
    "named": count,
    "lambda": named_count,
    "closure": make_count(0.5),
    "partial": partial(take_scale, scale=2.0),
    "partial of a closure": partial(make_count(4.0)),
    "static": Doubler.count_twice,
    "method": Counter().count,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_is_written_of_a_function_is_that_function(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    function = FUNCTIONS[name]
    learner = Function(function=function, epsilon=2.0)
    code = write_assignments(learner=learner, found=CASES[7][1])
    assert ("loads(b64decode(" in code) == (name in ("closure", "partial of a closure", "method"))
    monkeypatch.setattr(sys, "path", [*sys.path])  # to which the code adds
    names: dict[str, Any] = {}
    exec(code, names)
    assert (names["learner"], names["found"]) == (learner, CASES[7][1])
    values = [each([1.0, 2.0], np.random.default_rng(0)) for each in (function, names["learner"].function)]
    assert values[0] == values[1]


def test_two_functions_of_one_name_are_two(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    names: dict[str, Any] = {}
    functions = {"one": partial(make_count(2.0)), "two": partial(make_count(3.0))}
    exec(write_assignments(**functions), names)
    one, two = (names[name]([0.0], np.random.default_rng(0)) for name in functions)
    assert 3 * one == pytest.approx(2 * two)


def test_functions_of_one_name_in_two_modules_are_two(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "other.py").write_text("def count(data, rng):\n    return 7.0\n")
    monkeypatch.setattr(sys, "path", [*sys.path])
    other = load_function(f"{tmp_path / 'other.py'}:count")
    names: dict[str, Any] = {}
    for functions in ((count, other), (other, count)):
        exec(write_assignments(**dict(zip(("one", "two"), map(partial, functions), strict=True))), names)
        one, two = (names[name]([0.0], np.random.default_rng(0)) for name in ("one", "two"))
        assert (one == 7.0, two == 7.0) == (functions[0] is other, functions[1] is other)


def test_what_no_file_can_hold_is_named() -> None:
    many, lock = np.zeros(100_000), Lock()
    with pytest.raises(CannotBeSent, match=r"<lambda> encloses too much: its pickle has 80\d,\d{3} bytes"):
        write_assignments(learner=Function(function=lambda data, rng: many[0]))
    with pytest.raises(
        CannotBeSent, match=r"<lambda> cannot be pickled: TypeError: cannot pickle '_thread.lock'"
    ):
        write_assignments(learner=Function(function=lambda data, rng: lock.acquire()))


def test_the_command_plays_the_confirmation_again(tmp_path: Path) -> None:
    found = search(HalfTheNoise(), seed=1)
    assert found.verdict is not None
    assert found.plan is not None
    name = f"{ROOT / 'tests' / 'support' / 'simple_players.py'}:HalfTheNoise"
    file = str(tmp_path / "found.py")
    replay = write_replay(found.plan, found.verdict, learner=name, file=file)
    Path(file).write_text(replay.source)
    assert all(line.strip() in replay.source for line in replay.command.splitlines())
    done = CliRunner().invoke(cli.arena, [*replay.command.replace("\\\n", " ").split()[1:], "--json"])
    assert done.exit_code == 3
    assert f'"epsilon_lower": {found.verdict.epsilon_lower}' in done.stdout
    assert f'"games": {found.verdict.games},' in done.stdout


@pytest.mark.slow
def test_a_fault_is_replayed_as_one() -> None:
    found = search(RaisesOnLabels(), seed=1)
    assert found.plan is not None
    assert found.verdict is not None
    assert "--faults" in write_replay(found.plan, found.verdict, learner="it").command


def test_a_file_with_an_adversary_meets_others_in_a_tournament_under_its_name(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(write_assignments(found=CASES[7][1]))
    report = audits.tournament(["laplace-count"], [f"{file}:found"], games=200)
    assert "found" in report.summary()
    with pytest.raises(InvalidArgument, match=r"mine.py:found"):
        ADVERSARIES.find(f"{file}:other")


# --- the user's files ---------------------------------------------------------------------------------------

SCRIPT = """
import os, sys
with open({log!r}, "a") as log:
    log.write(__name__ + "\\n")

import numpy as np
from hypothesis import strategies as st
import audits

class Server:
    def __init__(self, data, rng):
        self.data, self.rng = data, rng
    def ask(self, query):
        return sum(self.data) + 0.1 * self.rng.laplace()

class Total:
    def __init__(self, rng):
        self.rng, self.total = rng, 0
    def update(self, record):
        self.total += record
        return self.total + 0.1 * self.rng.laplace()

class Model:
    def __init__(self, rng=None):
        self.rng = rng
    def __call__(self, data, rng):
        return sum(data) + 0.1 * rng.laplace()
    def release(self, data, rng):
        return self(data, rng)

class Fitted:
    def __init__(self, rng=None):
        self.rng = rng
    def fit(self, points):
        self.sum_ = float(points.sum()) + 0.1 * self.rng.laplace()

def release(data, rng):
    return sum(data) + 0.1 * rng.laplace()

bits = st.integers(0, 1)
claim = dict(epsilon=0.5, neighbours="replace one")
kinds = dict(
    session=lambda: audits.search(
        audits.session(Server, data=st.lists(bits), ask=[0], **claim), max_calls=8_000
    ),
    stream=lambda: audits.search(audits.stream(Total), data=bits, epsilon=0.5, max_calls=8_000),
    object=lambda: audits.search(Model(), data=st.lists(bits), examples=20, **claim),
    method=lambda: audits.audit(Model().release, data=[0], neighbour=[1], epsilon=0.5, games=500),
    model=lambda: audits.search(Fitted, epsilon=0.5, examples=20),
    function=lambda: audits.search(release, data=st.lists(bits), examples=20, **claim),
    jobs=lambda: audits.audit(release, data=[0], neighbour=[1], epsilon=0.5, games=2_000, jobs=2),
)
for kind in sys.argv[1:]:
    result = kinds[kind]()
    assert result.refuted
    print(result.summary(), repr(result), result.to_dict(), result.headline)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "kinds", [["session", "stream"], ["object", "method", "model", "function"], ["jobs"]], ids=" ".join
)
def test_a_script_without_a_guard_runs_once(kinds: list[str], tmp_path: Path) -> None:
    script, log = tmp_path / "script.py", tmp_path / "log"
    script.write_text(SCRIPT.format(log=str(log)))
    done = subprocess.run(
        [sys.executable, str(script), *kinds],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert log.read_text() == "__main__\n"


class Loud:
    """A class of a file that has run as a script, and would run again if it were loaded."""

    def __init__(self, data: list[int], rng: np.random.Generator) -> None:
        self.data, self.rng = data, rng

    def ask(self, query: int) -> float:
        return sum(self.data) + self.rng.laplace()


@pytest.mark.parametrize("item", [Loud, Loud.ask, count, make_count(1.0), Counter().count])
def test_no_file_runs_to_name_a_player(item: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    if item is Loud:
        learner = audits.session(Loud, data=[0, 1], ask=[0], epsilon=1.0)
    else:
        learner = Function(function=item, epsilon=1.0) if item is not Loud.ask else Function(make=make_named)
    before = set(sys.modules)
    name_player(learner)
    assert not [name for name in set(sys.modules) - before if name.startswith(PLUGIN_PREFIX)]


def make_named() -> Callable[..., float]:
    return count


def test_a_file_that_was_loaded_before_is_named(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("def release(data, rng):\n    return data.sum() + rng.laplace()\n")
    learner = Function(function=load_function(f"{file}:release"), epsilon=1.0)
    assert str(file) in (name_player(learner) or "")
    file.write_text("raise SystemExit\n")  # it has changed, and is not run
    assert name_player(learner) is None


def test_a_replay_names_files_of_the_user_relative_to_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    (here / "source").mkdir(parents=True)
    (here / "replays").mkdir()
    (here / "source" / "moved_mechanisms.py").write_text(MOVED)
    (here / "source" / "moved_plugin.py").write_text(MOVED)
    monkeypatch.setattr(sys, "path", [str(here / "source"), *sys.path])
    learner = Function(function=importlib.import_module("moved_mechanisms").release, epsilon=1.0)
    plugin = Function(function=load_function(f"{here / 'source' / 'moved_plugin.py'}:tell"), epsilon=1.0)
    code = write_assignments(str(here / "replays"), learner=learner, plugin=plugin)
    assert str(tmp_path) not in code
    (here / "replays" / "found.py").write_text(code)
    for name in ("moved_mechanisms", learner.function.__module__):
        monkeypatch.delitem(sys.modules, name, raising=False)
    here.rename(there)  # as on another machine
    monkeypatch.setattr(sys, "path", sys.path[1:])
    names = runpy.run_path(str(there / "replays" / "found.py"))
    assert names["learner"].function(np.ones(2), np.random.default_rng(0)) == 7.0
    assert names["plugin"].function(np.ones(2), np.random.default_rng(0)) == 8.0
    (there / "source").rename(tmp_path / "elsewhere")
    monkeypatch.delitem(sys.modules, "moved_mechanisms")
    monkeypatch.setattr(sys, "path", [path for path in sys.path if str(there) not in path])
    with pytest.raises(InvalidArgument, match="needs the module moved_mechanisms, which was in the"):
        runpy.run_path(str(there / "replays" / "found.py"))


MOVED = """
def release(data, rng):
    return 7.0

def tell(data, rng):
    return 8.0
"""
