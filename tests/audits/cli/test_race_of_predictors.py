"""`arena race` of predictors: what it prints, its status, and what it refuses before a game is lost."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from support.command_line import Command

SHORT = (
    *("--rounds", "2", "--games", "4", "--set", "teachers=200", "--set", "chunk=20", "--set", "noise=1"),
    *("--set", "alpha_1=0.03"),
)

arena = Command("race")


def refusal(*arguments: str) -> str:
    return arena.refusal(*arguments, "--quiet")


@pytest.fixture
def data(tmp_path: Path) -> str:
    file = tmp_path / "ages.csv"
    rows = [f"{age},{age % 3},{int(age > 40)}" for age in range(20, 70)]
    file.write_text("age,kind,rich\n" + "\n".join(rows) + "\n")
    return str(file)


@pytest.mark.thorough
def test_honest_is_the_usual_adversary_and_a_note_says_what_is_practical() -> None:
    everybody = "everlasting-v2", "everlasting-counter", "everlasting-fresh", "everlasting-v1"
    done = arena(*everybody, *SHORT)
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
    assert arena("everlasting-v2", *SHORT, "--quiet").stderr == ""


def test_labellings_are_those_of_what_is_learned_from() -> None:
    """Of fresh points 400 are, and 100 examples; the 10,000 queries of the round are answered only."""
    small = ("--set", "teachers=5", "--set", "chunk=20", "--rounds", "2", "--games", "1")
    assert arena("everlasting-fresh", "--set", "concepts=intervals", *small).exit_code == 0
    assert refusal(
        "everlasting-fresh", "--set", "concepts=intervals", "--set", "pool=2000", *small
    ).startswith("RealIntervals() may have 2,206,051 labellings of 2,100 points")


@pytest.mark.thorough
def test_charts_are_the_same_bytes_for_the_same_race(tmp_path: Path) -> None:
    files = [tmp_path / f"{name}.svg" for name in "ab"]
    for file in files:
        assert arena("everlasting-v2", *SHORT, "--quiet", "--plot", str(file)).exit_code == 0
    assert files[0].read_bytes() == files[1].read_bytes()


def test_as_set_keeps_the_sizes() -> None:
    kept = ("--as-set", "--set", "rate=1", "--set", "training_rate=1", "--set", "answers=none")
    done = arena("everlasting-v2", *SHORT, *kept, "--json")
    assert done.stderr == ""
    (one,) = json.loads(done.stdout)["learners"]
    assert one["learner"]["settings"]["beta_1"] == "0.05"
    assert one["bound_test"] is None  # β = 0.1
    assert "No bound: the theorem requires" in arena("everlasting-v2", *SHORT, *kept).stdout


@pytest.mark.thorough
def test_the_users_data_are_d(data: str) -> None:
    brought = ("--data", data, "--x", "age", "--y", "rich")
    (one,) = json.loads(arena("everlasting-v2", *SHORT, *brought, "--json", "--quiet").stdout)["learners"]
    assert one["best_concept_error"] == 0
    assert 0 <= one["worst"][1] <= 0.1
    lists = ("--data", data, "--x", "kind", "--y", "rich", "--agnostic")
    (one,) = json.loads(arena("everlasting-v2", *SHORT, *lists, "--json", "--quiet").stdout)["learners"]
    assert one["learner"]["settings"]["agnostic"] == "true"
    assert 0.3 < one["best_concept_error"] < 0.5
    assert np.abs(one["worst"]).max() < 0.1
    both = ("--data", data, "--x", "age", "--x", "kind", "--y", "rich", "--set", "concepts=boxes:2")
    (one,) = json.loads(arena("everlasting-v2", *SHORT, *both, "--json", "--quiet").stdout)["learners"]
    assert one["best_concept_error"] == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("everlasting-v3",), "there is no learner of that name, got 'everlasting-v3'. Did you mean "),
        (
            ("everlasting-v2", "soa"),
            "Predictors (everlasting-v2) and learners of online games need separate races.",
        ),
        (("soa",), "a race of online learners needs an adversary. Name it: --against adaptive."),
        (
            ("soa", "--against", "shattered-tree", "--as-set"),
            "--data and --as-set are for predictors, which play Figure1.",
        ),
        (("everlasting-v2", "--marks", "3"), "--marks is for online games; predictors are measured by "),
        (("everlasting-v2", "--protocol", "Adaptive"), "Predictors are raced under Figure1, not Adaptive."),
        (
            ("everlasting-v2", "--set", "rounds=1"),
            "everlasting-v2 stops after 1 round, got 3. Give --rounds 1, or --set rounds=none.",
        ),
        (("everlasting-v2", "--set", "alpha_1=0.5"), "alpha_1 must be less than 0.5, got 0.5"),
        (
            ("everlasting-v2", "--set", "concepts=intervals"),
            "RealIntervals() may have 455,058,477,001 labellings of 954,000 points, more than the 1,048,576 ",
        ),
        (
            ("everlasting-v2", "--set", "adversary.sample_size=100", "--games", "1"),
            "everlasting-v2 with 310 teachers of 93 examples and rate 1 needs a sample of 28,830, got 100. "
            "Lower teachers or chunk, or raise training_rate; the claim changes accordingly.",
        ),
        (
            ("everlasting-v2", "--set", "answers=100"),
            "the answers of round 1 must train a teacher of round 2, which takes 186 of them at rate 1, got "
            "100. Set more answers, a higher rate, or rounds=1.",
        ),
        (("everlasting-v2", "--x", "age"), "--x, --y, --positive and --user need --data, which is missing."),
    ],
)
def test_bad_use_is_one_line_and_status_2(arguments: tuple[str, ...], message: str) -> None:
    assert refusal(*arguments).startswith(message)


def test_data_that_do_not_fit_are_refused(data: str) -> None:
    brought = ("--data", data, "--x", "age", "--x", "kind", "--y", "rich")
    assert refusal("everlasting-v2", *brought) == (
        "everlasting-v2 receives points of shape (), got (2,). Name as many --x, or set concepts, as in "
        "--set concepts=boxes:2."
    )
