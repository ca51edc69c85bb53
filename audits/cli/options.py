"""Options that commands share, and how their text is read."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from arena.errors import InvalidArgument
from audits.registry.match import Data, Settings, match
from audits.registry.settings_text import parsed
from audits.runs.workers import Workers
from audits.runs.workers.workers import LOKY

Command = Callable[..., None]
Returned = TypeVar("Returned")


class Number(click.ParamType):
    """A number as `--set` reads one: 20_001 and 1e5 are whole numbers."""

    def __init__(self, kind: type) -> None:
        self.name = "integer" if kind is int else "number"
        self._kind = kind

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        name = "a value" if parameter is None else parameter.opts[0]
        try:
            return parsed(name, value, self._kind)
        except InvalidArgument as error:
            raise click.BadParameter(str(error), context, parameter) from error


WHOLE, REAL = Number(int), Number(float)


class PartOf(click.ParamType):
    """A part of a run, K/M."""

    name = "part"

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        from audits.runs.run_parts import RunPart  # with all that plays, which most commands do not need

        try:
            return RunPart.parse(value)
        except InvalidArgument as error:
            raise click.BadParameter(str(error), context, parameter) from error


EPSILON = click.option(
    "--epsilon",
    type=REAL,
    metavar="E",
    help="ε of the claim under test, in nats. Default: the learner's own.",
)
DELTA = click.option(
    "--delta",
    type=REAL,
    metavar="D",
    help="δ of the claim under test, a probability. Default: the learner's own.",
)
SEED = click.option(
    "--seed", type=WHOLE, default=0, show_default=True, help="Of every coin, a whole number of at least 0."
)
_COLUMNS = (
    click.option(
        "--data", metavar="FILE", required=True, help="CSV with column names, gzipped if it ends in .gz."
    ),
    click.option("--y", metavar="COLUMN", required=True, help="Column of the labels; it takes two values."),
    click.option(
        "--x",
        metavar="COLUMN",
        multiple=True,
        help="Column to learn from; again for more. Default: all others. Each of its values becomes a "
        "variable.",
    ),
    click.option(
        "--positive",
        metavar="VALUE",
        help="The value of --y that is label 1. Default: 1 beside 0, else the later in the alphabet.",
    ),
    click.option(
        "--quantiles",
        type=WHOLE,
        metavar="K",
        help="Cut columns of numbers that take more than K values into K ranges of about as many examples "
        "each.",
    ),
)


def columns(command: Command) -> Command:
    """The options of a command that learns from columns of a file: data, y, x, positive, quantiles."""
    for option in reversed(_COLUMNS):
        command = option(command)
    return command


SET_OF_EACH = click.option(
    "--set",
    "settings",
    metavar="NAME=VALUE",
    multiple=True,
    help="Set a field of every learner, of one as LABEL.NAME=VALUE, or of the adversary as "
    "adversary.NAME=VALUE. May be given again.",
)
PART = click.option(
    "--part",
    type=PartOf(),
    metavar="K/M",
    help="Play only the blocks of part K of M into the ledger, so that machines without a common cluster "
    "share a run; arena merge puts their ledgers together.",
)
JSON = click.option("--json", "as_json", is_flag=True, help="One JSON object.")
QUIET = click.option("--quiet", is_flag=True, help="No notes, no progress bar.")

_DATA = (
    click.option(
        "--data", metavar="FILE", help="Your data: CSV with column names, gzipped if it ends in .gz."
    ),
    click.option("--x", metavar="COLUMN", multiple=True, help="Column of the points; again for vectors."),
    click.option("--y", metavar="COLUMN", help="Column of the labels; it takes two values."),
    click.option("--positive", metavar="VALUE", help="The value of --y that is label 1."),
)


def takes_data(command: Command) -> Command:
    """Give a command the options of the user's data: data, x, y, positive, which `data_of` reads."""
    for option in reversed(_DATA):
        command = option(command)
    return command


_OPTIONS = (
    click.argument("learner", metavar="LEARNER"),
    click.option("--against", metavar="ADVERSARY", required=True, help="The adversary."),
    click.option(
        "--set",
        "settings",
        metavar="NAME=VALUE",
        multiple=True,
        help="Set a field of the learner, or of the adversary as adversary.NAME=VALUE. May be given again.",
    ),
    click.option(
        "--set-adversary", metavar="NAME=VALUE", multiple=True, help="Short for --set adversary.NAME=VALUE."
    ),
    click.option(
        "--protocol", metavar="NAME", help="Default: the one that both play, Figure1 before others."
    ),
    click.option(
        "--rounds",
        type=WHOLE,
        metavar="T",
        help="T of an online game; the most queries of Figure 1 or Voting.",
    ),
    *_DATA,
    SEED,
    QUIET,
)


def takes_match(command: Command) -> Command:
    """Give a command the options that say who plays; it is called with the `Match`, the seed and `quiet`."""
    given = matched(command)
    for option in reversed(_OPTIONS):
        given = option(given)
    return given


def matched(command: Callable[..., Returned]) -> Callable[..., Returned]:
    """What takes the values of the options of `takes_match`, and calls with the `Match` that they mean."""

    @functools.wraps(command)
    def called(
        *,
        learner: str,
        against: str,
        settings: tuple[str, ...],
        set_adversary: tuple[str, ...],
        protocol: str | None,
        rounds: int | None,
        data: str | None,
        x: tuple[str, ...],
        y: str | None,
        positive: str | None,
        quiet: bool,
        **others: Any,
    ) -> Returned:
        found = match(
            learner,
            against,
            settings=settings_of([*settings, *(f"adversary.{pair}" for pair in set_adversary)]),
            data=data_of(data, x, y, positive),
            protocol=protocol,
            rounds=rounds,
        )
        if not quiet:
            for note in found.notes:
                click.echo(f"arena: note: {note}", err=True)
        return command(found, quiet=quiet, **others)

    return called


_WORKERS = (
    click.option(
        "--jobs",
        type=WHOLE,
        metavar="N",
        help="Workers of this machine; they do not change the figures. Default: 1, or with --backend dask or "
        "ray one for every core.",
    ),
    click.option(
        "--backend",
        metavar="NAME",
        default=LOKY,
        show_default=True,
        help="What the workers are: loky (processes), threading, dask, or ray.",
    ),
    click.option(
        "--cluster",
        metavar="ADDRESS",
        help="Of a dask scheduler or a ray head node (or auto), whose workers play. Default: local, one that "
        "ends with the run.",
    ),
    click.option(
        "--patience",
        type=REAL,
        metavar="SECONDS",
        help="If no block comes for so long, workers hang, and what they had is played again. Twenty times "
        "what a block takes is enough. Default: wait for ever.",
    ),
)
WORKERS = ("jobs", "backend", "cluster", "patience")


def takes_workers(command: Command) -> Command:
    """Give a command the options that say who plays its games; it is called with `jobs`, the `Workers`."""

    @functools.wraps(command)
    def worked(
        *arguments: Any,
        jobs: int | None,
        backend: str,
        cluster: str | None,
        patience: float | None,
        **others: Any,
    ) -> None:
        workers = Workers(backend=backend, jobs=jobs, cluster=cluster, patience=patience)
        command(*arguments, jobs=workers, **others)

    for option in reversed(_WORKERS):
        worked = option(worked)
    return worked


def settings_of(pairs: Sequence[str], *, bare: str = "learner", others: Sequence[str] = ()) -> Settings:
    """{"learner": {name: text}, "adversary": {name: text}}, and the same for `others` by their labels; a name
    without a player is `bare`'s."""
    found: Settings = {player: {} for player in ("learner", "adversary", *others)}
    for pair in pairs:
        path, equals, text = pair.partition("=")
        player, dot, name = path.strip().rpartition(".")
        player = player if dot else bare
        if not equals or not name or player not in found:
            named = " or ".join(f"{player}.NAME=VALUE" for player in ("adversary", *others))
            raise click.UsageError(f"A setting is NAME=VALUE or {named}, got {pair!r}.")
        if name in found[player]:
            raise click.UsageError(f"{name} of the {player} is set twice.")
        found[player][name] = text
    return found


def data_of(path: str | None, x: tuple[str, ...], y: str | None, positive: str | None) -> Data | None:
    """The user's data, if they are given, and given whole."""
    if path is None and (x or y or positive is not None):
        raise click.UsageError("--x, --y and --positive speak of --data, which is missing.")
    if path is None:
        return None
    if not x or y is None:
        raise click.UsageError("--data needs --x COLUMN for the points and --y COLUMN for the labels.")
    return Data(path=path, x=x, y=y, positive=positive)
