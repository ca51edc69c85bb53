"""`arena show`: a player or a concept class."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import attrs
import click
from tabulate import tabulate

from arena import Adversary, InvalidArgument, Learner
from arena.capabilities import Explains
from arena.concepts import CLASS_NAMES, ConceptClass, parse_concept_class
from audits.cli.common.command import Json, argument, option, option_groups, option_record
from audits.cli.common.completion import complete_players, complete_settings
from audits.cli.common.options import parse_settings
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
from audits.reports.class_text import LEVELS, class_text, describe_class
from audits.reports.formatting import column_table, name_table

_HIDDEN_PROPERTIES = ("claim", "point_shape", "some_points")  # shown elsewhere, or long and uninformative
_WIDTH = 100


@option_record
class ShowOptions:
    player: str = argument(metavar="PLAYER", shell_complete=complete_players)
    tree: bool = option(
        "--tree",
        help="Show the learner's concept class instead: its dimensions, and a tree of points that it "
        "shatters. This is the default if PLAYER is a concept class such as thresholds:1..7.",
    )
    depth: int | None = option(
        "--depth", metavar="K", help=f"Show K levels of the tree. Default: all, if at most {LEVELS}."
    )
    settings: tuple[str, ...] = option(
        "--set",
        metavar="NAME=VALUE",
        shell_complete=complete_settings,
        help="A setting of the player, shown with all that follows from it. May be repeated.",
    )


@click.command("show")
@option_groups
def show(asked: ShowOptions, output: Json) -> None:
    """Show a player: what it does, its claim and theorem, its settings, and what follows from them.

    PLAYER may also be a concept class, such as thresholds:1..7, the thresholds on the points 1 to 7.

    \b
    Examples:
      arena show everlasting-v1
      arena show everlasting-v1 --set teachers=2_001
      arena show thresholds:1..7
    """
    if asked.tree or _is_concept_class(asked.player):
        concepts = _find_concepts(asked.player, asked.settings)
        output.print_result(describe_class(concepts, asked.depth), class_text)
        return
    if asked.depth is not None:
        raise click.UsageError("--depth needs --tree, which is missing.")
    output.print_result(_describe_player(asked), _format_player)


def _describe_player(asked: ShowOptions) -> dict[str, Any]:
    """What is shown of a player. Without a value for a setting that needs one, no claim and no properties."""
    player: Any = find_player(asked.player)
    role = "learner" if issubclass(player, Learner) else "adversary"
    texts = parse_settings(asked.settings, bare=role)[role]
    spec = None if get_required_fields(player) and not texts else build_player(player, texts)
    described = {
        "name": player.name,
        "role": role,
        "description": inspect.getdoc(player) or "(it has no description)",
        "protocols": list(player.protocols),
    }
    if role == "learner":
        described |= {"theorem": player.theorem, "claim": None if spec is None else read_claim(spec)}
    return described | {
        "settings": _describe_settings(player, spec),
        "properties": {} if spec is None else _describe_properties(spec),
        "explanations": dict(spec.explain()) if isinstance(spec, Explains) else {},
    }


def _describe_settings(player: PlayerClass, spec: Learner | Adversary | None) -> list[dict[str, str]]:
    described = []
    for field in attrs.fields(player):
        default = get_default(field)
        notes = [field.metadata.get("help", ""), FILLED_FIELDS.get(field.name, "")]
        described.append(
            {
                "name": field.name,
                "value": format_value(default if spec is None else getattr(spec, field.name)),
                "default": format_value(default),
                "unit": field.metadata.get("unit", ""),
                "about": "; ".join(filter(None, notes)),
            }
        )
    return described


def _describe_properties(spec: Learner | Adversary) -> dict[str, dict[str, Any]]:
    described = {}
    for name, member in inspect.getmembers(type(spec), lambda member: isinstance(member, property)):
        if name.startswith("_") or name in _HIDDEN_PROPERTIES:
            continue
        with blame_player(spec.name, f"asked for its {name}"):
            value: Any = getattr(spec, name)
        described[name] = {"value": value, "about": (inspect.getdoc(member) or "").partition("\n\n")[0]}
    return described


def _format_player(described: dict[str, Any]) -> str:
    paragraphs = described["description"].split("\n\n")
    sections = [f"{described['name']} ({described['role']})"]
    sections += [textwrap.fill(" ".join(text.split()), _WIDTH) for text in paragraphs]
    rows = [("protocols", ", ".join(described["protocols"]))]
    if described["role"] == "learner":
        claim = described["claim"]
        rows.append(("theorem", described["theorem"] or "none"))
        rows.append(("claim", "depends on settings you have not given" if claim is None else str(claim)))
    settings = [
        (*(setting[part] for part in ("name", "value", "default", "unit")), _wrap(setting["about"], 40))
        for setting in described["settings"]
    ]
    headers = ("setting", "value", "default", "unit", "what it is")
    properties = [
        (name, _wrap(_format_property(entry["value"]), 65), _wrap(entry["about"], 55))
        for name, entry in described["properties"].items()
    ]
    sections += [
        _format_rows(rows),
        column_table(settings, headers) if settings else "It has no settings.",
        str(tabulate(properties, tablefmt="plain", disable_numparse=True)),
        _format_rows(list(described["explanations"].items())),
    ]
    return "\n\n".join(section for section in sections if section)


def _format_property(value: object) -> str:
    if type(value) is int:
        return f"{value:,}"
    if isinstance(value, Mapping):
        return "; ".join(f"{name}: ({format_value(item)})" for name, item in value.items())
    return format_value(value) or "none"


def _wrap(text: str, margin: int) -> str:
    return textwrap.fill(text, _WIDTH - margin)


def _format_rows(rows: Sequence[tuple[str, str]]) -> str:
    return name_table((name, _wrap(text, 30)) for name, text in rows)


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
