"""`arena solve`: its report, the files that it writes, and what it refuses."""

from __future__ import annotations

import csv
import json
import math
import shlex
from pathlib import Path

import pytest
from support.command_line import Command

import audits

SMALL = ("above-threshold", "--set", "size=5", "--set", "epsilon=1", "--rounds", "3")
arena = Command("solve")


def test_python_and_the_command_line_agree() -> None:
    printed = json.loads(arena.text(*SMALL, "--json"))
    assert printed.pop("command") == shlex.join(["arena", "solve", *SMALL])
    report = audits.solve("above-threshold", rounds=3, settings={"size": 5, "epsilon": 1.0})
    assert report.to_dict() == printed
    assert (printed["outcome"], printed["moves"], printed["strategy"]["decisions"]) == ("proved", 16, 3)


def test_the_report_says_what_is_proved_and_what_the_best_adversary_does() -> None:
    report = " ".join(arena.text(*SMALL).split())
    assert "Proved: against every adversary of at most 3 queries on this pair of datasets" in report
    assert "least ε at δ = 0 0.676266 nats" in report
    assert "1. 2|3: 0 → 2; 1, halts → end, score 0.1663" in report


def test_an_unprotected_learner_is_not_proved_to_be_anything() -> None:
    report = " ".join(arena.text("noisy-votes", "--set", "size=3", "--rounds", "1", "--delta", "0.5").split())
    assert "least ε at δ = 0.5 0 nats" in report


@pytest.mark.thorough
@pytest.mark.parametrize(
    "game",
    [
        SMALL,
        ("above-threshold", "--set", "size=5", "--set", "halts=2", "--rounds", "3"),
        ("pate-gaussian", "--set", "teachers=5", "--rounds", "3"),
        ("pate-svt", "--set", "teachers=5", "--set", "threshold=1", "--set", "scale=2", "--rounds", "3"),
    ],
)
def test_the_written_adversary_has_the_loss_of_the_lower_bound(game: tuple[str, ...], tmp_path: Path) -> None:
    file = tmp_path / "best.py"
    found = json.loads(arena.text(*game, "--strategy", str(file), "--json"))["strategy"]
    (replay,) = [line.strip() for line in file.read_text().splitlines() if line.startswith("  arena exact")]
    exact = json.loads(Command(*shlex.split(replay)[1:]).text("--json"))
    assert found["delta"] > 0
    assert exact["deltas"][0]["epsilon"] == found["epsilon"]
    assert exact["deltas"][0]["lower"] == pytest.approx(found["delta"], rel=1e-9)
    played = Command("audit", *shlex.split(replay)[2:-2], "--games", "20000")
    certified = json.loads(played.text("--json"))["epsilon_lower"]
    assert 0 <= certified <= (exact["epsilon_at"]["upper"] or math.inf)


def test_the_files(tmp_path: Path) -> None:
    names = {"--graph": "graph.svg", "--plot": "curve.svg", "--html": "page.html", "--csv": "curve.csv"}
    arena.text(*SMALL, *(word for flag, name in names.items() for word in (flag, str(tmp_path / name))))
    with (tmp_path / "curve.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert all(float(row["delta_lower"]) <= float(row["delta_upper"]) for row in rows)
    assert "2|3" in (tmp_path / "graph.svg").read_text()
    assert "no adversary reaches more" in (tmp_path / "curve.svg").read_text()
    assert "<svg" in (tmp_path / "page.html").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("static-erm",), "static-erm does not train one teacher on each of a fixed number of examples"),
        (("laplace-count",), "laplace-count does not train one teacher"),
        (("above-treshold",), "Did you mean above-threshold"),
        ((*SMALL[:-1], "0"), "rounds must be at least 1, got 0"),
        ((*SMALL, "--epsilon", "-1"), "epsilon must be at least 0, got -1.0"),
        ((*SMALL, "--delta", "2"), "delta must be at most 1, got 2.0"),
        ((*SMALL, "--strategy", "nowhere/best.py"), "the directory of the strategy nowhere/best.py does not"),
        ((*SMALL, "--graph", "graph.txt"), "a chart must be a PNG or an SVG"),
    ],
)
def test_bad_input(
    arguments: tuple[str, ...], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert message in arena.refusal(*arguments)


def test_a_strategy_that_is_too_large_for_a_file_is_refused_after_the_report() -> None:
    done = arena("noisy-votes", "--set", "size=5", "--rounds", "60", "--strategy", "best.py")
    assert done.exit_code == 2
    assert "Its decisions are too many to be listed" in done.stdout
    assert "too many different decisions for a file" in done.stderr
