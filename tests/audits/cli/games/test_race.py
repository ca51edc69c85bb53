"""`arena race`: what it prints, its status, and what it refuses before a game is lost."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest
from support.command_line import Command
from support.online import players as online_players
from support.processes import interrupt_at

from audits.races.race_result import run_race

FILE = online_players.__file__
SOA, GUESS = f"{FILE}:TinySoa", f"{FILE}:Guess"
AGAINST = ("--against", f"{FILE}:Drawn")
SHORT = (*AGAINST, "--rounds", "40", "--games", "60")

PREDICTORS = (
    *("--rounds", "2", "--games", "4", "--set", "teachers=200", "--set", "chunk=20", "--set", "noise=1"),
    *("--set", "alpha_1=0.03"),
)

arena = Command("race")
found, refusal = arena.json, arena.refusal


def test_it_prints_a_row_for_every_learner() -> None:
    done = arena(SOA, f"coin={GUESS}", *SHORT)
    assert (done.exit_code, done.stderr) == (0, "")
    rows = [line.split() for line in done.stdout.splitlines()]
    assert ["tiny-soa", "4", "(β", "=", "0)", "in", "every", "game"] in [
        [row[0], *row[-7:]] for row in rows if row
    ]
    assert any(row[:1] == ["coin"] and row[-1] == "none" for row in rows)
    assert "Mistakes after 40 rounds, 60 games of each:" in done.stdout
    assert "realizable: some concept of the learner's class explains every game" in done.stdout
    assert "by least squares over 16 marks" in " ".join(done.stdout.split())


def test_settings_are_for_all_for_one_or_for_the_adversary() -> None:
    settings = ("concepts=thresholds:0..7", "many.concepts=thresholds:0..99", "adversary.protocol=Oblivious")
    words = [word for setting in settings for word in ("--set", setting)]
    race = found(f"few={SOA}", f"many={SOA}", *SHORT, *words, "--marks", "4")
    few, many = race["learners"]
    assert few["concepts"] == "Thresholds(8 points from 0 to 7)"
    assert many["concepts"] == "Thresholds(100 points from 0 to 99)"
    assert (few["bounds"][-1], many["bounds"][-1]) == (3, 6)
    assert (race["protocol"], race["marks"]) == ("Oblivious", [1, 3, 12, 40])
    assert [one["label"] for one in race["learners"]] == ["few", "many"]


@pytest.mark.thorough
@pytest.mark.parametrize("beta", ["0", "0.1", "none"])
def test_status_3_where_a_bound_falls(beta: str) -> None:
    rounds = (*AGAINST, "--rounds", "200", "--games", "300")
    done = arena(f"x={SOA}", *rounds, "--set", "at_most=0.01", "--set", f"beta={beta}")
    assert done.exit_code == 3
    assert "  no: " in done.stdout


@pytest.mark.thorough
@pytest.mark.parametrize("ending", [".png", ".svg"])
def test_it_draws_the_same_bytes_for_the_same_race(tmp_path: Path, ending: str) -> None:
    files = [tmp_path / f"{name}{ending}" for name in "ab"]
    for file in files:
        done = arena(SOA, f"coin={GUESS}", *SHORT, "--plot", str(file), "--quiet")
        assert (done.exit_code, done.stderr) == (0, "")
    first, second = (file.read_bytes() for file in files)
    assert first == second
    assert len(first) > 5_000
    if ending == ".svg":
        for said in (">2 learners against drawn, 60 games each", "tiny-soa: bound 4 (β = 0)", ">coin<"):
            assert said in first.decode()


def test_a_race_of_one_round_and_one_game_can_be_drawn(tmp_path: Path) -> None:
    file = tmp_path / "one.svg"
    done = arena(SOA, *AGAINST, "--rounds", "1", "--games", "1", "--plot", str(file), "--set", "at_most=1e9")
    assert done.exit_code == 0
    assert "above the chart" in file.read_text(encoding="utf-8")


def test_a_chart_that_cannot_be_drawn_is_refused_before_the_games(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("audits.cli.race.run_race", lambda *given, **options: 1 / 0)
    assert refusal(SOA, *SHORT, "--plot", "race.gif").startswith(
        "a chart must be a PDF, a PNG or an SVG, got 'race.g"
    )
    nowhere = tmp_path / "none" / "race.png"
    assert f"chart {nowhere} does not exist. Create it" in refusal(SOA, *SHORT, "--plot", str(nowhere))
    find = importlib.util.find_spec
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == "matplotlib" else find(name))
    assert "the chart needs matplotlib. Run pip" in refusal(SOA, *SHORT, "--plot", str(tmp_path / "race.png"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((SOA, "--against", "nobody", "--rounds", "3"), "there is no adversary of that name, got 'nobody'."),
        ((SOA, "--against", f"{FILE}:Endless"), "endless has no number of rounds of its own. Say how many: "),
        (SHORT, "Missing argument 'LEARNER...'. See arena race --help."),
        ((SOA, *SHORT, "--confidence", "1"), "confidence must be less than 1, got 1.0"),
        ((SOA, GUESS, *SHORT, "--protocol", "Oblivious"), "the players do not all play Oblivious. tiny-soa "),
        (("everlasting-v1", *AGAINST), "adversary drawn does not play Figure1. It plays Adaptive,"),
        (("noisy-majority", *SHORT), "noisy-majority has no setting `concepts`, so there is no class to "),
        ((f"adversary={SOA}", *SHORT), "adversary cannot be a label. Choose another; --set reserves it."),
        ((f"a={SOA}", *SHORT, "--set", "b.at_most=1"), "A setting is NAME=VALUE or adversary.NAME=VALUE"),
        ((f"a={SOA}", *SHORT, "--set", "a.rounds=1"), "the rounds of the a are those of the race. Give"),
        (
            (SOA, *SHORT, "--set", "adversary.noise=0.1", "--set", "adversary.lies=yes"),
            "adversary drawn, round ",
        ),
    ],
)
def test_bad_use_is_one_line_and_status_2(arguments: tuple[str, ...], message: str) -> None:
    assert refusal(*arguments).startswith(message)


def test_an_interruption_is_status_130(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*given: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("audits.races.race.Race.play_block", interrupt)
    stopped = arena(SOA, *SHORT)
    assert (stopped.exit_code, stopped.stdout) == (130, "")
    assert stopped.stderr == "arena: interrupted: no games were finished that could be reported\n"


def test_an_interrupted_race_prints_its_figures_with_status_130(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "audits.cli.race.run_race", lambda race, **options: run_race(race, watch=interrupt_at(1))
    )
    told = found(SOA, *AGAINST, "--rounds", "40", "--games", "300", status=130)
    assert (told["interrupted"], told["games"]) == (True, 75)


@pytest.fixture
def data(tmp_path: Path) -> str:
    file = tmp_path / "ages.csv"
    rows = [f"{age},{age % 3},{int(age > 40)}" for age in range(20, 70)]
    file.write_text("age,kind,rich\n" + "\n".join(rows) + "\n")
    return str(file)


@pytest.mark.thorough
def test_honest_is_the_usual_adversary_and_a_note_says_what_is_practical() -> None:
    everybody = "everlasting-v2", "everlasting-counter", "everlasting-fresh", "everlasting-v1"
    done = arena(*everybody, *PREDICTORS)
    assert done.exit_code == 0
    assert done.stderr.startswith(
        "arena: note: everlasting-v2 has practical constants (--as-set keeps its own)"
    )
    assert "adversary  honest" in done.stdout
    assert "(not promised)" in done.stdout
    rows = [line.split() for line in done.stdout.splitlines()]
    assert [row[1:4] for row in rows if row[:1] == ["everlasting-v2"] and row[1:2] == ["1"]] == [
        ["1", "20", "200"]
    ]
    assert arena("everlasting-v2", *PREDICTORS, "--quiet").stderr == ""


def test_labellings_are_those_of_what_is_learned_from() -> None:
    """Of fresh points 400 are, and 100 examples; the 10,000 queries of the round are answered only."""
    small = ("--set", "teachers=5", "--set", "chunk=20", "--rounds", "2", "--games", "1")
    assert arena("everlasting-fresh", "--set", "concepts=intervals", *small).exit_code == 0
    assert refusal(
        "everlasting-fresh", "--set", "concepts=intervals", "--set", "pool=2000", *small, "--quiet"
    ).startswith("RealIntervals() may have 2,206,051 labellings of 2,100 points")


def test_as_set_keeps_the_sizes() -> None:
    kept = ("--as-set", "--set", "rate=1", "--set", "training_rate=1", "--set", "answers=none")
    done = arena("everlasting-v2", *PREDICTORS, *kept, "--json")
    assert done.stderr == ""
    (one,) = json.loads(done.stdout)["learners"]
    assert one["learner"]["settings"]["beta_1"] == "0.05"
    assert one["bound_test"] is None  # β = 0.1
    assert "No bound: the theorem requires" in arena("everlasting-v2", *PREDICTORS, *kept).stdout


@pytest.mark.thorough
def test_the_users_data_are_d(data: str) -> None:
    brought = ("--data", data, "--x", "age", "--y", "rich")
    (one,) = json.loads(arena("everlasting-v2", *PREDICTORS, *brought, "--json", "--quiet").stdout)[
        "learners"
    ]
    assert one["best_concept_error"] == 0
    assert 0 <= one["worst"][1] <= 0.1
    lists = ("--data", data, "--x", "kind", "--y", "rich", "--agnostic")
    (one,) = json.loads(arena("everlasting-v2", *PREDICTORS, *lists, "--json", "--quiet").stdout)["learners"]
    assert one["learner"]["settings"]["agnostic"] == "true"
    assert 0.3 < one["best_concept_error"] < 0.5
    assert np.abs(one["worst"]).max() < 0.1
    both = ("--data", data, "--x", "age", "--x", "kind", "--y", "rich", "--set", "concepts=boxes:2")
    (one,) = json.loads(arena("everlasting-v2", *PREDICTORS, *both, "--json", "--quiet").stdout)["learners"]
    assert one["best_concept_error"] == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("everlasting-v2", "soa"), "Predictors (everlasting-v2) and learners of online games need"),
        (("soa",), "a race of online learners needs an adversary. Name it: --against adaptive."),
        (("soa", "--against", "shattered-tree", "--as-set"), "--data and --as-set are for predictors,"),
        (("everlasting-v2", "--marks", "3"), "--marks is for online games; predictors are measured by "),
        (("everlasting-v2", "--protocol", "Adaptive"), "Predictors are raced under Figure1, not Adaptive."),
        (("everlasting-v2", "--set", "rounds=1"), "everlasting-v2 stops after 1 round, got 3. Give"),
        (("everlasting-v2", "--set", "concepts=intervals"), "RealIntervals() may have 455,058,477,001"),
        (
            ("everlasting-v2", "--set", "adversary.sample_size=100", "--games", "1"),
            "everlasting-v2 with 310 teachers of 93 examples and rate 1 needs a sample of 28,830, got 100. ",
        ),
        (("everlasting-v2", "--set", "answers=100"), "the answers of round 1 must train a teacher of"),
        (("everlasting-v2", "--x", "age"), "--x, --y, --positive and --user need --data, which is missing."),
    ],
)
def test_bad_use_of_predictors_is_one_line(arguments: tuple[str, ...], message: str) -> None:
    assert refusal(*arguments, "--quiet").startswith(message)


def test_data_that_do_not_fit_are_refused(data: str) -> None:
    brought = ("--data", data, "--x", "age", "--x", "kind", "--y", "rich")
    refused = refusal("everlasting-v2", *brought, "--quiet")
    assert refused.startswith(
        "everlasting-v2 receives points of shape (), got (2,). Name as many --x, or set "
    )
