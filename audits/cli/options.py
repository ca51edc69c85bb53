"""Groups of options, attrs records whose fields are options; those that several commands share are here.

The annotation of a field says what its option takes: a number, a flag, or several values.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, dataclass_transform, get_type_hints

import attrs
import click

from arena import InvalidArgument, Learner, Sample
from arena.privacy_curves import parse_curve
from audits.cli.completion import (
    complete_adversaries,
    complete_learners,
    complete_protocols,
    complete_settings,
)
from audits.data.csv_files import load_sample
from audits.data.output_files import check_output_file
from audits.registry.match import Match, PlayerSettings, build_match
from audits.registry.players import is_function
from audits.registry.settings_text import parse_value
from audits.runs.plan import list_arguments
from audits.runs.workers import Workers
from audits.runs.workers.workers import LOKY

Record = TypeVar("Record")
Command = Callable[..., Any]


class TextType(click.ParamType):
    """A value that `parse` reads from the option's name and a text. Its refusals become invalid usage."""

    def __init__(self, name: str, parse: Callable[[str, str], Any]) -> None:
        self.name = name
        self._parse = parse

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        name = "a value" if parameter is None else parameter.opts[0]
        try:
            return self._parse(name, value)
        except InvalidArgument as error:
            raise click.BadParameter(str(error), context, parameter) from error


# Numbers are written as for `--set`: 20_001 and 1e5 are integers.
REAL = TextType("number", functools.partial(parse_value, kind=float))
_SETTINGS_BY_ANNOTATION: dict[str, dict[str, Any]] = {
    "int": {"type": TextType("integer", functools.partial(parse_value, kind=int))},
    "float": {"type": REAL},
    "bool": {"is_flag": True},
    "tuple[str, ...]": {"multiple": True},
    "tuple[float, ...]": {"type": REAL, "multiple": True},
}


class _Option(click.Option):
    """An option that is named in messages by its long flag, and that also has flags which no help shows."""

    def __init__(self, *arguments: Any, synonyms: tuple[str, ...] = (), **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self._synonyms = synonyms

    def add_to_parser(self, parser: Any, ctx: click.Context) -> None:
        shown = self.opts
        self.opts = [*shown, *self._synonyms]
        super().add_to_parser(parser, ctx)
        self.opts = shown

    def get_error_hint(self, ctx: click.Context | None) -> str:
        return f"'{self.opts[0]}'"


def option(*flags: str, **settings: Any) -> Any:
    """A field of an option group that `click.option(*flags, **settings)` fills. A default is shown.

    flags: the long one first, which messages and recorded commands name. synonyms: flags without a help.
    """

    def declare(field: attrs.Attribute[Any]) -> Callable[[Command], Command]:
        implied = _SETTINGS_BY_ANNOTATION.get(str(field.type).removesuffix(" | None"), {})
        settled = {"show_default": "default" in settings, **implied, **settings}
        return click.option(field.name, *flags, cls=_Option, **settled)

    return attrs.field(metadata={"declare": declare})


def argument(**settings: Any) -> Any:
    """A field of an option group that `click.argument(**settings)` fills."""
    return attrs.field(metadata={"declare": lambda field: click.argument(field.name, **settings)})


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(option, argument))
def option_record(cls: type[Record]) -> type[Record]:
    """Make a class an option group: a frozen attrs class, all of whose fields are options or arguments."""
    # Without what no command needs: comparing groups, and the slots that would forbid multiple inheritance.
    return attrs.frozen(cls, kw_only=True, slots=False, eq=False, repr=False)


def option_groups(command: Command) -> Command:
    """Give a command the options of the records that annotate its parameters, in order."""
    records = get_type_hints(command)
    records.pop("return", None)

    @functools.wraps(command)
    def call(**values: Any) -> Any:
        return command(**{name: fill_record(record, values) for name, record in records.items()})

    for record in reversed(records.values()):
        for field in reversed(attrs.fields(record)):
            call = field.metadata["declare"](field)(call)
    return call


def list_options(*records: type) -> tuple[str, ...]:
    """The names of the options of these records."""
    return tuple(field.name for record in records for field in attrs.fields(record))


def fill_record(record: type[Record], values: Mapping[str, Any]) -> Record:
    """The record with the values of its options, of the parameters of a click context."""
    return record(**{name: values[name] for name in list_options(record)})


def file_option(flag: str, text: str, kind: str, *, packages: Sequence[str] = (), **settings: Any) -> Any:
    """The option of an output file, such as a "chart", which is refused if it could not be written."""

    def check(context: click.Context, parameter: click.Parameter, path: str | None) -> str | None:
        if path is not None and kind == "chart":
            from audits.reports.plots import check_plot  # few commands draw

            check_plot(path)
        elif path is not None:
            check_output_file(kind, path, packages=packages)
        return path

    return option(flag, **{"metavar": "FILE", "help": text, "callback": check, **settings})


def _check_curve(name: str, text: str) -> str:
    parse_curve(text)
    return text  # as typed, since command lines are recorded


def plan_option(name: str) -> Any:
    """The option of an argument of a plan, as `PlanSettings` declares it."""
    field = list_arguments()[name]
    kind, said = str(field.type), field.metadata
    settings: dict[str, Any] = {"help": said["help"], "metavar": said["metavar"]}
    if said["choices"]:
        settings["type"] = click.Choice(said["choices"])
    if kind.startswith("PrivacyCurve"):
        settings["type"] = TextType(name, _check_curve)
    if kind != "bool" and not said["chosen"]:
        settings["default"] = field.default
    return option(f"--{name.replace('_', '-')}", **settings)


@option_record
class SeedOption:
    seed: int = plan_option("seed")


@option_record
class LedgerArgument:
    run: str = argument(metavar="RUN")


@option_record
class WorkerOptions:
    jobs: int | None = option(
        "--jobs",
        "-j",
        metavar="N",
        help="Number of workers on this machine; the figures do not depend on it. Default: 1, or with "
        "--backend dask one for every core.",
    )
    backend: str = option(
        "--backend",
        metavar="NAME",
        default=LOKY,
        help="Kind of workers: loky (processes), threading, or dask.",
    )
    cluster: str | None = option(
        "--cluster",
        metavar="ADDRESS",
        help="Address of a dask scheduler. Default: local, a cluster that ends with the run.",
    )
    patience: float | None = option(
        "--patience",
        metavar="SECONDS",
        help="Restart the workers if no block of games is finished for so long. Default: no limit.",
    )

    def build(self) -> Workers:
        """The workers. Raises: InvalidArgument if there are none such."""
        return Workers(backend=self.backend, jobs=self.jobs, cluster=self.cluster, patience=self.patience)


@option_record
class LimitOptions:
    max_calls: int | None = option(
        "--max-calls",
        metavar="N",
        help="Make at most N calls of a function, or games, checks included. Default: no limit.",
    )
    max_seconds: float | None = option(
        "--max-time",
        metavar="SECONDS",
        help="Begin no further games after so long. The games played so far count. Default: no limit.",
    )


@option_record
class LedgerOption:
    ledger: str | None = option(
        "--ledger",
        metavar="FILE",
        help="Store finished work in this file, the ledger. The same command, or for an audit arena runs "
        "resume FILE, continues from it. Default: nothing is stored.",
    )


_OF_POINTS = {"receives", "dimension", "domain", "users"}  # settings of functions that receive points


@option_record
class DataOptions:
    """The user's data, for the adversary and the sizes of the learner."""

    data: str | None = option(
        "--data", metavar="FILE", help="Your data: CSV with column names, gzipped if it ends in .gz."
    )
    x: tuple[str, ...] = option("--x", metavar="COLUMN", help="Column of the points; repeat it for vectors.")
    y: str | None = option("--y", metavar="COLUMN", help="Column of the labels; it takes two values.")
    positive: str | None = option(
        "--positive", metavar="VALUE", help="The value of --y that is label 1. Default: 1 beside 0."
    )
    user: str | None = option(
        "--user",
        metavar="COLUMN",
        help="Column that says whose an example is, for claims about users. With --x its values are "
        "numbered, and the number is the last coordinate of the points.",
    )
    neighbours: str | None = option(
        "--neighbours",
        metavar="RELATION",
        help="How the data of the two worlds differ, for a function: replace-one (default), "
        "add-or-remove-one, 'add or remove a user of at most 5', ...",
    )
    schema: str | None = option(
        "--schema",
        metavar="FILE.py:NAME",
        help="What a function receives: a strategy such as audits.table(...), or an example of the data. "
        "Default: a DataFrame with the columns of --data, unless --x names some.",
    )

    def read(
        self, learner: str, settings: PlayerSettings, neighbour: str | None = None
    ) -> tuple[Any, PlayerSettings]:
        """The data, or a function that reads them, and the settings. neighbour: the file of world 1."""
        is_mechanism = is_function(learner)
        if not is_mechanism and (self.schema is not None or self.neighbours is not None):
            raise click.UsageError(
                "--schema and --neighbours are for functions; learners have settings (`arena show`)."
            )
        if not is_mechanism and neighbour is None:
            return self.get_source(), settings
        from audits.api.user_data import read_data, read_tables, set_neighbour  # slow to import

        points = self.x or self.y is not None or not _OF_POINTS.isdisjoint(settings["learner"])
        if not is_mechanism or (self.schema is None and (self.data is None or points)):
            other = None if neighbour is None else self.get_source(neighbour)
            settings = set_neighbour(settings, None if other is None else other())
            if is_mechanism:
                settings = read_data(learner, None, None, settings, self.neighbours)[1]
            return self.get_source(), settings
        return read_tables(
            learner, settings, self.data, neighbour, self.schema, neighbours=self.neighbours, user=self.user
        )

    def list_record_options(self, learner: Learner) -> list[str]:
        """The options, for another command, that say what records a function receives."""
        if not learner.receives_records:
            return []
        named = {
            "--data": None if self.schema else self.data,
            "--schema": self.schema,
            "--neighbours": self.neighbours,
            "--user": self.user,
        }
        return [word for name, value in named.items() if value is not None for word in (name, value)]

    def get_source(self, path: str | None = None) -> Callable[[], Sample] | None:
        """A function that reads the data, if they are given. path: default: of --data. Raises: UsageError if
        columns are missing."""
        if self.data is None:
            if self.x or self.y or self.positive is not None or self.user is not None:
                raise click.UsageError("--x, --y, --positive and --user need --data, which is missing.")
            return None
        if not self.x or self.y is None:
            raise click.UsageError("--data needs --x COLUMN for the points and --y COLUMN for the labels.")
        x = self.x[0] if len(self.x) == 1 else self.x
        return functools.partial(
            load_sample, path or self.data, x=x, y=self.y, positive=self.positive, user=self.user
        )


def settings_option(
    text: str = "A setting of the learner or, as adversary.NAME=VALUE, of the adversary. `arena show PLAYER` "
    "lists them. May be repeated.",
) -> Any:
    """The option --set; its help is that of a learner and an adversary unless another is given."""
    return option("--set", metavar="NAME=VALUE", shell_complete=complete_settings, help=text)


def protocol_option(text: str) -> Any:
    """The option --protocol."""
    return option("--protocol", metavar="NAME", shell_complete=complete_protocols, help=text)


def adversary_option(text: str) -> Any:
    """The option --against."""
    return option("--against", metavar="ADVERSARY", shell_complete=complete_adversaries, help=text)


@option_record
class PlayerOptions:
    learner: str = argument(metavar="LEARNER", shell_complete=complete_learners)
    against: str | None = adversary_option(
        "The adversary. Default: the usual one of the learner, by what its claim protects."
    )
    settings: tuple[str, ...] = settings_option()
    set_adversary: tuple[str, ...] = option(
        "--set-adversary", metavar="NAME=VALUE", help="Short for --set adversary.NAME=VALUE."
    )
    protocol: str | None = protocol_option(
        "Rules of the game; `arena list --help` explains them. Default: one that both players play, "
        "Figure1 before others."
    )
    rounds: int | None = option(
        "--rounds",
        metavar="T",
        help="Rounds of an online game, or maximum number of queries of Figure1 or Voting. Default: those of "
        "the adversary, otherwise 100 rounds or no maximum.",
    )


@option_record
class MatchOptions(SeedOption, DataOptions, PlayerOptions):
    """The players, the protocol, the user's data and the seed."""

    neighbour: str | None = option(
        "--neighbour",
        metavar="FILE",
        help="Your data in world 1, with the columns of --data. Default: the worst that the adversary knows.",
    )

    def build(self, *, protocol: str | None = None) -> Match:
        """The configured players and the referee. protocol: unless --protocol names one."""
        texts = parse_settings([*self.settings, *(f"adversary.{pair}" for pair in self.set_adversary)])
        if self.neighbour is not None and self.data is None:
            raise click.UsageError("--neighbour needs --data, which is missing.")
        data, settings = self.read(self.learner, texts, self.neighbour)
        return build_match(
            self.learner,
            self.against,
            settings=settings,
            data=data,
            protocol=self.protocol or protocol,
            rounds=self.rounds,
        )


def parse_settings(
    pairs: Sequence[str], *, bare: str = "learner", labels: Sequence[str] = ()
) -> PlayerSettings:
    """The texts of settings by player, "learner", "adversary" or one of `labels`, and by name.

    pairs: NAME=VALUE, which is a setting of the player `bare`, or PLAYER.NAME=VALUE. Raises: UsageError.
    """
    settings: PlayerSettings = {player: {} for player in ("learner", "adversary", *labels)}
    for pair in pairs:
        path, equals, text = pair.partition("=")
        player, dot, name = path.strip().rpartition(".")
        player = player if dot else bare
        if not equals or not name or player not in settings:
            forms = " or ".join(f"{player}.NAME=VALUE" for player in ("adversary", *labels))
            raise click.UsageError(f"A setting is NAME=VALUE or {forms}, got {pair!r}.")
        if name in settings[player]:
            raise click.UsageError(f"{name} of the {player} is set twice.")
        settings[player][name] = text
    return settings
