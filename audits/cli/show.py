"""`arena list` and `arena show`."""

from __future__ import annotations

import inspect
import json
import sys
import textwrap
from typing import Any

import attrs
import click
from tabulate import tabulate

from arena import Adversary, InvalidArgument, Learner
from arena.concepts import CLASS_NAMES, ConceptClass, parse_concept_class
from audits.cli.options import JSON, WHOLE, settings_of
from audits.registry.players import ADVERSARIES, LEARNERS, Registry, find_any
from audits.registry.settings_text import GIVEN, blamed, build, claim_of, default_of, needed, text_of
from audits.reports.class_text import LEVELS, class_text
from learners.everlasting.constants import paper_constants
from learners.everlasting.generic_bbl import GenericBBL

_UNTOLD = ("claim", "point_shape", "some_points")  # told elsewhere, or long and of no interest
_PRINTED = {"everlasting-v1": "v1", "everlasting-v2": "v2"}
_LARGEST = 1 / 16  # what the theorems take α, β and δ to be below
_WIDTH = 100


@click.command("list")
@JSON
def list_players(as_json: bool) -> None:
    """List the learners and adversaries that can play, with the protocols that they play.

    Those of installed packages are among them. One in a file of yours is named path/to/file.py:ClassName.
    """
    found = {"learners": _listed(LEARNERS), "adversaries": _listed(ADVERSARIES)}
    if as_json:
        click.echo(json.dumps(found))
        return
    for title, players in found.items():
        rows = [(p["name"], ", ".join(p["protocols"]), p["summary"]) for p in players]
        click.echo(f"{title}\n" + textwrap.indent(tabulate(rows, tablefmt="plain"), "  "))


def _listed(registry: Registry) -> list[dict[str, Any]]:
    players = []
    for name, player in registry.every().items():
        if isinstance(player, InvalidArgument):
            click.echo(f"arena: note: {player}", err=True)
            continue
        home = f"{player.__module__}:{player.__qualname__}"
        players.append(
            {"name": name, "protocols": list(player.protocols), "summary": _summary(player), "class": home}
        )
    return players


def _summary(player: type[Any]) -> str:
    """What its module says of it after its name, if it does; else the first sentence of its description."""
    title, _, text = (inspect.getdoc(sys.modules[player.__module__]) or "").partition(": ")
    if title == player.name:
        return text.partition("\n\n")[0].replace("\n", " ")
    return _paragraphs(player)[0].partition(". ")[0]


@click.command()
@click.argument("player", metavar="PLAYER")
@click.option(
    "--tree",
    is_flag=True,
    help="Show the learner's concept class instead, as is done where PLAYER is one, thresholds:1..7: its "
    "dimensions, and a tree that it shatters.",
)
@click.option(
    "--depth", type=WHOLE, metavar="K", help=f"Show K levels of the tree. Default: all, if at most {LEVELS}."
)
@click.option(
    "--set",
    "settings",
    metavar="NAME=VALUE",
    multiple=True,
    help="Show it with a field set. May be given again.",
)
def show(player: str, settings: tuple[str, ...], tree: bool, depth: int | None) -> None:
    """Show a player: what it does, what it claims by which theorem, its settings, what follows from them."""
    if tree or _names_class(player):
        click.echo(class_text(_class_of(player, settings), depth))
        return
    if depth is not None:
        raise click.UsageError("--depth speaks of --tree, which is missing.")
    found = find_any(player)
    kind = "learner" if issubclass(found, Learner) else "adversary"
    texts = settings_of(settings, bare=kind)[kind]
    spec = None if needed(found) and not texts else build(found, texts)
    parts = [f"{found.name} ({kind})", *(textwrap.fill(text, _WIDTH) for text in _paragraphs(found))]
    parts.append(_plain([("protocols", ", ".join(found.protocols)), *_promise(found, spec)]))
    parts.append(_fields(found, spec))
    parts += [text for text in (_derived(spec), _printed(spec)) if text] if spec else []
    click.echo("\n\n".join(parts))


def _names_class(text: str) -> bool:
    return text.partition(":")[0] in CLASS_NAMES


def _class_of(text: str, settings: tuple[str, ...]) -> ConceptClass:
    """The concept class that `text` names, or that of the learner that it names."""
    if _names_class(text):
        if settings:
            raise click.UsageError(f"{text} is a concept class, which has no settings.")
        return parse_concept_class(text)
    found = find_any(text)
    if not issubclass(found, Learner):
        raise InvalidArgument(f"{text} is an adversary", remedy="Name a learner or a concept class.")
    spec: Learner = build(found, settings_of(settings)["learner"])
    concepts = getattr(spec, "concepts", None)
    if not isinstance(concepts, ConceptClass):
        raise InvalidArgument(
            f"{text} has no setting `concepts`", remedy="Name a learner of a class, or a concept class."
        )
    return concepts


def _paragraphs(player: type[Any]) -> list[str]:
    doc = inspect.getdoc(player) or "(it has no description)"
    return [" ".join(text.split()) for text in doc.split("\n\n")]


def _promise(player: type[Any], spec: Learner | Adversary | None) -> list[tuple[str, str]]:
    if not issubclass(player, Learner):
        return []
    claim = str(claim_of(spec)) if isinstance(spec, Learner) else "told when all is set that must be"
    return [("theorem", player.theorem or "none"), ("claim", claim)]


def _fields(player: type[Any], spec: Learner | Adversary | None) -> str:
    rows = []
    for field in attrs.fields(player):
        value = text_of(default_of(field) if spec is None else getattr(spec, field.name))
        about = field.metadata.get("help", "")
        if field.name in GIVEN:
            about = f"{about}; {GIVEN[field.name]}" if about else GIVEN[field.name]
        unit, about = field.metadata.get("unit", ""), textwrap.fill(about, _WIDTH - 40)
        rows.append((field.name, value, text_of(default_of(field)), unit, about))
    if not rows:
        return "It has no settings."
    headers = ("setting", "value", "default", "unit", "what it is")
    return tabulate(rows, headers, tablefmt="simple", disable_numparse=True)


def _derived(spec: Learner | Adversary) -> str:
    """The properties that follow from the settings, and the first rounds of a learner that has rounds."""
    rows = []
    for name, found in inspect.getmembers(type(spec), lambda member: isinstance(member, property)):
        if name.startswith("_") or name in _UNTOLD:
            continue
        with blamed(spec.name, f"asked for its {name}"):
            value = getattr(spec, name)
        rows.append(
            (name, f"{value:,}" if type(value) is int else text_of(value), inspect.getdoc(found) or "")
        )
    if isinstance(spec, GenericBBL):
        for index in range(1, min(spec.rounds or 2, 2) + 1):
            now = spec.round(index)
            text = f"noise ε′ = {text_of(now.noise)} nats, {now.teachers:,} teachers, {now.answers:,} answers"
            rows.append((f"round {index}", text, ""))
    return _plain(rows)


def _printed(spec: Learner | Adversary) -> str:
    """What the constants printed in the paper would ask for."""
    version = _PRINTED.get(spec.name)
    if version is None:
        return ""
    asked: Any = spec
    given = {"alpha": 2 * asked.alpha_1, "beta": 2 * asked.beta_1, "delta": asked.delta}
    within = {name: value if value < _LARGEST else 0.05 for name, value in given.items()}
    constants = paper_constants(version, epsilon=asked.epsilon, vc=asked.concepts.vc_dimension, **within)
    values = {"α": within["alpha"], "β": within["beta"], "ε": asked.epsilon, "δ": within["delta"]}
    at = ", ".join(f"{letter} = {value:.3g}" for letter, value in values.items())
    limit = "" if within == given else "; the theorem takes α, β and δ below 1/16"
    return textwrap.fill(f"The constants printed in the paper ({at}{limit}) demand {constants}.", _WIDTH)


def _plain(rows: list[Any]) -> str:
    wrapped = [[textwrap.fill(cell, _WIDTH - 30) for cell in row] for row in rows]
    return tabulate(wrapped, tablefmt="plain", disable_numparse=True)


COMMANDS = {"list": list_players, "show": show}
