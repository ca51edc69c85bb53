"""The commands that the help texts and the documents show: their options, players and settings exist."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

import attrs
import click
import pytest
from support.paths import ROOT

from arena.errors import InvalidArgument
from audits.cli import arena
from audits.registry.players import find_player

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
    command: click.Command = arena
    context = click.Context(arena, info_name="arena", **arena.context_settings)
    arguments = shlex.split(line, comments=True)
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


HELPED = [line for text in helps(arena) for line in find_commands(text)]
WRITTEN = [
    line for page in PAGES for line in find_commands(page.read_text(encoding="utf-8")) if "..." not in line
]


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
