"""The monitor in a project: the workflow of examples/ over three commits, and processes that are killed."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import time
from pathlib import Path

import pytest
from support.command_line import ARENA, Command
from support.paths import ROOT
from support.processes import wait_until

from audits.monitors.store import Store

CLAIMS = """
import audits
from hypothesis import strategies as st
from toy.releases import noisy_count, noisy_choice

records = st.lists(st.integers(0, 9))
audits.claim("noisy count", noisy_count, epsilon=1.0, data=records, neighbours="add or remove one")
audits.claim("noisy choice", noisy_choice, epsilon=1.0, data=records, neighbours="add or remove one")
"""
RELEASES = '''
"""What the toy project publishes."""


def noisy_count(records, rng):
    return len(records) + rng.laplace(scale={scale})


def noisy_choice(records, rng):
    return bool(rng.random() < 0.5)
'''
SLOW = """
import time
import audits


def count(records, rng):
    time.sleep(0.002)
    return len(records) + rng.laplace()


audits.claim("count", count, epsilon=1.0, data=[1, 2], neighbour=[1], neighbours="add or remove one")
"""


def list_steps() -> list[str]:
    """The commands of the monitor in the workflow, with nights of a few games."""
    text = (ROOT / "examples" / "privacy-tests.yml").read_text()
    steps = re.findall(r"run: arena (monitor [^#\n]*)", text)
    return [step.strip().replace("--minutes 20", "--games 1000") for step in steps]


@pytest.mark.slow
def test_the_steps_of_the_workflow_over_three_commits(tmp_path: Path) -> None:
    """The second commit plants a flaw, and the third takes it back."""
    environment = os.environ | {"GITHUB_ACTIONS": "true", "PYTHONPATH": f"{tmp_path}:{ROOT}"}
    environment.pop("GITHUB_SHA", None)

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(words, cwd=tmp_path, env=environment, text=True, capture_output=True)

    def commit(message: str, scale: str) -> str:
        (tmp_path / "toy" / "releases.py").write_text(RELEASES.format(scale=scale))
        run("git", "add", "toy", "privacy_claims.py")
        who = ("-c", "user.name=toy", "-c", "user.email=toy@example.org")
        assert run("git", *who, "commit", "-q", "-m", message).returncode == 0
        return run("git", "rev-parse", "--short=12", "HEAD").stdout.strip()

    (tmp_path / "toy").mkdir()
    (tmp_path / "toy" / "__init__.py").touch()
    (tmp_path / "privacy_claims.py").write_text(CLAIMS)
    run("git", "init", "-q")
    play, report = list_steps()
    statuses, commits = [], []
    for message, scale in (("right", "1.0"), ("less noise", "1 / 2"), ("right again", "1.0")):
        commits.append(commit(message, scale))
        night = run(*ARENA, *shlex.split(play))
        statuses.append(night.returncode)
        assert run(*ARENA, *shlex.split(report)).returncode == 0
        badge, page = (tmp_path / "privacy.svg").read_text(), (tmp_path / "privacy.html").read_text()
        marked = re.findall(r"^::error file=(\S+),line=(\d+),.*::(noisy \w+): .* refuted", night.stderr, re.M)
        if message == "less noise":
            assert marked == [("toy/releases.py", "5", "noisy count")]
            assert "1 of 2 refuted" in badge
            assert "1 of 2 claims refuted: noisy count" in page
            assert "toy.releases changed" in page
        else:
            assert marked == []
            assert "2 not refuted" in badge
    assert statuses == [0, 3, 0]
    store = Store.read(tmp_path / "privacy-monitor")
    first, second = store.versions["noisy count"]  # the third commit is the first version again
    assert [night.commit for night in first.nights] == [commits[0], commits[2]]
    assert ([night.commit for night in second.nights], second.refuted) == ([commits[1]], True)
    _, _, command = second.counterexample.rpartition("\narena ")
    words = shlex.split(command.replace("\\\n", " "))
    assert run(*ARENA, *words).returncode in (0, 3)  # the players are found; the code is right again


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_night_that_is_ended_leaves_the_store_whole(tmp_path: Path, number: signal.Signals) -> None:
    (tmp_path / "claims.py").write_text(SLOW)
    words = ["monitor", "play", tmp_path / "claims.py", "--store", tmp_path / "store"]
    Command()(*words, "--games", 200)
    assert [night.number for night in Store.read(tmp_path / "store").versions["count"][0].nights] == [1]
    index = tmp_path / "store" / "monitor.json"
    before = index.stat().st_mtime_ns
    command = [*ARENA, *map(str, words), "--minutes", "5"]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_until(lambda: index.stat().st_mtime_ns != before)
    time.sleep(4)
    process.send_signal(number)
    process.communicate()
    (version,) = Store.read(tmp_path / "store").versions["count"]
    # If the signal can be caught, the games that were bet on until then count.
    assert len(version.nights) in ((1,) if number == signal.SIGKILL else (1, 2))
    assert process.returncode == (-signal.SIGKILL if number == signal.SIGKILL else 130)
    Command()(*words, "--games", 200)
    nights = Store.read(tmp_path / "store").versions["count"][0].nights
    assert [night.number for night in nights] == [*range(1, len(version.nights) + 2)]
