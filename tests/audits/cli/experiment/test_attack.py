"""`arena experiment`: what it prints, its status, and what it refuses before a game is lost."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
from support.command_line import Command

SMALL = ("--games", "4", "--rounds", "2", "--quiet")
SIZES = tuple(
    part
    for name in ("teachers=15", "chunk=20", "noise=1", "rate=1", "training_rate=1", "answers=none")
    for part in ("--set", f"everlasting-v2.{name}")
)
V2 = ("everlasting-v2", *SIZES)
LINE = ("--set", "concepts=thresholds:1..8")

arena = Command("experiment")
found, refusal = arena.json, arena.refusal


# --- poison -------------------------------------------------------------------------------------------------


def test_poison_prints_a_row_for_every_dose_and_round() -> None:
    done = arena("poison", *V2, *SMALL, "--fraction", "0,0.5", "--aim", "repeat")
    assert (done.exit_code, done.stderr) == (0, "")
    rows = [line.split()[:4] for line in done.stdout.splitlines()]
    assert ["everlasting-v2", "-", "0", "1"] in rows
    assert ["everlasting-v2", "repeat", "0.5", "1"] in rows
    assert "The error of everlasting-v2 in its last round is largest after repeat at 0.5" in done.stdout


def test_fractions_and_aims_may_be_given_again() -> None:
    told = found("poison", *V2, *SMALL, *("--fraction", "0.2", "--fraction", "0.4", "--aim", "crowd"))
    assert [(one["aim"], one["fraction"]) for one in told["doses"]] == [("crowd", 0.2), ("crowd", 0.4)]
    assert told["rounds"] == 2


def test_what_is_not_set_has_practical_constants() -> None:
    options = ("--games", "2", "--rounds", "1", "--fraction", "0")
    noted = arena("poison", "everlasting-v2", *options)
    assert noted.stderr.startswith("arena: note: everlasting-v2 has practical constants")
    kept = found("poison", *V2, *options, "--as-set", "--quiet")
    assert kept["doses"][0]["learner"]["settings"]["alpha_1"] == "0.2"


def test_data_may_be_brought(tmp_path: Path) -> None:
    file = tmp_path / "ages.csv"
    file.write_text("age,income\n" + "\n".join(f"{age},{int(age > 40)}" for age in range(20, 60)) + "\n")
    brought = ("--data", str(file), "--x", "age", "--y", "income", "--fraction", "0.5", "--aim", "crowd")
    told = found("poison", *V2, *SMALL, *brought)
    assert told["doses"][0]["mean"][0]["median"] < 0.5


@pytest.mark.thorough
def test_the_same_seed_and_any_number_of_jobs_print_the_same() -> None:
    asked = ("poison", *V2, *SMALL, "--fraction", "0.5")
    assert arena(*asked).stdout == arena(*asked, "--jobs", "2").stdout
    assert arena(*asked).stdout != arena(*asked, "--seed", "2").stdout


@pytest.mark.thorough
@pytest.mark.skipif(importlib.util.find_spec("matplotlib") is None, reason="charts are an extra")
def test_a_chart_is_drawn(tmp_path: Path) -> None:
    charts = [tmp_path / "one.svg", tmp_path / "two.svg"]
    for chart in charts:
        arena("poison", *V2, *SMALL, "--fraction", "0,0.5", "--plot", str(chart))
    assert charts[0].read_bytes() == charts[1].read_bytes()
    assert "everlasting-v2, crowd" in charts[0].read_text()


# --- hypothesis ---------------------------------------------------------------------------------------------


def test_hypothesis_prints_a_row_for_every_learner() -> None:
    done = arena("hypothesis", "static-erm", "noisy=noisy-votes", *LINE, "--games", "40", "--quiet")
    assert (done.exit_code, done.stderr) == (0, "")
    rows = [line.split()[:3] for line in done.stdout.splitlines()]
    assert ["static-erm", "8", "34"] in rows
    assert ["noisy", "8", "34"] in rows


def test_hypothesis_in_json() -> None:
    told = found("hypothesis", "static-erm", *LINE, "--games", "40", "--set", "adversary.asked=200")
    learner = told["learners"][0]
    assert (learner["queries"], learner["alpha"], learner["boosted"]["median"]) == (200, 0, 0)
    assert not learner["broken"]


# --- refusals -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("poison", "everlasting-v3"),
            "there is no learner of that name, got 'everlasting-v3'. Did you mean",
        ),
        (("poison", *V2, "--fraction", "1.5"), "a fraction must be between 0 and 1, got 1.5"),
        (("poison", *V2, "--fraction", "some"), "fraction must be a finite number, got 'some'"),
        (
            ("poison", *V2, "--aim", "crowds"),
            "there is no aim of that name, got 'crowds'. Did you mean crowd?",
        ),
        (
            ("poison", "laplace-count"),
            "laplace-count does not play Figure1, but Release. Name a learner that ",
        ),
        (("poison", "static-erm"), "static-erm has no rounds by which it could be measured"),
        (("poison", *V2, "--rounds", "0"), "rounds must be at least 1, got 0"),
        (("poison", *V2, "--rounds", "100000"), "rounds must be at most 20, got 100000"),
        (("poison", *V2, "--games", "0"), "games must be at least 1, got 0"),
        (("poison", *V2, "--x", "age"), "--x, --y, --positive and --user need --data, which is missing."),
        (("poison", *V2, "--plot", "chart.txt"), "a chart must be a PNG or an SVG, got 'chart.txt'"),
        (("poison", *V2, "--set", "adversary.aim=crowd"), "aim of the adversary is set by the options"),
        (("poison", *V2, "--set", "adversary.reach=2"), "reach must be less than 1, got 2.0"),
        (("poison", *V2, *V2[:1]), "two learners are called everlasting-v2. Label one"),
        (("hypothesis", "static-erm"), "static-erm has no class with a finite domain"),
        (("hypothesis", "static-erm", *LINE, "--games", "30"), "games must be a multiple of boost"),
        (("hypothesis", "static-erm", *LINE, "--boost", "0"), "boost must be at least 1, got 0"),
        (("hypothesis", "halving"), "halving does not play Figure1"),
        (
            ("hypothesis", "static-erm", *LINE, "--confidence", "1"),
            "confidence must be less than 1, got 1.0",
        ),
        (("poisons",), "No such command 'poisons'"),
    ],
)
def test_what_cannot_be_is_refused_in_a_line(arguments: tuple[str, ...], message: str) -> None:
    assert message in refusal(*arguments, *(() if arguments == ("poisons",) else ("--quiet",)))


def test_help_has_examples() -> None:
    for command in ("poison", "hypothesis"):
        assert f"arena experiment {command}" in arena(command, "--help").stdout
    assert "poison" in arena("--help").stdout
