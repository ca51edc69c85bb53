"""`arena new`, and `arena data`."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.command_line import Command
from support.paths import ROOT

from audits.cli.new import DATA_SETS

arena = Command("new")

# Neighbouring lists; that of world 0 consists of ten runs.
RUNS = """
import attrs
from arena import Adversary, Query, Sample, Train

WORLDS = Sample([0.0] * 10, [1] * 6 + [0] * 4), Sample([0.0, 0.0], [1, 0], [5, 5])

@attrs.frozen
class RunsRelease(Adversary):
    name, protocols = "runs-release", ("Release",)
    def play(self, games, rng):
        reply = yield Train(*WORLDS)
        return -reply.value

@attrs.frozen
class RunsFigure1(Adversary):
    name, protocols = "runs-figure1", ("Figure1",)
    def play(self, games, rng):
        yield Train(*WORLDS)
        reply = yield Query(0.0)
        return 0.0 - reply.label
"""


@pytest.mark.slow
@pytest.mark.parametrize("protocol", ["Release", "Figure1"])
@pytest.mark.parametrize("kind", ["learner", "adversary"])
def test_the_test_of_a_new_player_passes(tmp_path: Path, kind: str, protocol: str) -> None:
    arena.text(kind, "my-own", "--protocol", protocol, "-o", tmp_path)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert "2 passed" in done.stdout, done.stdout


@pytest.mark.parametrize("protocol", ["Release", "Figure1"])
@pytest.mark.parametrize("kind", ["learner", "adversary"])
def test_a_new_player_plays_by_the_command_that_is_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, protocol: str
) -> None:
    monkeypatch.chdir(tmp_path)
    printed = arena.text(kind, "two_swap", "--protocol", protocol)
    assert "two_swap.py:TwoSwap" in printed
    command = printed.splitlines()[-1].split()[1:]
    assert "Not refuted" in Command()(*command, "--games", "200").stdout
    assert "two-swap" in Path("two_swap.py").read_text()
    assert "my-player" not in Path("two_swap.py").read_text()


@pytest.mark.parametrize(
    ("protocol", "against"), [("Release", "low-bits"), ("Release", "runs"), ("Figure1", "runs")]
)
def test_a_new_learner_weighs_runs_and_hides_its_last_bits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, protocol: str, against: str
) -> None:
    monkeypatch.chdir(tmp_path)
    arena.text("learner", "mine", "--protocol", protocol)
    Path("runs.py").write_text(RUNS)
    adversary = {"runs": f"runs.py:Runs{protocol}"}.get(against, against)
    audited = Command()("audit", "mine.py:Mine", "--against", adversary, "--games", "4000")
    assert "Not refuted" in audited.stdout, audited.stderr


def test_nothing_is_overwritten_or_hidden(tmp_path: Path) -> None:
    arena.text("learner", "mine", "-o", tmp_path)
    assert "exists already" in arena.refusal("learner", "mine", "-o", tmp_path)
    for name in ("random", "numpy"):
        assert f"would hide the module {name}" in arena.refusal("learner", name, "-o", tmp_path)
    assert "lower-case letters" in arena.refusal("adversary", "../x", "-o", tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine.py", "test_mine.py"]


@pytest.mark.parametrize("name", DATA_SETS)
def test_example_data_are_written(tmp_path: Path, name: str) -> None:
    Command("data").text(name, tmp_path)
    assert gzip.decompress((tmp_path / DATA_SETS[name]).read_bytes()).count(b"\n") > 8_000
