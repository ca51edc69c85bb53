"""`arena certify` and `arena audit --one-run`: the figures are those of Python; and what they refuse."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from support.command_line import Command

import audits

arena, audit = Command("certify"), Command("audit")


@pytest.fixture
def scores(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    bits = rng.integers(2, size=600)
    lines = [
        f"{score!r},{bit},yes"
        for score, bit in zip((rng.standard_normal(600) + 2 * bits).tolist(), bits, strict=True)
    ]
    path = tmp_path / "scores.csv"
    path.write_text("\n".join(["score,bit,words", *lines]), encoding="utf-8")
    return path


def read(path: Path) -> tuple[np.ndarray, np.ndarray]:
    table = np.loadtxt(path, delimiter=",", skiprows=1, usecols=(0, 1))
    return table[:, 0], table[:, 1]


def test_canaries_of_one_run_are_certified_as_in_python(scores: Path) -> None:
    words = (str(scores), "--column", "score", "--included", "bit", "--delta", "1e-5")
    printed = json.loads(arena.text(*words, "--json"))
    certificate = audits.certify_one_run(*read(scores), delta=1e-5)
    assert printed["kind"] == "one run"
    assert printed["epsilon_lower"] == certificate.epsilon_lower > 0.5


def test_games_are_certified_as_in_python(scores: Path) -> None:
    values, bits = read(scores)
    printed = json.loads(arena.text(str(scores), "--column", "score", "--world", "bit", "--json"))
    assert printed["kind"] == "certificate"
    assert printed["epsilon_lower"] == audits.certify(values[bits == 0], values[bits == 1]).epsilon_lower


def test_a_fixed_number_of_games_is_certified_as_in_python(scores: Path) -> None:
    values, bits = read(scores)
    words = (str(scores), "--column", "score", "--world", "bit", "--fixed-games")
    certificate = audits.certify(values[bits == 0], values[bits == 1], fixed_games=True)
    assert json.loads(arena.text(*words, "--json"))["epsilon_lower"] == certificate.epsilon_lower > 0.5
    assert "valid at this number of games only" in arena.text(*words)


def test_a_false_claim_ends_with_status_3(scores: Path) -> None:
    claim = ("--curve", "gaussian=0.2,1e-5")
    canaries = arena(str(scores), "--column", "score", "--included", "bit", *claim)
    assert canaries.exit_code == 3
    assert "among its family" in canaries.stdout
    games = arena(str(scores), "--column", "score", "--world", "bit", *claim)
    assert games.exit_code == 3
    assert "every smaller curve" in games.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "name one column of bits, by --world or by --included"),
        (["--world", "bit", "--included", "bit"], "name one column of bits"),
        (["--included", "words"], "line 2, column 'words': a bit must be 0 or 1, got 'yes'"),
        (["--included", "score"], "cannot hold both scores and bits"),
        (["--included", "bits"], "no such column, got 'bits'. Did you mean 'bit'?"),
        (["--included", "bit", "--curve", "gaussian=1"], "gaussian= needs two numbers"),
        (["--world", "bit", "--curve", "mu=1", "--epsilon", "1"], "not both"),
        (["--included", "bit", "--fixed-games"], "--included always needs a number of canaries"),
    ],
)
def test_bad_use_is_refused(scores: Path, words: list[str], message: str) -> None:
    refused = arena(str(scores), "--column", "score", *words)
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert message in refused.stderr


PLANTED = ("--against", "planted-canaries", "--one-run", "300")
SETTINGS = {"features": 302, "size": 100, "batch": 100, "steps": 5, "noise": 2.0}
WORDS = [word for name, value in SETTINGS.items() for word in ("--set", f"{name}={value}")]


@pytest.fixture
def people(tmp_path: Path) -> list[str]:
    path = tmp_path / "people.csv"
    path.write_text("\n".join(["a,b,y", *["1,0,0", "0,1,1"] * 50]), encoding="utf-8")
    return ["--data", str(path), "--x", "a", "--x", "b", "--y", "y"]


def test_one_run_has_the_figures_of_python(people: list[str]) -> None:
    printed = audit.json("dp-sgd", *WORDS, *PLANTED, *people, "--seed", "2", notes=True)
    data = (np.eye(2)[[0, 1] * 50], [0, 1] * 50)
    certificate = audits.audit_one_run("dp-sgd", data=data, canaries=300, seed=2, settings=SETTINGS)
    assert printed["curve_epsilon_lower"] == certificate.curve_epsilon_lower
    assert printed["right"] == certificate.right > 60
    assert printed["refuted"] is False


def test_a_false_claim_of_one_run_ends_with_status_3(people: list[str]) -> None:
    learner = f"{Path(__file__).parents[3]}/mutants/training/learners.py:ForgetsClipping"
    printed = audit.text(learner, *WORDS, *PLANTED, *people, status=3)
    assert "300, each in the data by a fair coin" in printed


def test_wrong_uses_of_one_run_are_refused(people: list[str]) -> None:
    dp_sgd = ("dp-sgd", *WORDS)
    assert "planted-canaries needs data. Give data=, or --data FILE." in audit.refusal(*dp_sgd, *PLANTED)
    few = audit.refusal(*dp_sgd, *PLANTED[:-1], "9", *people)
    assert few == "canaries must be at least 10, got 9"
    other = audit.refusal(*dp_sgd, "--against", "update-scale", "--one-run", "300", *people)
    assert other == "adversary update-scale does not play OneRun. It plays TrainingRun."
    games = audit.refusal(*dp_sgd, *PLANTED, "--games", "100", *people)
    assert games.startswith("--games is not for --one-run, which trains once and")
    assert "arena audit --one-run M" in audit.refusal(*dp_sgd, *PLANTED[:2], *people)
