"""`arena show`: a player or a concept class."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Sequence
from typing import Any

import attrs
import click
from tabulate import tabulate

from arena import Adversary, InvalidArgument, Learner
from arena.capabilities import Explains
from arena.concepts import CLASS_NAMES, ConceptClass, parse_concept_class
from audits.cli.completion import complete_players, complete_settings
from audits.cli.option_groups import argument, option, option_groups, option_record
from audits.cli.options import parse_settings
from audits.registry.players import PlayerClass, find_player
from audits.registry.settings_text import (
    FILLED_FIELDS,
    blame_player,
    build_player,
    format_value,
    get_default,
    get_required_fields,
)
from audits.registry.tested_claim import read_claim
from audits.reports.class_text import LEVELS, class_text

_HIDDEN_PROPERTIES = ("claim", "point_shape", "some_points")  # shown elsewhere, or long and uninformative
_WIDTH = 100


@option_record
class ShowOptions:
    player: str = argument(metavar="PLAYER", shell_complete=complete_players)
    tree: bool = option(
        "--tree",
        help="Show the learner's concept class instead: its dimensions, and a tree that it shatters. This "
        "is the default if PLAYER is a concept class such as thresholds:1..7.",
    )
    depth: int | None = option(
        "--depth", metavar="K", help=f"Show K levels of the tree. Default: all, if at most {LEVELS}."
    )
    settings: tuple[str, ...] = option(
        "--set",
        metavar="NAME=VALUE",
        shell_complete=complete_settings,
        help="Show it with this setting. May be repeated.",
    )


@click.command("show")
@option_groups
def show(asked: ShowOptions) -> None:
    """Show a player: what it does, its claim and theorem, its settings, and what follows from them."""
    if asked.tree or _is_concept_class(asked.player):
        click.echo(class_text(_find_concepts(asked.player, asked.settings), asked.depth))
        return
    if asked.depth is not None:
        raise click.UsageError("--depth needs --tree, which is missing.")
    player: Any = find_player(asked.player)
    kind = "learner" if issubclass(player, Learner) else "adversary"
    texts = parse_settings(asked.settings, bare=kind)[kind]
    spec = None if get_required_fields(player) and not texts else build_player(player, texts)
    description = inspect.getdoc(player) or "(it has no description)"
    sections = [f"{player.name} ({kind})"]
    sections += [textwrap.fill(" ".join(text.split()), _WIDTH) for text in description.split("\n\n")]
    rows = [("protocols", ", ".join(player.protocols))]
    if kind == "learner":
        claim = "depends on settings you have not given" if spec is None else str(read_claim(spec))
        rows += [("theorem", player.theorem or "none"), ("claim", claim)]
    sections.append(_format_rows(rows))
    sections.append(_format_settings_table(player, spec))
    if spec is not None:
        sections.append(_format_rows(_describe_properties(spec)))
    click.echo("\n\n".join(section for section in sections if section))


def _is_concept_class(text: str) -> bool:
    return text.partition(":")[0] in CLASS_NAMES


def _find_concepts(text: str, settings: Sequence[str]) -> ConceptClass:
    """The concept class that `text` names, or that of the learner that it names."""
    if _is_concept_class(text):
        if settings:
            raise click.UsageError(f"{text} is a concept class, which has no settings.")
        return parse_concept_class(text)
    player = find_player(text)
    if not issubclass(player, Learner):
        raise InvalidArgument(f"{text} is an adversary", remedy="Name a learner or a concept class.")
    spec: Learner = build_player(player, parse_settings(settings)["learner"])
    concepts = getattr(spec, "concepts", None)
    if not isinstance(concepts, ConceptClass):
        raise InvalidArgument(
            f"{text} has no setting `concepts`", remedy="Name a learner of a class, or a concept class."
        )
    return concepts


def _format_settings_table(player: PlayerClass, spec: Learner | Adversary | None) -> str:
    rows = []
    for field in attrs.fields(player):
        default = get_default(field)
        value = default if spec is None else getattr(spec, field.name)
        notes = [field.metadata.get("help", ""), FILLED_FIELDS.get(field.name, "")]
        about = textwrap.fill("; ".join(filter(None, notes)), _WIDTH - 40)
        unit = field.metadata.get("unit", "")
        rows.append((field.name, format_value(value), format_value(default), unit, about))
    if not rows:
        return "It has no settings."
    headers = ("setting", "value", "default", "unit", "what it is")
    return tabulate(rows, headers, tablefmt="simple", disable_numparse=True)


def _describe_properties(spec: Learner | Adversary) -> list[tuple[str, str, str]]:
    rows = []
    for name, member in inspect.getmembers(type(spec), lambda member: isinstance(member, property)):
        if name.startswith("_") or name in _HIDDEN_PROPERTIES:
            continue
        with blame_player(spec.name, f"asked for its {name}"):
            value: Any = getattr(spec, name)
        text = f"{value:,}" if type(value) is int else format_value(value)
        rows.append((name, text, (inspect.getdoc(member) or "").partition("\n\n")[0]))
    if isinstance(spec, Explains):
        rows += [(title, text, "") for title, text in spec.explain().items()]
    return rows


def _format_rows(rows: Sequence[tuple[str, ...]]) -> str:
    wrapped = [[textwrap.fill(cell, _WIDTH - 30) for cell in row] for row in rows]
    return tabulate(wrapped, tablefmt="plain", disable_numparse=True)
