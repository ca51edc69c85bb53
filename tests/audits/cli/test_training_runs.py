"""Training runs and claims about users on the command line: refusals, and data with users."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.command_line import Command

run = Command()
DATA = "who,age,paid\nAda,0.1,0\nbob,0.4,1\nAda,0.2,0\ncyd,0.9,1\n"
USERS = "neighbours=add or remove a user of at most 2"


@pytest.mark.parametrize(
    ("learner", "setting", "message"),
    [
        ("dp-sgd", "batch=2000", "a batch must not be larger than the data, got 'batch 2,000, size 1,000'. "),
        ("dp-sgd", "noise=0", "noise must be more than 0, got 0.0. Leave it out, so that it is chosen for "),
        ("dp-sgd", "sampling=replacement", "sampling must be one of poisson, fixed, shuffled, got 'replacem"),
        (
            "dp-fedavg",
            "neighbours=replace one",
            "a claim for 'add or remove a user of at most 1' says nothin",
        ),
    ],
)
def test_settings_of_training_are_refused(learner: str, setting: str, message: str) -> None:
    said = run.refusal("audit", learner, "--against", "gradient-canary", "--set", setting)
    assert said.startswith(message)


@pytest.fixture
def data(tmp_path: Path) -> list[str]:
    path = tmp_path / "visits.csv"
    path.write_text(DATA)
    return ["--data", str(path), "--x", "age", "--y", "paid"]


@pytest.mark.thorough
def test_a_column_of_users_makes_an_audit_of_users(data: list[str]) -> None:
    settings = ["--set", "size=4", "--set", "batch=2", "--set", "steps=2", "--set", "noise=5"]
    players = ["audit", "dp-fedavg", "--against", "input-canary", *settings, "--games", "500", *data]
    assert run(*players, "--user", "who").exit_code == 0
    assert run.refusal(*players).startswith("the points of dp-fedavg must have the shape (2,), got (). ")


@pytest.mark.thorough
def test_a_function_of_the_users_is_audited_for_users(data: list[str], tmp_path: Path) -> None:
    code = tmp_path / "mine.py"
    code.write_text(
        "def count(points, rng):\n    return len(points) + rng.laplace()\n\n\n"
        "def own(points):\n    return points[:, 1]\n\n\n"
        "def missing(points):\n    return points[:, 1] + [float('nan')] * len(points)\n"
    )
    settings = ["--set", "receives=points", "--set", "epsilon=1", "--set", "dimension=2", "--set", USERS]
    players = ["audit", f"{code}:count", "--against", "point-swap", *settings, *data, "--user", "who"]
    for users in ("-1", f"{code}:own"):
        done = run(*players, "--games", "2000", "--set", f"users={users}")
        assert done.exit_code == 3  # two examples differ, and the noise is for one
        assert "add or remove a user of at most 2" in done.stdout
    assert run.refusal(*players).startswith(
        "neighbours of function that add or remove a user of at most 2 need"
    )
    assert run.refusal(*players, "--set", f"users={code}:missing").startswith(
        "every example must have a user, and a value is missing, got nan. "
    )
