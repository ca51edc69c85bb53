"""`arena race`: what it prints, its status, and what it refuses before a game is lost."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
from support import halfspaces, online_players
from support.command_line import Command
from support.processes import interrupt_at

from audits.races import run_race

FILE = online_players.__file__
SOA, GUESS = f"{FILE}:TinySoa", f"{FILE}:Guess"
AGAINST = ("--against", f"{FILE}:Drawn")
SHORT = (*AGAINST, "--rounds", "40", "--games", "60")

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


def test_the_rounds_are_the_adversarys_own_where_none_are_given() -> None:
    assert found(SOA, *AGAINST, "--games", "10")["rounds"] == 100


def test_halfspaces_are_raced_without_any_settings() -> None:
    race = found(f"{halfspaces.__file__}:PlainWinnow", "--against", "sparse-disjunction", "--games", "70")
    (winnow,) = race["learners"]
    assert (race["quantity"], race["protocol"], race["rounds"]) == ("mistakes", "Oblivious", 10_000)
    assert winnow["concepts"] == "Halfspaces(16 dimensions, margin 0.2)"
    assert 15 <= winnow["mean"][-1] <= winnow["worst"][-1] <= 139


def test_settings_are_for_all_for_one_or_for_the_adversary() -> None:
    race = found(
        f"few={SOA}",
        f"many={SOA}",
        *SHORT,
        "--set",
        "concepts=thresholds:0..7",
        "--set",
        "many.concepts=thresholds:0..99",
        "--set",
        "adversary.protocol=Oblivious",
        "--marks",
        "4",
    )
    few, many = race["learners"]
    assert (few["concepts"], many["concepts"]) == (
        "Thresholds(8 points from 0 to 7)",
        "Thresholds(100 points from 0 to 99)",
    )
    assert (few["bounds"][-1], many["bounds"][-1]) == (3, 6)
    assert (race["protocol"], race["marks"]) == ("Oblivious", [1, 3, 12, 40])
    assert [one["label"] for one in race["learners"]] == ["few", "many"]


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
        drawn = first.decode()
        for said in (
            ">2 learners against drawn, 60 games each",
            "rounds t (logarithmic)",
            "mistakes in rounds 1 to t",
            "tiny-soa: bound 4 (β = 0)",
            ">coin<",
            "95 % for all of them together",
        ):
            assert said in drawn


def test_a_race_of_one_round_and_one_game_can_be_drawn(tmp_path: Path) -> None:
    file = tmp_path / "one.svg"
    done = arena(SOA, *AGAINST, "--rounds", "1", "--games", "1", "--plot", str(file), "--set", "at_most=1e9")
    assert done.exit_code == 0
    assert "above the chart" in file.read_text(encoding="utf-8")


def test_a_chart_that_cannot_be_drawn_is_refused_before_the_games(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("audits.cli.race.run_race", lambda *given, **options: 1 / 0)
    assert refusal(SOA, *SHORT, "--plot", "race.pdf") == (
        "a chart must be a PNG or an SVG, got 'race.pdf'. Name a file .png or .svg."
    )
    nowhere = tmp_path / "none" / "race.png"
    assert refusal(SOA, *SHORT, "--plot", str(nowhere)) == (
        f"the directory of the chart {nowhere} does not exist. Create it first."
    )
    find = importlib.util.find_spec
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == "matplotlib" else find(name))
    assert refusal(SOA, *SHORT, "--plot", str(tmp_path / "race.png")) == (
        "the chart needs matplotlib. Run pip install 'dp-arena[report]'."
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("sao", *SHORT), "there is no learner of that name, got 'sao'."),
        ((SOA, "--against", "nobody", "--rounds", "3"), "there is no adversary of that name, got 'nobody'."),
        (
            (SOA, "--against", f"{FILE}:Endless"),
            "endless has no number of rounds of its own. Say how many: --rounds T.",
        ),
        (SHORT, "Missing argument 'LEARNER...'. See arena race --help."),
        ((SOA, *AGAINST, "--rounds", "1.5"), "Invalid value for '--rounds': --rounds must be an integer"),
        ((SOA, *SHORT, "--jobs", "0"), "jobs must be at least 1, got 0"),
        ((SOA, *SHORT, "--confidence", "1"), "confidence must be less than 1, got 1.0"),
        ((SOA, GUESS, *SHORT, "--protocol", "Oblivious"), "the players do not all play Oblivious. tiny-soa "),
        (
            ("everlasting-v1", *AGAINST),
            "adversary drawn does not play Figure1. It plays Adaptive, Oblivious.",
        ),
        (("noisy-majority", *SHORT), "noisy-majority has no setting `concepts`, so there is no class to "),
        ((f"adversary={SOA}", *SHORT), "adversary cannot be a label. Choose another; --set reserves it."),
        (
            (f"a={SOA}", *SHORT, "--set", "b.at_most=1"),
            "A setting is NAME=VALUE or adversary.NAME=VALUE or a.",
        ),
        (
            (f"a={SOA}", *SHORT, "--set", "a.rounds=1"),
            "the rounds of the a are those of the race. Give --rounds.",
        ),
        ((SOA, *SHORT, "--set", "at_mots=1"), "tiny-soa has no setting 'at_mots'. Did you mean at_most?"),
        (
            (f"a={SOA}", *SHORT, "--set", "a.at_most=1", "--set", "a.at_most=2"),
            "at_most of the a is set twice.",
        ),
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

    monkeypatch.setattr("audits.races.Race.play_block", interrupt)
    stopped = arena(SOA, *SHORT)
    assert (stopped.exit_code, stopped.stdout) == (130, "")
    assert stopped.stderr == "arena: interrupted: no games were finished that could be reported\n"


def test_an_interrupted_race_prints_its_figures_with_status_130(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "audits.cli.race.run_race", lambda race, **options: run_race(race, watch=interrupt_at(1))
    )
    told = found(SOA, *AGAINST, "--rounds", "40", "--games", "300", status=130)
    assert (told["interrupted"], told["games"]) == (True, 75)
