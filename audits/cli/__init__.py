"""The command line, `arena`.

Exit status: 0 done, and nothing refuted; 2 bad use, or output that cannot be written; 3 refuted, or a block
that `arena verify` finds to differ; 130 interrupted; 1 a fault. Every refusal is one line on standard error;
`--debug` shows where it came from.

Commands are imported when they are called, so that `arena --help` answers at once.
"""

from __future__ import annotations

import importlib
import os
import sys
from contextlib import suppress
from typing import Any, NoReturn

import click

_COMMANDS = {
    "list": ("audits.cli.show", "List the learners and adversaries that can play."),
    "show": ("audits.cli.show", "Show a player: what it is, what it claims, its settings."),
    "play": ("audits.cli.play", "Play one pair of games and print the transcript."),
    "audit": ("audits.cli.audit", "Play many games and test a privacy claim."),
    "exact": ("audits.cli.exact", "Work out what an adversary sees, by the law that a learner tells."),
    "search": ("audits.cli.search", "Search for an adversary that refutes a privacy claim."),
    "race": ("audits.cli.race", "Play learners many times each, and count mistakes or regret."),
    "attack": ("audits.cli.attack", "Attack learners by the queries that they get, and measure it."),
    "fit": (
        "audits.cli.fit",
        "Train a learner on your data, and print the decision list that it releases.",
    ),
    "experiment": ("audits.cli.experiment", "Run an experiment of a paper on your data."),
    "report": ("audits.cli.ledgers.report", "Write a page on a run, from its ledger."),
    "runs": ("audits.cli.ledgers.runs", "List the runs whose ledgers are in a folder."),
    "resume": ("audits.cli.ledgers.resume", "Go on with a run, from its ledger."),
    "watch": ("audits.cli.ledgers.watch", "Watch a run that another process plays."),
    "merge": ("audits.cli.ledgers.merge", "Make one ledger of those of several machines."),
    "verify": ("audits.cli.ledgers.verify", "Play blocks of a ledger again, and compare."),
    "export": ("audits.cli.ledgers.export", "Write the games of a ledger as a table."),
}
BAD_USE, REFUTED, INTERRUPTED = 2, 3, 130


class Arena(click.Group):
    """A group whose commands are imported late, and whose errors are one line."""

    def list_commands(self, context: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in _COMMANDS:
            return None
        command: click.Command = importlib.import_module(_COMMANDS[name][0]).COMMANDS[name]
        return command

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in _COMMANDS.items()])

    def main(self, *arguments: Any, **options: Any) -> NoReturn:
        """Run, and end the process with one of the statuses above."""
        try:
            status = super().main(*arguments, **{**options, "standalone_mode": False}) or 0
        except click.Abort:
            status = INTERRUPTED
        except Exception as error:
            if _debugging() and not isinstance(error, click.ClickException):
                raise
            status = _told(error)
        sys.exit(status)


def _debugging() -> bool:
    return "--debug" in sys.argv or os.environ.get("ARENA_DEBUG", "0") not in ("", "0")


def _told(error: Exception) -> int:
    """Say what went wrong, in one line; the exit status."""
    from arena.errors import ArenaError  # by now imported, unless the error came before any command

    message, status = str(error), BAD_USE
    if isinstance(error, click.ClickException):
        message = error.format_message()
        if isinstance(error, click.UsageError) and error.ctx is not None:
            end = "" if message.endswith((".", "?", ")", "!")) else "."
            message += f"{end} See {error.ctx.command_path} --help."
    elif isinstance(error, OSError):
        message = _of_output(error)
    elif not isinstance(error, ArenaError):
        told = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        message, status = f"unexpected {told}; --debug shows where it came from", 1
    with suppress(OSError):
        click.echo("arena: " + " ".join(message.split()), err=True)
    return status


def _of_output(error: OSError) -> str:
    """What to say of it."""
    if error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    # What standard output still holds is dropped, or Python would fail on it again at its exit.
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return f"the output cannot be written ({error.strerror or error})"


def _version(context: click.Context, parameter: click.Parameter, asked: bool) -> None:
    if not asked or context.resilient_parsing:
        return
    from importlib import metadata  # slow to import, and rarely needed

    try:
        version = metadata.version("dp-arena")
    except metadata.PackageNotFoundError:
        version = "(not installed)"
    click.echo(f"arena, dp-arena {version}")
    context.exit()


@click.group(cls=Arena, no_args_is_help=False, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_version, help="Show the version."
)
@click.option(
    "--debug", is_flag=True, expose_value=False, help="Show where an error came from. Also: ARENA_DEBUG=1."
)
def arena() -> None:
    """Adversarial games against private learners, and audits of what the learners claim.

    ε is in nats, δ a probability. A PLAYER is a name from `arena list` or path/to/file.py:ClassName.
    """


def main() -> None:
    """The entry point of the command `arena`."""
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="replace")  # a terminal without ε still gets its figures
    arena(prog_name="arena")
