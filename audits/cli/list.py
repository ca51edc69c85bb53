"""`arena list`: the players."""

from __future__ import annotations

import functools
import inspect
import sys
import textwrap
from collections.abc import Callable
from typing import Any

import click

from arena import REFEREES, InvalidArgument
from audits.cli.options import argument, option_groups, option_record, protocol_option
from audits.cli.output import Json, print_note
from audits.registry.families import describe_family, find_family
from audits.registry.players import ADVERSARIES, LEARNERS, Registry, locate_class
from audits.registry.suggestions import unknown_name
from audits.reports.terminal import measure_width

_TEST_OBJECTS = "zoo"  # the family of learners that are no learners to use, but mechanisms to test audits on
_HELP_WIDTH = 76  # of help on the terminal


@option_record
class ListOptions:
    word: str | None = argument(metavar="[WORD]", required=False)
    protocol: str | None = protocol_option("Only players of this protocol.")


def _list_protocols() -> str:
    """The protocols and what they are, as a paragraph of the help."""
    indent = " " * (2 + max(map(len, REFEREES)) + 2)
    fill = functools.partial(textwrap.fill, width=_HELP_WIDTH, subsequent_indent=indent)
    lines = [fill(f"  {name}".ljust(len(indent)) + kind.summary) for name, kind in REFEREES.items()]
    return "\n\n\b\n" + "\n".join(["Protocols, the rules of a game:", *lines])


@click.command("list", epilog=_list_protocols())
@option_groups
def list_players(asked: ListOptions, output: Json) -> None:
    """List the learners and adversaries by family, with the protocols that they play.

    With WORD only those in whose name, description or module it occurs. Players of installed packages are
    included. A player in a file of yours is named path/to/file.py:ClassName, and an adversary also as an
    instance of a class, path/to/file.py:name.

    \b
    Examples:
      arena list
      arena list winnow
      arena list --protocol Release
    """
    every = {"learners": _describe_players(LEARNERS), "adversaries": _describe_players(ADVERSARIES)}
    protocols = sorted(
        {name for players in every.values() for player in players for name in player["protocols"]}
    )
    if asked.protocol is not None and asked.protocol.casefold() not in map(str.casefold, protocols):
        raise unknown_name("protocol", asked.protocol, protocols)
    word = (asked.word or "").casefold()
    chosen = {
        kind: [
            player
            for player in players
            if (asked.protocol or "").casefold() in ("", *map(str.casefold, player["protocols"]))
            and any(word in player[part].casefold() for part in ("name", "summary", "class"))
        ]
        for kind, players in every.items()
    }
    output.print_result(chosen, _format_text)


def _describe_players(registry: Registry) -> list[dict[str, Any]]:
    players = []
    for name, player in registry.load_all().items():
        if isinstance(player, InvalidArgument):
            print_note(str(player))
            continue
        text = inspect.getdoc(player) or "(it has no description)"
        players.append(
            {
                "name": name,
                "protocols": list(player.protocols),
                "summary": " ".join(text.partition("\n\n")[0].split()).partition(". ")[0].rstrip(".") + ".",
                "class": locate_class(player),
            }
        )
    return players


def _format_text(players: dict[str, list[dict[str, Any]]]) -> str:
    return format_players(players, measure_width(sys.stdout)) or "No player fits."


def format_players(players: dict[str, list[dict[str, Any]]], width: int | None) -> str:
    """The players by kind and family, in lines of at most `width` characters, or as long as they are."""
    sections = []
    for kind, described in players.items():
        own = [player for player in described if find_family(player["class"]) != _TEST_OBJECTS]
        sections.append((kind, own))
        if kind == "learners":
            rest = [player for player in described if find_family(player["class"]) == _TEST_OBJECTS]
            sections.append(("mechanisms to test audits on, some of them broken on purpose", rest))
    names = [player["name"] for _, chosen in sections for player in chosen]
    column = max(map(len, names), default=0) + 2
    fill = functools.partial(_fill, width=width)
    return "\n".join(
        "\n".join([title, *_format_families(chosen, column, fill)]) for title, chosen in sections if chosen
    )


def _format_families(
    players: list[dict[str, Any]], column: int, fill: Callable[[str, str, str], str]
) -> list[str]:
    families: dict[str, list[dict[str, Any]]] = {}
    for player in players:
        families.setdefault(find_family(player["class"]), []).append(player)
    protocols = max(len(", ".join(player["protocols"])) for player in players) + 2
    lines = []
    for family in sorted(families):
        about = describe_family(families[family][0]["class"])
        lines.append(fill(f"  {family}: {about}" if about else f"  {family}", "", "    "))
        for player in families[family]:
            head = f"    {player['name']:{column}}{', '.join(player['protocols']):{protocols}}"
            lines.append(fill(player["summary"], head, "      "))
    return lines


def _fill(text: str, head: str, indent: str, width: int | None) -> str:
    """The head of a line with a text, which is wrapped at the width with an indent."""
    if width is None or len(head) + len(text) <= width:
        return f"{head}{text}"
    fill = functools.partial(textwrap.fill, text, width, break_long_words=False, break_on_hyphens=False)
    if head and len(head) <= width // 2:
        return fill(initial_indent=head, subsequent_indent=" " * len(head))
    body = fill(initial_indent=indent if head else "", subsequent_indent=indent)
    return f"{head.rstrip()}\n{body}" if head else body
