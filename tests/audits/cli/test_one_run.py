"""`arena audit --one-run`: the figures are those of Python, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.command_line import Command

import audits

arena = Command("audit")
PLANTED = ("--against", "planted-canaries", "--one-run", "300")
SETTINGS = {"features": 302, "size": 100, "batch": 100, "steps": 5, "noise": 2.0}
WORDS = [word for name, value in SETTINGS.items() for word in ("--set", f"{name}={value}")]


@pytest.fixture
def people(tmp_path: Path) -> list[str]:
    path = tmp_path / "people.csv"
    path.write_text("\n".join(["a,b,y", *["1,0,0", "0,1,1"] * 50]), encoding="utf-8")
    return ["--data", str(path), "--x", "a", "--x", "b", "--y", "y"]


def test_figures_are_those_of_python(people: list[str]) -> None:
    printed = arena.json("dp-sgd", *WORDS, *PLANTED, *people, "--seed", "2", notes=True)
    data = (np.eye(2)[[0, 1] * 50], [0, 1] * 50)
    certificate = audits.audit_one_run("dp-sgd", data=data, canaries=300, seed=2, settings=SETTINGS)
    assert printed["curve_epsilon_lower"] == certificate.curve_epsilon_lower
    assert printed["right"] == certificate.right > 60
    assert printed["refuted"] is False


def test_a_false_claim_ends_with_status_3(people: list[str]) -> None:
    learner = f"{Path(__file__).parents[2]}/mutants/training_learners.py:ForgetsClipping"
    printed = arena.text(learner, *WORDS, *PLANTED, *people, status=3)
    assert "300, each in the data by a fair coin" in printed


def test_wrong_uses_are_refused(people: list[str]) -> None:
    dp_sgd = ("dp-sgd", *WORDS)
    assert "planted-canaries needs data. Give data=, or --data FILE." in arena.refusal(*dp_sgd, *PLANTED)
    few = arena.refusal(*dp_sgd, *PLANTED[:-1], "9", *people)
    assert few == "canaries must be at least 10, got 9"
    other = arena.refusal(*dp_sgd, "--against", "update-scale", "--one-run", "300", *people)
    assert other == "adversary update-scale does not play OneRun. It plays TrainingRun."
    games = arena.refusal(*dp_sgd, *PLANTED, "--games", "100", *people)
    assert games.startswith("--games is not for --one-run, which trains once and")
    assert "arena audit --one-run M" in arena.refusal(*dp_sgd, *PLANTED[:2], *people)
