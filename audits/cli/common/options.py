"""The options that several commands share, and how their text is parsed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from arena import Sample
from arena.privacy_curves import parse_curve
from audits.cli.common.completion import (
    complete_adversaries,
    complete_learners,
    complete_protocols,
    complete_settings,
)
from audits.cli.common.option_groups import TextType, argument, option, option_record
from audits.cli.common.output import print_note
from audits.registry.match import DataSource, Match, PlayerSettings, build_match
from audits.runs.workers import Workers
from audits.runs.workers.workers import LOKY

if TYPE_CHECKING:
    from audits.data.one_hot import OneHotData
    from audits.registry.entrants import LabelledClass


def _check_curve(name: str, text: str) -> str:
    parse_curve(text)
    return text  # as typed, since command lines are recorded


CURVE_OPTION = option(
    "--curve",
    type=TextType("curve", _check_curve),
    metavar="CURVE",
    help="A claim for every ε at once, in place of --epsilon: mu=1 for Gaussian differential privacy, "
    "gaussian=4,1e-5 for that of a Gaussian mechanism that is (4, 1e-5)-DP, rho=0.5 for zero-concentrated "
    "privacy, rdp=8,2 for Rényi privacy of order 8 with ε = 2, or a CSV file with the columns epsilon and "
    "delta, or type_1_error and type_2_error.",
)


@option_record
class SeedOption:
    seed: int = option("--seed", default=0, help="Random seed, an integer ≥ 0.")


@option_record
class ClaimOptions:
    """The claim under test."""

    epsilon: float | None = option(
        "--epsilon", metavar="E", help="ε of the claim under test, in nats. Default: the learner's own."
    )
    delta: float | None = option(
        "--delta", metavar="D", help="δ of the claim under test, a probability. Default: the learner's own."
    )
    curve: str | None = CURVE_OPTION


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
        if self.key is None:
            return None
        from audits.runs.ledger.signatures import can_others_read, read_key  # few commands need it

        key = read_key(self.key)
        if can_others_read(self.key):
            print_note(f"other users can read the key {self.key}, and sign with it; chmod 600 {self.key}")
        return key


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


@option_record
class ColumnOptions:
    """Data whose columns are one-hot encoded."""

    data: str = option(
        "--data", metavar="FILE", required=True, help="CSV with column names, gzipped if it ends in .gz."
    )
    y: str = option("--y", metavar="COLUMN", required=True, help="Column of the labels; it takes two values.")
    x: tuple[str, ...] = option(
        "--x",
        metavar="COLUMN",
        help="Column to learn from; repeat it for more. Default: all others. Each of its values becomes a "
        "variable.",
    )
    positive: str | None = option(
        "--positive",
        metavar="VALUE",
        help="The value of --y that is label 1. Default: 1 beside 0, otherwise the later in the alphabet.",
    )
    quantiles: int | None = option(
        "--quantiles",
        metavar="K",
        help="Cut columns of numbers that take more than K values into K ranges of about equally many "
        "examples.",
    )

    def load(self) -> OneHotData:
        """The encoded data; raises InvalidArgument as `load_one_hot` does."""
        from audits.data.one_hot import load_one_hot  # few commands need it

        return load_one_hot(self.data, y=self.y, x=self.x, positive=self.positive, quantiles=self.quantiles)


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


@option_record
class EntrantOptions(SeedOption):
    """Several learners, each with a label, and what is asked of all of them."""

    learners: tuple[str, ...] = argument(
        metavar="LEARNER...", nargs=-1, required=True, shell_complete=complete_learners
    )
    settings: tuple[str, ...] = option(
        "--set",
        metavar="NAME=VALUE",
        shell_complete=complete_settings,
        help="A setting of every learner, of one as LABEL.NAME=VALUE, or of the adversary as "
        "adversary.NAME=VALUE. `arena show PLAYER` lists them. May be repeated.",
    )

    as_set: bool = option(
        "--as-set",
        help="Keep the default settings of predictors. Default: practical constants for small errors, except "
        "where --set gives others; the claim is computed from them.",
    )
    confidence: float = option(
        "--confidence",
        default=0.95,
        help="Confidence of all limits together, and of all tests of bounds together.",
    )

    def find(self) -> tuple[list[LabelledClass], PlayerSettings]:
        """The labels and classes of the learners, and the settings of all players."""
        from audits.registry.entrants import find_entrants  # few commands need it

        entrants = find_entrants(self.learners)
        return entrants, parse_settings(self.settings, labels=[label for label, _ in entrants])


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
