"""`path/to/file.py:function` as a learner and as a setting; training runs, and claims about users."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from support.command_line import Command

from arena import InvalidArgument
from audits.registry.user_files import load_function

MINE = """
import secrets
import threading
from functools import partial
import numpy as np

_RNG = np.random.default_rng(0)

def noisy(labels, rng):
    return labels.sum() + rng.laplace()

def own(labels):
    return labels.sum() + secrets.SystemRandom().uniform(-2, 2)

def seeded(labels):
    return labels.sum() + _RNG.laplace()

partly = partial(lambda scale, labels, rng: noisy(labels, rng), 1)

class Counting:
    def __call__(self, labels, rng):
        return noisy(labels, rng)
    count = __call__

called, bound = Counting(), Counting().count

async def awaited(labels, rng):
    return noisy(labels, rng)

class Counted:
    def __init__(self, scale=1):
        self.scale = scale
    def fit(self, labels, rng):
        self.total_ = noisy(labels, rng)

model = Counted(1)

def connect():
    lock = threading.Lock()
    def connected(labels, rng):
        with lock:
            return noisy(labels, rng)
    return connected

class Mechanism:
    epsilon, delta, sensitivity = 1, 0, 1
    def __init__(self, random_state=None):
        self.rng = random_state
    def randomise(self, value):
        return value + self.rng.laplace()

number = 3
"""


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "mine.py"
    path.write_text(MINE)
    return str(path)


def audit(*words: str, games: int = 3_000) -> Result:
    usual = ["--against", "count-swap", "--games", str(games), "--json"]
    return Command("audit")(*words, *usual)


@pytest.mark.thorough
def test_a_function_is_a_learner(file: str) -> None:
    done = audit(f"{file}:noisy", "--set", "epsilon=0.2", "--quiet")
    assert (done.exit_code, done.stderr) == (3, "")
    found: dict[str, Any] = json.loads(done.stdout)
    assert (found["learner"], found["claim"]["epsilon"]) == ("noisy", 0.2)
    assert found["players"]["learner"]["name"] == "noisy"
    assert 0.2 < found["epsilon_lower"] < 1


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("partly", "partly"),
        ("called", "called"),
        ("bound", "Counting.__call__"),
        ("awaited", "awaited"),
        ("Counted", "Counted"),
        ("model", "model"),
    ],
)
def test_so_is_any_other_kind_of_mechanism_and_its_name_is_its_title(
    file: str, name: str, title: str
) -> None:
    done = audit(f"{file}:{name}", "--set", "epsilon=0.2", "--set", "receives=labels", "--quiet")
    assert (done.exit_code, json.loads(done.stdout)["learner"]) == (3, title)


@pytest.mark.thorough
def test_a_mechanism_is_made_by_a_function_of_the_file(file: str) -> None:
    done = audit("function", "--set", f"make={file}:connect", "--set", "epsilon=0.2", "--quiet")
    assert (done.exit_code, json.loads(done.stdout)["learner"]) == (3, "connected")


@pytest.mark.thorough
def test_it_can_be_played_and_resumed(file: str, tmp_path: Path) -> None:
    words = [f"{file}:noisy", "--epsilon", "1", "--ledger", str(tmp_path / "a.ledger"), "--quiet"]
    first, again = json.loads(audit(*words).stdout), json.loads(audit(*words).stdout)
    assert first["epsilon_lower"] == again["epsilon_lower"]
    assert again["games_per_second"] == 0
    played = Command("play")(f"{file}:noisy", "--against", "low-bits")
    assert played.exit_code == 0


@pytest.mark.thorough
def test_coins_of_its_own_are_noted(file: str) -> None:
    done = audit(f"{file}:own", "--epsilon", "1")
    assert done.exit_code == 3
    assert done.stderr.endswith("own draws random numbers of its own, so no seed repeats these games\n")


@pytest.mark.thorough
def test_a_seeded_generator_in_the_file_is_refused(file: str) -> None:
    done = audit(f"{file}:seeded", "--epsilon", "1", "--quiet")
    assert done.exit_code == 2
    assert "random numbers of its own differ between processes" in done.stderr


@pytest.mark.thorough
def test_a_mechanism_that_a_file_makes(file: str) -> None:
    settings = ("--set", f"make={file}:Mechanism", "--set", "seeded=yes", "--epsilon", "0.2")
    done = audit("diffprivlib", *settings, "--quiet")
    assert (done.exit_code, done.stderr) == (3, "")
    assert json.loads(done.stdout)["refuted"]


@pytest.mark.parametrize(
    ("named", "message"),
    [
        ("mine:noisy", "a function is named as path/to/file.py:name, got 'mine:noisy'"),
        ("{file}:number", "{file} has no function 'number'. Name one that it defines."),
        ("{file}:nothing", "{file} has no function 'nothing'. Name one that it defines."),
    ],
)
def test_what_is_no_function(file: str, named: str, message: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        load_function(named.format(file=file))
    assert str(refused.value) == message.format(file=file)


def test_a_misspelt_function_is_looked_up(file: str) -> None:
    result = audit(f"{file}:noisi", "--epsilon", "1")
    assert result.exit_code == 2
    assert f"{file} has no class or function 'noisi'. Did you mean noisy? Name one of: " in result.stderr
    assert f"{file}:own" in result.stderr


def test_an_exception_names_the_file_and_the_line(tmp_path: Path) -> None:
    path = tmp_path / "failing.py"
    path.write_text(
        "def fail(data, rng):\n    return help_out(data)\n\n\ndef help_out(data):\n    return data.total\n"
    )
    result = audit(f"{path}:fail", "--epsilon", "1")
    assert result.exit_code == 2
    assert f"has no attribute 'total' in round 1 ({path}, line 6)" in result.stderr


@pytest.mark.thorough
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_plug_in_imports_files_of_its_folder(tmp_path: Path, jobs: str) -> None:
    bounds = {}
    for name, scale in (("small", 0.5), ("large", 4.0)):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "noise_of_mine.py").write_text(f"def noise(rng):\n    return {scale} * rng.laplace()\n")
        (folder / f"{name}.py").write_text(
            "from noise_of_mine import noise\n\n\ndef f(labels, rng):\n    return labels.sum() + noise(rng)\n"
        )
        result = audit(f"{folder / name}.py:f", "--epsilon", "1", "--json", "--jobs", jobs)
        bounds[name] = json.loads(result.stdout)["epsilon_lower"]
    assert bounds["small"] > 1.0 > bounds["large"]


@pytest.mark.thorough
def test_warnings_are_one_line(tmp_path: Path) -> None:
    path = tmp_path / "flaky.py"
    path.write_text(
        "def flaky(labels, rng):\n    if rng.random() < 0.5:\n"
        "        raise KeyError('oops')\n    return labels.sum()\n"
    )
    result = audit(f"{path}:flaky", "--epsilon", "1", "--faults", games=100)
    (line,) = [line for line in result.stderr.splitlines() if "warning" in line]
    assert line.startswith("arena: warning: flaky failed in ")
    assert line.endswith(f"KeyError: 'oops' in round 1 ({path}, line 3)")


run = Command()
DATA = "who,age,paid\nAda,0.1,0\nbob,0.4,1\nAda,0.2,0\ncyd,0.9,1\n"
USERS = "neighbours=add or remove a user of at most 2"


@pytest.mark.parametrize(
    ("learner", "setting", "message"),
    [
        ("dp-sgd", "batch=2000", "a batch must not be larger than the data, got 'batch 2,000, size 1,000'. "),
        ("dp-sgd", "noise=0", "noise must be more than 0, got 0.0. Leave it out, so that it is chosen for "),
        ("dp-sgd", "sampling=replacement", "sampling must be one of poisson, fixed, shuffled, got 'replacem"),
        ("dp-fedavg", "neighbours=replace one", "a claim for 'add or remove a user of at most 1' says"),
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
    assert run.refusal(*players).startswith("neighbours of count that add or remove a user of at most 2 need")
    assert run.refusal(*players, "--set", f"users={code}:missing").startswith(
        "every example must have a user, and a value is missing, got nan. "
    )
