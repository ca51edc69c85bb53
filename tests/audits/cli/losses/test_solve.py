"""`arena solve`: its report, the files that it writes, and what it refuses."""

from __future__ import annotations

import csv
import json
import math
import shlex
from pathlib import Path
from typing import Any

import pytest
from support.command_line import Command
from support.exact.games import delta_of_scores

import audits
from arena import InvalidArgument, Sample
from audits.registry.players import configure_adversary, configure_learner

SMALL = ("above-threshold", "--set", "size=5", "--set", "epsilon=1", "--rounds", "3")
arena = Command("solve")


@pytest.mark.thorough
def test_python_and_the_command_line_agree() -> None:
    printed = json.loads(arena.text(*SMALL, "--json"))
    assert printed.pop("command") == shlex.join(["arena", "solve", *SMALL])
    report = audits.solve("above-threshold", rounds=3, settings={"size": 5, "epsilon": 1.0})
    in_python = report.to_dict()
    # How many games are compared depends on how fast they are.
    assert printed.pop("comparison").keys() == in_python.pop("comparison").keys()
    assert min(printed.pop("error"), in_python.pop("error")) > 0
    assert in_python == printed
    assert (printed["outcome"], printed["moves"], printed["strategy"]["decisions"]) == ("proved", 16, 3)


@pytest.mark.thorough
def test_the_report_says_what_is_proved_and_what_the_best_adversary_does() -> None:
    report = " ".join(arena.text(*SMALL).split())
    assert (
        "Proved: against every adversary of at most 3 queries on this pair of datasets the claim holds if "
        "the declared output distribution is right" in report
    )
    assert "least ε at δ = 0 0.676266 nats" in report
    assert "1. 2|3: 0 → 2; 1, halts → end, score 0.1663" in report


def test_a_game_that_does_not_fit_into_memory_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("audits.solver.linear_game._MOST_NUMBERS", 10_000)
    assert "lead to more measures than memory holds" in arena.refusal(*SMALL)


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
    (replay,) = [line.strip() for line in file.read_text().splitlines() if line.startswith("    arena exact")]
    exact = json.loads(Command(*shlex.split(replay)[1:]).text("--json"))
    assert found["delta"] > 0
    assert exact["deltas"][0]["epsilon"] == found["epsilon"]
    assert exact["deltas"][0]["lower"] == pytest.approx(found["delta"], rel=1e-9)
    played = Command("audit", *shlex.split(replay)[2:-2], "--games", "20000")
    certified = json.loads(played.text("--json"))["epsilon_lower"]
    assert 0 <= certified <= (exact["epsilon_at"]["upper"] or math.inf)


@pytest.mark.thorough
def test_a_written_adversary_with_a_challenge_query_has_the_loss_of_the_lower_bound(tmp_path: Path) -> None:
    file = tmp_path / "best.py"
    settings = {"concepts": "thresholds:1..4", "rounds": 1, "teachers": 60, "chunk": 1, "answers": 5}
    settings |= {"training_rate": 1.0, "noise": 0.99, "halts": 1, "alpha_1": 0.45}
    sample = Sample([1.0, 3.0], [1, 1], [30, 30])
    report = audits.solve(
        "everlasting-v1", data=sample, neighbour=sample, settings=settings, rounds=3, epsilon=0.1
    )
    report.write_strategy(file)
    assert report.outcome == "refuted"
    assert "withheld" in report.summary()
    against = f"{file}:best"
    exact = audits.exact("everlasting-v1", against, settings=settings, rounds=3, epsilon=0.1)
    assert exact.deltas[0].lower == pytest.approx(report.strategy.delta, rel=1e-9)
    assert report.strategy.delta > 0.01


@pytest.mark.thorough
@pytest.mark.parametrize(
    "settings", [{"rounds": 4}, {"rounds": 4, "concepts": "thresholds:1..2"}, {"concepts": "thresholds:1..2"}]
)
def test_a_written_adversary_of_an_online_learner_has_the_loss_of_the_lower_bound(
    settings: dict[str, Any], tmp_path: Path
) -> None:
    name = {1: "noisy-majority", 2: "weighted-majority"}[len(settings)] if "rounds" in settings else "halving"
    file = tmp_path / "best.py"
    report = audits.solve(name, rounds=3, epsilon=0.1, settings=settings)
    report.write_strategy(file)
    learner = configure_learner(name, settings)
    best = configure_adversary(f"{file}:best", {}, learner=learner)
    assert delta_of_scores(learner, best, 3, 0.1) == pytest.approx(report.strategy.delta, rel=1e-9)
    assert report.strategy.delta > 0.01
    played = audits.audit(name, f"{file}:best", rounds=3, games=20_000, settings=settings, epsilon=9)
    assert played.epsilon_lower > 0


@pytest.mark.thorough
def test_the_written_adversary_of_a_stream_is_played(tmp_path: Path) -> None:
    file = tmp_path / "best.py"
    done = arena("flawed-sampling", "--rounds", "4", "--strategy", str(file))
    report = " ".join(done.stdout.split())
    assert done.exit_code == 3
    assert "rounds at most 4 in a game, with 4 choices in each" in report
    assert "against the best adversary of at most 4 rounds. δ of" in report
    assert "3. 0 or 1: [1 0 0] → " in report
    (replay,) = [line.strip() for line in file.read_text().splitlines() if line.startswith("    arena audit")]
    played = json.loads(Command(*shlex.split(replay)[1:]).text("--games", "20000", "--json", status=3))
    assert played["epsilon_lower"] > 2


@pytest.mark.thorough
def test_the_worst_samples_and_given_ones() -> None:
    settings = {"size": 2, "epsilon": 1.0, "concepts": "thresholds:1..2"}
    worst = audits.solve("noisy-votes", rounds=1, settings=settings, worst_samples=True)
    assert worst.epsilon_at.upper == pytest.approx(1)
    assert (worst.outcome, len(worst.measured)) == ("bracketed", 1)
    assert "Bracketed: against every adversary of at most 1 quer" in " ".join(worst.summary().split())
    assert "Measured: pairs of samples whose first two" in " ".join(worst.summary().split())
    data, neighbour = ([1.0, 1.0], [0, 0]), ([1.0, 1.0], [0, 1])
    given = audits.solve("noisy-votes", rounds=1, settings=settings, data=data, neighbour=neighbour)
    assert given.curve[0].lower <= worst.curve[0].upper
    assert (given.outcome, given.measured) == ("proved", ())
    with pytest.raises(InvalidArgument, match="differ in at most one place"):
        audits.solve("noisy-votes", settings=settings, data=data, neighbour=([2.0, 2.0], [1, 1]))


@pytest.mark.thorough
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
        ((*SMALL, "--against", "training-swap", "--worst-samples"), "the samples are chosen in several ways"),
        ((*SMALL, "--set", "adversary.queries=3"), "an adversary has settings but no name"),
        (("realizable",), "realizable does not declare the distribution of the hypotheses that it shows"),
        (("announced-sampling",), "announced-sampling claims nothing where records are chosen by what was"),
        (("static-erm",), "static-erm does not train one teacher on each of a fixed number of examples"),
        ((*SMALL[:-1], "0"), "rounds must be at least 1, got 0"),
        ((*SMALL[:-1], "100000"), "rounds must be at most 10000, got 100000"),
        (
            ("above-threshold", "--set", "size=11", "--rounds", "17"),
            "is solved for at most 16 rounds, got 17",
        ),
        ((*SMALL, "--epsilon", "-1"), "epsilon must be at least 0, got -1.0"),
        ((*SMALL, "--delta", "2"), "delta must be at most 1, got 2.0"),
        ((*SMALL, "--strategy", "nowhere/best.py"), "the directory of the strategy nowhere/best.py does not"),
        ((*SMALL, "--graph", "graph.txt"), "a chart must be a PDF, a PNG or an SVG"),
    ],
)
def test_bad_input(
    arguments: tuple[str, ...], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert message in arena.refusal(*arguments)


@pytest.mark.thorough
def test_a_strategy_that_is_too_large_for_a_file_is_refused_after_the_report() -> None:
    done = arena("noisy-votes", "--set", "size=5", "--rounds", "17", "--strategy", "best.py")
    assert done.exit_code == 2
    assert "Its decisions are too many to be listed" in done.stdout
    assert "too many different decisions for a file" in done.stderr
