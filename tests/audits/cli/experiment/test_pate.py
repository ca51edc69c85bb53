"""`arena experiment pate`: what it prints, what it keeps, and what it refuses."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from support.command_line import Command
from support.experiment_data import write
from support.paths import ROOT
from support.waiting import wait_until

from arena import InvalidArgument
from audits.experiments.experiment_run import ExperimentLedger

arena = Command("experiment", "pate")
found = arena.json
SMALL = ("--y", "y", "--repeats", "3", "--shares", "0.8", "0.1", "--teacher-examples", "40")
QUICK = (*SMALL, "--teacher", "Perceptron", "--epsilon", "1")


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> str:
    return write(tmp_path_factory.mktemp("data") / "d.csv")


def test_it_prints_a_row_for_every_method(data: str) -> None:
    done = arena("--data", data, *QUICK)
    assert (done.exit_code, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert f"data      {data}: 600 examples, 9 variables" in lines
    assert "label 1   y = y" in lines
    assert "split     480 private, 60 public, 60 to test" in lines
    assert "teachers  12, each with about 40 private examples" in lines
    assert "δ         0.00208, one divided by the number of private examples" in lines
    rows = [line.split()[:3] for line in lines if line.startswith(("psq", "asq"))]
    assert [row[0] for row in rows] == ["psq-np", "asq-np", "psq", "asq"]
    assert rows[0] == ["psq-np", "60", "∞"]
    assert "Table 4" not in done.stdout


def test_the_papers_rows_stand_beside_mushrooms() -> None:
    mushroom = ROOT / "audits" / "data" / "examples" / "mushroom.csv.gz"
    done = arena(
        *("--data", str(mushroom), "--y", "Poisonous/Edible", "--teacher", "Perceptron"),
        *("--repeats", "1", "--methods", "psq,psq-np", "--epsilon", "2"),
    )
    rows = [line.split() for line in done.stdout.splitlines() if line.startswith("psq")]
    assert [row[5] if "±" in row else row[-2] for row in rows] == ["0.9773", "0.8974"]
    assert "8,124 examples, 117 variables" in done.stdout


@pytest.mark.thorough
def test_jobs_and_ledgers_do_not_change_figures(data: str, tmp_path) -> None:
    whole = found("--data", data, *QUICK)
    assert found("--data", data, *QUICK, "--jobs", "2") == whole
    kept = ("--data", data, *QUICK, "--ledger", str(tmp_path / "run.ledger"))
    assert found(*kept) == found(*kept) == whole
    assert found("--data", data, *QUICK, "--seed", "1")["rows"] != whole["rows"]


def start(*command: str) -> subprocess.Popen[str]:
    words = [sys.executable, "-m", "audits.cli", "experiment", "pate", *command]
    return subprocess.Popen(
        words,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A suite that was started in the background has it ignored, and hands that down.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


@pytest.mark.thorough
def test_a_killed_run_goes_on_to_the_same_figures(data: str, tmp_path) -> None:
    path = tmp_path / "run.ledger"
    command = ("--data", data, *QUICK, "--methods", "psq,psq-np", "--repeats", "20")
    process = start(*command, "--ledger", str(path))
    wait_until(lambda: count_blocks(path) > 2)
    process.kill()
    process.communicate()
    assert 2 < count_blocks(path) < 20
    assert found(*command, "--ledger", str(path)) == found(*command)


@pytest.mark.thorough
def test_ctrl_c_prints_the_figures_so_far_and_how_to_go_on(data: str, tmp_path) -> None:
    path = tmp_path / "run.ledger"
    process = start("--data", data, *QUICK, "--repeats", "5000", "--ledger", str(path), "--json")
    wait_until(lambda: count_blocks(path) > 2)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    told = json.loads(out)
    assert (process.returncode, told["interrupted"]) == (130, True)
    # One may be stored just as it is interrupted, before it is counted.
    assert count_blocks(path) - 1 <= told["repetitions"] <= count_blocks(path)
    assert err == (
        f"arena: interrupted after {told['repetitions']} of 5000 repetitions, which {path} keeps; the same "
        "command continues from there\n"
    )


def count_blocks(path: Path) -> int:
    try:
        with ExperimentLedger.read(path) as book:
            return len(book.block_indices())
    except InvalidArgument:  # it has not been begun
        return 0


@pytest.mark.thorough
def test_a_chart_is_drawn(data: str, tmp_path) -> None:
    pytest.importorskip("matplotlib")
    charts = [tmp_path / "a.svg", tmp_path / "b.svg"]
    for chart in charts:
        done = arena("--data", data, *QUICK, "--epsilon", "2", "--repeats", "2", "--plot", str(chart))
        assert (done.exit_code, done.stderr) == (0, "")
    one, other = (chart.read_text() for chart in charts)
    assert one == other
    for told in ("passive, no noise", "active", "ε of all answers together"):
        assert told in one


def test_numbers_can_be_cut(tmp_path) -> None:
    path = tmp_path / "ages.csv"
    path.write_text("age,y\n" + "".join(f"{20 + i % 70},{int(i % 70 > 35)}\n" for i in range(700)))
    told = found("--data", str(path), *QUICK, "--quantiles", "5", "--methods", "psq-np")
    assert told["variables"] == 5
    assert told["rows"][0]["accuracy"]["value"] > 0.8


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--teacher", "Nobody"), "there is no classifier of that name, got 'Nobody'."),
        (("--methods", "psq,svt"), "there is no method of that name, got 'svt'."),
        (("--epsilon", "0"), "ε must be finite and more than 0 nats, got 0.0."),
        (("--budget", "0.001"), "the budget allows no answer for 60 public points, got 0.001."),
        (("--shares", "0.9", "0.1"), "the private and the public share must be more than 0 and"),
        (("--teacher-examples", "5000"), "480 private examples are too few for a teacher with so many"),
        (("--jobs", "0"), "jobs must be at least 1, got 0"),
        (("--plot", "chart.pdf"), "a chart must be a PNG or an SVG, got 'chart.pdf'."),
        (("--active", "guessing"), "Invalid value for '--active': 'guessing' is not one of"),
        (("--constant", "0"), "constant must be more than 0, got 0.0"),
        (("--positive", "x"), "{data}, column 'y': there is no such label, got 'x'."),
        (("--quantiles", "1"), "quantiles must be at least 2, got 1"),
    ],
)  # fmt: skip
def test_bad_use_is_one_line_and_status_2(data: str, arguments: tuple[str, ...], message: str) -> None:
    refused = arena("--data", data, *SMALL, *arguments)
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert refused.stderr.startswith(f"arena: {message.format(data=data)}")
    assert refused.stderr.count("\n") == 1


def test_one_label_only_is_refused(tmp_path) -> None:
    path = tmp_path / "d.csv"
    path.write_text("a,y\n" + "u,1\nv,1\n" * 100)
    refused = arena("--data", str(path), *SMALL)
    assert refused.exit_code == 2
    assert "labels must take two values, found 1: '1'" in refused.stderr


@pytest.mark.thorough
def test_a_ledger_of_another_plan_is_refused(data: str, tmp_path) -> None:
    kept = ("--data", data, *QUICK, "--ledger", str(tmp_path / "run.ledger"))
    assert arena(*kept).exit_code == 0
    refused = arena(*kept, "--seed", "7")
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert "holds another plan: seed: 0 -> 7" in refused.stderr
