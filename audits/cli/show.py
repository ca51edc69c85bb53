"""`arena show`: a player or a concept class."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Mapping, Sequence
from math import floor, log
from typing import Any, ClassVar

import attrs
import click
from tabulate import tabulate

from arena import Adversary, InvalidArgument, Learner
from arena.capabilities import Explains
from arena.concepts import CLASS_NAMES, ConceptClass, Halfspaces, parse_concept_class
from arena.concepts.consistency import labellings
from audits.cli.completion import complete_players
from audits.cli.options import argument, option, option_groups, option_record, parse_settings, settings_option
from audits.cli.output import Json
from audits.registry.match import read_claim
from audits.registry.players import PlayerClass, find_player
from audits.registry.settings_text import (
    FILLED_FIELDS,
    blame_player,
    build_player,
    format_value,
    get_default,
    get_required_fields,
)
from audits.reports.formatting import WIDTH, column_table, name_table, wrap
from audits.reports.report import Document, Facts, Listing, Part, Report
from audits.reports.terminal import measure_width, read_width

# Shown elsewhere, or long and uninformative.
_HIDDEN_PROPERTIES = ("claim", "mechanism", "own_name", "point_shape", "some_points")
_LEVELS = 6  # of a tree that fits on a page
_POINT_COUNTS = (10, 100, 1_000)  # for which the number of labellings of an infinite domain is shown


@option_record
class ShowOptions:
    player: str = argument(metavar="PLAYER", shell_complete=complete_players)
    tree: bool = option(
        "--tree",
        help="Show the learner's concept class: its dimensions, and a tree of points that it shatters.",
    )
    depth: int | None = option(
        "--depth", metavar="K", help=f"Show K levels of the tree. Default: all, if at most {_LEVELS}."
    )
    settings: tuple[str, ...] = settings_option(
        "A setting of the player, shown with all that follows from it. May be repeated."
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
        output.print_result(describe_class(concepts, asked.depth))
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
    sections += [wrap(" ".join(text.split()), read_width(sys.stdout)) for text in paragraphs]
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
    """A cell; on a terminal tables are fitted as they are printed."""
    return " ".join(text.split()) if measure_width(sys.stdout) else wrap(text, WIDTH - margin)


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


@attrs.frozen(kw_only=True, repr=False)
class ClassFigures(Report):
    """The dimensions of a concept class. Of a finite domain: the first `levels` levels of a shattered tree.

    Of others: labellings, an upper bound on the number of ways in which numbers of points are labelled. Of
    halfspaces with margin: mistakes, Winnow's bound; and the variables of a disjunction of points (x, -1).
    """

    kind: ClassVar[str] = "show"

    concepts: str
    vc_dimension: int
    littlestone_dimension: int | None = None
    dual_vc_dimension: int | None = None
    dual_littlestone_dimension: int | None = None
    levels: int | None = None
    tree: str | None = None
    labellings: dict[int, int] | None = None
    mistakes: int | None = None
    disjunction_variables: int | None = None

    @property
    def headline(self) -> str:
        return f"{self.concepts}: VC dimension {self.vc_dimension}"

    def document(self) -> Document:
        most = self.disjunction_variables
        named = {
            "VC dimension": self.vc_dimension,
            "Littlestone dimension": self.littlestone_dimension,
            "dual VC dimension": self.dual_vc_dimension,
            "dual Littlestone dimension": self.dual_littlestone_dimension,
        }
        rows = [
            ("class", self.concepts),
            ("domain", "not finite, so no tree is shown" if self.tree is None else ""),
            *((name, "" if value is None else str(value)) for name, value in named.items()),
        ]
        if self.mistakes is not None:
            rows += [
                ("mistakes of an optimal learner", f"at most {self.mistakes:,}: Winnow's bound, 2 ln d/ρ²"),
                ("disjunctions, of points (x, -1)", f"of at most {most} variables" if most else "none"),
            ]
        for points, bound in (self.labellings or {}).items():
            rows.append((f"labellings of {points:,} points", f"at most {bound:,}"))
        parts: list[Part] = [Facts(rows)]
        if self.tree is not None:
            shown, levels = self.levels, self.littlestone_dimension
            plural = "" if levels == 1 else "s"
            extent = f"{levels} level{plural}" if shown == levels else f"{shown} of its {levels} levels"
            heading = f"A shattered tree, {extent}; every node is a point, every edge its label:"
            parts.append(Listing(self.tree, heading))
        return Document(parts=parts)


def describe_class(concepts: ConceptClass, depth: int | None = None) -> ClassFigures:
    """The dimensions of a class and of its dual, and the first levels of a shattered tree, by default all."""
    if concepts.domain is None:
        return _describe_infinite(concepts, depth)
    # Slow to import, and only this command needs it.
    from arena.littlestone import (
        build_shattered_tree,
        dual_littlestone_dimension,
        dual_vc_dimension,
        format_tree,
        littlestone_dimension,
    )

    if depth is not None and depth < 1:
        raise InvalidArgument("a tree has at least 1 level", value=depth)
    labellings(concepts)  # refuses a class that is too large
    levels = littlestone_dimension(concepts)
    if depth is None and levels > _LEVELS:
        raise InvalidArgument(
            f"a shattered tree of {concepts} has {levels} levels, too many", remedy=f"Give --depth {_LEVELS}."
        )
    tree = build_shattered_tree(concepts)
    if depth is not None and depth < levels:
        tree = _truncate_tree(tree, depth)
    return ClassFigures(
        concepts=str(concepts),
        vc_dimension=concepts.vc_dimension,
        littlestone_dimension=levels,
        dual_vc_dimension=dual_vc_dimension(concepts),
        dual_littlestone_dimension=dual_littlestone_dimension(concepts),
        levels=levels if depth is None else min(depth, levels),
        tree=format_tree(tree),
    )


def _describe_infinite(concepts: ConceptClass, depth: int | None) -> ClassFigures:
    if depth is not None:
        raise InvalidArgument(f"{concepts} has no finite domain, so no tree of it can be shown")
    if not isinstance(concepts, Halfspaces):
        bounds = {points: concepts.growth_bound(points) for points in _POINT_COUNTS}
        return ClassFigures(concepts=str(concepts), vc_dimension=concepts.vc_dimension, labellings=bounds)
    variables = floor((1 / concepts.margin - 1) / 2 + 1e-6)
    return ClassFigures(
        concepts=str(concepts),
        vc_dimension=concepts.vc_dimension,
        mistakes=floor(2 * log(concepts.dimension) / concepts.margin**2),
        disjunction_variables=min(concepts.dimension - 1, variables),
    )


def _truncate_tree(tree: Any, depth: int) -> Any:
    """The first levels of a tree, which the class shatters too."""
    top = tree.subgraph([node for node in tree if len(node) <= depth]).copy()
    for node in top:
        if len(node) == depth:
            top.nodes[node].pop("point", None)
    return top
