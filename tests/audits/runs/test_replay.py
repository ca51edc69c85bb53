"""What is printed of an adversary, of any protocol, is that adversary again, and plays the same games."""

from __future__ import annotations

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
from audits.registry.user_files import load_function
from audits.runs.replay import write_replay
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


@pytest.mark.thorough
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
    """Its methods are mechanisms."""

    scale = 3.0

    def count(self, data: Any, rng: np.random.Generator) -> float:
        return float(np.sum(data) + self.scale * rng.laplace())

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
    "static": Counter.count_twice,
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


@pytest.mark.thorough
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


@pytest.mark.thorough
def test_a_file_with_an_adversary_meets_others_in_a_tournament_under_its_name(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(write_assignments(found=CASES[7][1]))
    report = audits.tournament(["laplace-count"], [f"{file}:found"], games=200)
    assert "found" in report.summary()
    with pytest.raises(InvalidArgument, match=r"mine.py:found"):
        ADVERSARIES.find(f"{file}:other")
