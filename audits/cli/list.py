"""`arena list`: the players."""

from __future__ import annotations

import inspect
import sys
import textwrap
from typing import Any

import click
from tabulate import tabulate

from arena import InvalidArgument
from audits.cli.option_groups import option_groups
from audits.cli.output import Json, print_note
from audits.registry.players import ADVERSARIES, LEARNERS, PlayerClass, Registry


@click.command("list")
@option_groups
def list_players(output: Json) -> None:
    """List the learners and adversaries, with the protocols that they play.

    Players of installed packages are included. A player in a file of yours is named
    path/to/file.py:ClassName.
    """
    players = {"learners": _describe_players(LEARNERS), "adversaries": _describe_players(ADVERSARIES)}
    output.print_result(players, _format_text)


def _describe_players(registry: Registry) -> list[dict[str, Any]]:
    players = []
    for name, player in registry.load_all().items():
        if isinstance(player, InvalidArgument):
            print_note(str(player))
            continue
        players.append(
            {
                "name": name,
                "protocols": list(player.protocols),
                "summary": _summarize_docstring(player),
                "class": f"{player.__module__}:{player.__qualname__}",
            }
        )
    return players


def _summarize_docstring(player: PlayerClass) -> str:
    """What the module's docstring says after the player's name; or the first sentence of the class's."""
    title, _, text = (inspect.getdoc(sys.modules[player.__module__]) or "").partition(": ")
    if title != player.name:
        text = inspect.getdoc(player) or "(it has no description)"
        return " ".join(text.partition("\n\n")[0].split()).partition(". ")[0]
    return text.partition("\n\n")[0].replace("\n", " ")


def _format_text(players: dict[str, list[dict[str, Any]]]) -> str:
    sections = []
    for title, section in players.items():
        rows = [(player["name"], ", ".join(player["protocols"]), player["summary"]) for player in section]
        sections.append(f"{title}\n" + textwrap.indent(tabulate(rows, tablefmt="plain"), "  "))
    return "\n".join(sections)
