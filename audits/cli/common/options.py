"""The options that several commands share, and how their text is parsed."""

from __future__ import annotations

import inspect
import os
import stat
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import click

from arena import InvalidArgument, Sample
from arena.privacy_curves import parse_curve
from audits.cli.common.command import TextType, argument, option, option_record
from audits.cli.common.completion import (
    complete_adversaries,
    complete_learners,
    complete_protocols,
    complete_settings,
)
from audits.registry.match import DataSource, Match, PlayerSettings, build_match
from audits.runs.plan import list_arguments
from audits.runs.workers import Workers
from audits.runs.workers.workers import LOKY

Record = TypeVar("Record")

_MIN_KEY, _MAX_KEY = 16, 4096  # bytes; 128 bits cannot be guessed, and a longer file is hardly a key
_MAKE_KEY = "Make one: (umask 077; head -c 32 /dev/urandom > FILE)."


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


def plan_options(*names: str) -> Callable[[type[Record]], type[Record]]:
    """Make a class an option group of these arguments of a plan, and of its own options after them."""

    def add(group: type[Record]) -> type[Record]:
        kinds = {name: list_arguments()[name].type for name in names}
        group.__annotations__ = kinds | inspect.get_annotations(group)
        group.given = names  # type: ignore[attr-defined]
        for name in names:
            setattr(group, name, plan_option(name))
        return option_record(group)

    return add


class GivenArguments:
    """An option group with arguments of a plan; see `plan_options`."""

    given: ClassVar[tuple[str, ...]]

    def arguments(self) -> dict[str, Any]:
        """The arguments of a plan among the options, by name."""
        return {name: getattr(self, name) for name in self.given}


@option_record
class SeedOption:
    seed: int = plan_option("seed")


@plan_options("epsilon", "delta", "curve")
class ClaimOptions(GivenArguments):
    """The claim under test."""


@option_record
class PlotOption:
    plot: str | None = option("--plot", metavar="FILE", help="Also draw a chart: FILE.png or FILE.svg.")

    def __attrs_post_init__(self) -> None:
        if self.plot is not None:
            from audits.reports.plots import check_plot

            check_plot(self.plot)


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
        help="Address of a dask scheduler whose workers play. Default: local, a cluster that ends with the "
        "run.",
    )
    patience: float | None = option(
        "--patience",
        metavar="SECONDS",
        help="Restart the workers, and play their games again, if no block of games is finished for so "
        "long. Twenty times the duration of a block is enough. Default: no limit.",
    )

    def build(self) -> Workers:
        """The workers. Raises: InvalidArgument if there are none such."""
        return Workers(backend=self.backend, jobs=self.jobs, cluster=self.cluster, patience=self.patience)


@option_record
class LedgerOption:
    ledger: str | None = option(
        "--ledger",
        metavar="FILE",
        help="Store finished work in this file, the ledger. The same command, or for an audit arena runs "
        "resume FILE, continues from it. Default: nothing is stored.",
    )


@option_record
class ChangesOption:
    allow_changes: bool = option(
        "--allow-changes",
        help="Continue although files or packages of the players have changed. The ledger then holds games "
        "from before and after the change.",
    )


@option_record
class KeyOption:
    key: str | None = option(
        "--key",
        metavar="FILE",
        help="Sign the ledger, and check its signatures, with the secret key in FILE, of at least 16 bytes. "
        "Default: no signatures.",
    )

    def load_key(self) -> bytes | None:
        """The key, if one is given; raises InvalidArgument as `read_key` does."""
        return None if self.key is None else read_key(self.key)


@option_record
class TrustOption:
    trust: bool = option(
        "--trust",
        help="Run the files and packages that the ledger's command names. Read them first: they are code.",
    )


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
        help="Column that says whose an example is, for claims about users. Its values are numbered, and the "
        "number is the last coordinate of the points. Default: points hold the columns --x only.",
    )

    def get_source(self) -> DataSource | None:
        """The data source, if one is given. Raises: UsageError if it is incomplete."""
        if self.data is None:
            if self.x or self.y or self.positive is not None or self.user is not None:
                raise click.UsageError("--x, --y, --positive and --user need --data, which is missing.")
            return None
        if not self.x or self.y is None:
            raise click.UsageError("--data needs --x COLUMN for the points and --y COLUMN for the labels.")
        return DataSource(path=self.data, x=self.x, y=self.y, positive=self.positive, user=self.user)

    def load_sample(self) -> Sample | None:
        """The labelled examples, if data are given."""
        source = self.get_source()
        return None if source is None else source.load()


def settings_option() -> Any:
    """The option --set of a learner and an adversary."""
    return option(
        "--set",
        metavar="NAME=VALUE",
        shell_complete=complete_settings,
        help="A setting of the learner or, as adversary.NAME=VALUE, of the adversary. `arena show PLAYER` "
        "lists them. May be repeated.",
    )


@option_record
class PlayerOptions:
    learner: str = argument(metavar="LEARNER", shell_complete=complete_learners)
    against: str | None = option(
        "--against",
        metavar="ADVERSARY",
        shell_complete=complete_adversaries,
        help="The adversary. Default: the usual one of the learner, by what its claim protects.",
    )
    settings: tuple[str, ...] = settings_option()
    set_adversary: tuple[str, ...] = option(
        "--set-adversary", metavar="NAME=VALUE", help="Short for --set adversary.NAME=VALUE."
    )
    protocol: str | None = option(
        "--protocol",
        metavar="NAME",
        shell_complete=complete_protocols,
        help="Rules of the game; `arena list --help` explains them. Default: one that both players play, "
        "Figure1 before others.",
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

    def build(self, *, protocol: str | None = None) -> Match:
        """The configured players and the referee; raises as `build_match` and `parse_settings` do.

        protocol: unless --protocol names one.
        """
        return build_match(
            self.learner,
            self.against,
            settings=parse_settings([*self.settings, *(f"adversary.{pair}" for pair in self.set_adversary)]),
            data=self.get_source(),
            protocol=self.protocol or protocol,
            rounds=self.rounds,
        )


def parse_settings(
    pairs: Sequence[str], *, bare: str = "learner", labels: Sequence[str] = ()
) -> PlayerSettings:
    """The texts of settings by player, "learner", "adversary" or one of `labels`, and by name.

    pairs: NAME=VALUE, which is a setting of the player `bare`, or PLAYER.NAME=VALUE.

    Raises: UsageError if a pair is none, names no player, or sets something twice.
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


def read_key(path: str) -> bytes:
    """The key in a file: all its bytes. Raises: InvalidArgument if it is none, or is not the user's alone."""
    try:
        status = os.stat(path)
        is_small = stat.S_ISREG(status.st_mode) and status.st_size <= _MAX_KEY
        content = Path(path).read_bytes() if is_small else b""
    except OSError as error:
        raise InvalidArgument(
            f"the key {path} cannot be read ({error.strerror})", remedy=_MAKE_KEY
        ) from error
    if len(content) < _MIN_KEY:
        raise InvalidArgument(
            f"a key must be a file of {_MIN_KEY} to {_MAX_KEY:,} bytes", value=path, remedy=_MAKE_KEY
        )
    if os.name == "posix" and status.st_mode & 0o066:
        raise InvalidArgument(
            f"other users can read or write the key {path}, and so sign with it or replace it",
            remedy=f"Run chmod 600 {path}.",
        )
    return content
