"""`arena new` and `arena data`; and the commands that help texts and documents show can be typed."""

from __future__ import annotations

import gzip
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path

import attrs
import click
import pytest
from support.command_line import Command
from support.paths import ROOT

from arena.errors import InvalidArgument
from audits import cli
from audits.cli.new import DATA_SETS
from audits.registry.players import find_player

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


@pytest.mark.thorough
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


@pytest.mark.thorough
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


PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs/guides").glob("*.md")),
]


def helps(command: click.Command) -> Iterator[str]:
    """The help texts of a command and of those below it."""
    yield command.help or ""
    if isinstance(command, click.Group):
        for name in command.list_commands(click.Context(command)):
            below = command.get_command(click.Context(command), name)
            assert below is not None
            yield from helps(below)


def find_commands(text: str) -> Iterator[str]:
    """The lines of a text that are commands, each joined with those that go on with it."""
    for line in re.sub(r"\\\n\s*", "", text).splitlines():
        found = re.match(r"\s*(?:\.venv/bin/)?arena ([a-z].*)", line)
        if found:
            yield found[1]


def faults(line: str) -> list[str]:
    """What a command names that there is not: an option, a player, a setting of none of its players."""
    command: click.Command = cli.arena
    context = click.Context(cli.arena, info_name="arena", **cli.arena.context_settings)
    arguments = list(takewhile(lambda word: word != ">", shlex.split(line, comments=True)))
    while isinstance(command, click.Group):
        found = command.get_command(context, arguments.pop(0))
        if found is None:
            return [line]
        command = found
    try:
        # Below a context of arena, as its commands keep the names of --help from the first that they are in.
        told = command.make_context(command.name, arguments, parent=context).params
    except click.UsageError as error:
        return [error.format_message()]
    if command.name == "survey":
        return []  # it names no players: `against` is a file of another survey
    against = told.get("against")
    names = [told.get("learner"), *(against if isinstance(against, tuple) else (against,))]
    names += told.get("learners") or ()
    if told.get("settings"):
        names.append(told.get("player"))  # without settings, it may be a concept class
    players = [name.split("=")[-1] for name in names if name is not None]
    if any(".py:" in name for name in players):
        return []  # they are the reader's, and so are their settings
    try:
        fields = {field.name for name in players for field in attrs.fields(find_player(name))}
    except InvalidArgument as refusal:
        return [str(refusal)]
    asked = {setting.split("=")[0] for setting in told.get("settings") or ()}
    if told.get("against") is None:  # the command brings the adversary itself
        asked = {name for name in asked if not name.startswith("adversary.")}
    asked = {name.split(".")[-1] for name in asked}
    return sorted(asked - fields)


HELPED = [line for text in helps(cli.arena) for line in find_commands(text)]
WRITTEN = [
    line for page in PAGES for line in find_commands(page.read_text(encoding="utf-8")) if "..." not in line
]


@pytest.mark.thorough
@pytest.mark.parametrize("line", dict.fromkeys([*HELPED, *WRITTEN]))
def test_a_command_that_is_shown_can_be_typed(line: str) -> None:
    assert faults(line) == []


def test_both_help_and_documents_are_read() -> None:
    assert len(HELPED) > 30
    assert len(WRITTEN) > 20


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("race soa --against littlestone-tree", "there is no player of that name, got 'littlestone-tree'"),
        ("audit static-erm --agianst reconstruct", "No such option"),
        ("audit static-erm --against reconstruct --set concept=points", "concept"),
    ],
)
def test_what_cannot_be_typed_is_found(line: str, fault: str) -> None:
    assert fault in faults(line)[0]
