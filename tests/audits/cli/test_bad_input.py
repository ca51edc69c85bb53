"""Every kind of bad input is refused with status 2 and one line that says what to do: never a traceback."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path

import pytest
from support.command_line import Command

COUNT = ("laplace-count", "--against", "count-swap")
arena = Command()
refusal = arena.refusal
GOOD = "age,income\n30,<=50K\n40,>50K\n50,>50K\n"


# --- data ---------------------------------------------------------------------------------------------


DATA_NEEDS = "--data needs --x COLUMN for the points and --y COLUMN for the labels. See arena audit --help."


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--x", "age"], "--x, --y, --positive and --user need --data, which is missing. See arena audit"),
        (["--data", "FILE"], DATA_NEEDS),
        (["--data", "FILE", "--x", "age"], DATA_NEEDS),
    ],
)
def test_the_options_of_data_go_together(options: list[str], message: str) -> None:
    assert refusal("audit", "everlasting-v1", "--against", "halt-counter", *options).startswith(message)


def test_data_for_an_adversary_that_takes_none_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text(GOOD)
    data = ("--data", str(path), "--x", "age", "--y", "income", "--positive", ">50K")
    said = refusal("audit", "noisy-majority", "--against", "special-swap", *data)
    assert said.startswith(
        "special-swap chooses its own training set and takes no data. Leave out --data, or "
    )


# --- the claim and the plan ---------------------------------------------------------------------------


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--epsilon 0", "epsilon of the claim under test must be more than 0 nats and finite, got 0.0."),
        ("--epsilon inf", "Invalid value for '--epsilon': --epsilon must be a finite number, got 'inf'"),
        ("--delta 1", "delta must be less than 1, got 1.0"),
        ("--confidence 95", "confidence must be less than 1, got 95.0"),
        ("--games 0", "games must be at least 1, got 0"),
        ("--games 1.5", "Invalid value for '--games': --games must be an integer, got '1.5'."),
        ("--seed -1", "seed must be at least 0, got -1"),
        ("--jobs 0", "jobs must be at least 1, got 0"),
        ("--set epsilon=0", "epsilon must be more than 0, got 0.0"),
        ("--set epsilon", "A setting is NAME=VALUE or adversary.NAME=VALUE, got 'epsilon'."),
        ("--set referee.t=1", "A setting is NAME=VALUE or adversary.NAME=VALUE, got 'referee.t=1'."),
        ("--set epsilon=1 --set learner.epsilon=2", "epsilon of the learner is set twice."),
        ("--set epsilom=1", "laplace-count has no setting 'epsilom'. Did you mean epsilon?"),
        ("--set adversary.sample=x", "sample of count-swap cannot be set. It is filled from --data."),
    ],
)
def test_bad_values_are_refused(options: str, message: str) -> None:
    assert refusal("audit", *COUNT, *options.split()).startswith(message)


@pytest.mark.parametrize(
    ("players", "message"),
    [
        ("laplace-cuont count-swap", "there is no learner of that name, got 'laplace-cuont'. Did you mean "),
        ("laplace-count count-swop", "there is no adversary of that name, got 'count-swop'. Did you mean "),
        ("count-swap laplace-count", "count-swap is an adversary, not a learner. The learner is the arg"),
        ("static-erm reconstruct", "static-erm claims nothing with these settings, so there is nothing to"),
        ("noisy-majority contrarian", "Adaptive has one world, so its games show nothing about privacy."),
    ],
)
def test_players_whose_games_test_nothing_are_refused(players: str, message: str) -> None:
    learner, adversary = players.split()
    assert refusal("audit", learner, "--against", adversary).startswith(message)


# --- files --------------------------------------------------------------------------------------------


@pytest.mark.thorough
def test_a_ledger_of_another_plan_is_refused(tmp_path: Path) -> None:
    ledger = tmp_path / "run.ledger"
    assert arena("audit", *COUNT, "--games", "100", "--ledger", str(ledger)).exit_code == 0
    said = refusal("audit", *COUNT, "--games", "100", "--seed", "1", "--ledger", str(ledger))
    assert said.startswith(f"the ledger {ledger} holds another plan: seed: 0 -> 1. Give the plan that the")


@pytest.mark.thorough
def test_a_ledger_that_is_damaged_or_none_is_refused(tmp_path: Path) -> None:
    ledger, text, folder = tmp_path / "run.ledger", tmp_path / "text.ledger", tmp_path / "a" / "b"
    assert arena("audit", *COUNT, "--games", "100", "--ledger", str(ledger)).exit_code == 0
    connection = sqlite3.connect(ledger)
    connection.execute("UPDATE blocks SET pairs = pairs + 1 WHERE block = 3")
    connection.commit()
    connection.close()
    text.write_text("not a ledger at all")
    said = refusal("audit", *COUNT, "--games", "100", "--ledger", str(ledger))
    assert said.startswith(f"the ledger {ledger} is damaged: block 3 is none of its plan")
    assert refusal("audit", *COUNT, "--ledger", str(text)).startswith(f"{text} is not a ledger")
    said = refusal("audit", *COUNT, "--ledger", str(folder))
    assert said.startswith(f"the ledger {folder} cannot be written: its directory does not exist.")


# --- plug-ins -----------------------------------------------------------------------------------------

ADVERSARY = """
import attrs
import numpy as np
from arena import Adversary, Query, Sample, Train

SAMPLE = Sample([0.0, 1.0], [0, 1], [5, 5])

@attrs.frozen
class Mine(Adversary):
    name = "mine"
    protocols = ("Figure1",)

    def play(self, games, rng):
        {play}
"""

LEARNER = """
import attrs
import numpy as np
from arena import Claim, Learner, PrivacyUnit

class Seat:
    def __init__(self, games):
        self.games = games
        self.round = 0
        self.halted = np.zeros(games, bool)

    def train(self, training):
        pass

    def predict(self, x):
        self.round += 1
        {predict}

@attrs.frozen
class Mine(Learner):
    name = "mine"
    protocols = ("Figure1",)

    @property
    def claim(self):
        {claim}

    def start(self, games, rng):
        return Seat(games)
"""
CLAIM = "return Claim(epsilon=1, delta=0, protects=(PrivacyUnit.TRAINING_EXAMPLE, PrivacyUnit.QUERY))"


@pytest.mark.thorough
@pytest.mark.parametrize("command", ["play", "audit"])
@pytest.mark.parametrize(
    ("play", "message"),
    [
        ("yield Train(SAMPLE); raise KeyError('oops')", "raised KeyError: 'oops' in the training phase"),
        ("yield Query(1.0)", "the training phase: Figure1 begins with Train, which is made once"),
        ("yield Train(SAMPLE); yield Query('x')", "round 1: points must be numbers"),
        ("yield Train(SAMPLE, Sample([2.0, 1.0], [0, 1], [5, 5]))", "the training phase, games 0, 1"),
        ("yield Train(SAMPLE); return np.full(games, np.nan)", "the training phase, games 0, 1"),
    ],
)
def test_an_adversary_that_breaks_the_rules_is_named(
    tmp_path: Path, command: str, play: str, message: str
) -> None:
    path = tmp_path / "mine.py"
    path.write_text(ADVERSARY.format(play=play))
    options = ["--epsilon", "1", "--games", "50"] if command == "audit" else []
    said = refusal(command, "static-erm", "--against", f"{path}:Mine", *options)
    assert re.match(f"adversary mine,? {re.escape(message)}", said)


def test_an_adversary_whose_score_looks_at_other_games_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    moves = "yield Train(SAMPLE); reply = yield Query(1.0); return reply.label.cumsum()"
    path.write_text(ADVERSARY.format(play=moves))
    said = refusal("audit", "static-erm", "--against", f"{path}:Mine", "--epsilon", "1")
    assert "a game's score depends on the replies of that game alone" in said


@pytest.mark.thorough
@pytest.mark.parametrize("command", ["play", "audit"])
@pytest.mark.parametrize(
    ("predict", "message"),
    [
        ("raise RuntimeError('tired')", "learner mine raised RuntimeError: tired in round 1"),
        ("return [0] * self.games", "learner mine, round 1: predict returns one label a game; expected an "),
        ("return np.zeros(self.games)", "learner mine, round 1: labels are bool or integers; got float64"),
        ("return np.full(self.games, 2 if self.round == 2 else 0)", "learner mine, round 2, games 0, 1"),
    ],
)
def test_a_learner_that_breaks_the_rules_is_named(
    tmp_path: Path, command: str, predict: str, message: str
) -> None:
    path = tmp_path / "mine.py"
    path.write_text(LEARNER.format(predict=predict, claim=CLAIM))
    options = ["--set", "adversary.queries=3", "--set", "adversary.point=0.5"]
    games = ["--games", "50"] if command == "audit" else []
    said = refusal(command, f"{path}:Mine", "--against", "training-swap", *options, *games)
    assert said.startswith(message)


@pytest.mark.parametrize(
    ("claim", "message"),
    [
        ("return 1 / 0", "mine raised ZeroDivisionError: division by zero when it was asked for its claim. "),
        ("return 3.0", "the claim of mine must be a Claim, got 3.0"),
        ("return Claim(epsilon=-1, delta=0, protects=())", "ε must be at least 0 nats, got -1.0"),
    ],
)
def test_a_learner_whose_claim_is_none_is_named(tmp_path: Path, claim: str, message: str) -> None:
    path = tmp_path / "mine.py"
    path.write_text(LEARNER.format(predict="return x > 0", claim=claim))
    said = refusal("audit", f"{path}:Mine", "--against", "training-swap")
    assert said.startswith(message)
    assert "return 1" not in claim or said.endswith(f" Fix the player. See {path}, line 26.")


def test_a_violation_in_a_worker_process_says_the_same(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    play = "yield Train(SAMPLE); yield Query(0.0, 1.0); yield Query(0.0, 1.0 if games == 7 else 0.0)"
    path.write_text(ADVERSARY.format(play=play + "; return np.zeros(games)"))
    options = ("--epsilon", "1", "--games", "70")
    alone, together = (
        refusal("audit", "static-erm", "--against", f"{path}:Mine", *options, "--jobs", jobs) for jobs in "12"
    )
    assert alone == together
    assert alone.startswith(
        "adversary mine, round 2, games 0, 1, 2, 3, 4 and 2 more: after the flag both queries are equal"
    )
