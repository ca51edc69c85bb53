"""The printed adversary plays the games of the script, to the last score."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import attrs
import numpy as np
import pytest
from click.testing import CliRunner
from mutants.runs import RunsLearner
from mutants.voting_learners import BARE, HALF
from support.paths import ROOT
from support.players.search_players import Copying, HalfTheNoise, HaltsOnTheCount, OnePoint, RaisesOnLabels
from support.players.voting_learners import Screened

from arena import Learner, Sample, play
from arena.step_scores import RATIO, StepScore
from audits import cli
from audits.adversary_search import Ask, Challenge, Follow, Score, Script, Show, Special, search
from audits.adversary_search.protocols.training_scripts import Pull, TrainingScript
from audits.adversary_search.script import Memory
from audits.adversary_search.source_code import adversary_source, format_script, replay_command
from audits.registry.players import ADVERSARIES
from learners.everlasting.everlasting_v1 import EverlastingV1
from learners.online.noisy_majority import NoisyMajority
from learners.predictors.static_erm import StaticErm
from learners.releases.laplace_count import LaplaceCount
from learners.releases.randomised_response import RandomisedResponse
from learners.training.dp_sgd import DPSGD

V1 = EverlastingV1(teachers=21, chunk=1, training_rate=0.5, rounds=1, answers=300, halts=3)
TIED = Sample([0.5, 0.5], [0, 1], [21, 21])
ASKED = (Ask(0.5, 3), Challenge(0.0, 0.5), Follow(0.25, 0.5, 4), Ask(0.5, 120))
SHOWN = (Show(0.5, "with", 2), Special((0.5, 0), (0.25, 1)), Show(0.5, "against", 3), Show(0.0, 1, 2))
REMEMBERED = (
    Ask(0.5, 3),
    Follow(0.5, 0.25, 4, Memory("seen", "11")),
    Challenge(0.0, 0.5, 5, Memory("ends", "01")),
    Follow(0.25, 0.5, 2, Memory("odd")),
)
SHOWN_WHEN = (
    Show(0.5, "with", 2),
    Special((0.5, 0), (0.25, 1), 4, Memory("ends", "1")),
    Show(0.5, "against", 3),
)
PAIR = (Sample([0.0], [0], [5]), Sample([0.0, 0.0], [0, 1], [4, 1]))
DIVIDED = Script(
    protocol="Release", world_0=PAIR[0], world_1=PAIR[1], pieces=2, score=Score("value", "distance", 1.5)
)
VECTOR = Sample([[0.0, 1.0], [1.0, 1.0]], [0, 1], [1, 2])

MANY = [
    Sample([0.0, 0.0, 0.25, 0.25, 0.5, 1.0][:runs], [0, 1, 0, 1, 0, 1][:runs], [3_494_327] * runs)
    for runs in (4, 5, 6)
]

CASES = [
    *((StaticErm(), Script(protocol="Figure1", world_0=many, steps=(Ask(0.25),))) for many in MANY),
    *(
        (V1, Script(protocol="Figure1", world_0=TIED, steps=ASKED, score=score))
        for score in (
            None,
            Score("halted"),
            Score("halted", sign=-1),
            Score("answers"),
            Score("answers 1"),
            Score("answers 1", "distance", 4.0),
            Score("answer 2"),
            Score("answer 6", sign=-1),
            Score("failed"),
        )
    ),
    *(
        (V1, Script(protocol="Figure1", world_0=TIED, steps=REMEMBERED, score=score))
        for score in (
            None,
            Score("answers 1"),
            Score("pattern 101", sign=-1),
            Score("answers 1 in 3 to 9", "distance", 2.0),
        )
    ),
    *(
        (NoisyMajority(), Script(protocol="SpecialRound", steps=SHOWN_WHEN, score=score))
        for score in (None, Score("hypothesis 3"), Score("hypotheses", "at most", 0.5))
    ),
    (
        NoisyMajority(),
        Script(
            protocol="SpecialRound",
            steps=SHOWN[1:],
            score=Score("numbers", "weighted", sign=-1, weights=(1.0, 0.0, -0.5, 0.25, 0.0, 1.0)),
        ),
    ),
    (
        RandomisedResponse(size=3),
        Script(
            protocol="Release",
            world_0=Sample([0.0], [0], [3]),
            world_1=Sample([0.0, 0.0], [0, 1], [2, 1]),
            score=Score("value", "weighted distance", 0.5, weights=(1.0, -1.0, 0.5)),
        ),
    ),
    *(
        (LaplaceCount(), Script(protocol="Release", world_0=PAIR[0], world_1=PAIR[1], score=score))
        for score in (Score("value"), Score("value", "distance", 1.5, -1), Score("value", "equal", 2.0))
    ),
    *((RunsLearner("counts-runs"), attrs.evolve(DIVIDED, score=score)) for score in (None, DIVIDED.score)),
    (
        RunsLearner("counts-runs", "Figure1"),
        Script(protocol="Figure1", world_0=TIED, pieces=16, steps=ASKED[:1], score=Score("answers 1")),
    ),
    *(
        (NoisyMajority(), Script(protocol="SpecialRound", steps=SHOWN, score=score))
        for score in (
            None,
            Score("hypothesis 1"),
            Score("hypothesis 4", sign=-1),
            Score("hypotheses", "at most", -np.inf, -1),
            Score("hypotheses", "at most", 0.5),
        )
    ),
    *(
        (
            RandomisedResponse(size=size),
            Script(
                protocol="Release",
                world_0=Sample([0.0], [0], [size]),
                world_1=Sample([0.0, 0.0], [0, 1], [size - 1, 1]),
                score=Score("value", "weighted", sign=sign, weights=(1.0, -0.25) * (size // 2)),
            ),
        )
        for size, sign in ((2, 1), (12, -1), (40, 1))
    ),
    *(
        (
            Screened(teachers=5, queries=9),
            Script(
                protocol="Voting",
                world_0=Sample([0.0, 0.0], [0, 1], [3, 2]),
                world_1=Sample([0.0, 0.0, 0.0], [0, 1, 1], [2, 1, 2]),
                steps=(Ask(0.0, 2), Follow(0.0, 1.0, 3), Ask(0.0, 4)),
                score=score,
            ),
        )
        for score in (
            None,
            Score("answers"),
            Score("answers 1", sign=-1),
            Score("answer 2", "equal", 2.0),
            Score("answer 9"),
            Score("halted"),
        )
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
    *(
        (
            DPSGD(size=3, batch=2, steps=2, features=2, noise=2.0),
            TrainingScript(
                protocol="TrainingRun",
                world_0=VECTOR.remove_one(1),
                world_1=VECTOR,
                pulls=(Pull((0.0, 1.0), 0, (1,), 1e6), Pull((1.0, 1.0), 1, (0, 1), -0.5)) if pulled else (),
                parameters=2,
                score=score,
            ),
        )
        for pulled, score in (
            (True, None),
            (False, Score("value[1]", "distance", 0.5)),
            (False, StepScore("length", sign=-1)),
            (
                True,
                StepScore(
                    RATIO, (1,), clip=0.5, rate=0.25, noise=2.0, shift=2.0, centre=-0.75, replaced=True
                ),
            ),
        )
    ),
]


def check_same_games(learner: Learner, script: Script, text: str, folder: Path) -> None:
    file = folder / "found.py"
    file.write_text(text)
    printed = ADVERSARIES.find(f"{file}:Found")()
    ours, theirs = (
        play(learner, player, script.referee, games=50, seed=3, record=True) for player in (script, printed)
    )
    assert ours.transcript is not None
    assert theirs.transcript is not None
    without_scores = [
        "\n".join(line for line in table.table(0, 1).splitlines() if "score" not in line)
        for table in (ours.transcript, theirs.transcript)
    ]
    assert without_scores[0] == without_scores[1]
    if script.score is None:
        assert theirs.score is None
    else:
        assert ours.score is not None
        assert theirs.score is not None
        assert (ours.score == theirs.score).all()


@pytest.mark.parametrize(
    ("learner", "script"), CASES, ids=lambda case: str(getattr(case, "score", "")) or "learned"
)
def test_the_source_plays_the_same_games(learner: Learner, script: Script, tmp_path: Path) -> None:
    check_same_games(learner, script, format_script(script, about="Found."), tmp_path)


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case[1].score))
def test_the_source_is_formatted(case: tuple[Learner, Script], tmp_path: Path) -> None:
    ruff = shutil.which("ruff") or shutil.which("ruff", path=str(Path(sys.executable).parent))
    if ruff is None:
        pytest.skip("ruff is not installed")
    file = tmp_path / "found.py"
    file.write_text(format_script(case[1], about="Found."))
    for command in (["check"], ["format", "--diff"]):
        done = subprocess.run(
            [ruff, *command, "--config", str(ROOT / "pyproject.toml"), "--no-cache", str(file)],
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    "learner",
    [HalfTheNoise(), HaltsOnTheCount(), Copying(), OnePoint(), HALF, BARE],
    ids=lambda one: one.name,
)
def test_what_is_found_can_be_pasted(learner: Learner, tmp_path: Path) -> None:
    found = search(learner, seed=1)
    assert found.adversary is not None
    check_same_games(learner, found.adversary, adversary_source(found), tmp_path)


def test_the_replay_plays_the_confirmation_again(tmp_path: Path) -> None:
    found = search(HalfTheNoise(), seed=1)
    assert found.verdict is not None
    name = f"{ROOT / 'tests' / 'support' / 'players' / 'search_players.py'}:HalfTheNoise"
    file = str(tmp_path / "found.py")
    Path(file).write_text(adversary_source(found, learner=name, file=file))
    command = replay_command(found, learner=name, file=file).replace("\\\n", " ").split()
    assert command[:2] == ["arena", "audit"]
    done = CliRunner().invoke(cli.arena, [*command[1:], "--json"])
    assert done.exit_code == 3
    assert f'"epsilon_lower": {found.verdict.epsilon_lower}' in done.stdout
    assert f'"games": {found.verdict.games},' in done.stdout


@pytest.mark.thorough
def test_a_fault_is_replayed_as_one() -> None:
    assert "--faults" in replay_command(search(RaisesOnLabels(), seed=1))
