"""Every kind of bad input is refused with status 2 and one line that says what to do: never a traceback."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from support.command_line import Command

COUNT = ("laplace-count", "--against", "count-swap")
arena = Command()
refusal = arena.refusal
GOOD = "age,income\n30,<=50K\n40,>50K\n50,>50K\n"


# --- data ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "columns", "message"),
    [
        (GOOD, ("agee", "income"), "{file}, line 1: no such column, got 'agee'. Did you mean 'age'?"),
        (GOOD, ("age", "salary"), "{file}, line 1: no such column, got 'salary'."),
        (
            "age,income\nold,a\n3,b\n",
            ("age", "income"),
            "{file}, line 2, column 'age': a point must be a finite number, got 'old'.",
        ),
        (
            "age,income\n3,a\nNaN,b\n",
            ("age", "income"),
            "{file}, line 3, column 'age': a point must be a finite number, got 'NaN'.",
        ),
        (
            "age,income\n3,a\ninf,b\n",
            ("age", "income"),
            "{file}, line 3, column 'age': a point must be a finite number, got 'inf'.",
        ),
        ("", ("age", "income"), "{file} is empty."),
        ("age,income\n", ("age", "income"), "{file} has column names but no examples. Give more data."),
        (
            "age,income\n1,a\n2,b\n3,c\n",
            ("age", "income"),
            "{file}, column 'income': labels must take two values, found 3 (the third in line 4): ",
        ),
        (
            "age,income\n1,a\n2,a\n",
            ("age", "income"),
            "{file}, column 'income': labels must take two values, found 1: 'a'.",
        ),
        (
            "age,income\n1,a\n2\n",
            ("age", "income"),
            "{file}, line 3: expected 2 fields, as in line 1, got 1.",
        ),
        (GOOD, ("age", "income", "50K"), "{file}, column 'income': there is no such label, got '50K'."),
        (
            GOOD,
            ("age", "income"),
            "{file}, column 'income': the labels are '<=50K', '>50K', and it is not given ",
        ),
    ],
)
def test_bad_data_are_refused(tmp_path: Path, text: str, columns: tuple[str, ...], message: str) -> None:
    path = tmp_path / "people.csv"
    path.write_text(text)
    x, y, *positive = columns
    options = ["--data", str(path), "--x", x, "--y", y, *(["--positive", positive[0]] if positive else [])]
    for command in ("audit", "play"):
        said = refusal(command, "everlasting-v1", "--against", "halt-counter", *options)
        assert said.startswith(message.format(file=path))


def test_what_is_not_csv_is_refused(tmp_path: Path) -> None:
    path, zipped, missing = tmp_path / "image.csv", tmp_path / "data.csv.gz", tmp_path / "nowhere.csv"
    path.write_bytes(b"\x89PNG\r\n\x1a\n\0\0")
    zipped.write_text(GOOD)
    player = ("audit", "everlasting-v1", "--against", "halt-counter", "--x", "age", "--y", "income")
    assert refusal(*player, "--data", str(path)).startswith(f"{path}, line 1: not text in UTF-8")
    assert refusal(*player, "--data", str(zipped)).startswith(f"{zipped} is not complete gzip data")
    assert refusal(*player, "--data", str(missing)) == (
        f"the data file {missing} cannot be read (No such file or directory). Check the path."
    )


DATA_NEEDS = "--data needs --x COLUMN for the points and --y COLUMN for the labels. See arena audit --help."


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--x", "age"],
            "--x, --y, --positive and --user need --data, which is missing. See arena audit --help.",
        ),
        (["--data", "FILE"], DATA_NEEDS),
        (["--data", "FILE", "--x", "age"], DATA_NEEDS),
    ],
)
def test_the_options_of_data_go_together(options: list[str], message: str) -> None:
    assert refusal("audit", "everlasting-v1", "--against", "halt-counter", *options) == message


def test_data_for_an_adversary_that_takes_none_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text(GOOD)
    data = ("--data", str(path), "--x", "age", "--y", "income", "--positive", ">50K")
    assert refusal("audit", "noisy-majority", "--against", "special-swap", *data) == (
        "special-swap chooses its own training set and takes no data. "
        "Leave out --data, or choose an adversary that has a setting `sample`."
    )


def test_too_few_data_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text(GOOD)
    data = ("--data", str(path), "--x", "age", "--y", "income", "--positive", ">50K")
    said = refusal("audit", "everlasting-v1", "--against", "halt-counter", *data)
    assert said.startswith("everlasting-v1 needs at least ")
    assert said.endswith("got 3. Use more data, or set teachers, chunk and training_rate yourself.")


# --- the claim and the plan ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--epsilon", "0"], "epsilon of the claim under test must be more than 0 nats and finite, got 0.0."),
        (
            ["--epsilon", "-1"],
            "epsilon of the claim under test must be more than 0 nats and finite, got -1.0.",
        ),
        (["--epsilon", "nan"], "Invalid value for '--epsilon': --epsilon must be a finite number, got 'nan'"),
        (["--epsilon", "inf"], "Invalid value for '--epsilon': --epsilon must be a finite number, got 'inf'"),
        (["--epsilon", "big"], "Invalid value for '--epsilon': --epsilon must be a finite number, got 'big'"),
        (["--delta", "-0.1"], "delta must be at least 0, got -0.1"),
        (["--delta", "1"], "delta must be less than 1, got 1.0"),
        (["--confidence", "0"], "confidence must be more than 0, got 0.0"),
        (["--confidence", "1"], "confidence must be less than 1, got 1.0"),
        (["--confidence", "95"], "confidence must be less than 1, got 95.0"),
        (["--games", "0"], "games must be at least 1, got 0"),
        (["--games", "-5"], "games must be at least 1, got -5"),
        (["--games", "1.5"], "Invalid value for '--games': --games must be an integer, got '1.5'."),
        (["--seed", "-1"], "seed must be at least 0, got -1"),
        (["--jobs", "0"], "jobs must be at least 1, got 0"),
        (["--set", "epsilon=0"], "epsilon must be more than 0, got 0.0"),
        (["--set", "epsilon"], "A setting is NAME=VALUE or adversary.NAME=VALUE, got 'epsilon'."),
        (["--set", "referee.t=1"], "A setting is NAME=VALUE or adversary.NAME=VALUE, got 'referee.t=1'."),
        (["--set", "epsilon=1", "--set", "learner.epsilon=2"], "epsilon of the learner is set twice."),
        (["--set", "epsilom=1"], "laplace-count has no setting 'epsilom'. Did you mean epsilon?"),
        (
            ["--set", "adversary.sample=x"],
            "sample of count-swap cannot be set. It is filled from --data.",
        ),
    ],
)
def test_bad_values_are_refused(options: list[str], message: str) -> None:
    assert refusal("audit", *COUNT, *options).startswith(message)


def test_a_learner_that_claims_nothing_needs_a_claim() -> None:
    assert refusal("audit", "static-erm", "--against", "reconstruct") == (
        "static-erm claims nothing with these settings, so there is nothing to test. "
        "Say what to test it against: --epsilon, in nats."
    )


def test_one_world_says_nothing_about_privacy() -> None:
    assert refusal("audit", "noisy-majority", "--against", "contrarian") == (
        "Adaptive has one world, so its games show nothing about privacy. "
        "Audit under Figure1, Release, Voting, TrainingRun or SpecialRound."
    )


@pytest.mark.parametrize(
    ("players", "message"),
    [
        (
            ("laplace-cuont", "count-swap"),
            "there is no learner of that name, got 'laplace-cuont'. Did you mean laplace-count?",
        ),
        (
            ("laplace-count", "count-swop"),
            "there is no adversary of that name, got 'count-swop'. Did you mean count-swap",
        ),
        (
            ("count-swap", "laplace-count"),
            "count-swap is an adversary, not a learner. The learner is the argument, ",
        ),
        (
            ("nowhere.py:Mine", "count-swap"),
            "the plug-in nowhere.py cannot be read (No such file or directory).",
        ),
    ],
)
def test_unknown_players_are_refused(players: tuple[str, str], message: str) -> None:
    assert refusal("audit", players[0], "--against", players[1]).startswith(message)


# --- files --------------------------------------------------------------------------------------------


def test_a_ledger_of_another_plan_is_refused(tmp_path: Path) -> None:
    ledger = tmp_path / "run.ledger"
    assert arena("audit", *COUNT, "--games", "100", "--ledger", str(ledger)).exit_code == 0
    said = refusal("audit", *COUNT, "--games", "100", "--seed", "1", "--ledger", str(ledger))
    assert said == (
        f"the ledger {ledger} holds another plan: seed: 0 -> 1. "
        "Give the plan that the ledger holds, or the path of a new file."
    )


def test_a_ledger_that_is_damaged_or_none_is_refused(tmp_path: Path) -> None:
    ledger, text, folder = tmp_path / "run.ledger", tmp_path / "text.ledger", tmp_path / "a" / "b"
    assert arena("audit", *COUNT, "--games", "100", "--ledger", str(ledger)).exit_code == 0
    connection = sqlite3.connect(ledger)
    connection.execute("UPDATE blocks SET pairs = pairs + 1 WHERE block = 3")
    connection.commit()
    connection.close()
    text.write_text("not a ledger at all")
    said = refusal("audit", *COUNT, "--games", "100", "--ledger", str(ledger))
    assert said.startswith(f"the ledger {ledger} is damaged: the checksum of block 3 is wrong.")
    assert refusal("audit", *COUNT, "--ledger", str(text)).startswith(f"{text} is not a ledger")
    said = refusal("audit", *COUNT, "--ledger", str(folder))
    assert said.startswith(f"the ledger {folder} cannot be written: its directory does not exist.")


def test_an_html_report_that_cannot_be_written_is_refused_before_the_games(tmp_path: Path) -> None:
    said = refusal("audit", *COUNT, "--html", str(tmp_path))
    assert said == f"the HTML report {tmp_path} is a directory. Name a file in it."
    nowhere = tmp_path / "none" / "report.html"
    said = refusal("audit", *COUNT, "--html", str(nowhere))
    assert said == f"the directory of the HTML report {nowhere} does not exist. Create it first."


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


@pytest.mark.parametrize("command", ["play", "audit"])
@pytest.mark.parametrize(
    ("play", "message"),
    [
        (
            "yield Train(SAMPLE); raise KeyError('oops')",
            "adversary mine raised KeyError: 'oops' in the training phase",
        ),
        (
            "yield Train(SAMPLE); yield Query(1.0); 1 / 0",
            "adversary mine raised ZeroDivisionError: division by zero in round 1",
        ),
        (
            "yield Query(1.0)",
            "adversary mine, the training phase: Figure1 begins with Train, which is made once",
        ),
        (
            "yield 3",
            "adversary mine, the training phase: an adversary yields moves; expected a Move such as ",
        ),
        ("yield Train(SAMPLE); yield Query('x')", "adversary mine, round 1: points must be numbers"),
        (
            "yield Train(SAMPLE); yield Query(float('nan'))",
            "adversary mine, round 1: points must be finite: no NaN, no infinity, got nan",
        ),
        (
            "yield Train(SAMPLE); yield Query(np.zeros(3))",
            "adversary mine, round 1: a point is given once for all games or once for each; expected shape ",
        ),
        (
            "yield Train(SAMPLE); yield Query(0.0, 1.0); yield Query(0.0, 1.0)",
            "adversary mine, round 2, games 0, 1",
        ),
        (
            "yield Train(SAMPLE, Sample([2.0, 1.0], [0, 1], [5, 5]))",
            "adversary mine, the training phase, games 0, 1",
        ),
        (
            "yield Train(SAMPLE); return np.zeros((games, 2))",
            "adversary mine, the training phase: a score is one number for each game; expected numbers of ",
        ),
        (
            "yield Train(SAMPLE); return np.full(games, np.nan)",
            "adversary mine, the training phase, games 0, 1",
        ),
        (
            "yield Train(SAMPLE); return ['a'] * games",
            "adversary mine, the training phase: a score is one number for each game; expected numbers of ",
        ),
    ],
)
def test_an_adversary_that_breaks_the_rules_is_named(
    tmp_path: Path, command: str, play: str, message: str
) -> None:
    path = tmp_path / "mine.py"
    path.write_text(ADVERSARY.format(play=play))
    options = ["--epsilon", "1", "--games", "50"] if command == "audit" else []
    assert refusal(command, "static-erm", "--against", f"{path}:Mine", *options).startswith(message)


def test_an_adversary_without_a_score_cannot_audit(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(ADVERSARY.format(play="yield Train(SAMPLE)"))
    against = ("--against", f"{path}:Mine", "--epsilon", "1", "--distinguisher", "score")
    assert refusal("audit", "static-erm", *against) == (
        "mine returns no score, so an audit cannot tell the worlds apart by it. Let play() return one number "
        "for each game, higher if it looks like world 1, or have a distinguisher learned."
    )


def test_an_adversary_whose_score_looks_at_other_games_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    moves = "yield Train(SAMPLE); reply = yield Query(1.0); return reply.label.cumsum()"
    path.write_text(ADVERSARY.format(play=moves))
    said = refusal("audit", "static-erm", "--against", f"{path}:Mine", "--epsilon", "1")
    assert "a game's score depends on the replies of that game alone" in said


@pytest.mark.parametrize("command", ["play", "audit"])
@pytest.mark.parametrize(
    ("predict", "message"),
    [
        ("raise RuntimeError('tired')", "learner mine raised RuntimeError: tired in round 1"),
        (
            "return np.zeros(self.games + 1, bool)",
            "learner mine, round 1: predict returns one label a game; expected an array of ",
        ),
        (
            "return [0] * self.games",
            "learner mine, round 1: predict returns one label a game; expected an array of ",
        ),
        (
            "return np.zeros(self.games)",
            "learner mine, round 1: labels are bool or integers; got float64",
        ),
        ("return np.full(self.games, 2 if self.round == 2 else 0)", "learner mine, round 2, games 0, 1"),
        (
            "self.halted = np.full(self.games, self.round == 1); return self.halted",
            "learner mine, round 2, games 0, 1",
        ),
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
        (
            "return 1 / 0",
            "mine raised ZeroDivisionError: division by zero when it was asked for its claim. "
            "Fix the player. See {path}, line 26.",
        ),
        ("return 3.0", "the claim of mine must be a Claim, got 3.0"),
        ("return Claim(epsilon=-1, delta=0, protects=())", "ε must be at least 0 nats, got -1.0"),
    ],
)
def test_a_learner_whose_claim_is_none_is_named(tmp_path: Path, claim: str, message: str) -> None:
    path = tmp_path / "mine.py"
    path.write_text(LEARNER.format(predict="return x > 0", claim=claim))
    assert refusal("audit", f"{path}:Mine", "--against", "training-swap") == message.format(path=path)


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
