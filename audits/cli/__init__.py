"""The command line, `arena`.

Exit status: 0 done, and nothing refuted; 2 invalid usage, too little memory, or output that cannot be
written; 3 a claim is refuted, or `arena runs verify` finds a block that differs; 4 undecided: the games could
not have refuted the claim, or what they show depends on a neighbouring relation that nobody chose; 130
interrupted, by Ctrl-C, SIGTERM or SIGHUP; 1 an unexpected error. Every error is one line on standard error;
`--debug` shows the traceback.

A command is imported when it is called, so that `arena --help` answers at once.
"""

from __future__ import annotations

import difflib
import gc
import importlib
import os
import shlex
import signal
import sys
import threading
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, NoReturn

import click
from click.shell_completion import CompletionItem

from audits.counted_warnings import GivenWarning, count_warnings
from audits.interrupts import arrived, handle_signal

# `--jobs` spreads the work over processes. BLAS threads that wait beside them cost 0.2 s of CPU at the start,
# and a product of matrices may round otherwise with several of them than with one.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

_PLAYING = ("play", "audit", "search", "survey", "race", "tournament")
INVALID_USAGE, REFUTED, UNDECIDED, INTERRUPTED = 2, 3, 4, 130
_UNPLAYED = "no games were finished that could be reported"
_UNFINISHED = "the command was not finished"
_LARGE = "the data, the sizes of the players (--set), --rounds or --jobs"
_UNBROKEN_HYPHEN = "\u2011"
PRINTED = "arena.printed"  # in the meta of a context whose command has printed its result
QUIET = "arena.quiet"  # in the meta of a context whose command prints no notes

# By section of the help and by name: the module below audits.cli and the command in it, and its line.
Sections = Mapping[str, Mapping[str, tuple[str, str]]]

_RUNS: Sections = {
    "Commands": {
        "list": ("runs.ledgers:list_runs", "List the runs whose ledgers are in a folder."),
        "report": ("runs.ledgers:report", "Write an HTML report on a run."),
        "watch": ("runs.ledgers:watch", "Watch a run that another process plays."),
        "resume": ("runs.resume:resume", "Continue a run that was interrupted."),
        "merge": ("runs.ledgers:merge", "Combine the ledgers of several machines."),
        "verify": ("runs.resume:verify", "Replay some games of a run and compare."),
        "export": ("runs.ledgers:export", "Write the games of a run as a table."),
    }
}
_RUNS_HELP = (
    "Work on recorded runs. A run is an audit that `arena audit --ledger FILE` stores in FILE, its ledger."
)
_MONITOR: Sections = {
    "Commands": {
        "play": ("monitor.commands:play", "Play one night, and add its evidence to the store."),
        "report": ("monitor.commands:report", "Write an HTML page on all nights."),
        "merge": ("monitor.commands:merge", "Add the nights of other stores to a store."),
    }
}
_MONITOR_HELP = (
    "Gather evidence against the claims of a project, night by night, on each version of its code. The "
    "claims are in a file of Python, and the evidence in a folder, the store."
)
_ARENA: Sections = {
    "Games": {
        "play": ("play:play", "Play one pair of games and print the transcript."),
        "audit": ("audit:audit", "Play many games and test a privacy claim."),
        "certify": ("certify:certify", "Bound ε by the scores of games or canaries of your own."),
        "exact": ("solve:exact", "Compute output distributions and the exact privacy loss."),
        "solve": ("solve:solve", "Compute how much the best of all adversaries learns."),
        "search": ("search:search", "Search for an adversary that refutes a privacy claim."),
        "survey": ("survey:survey", "Search for violations in all mechanisms of a library."),
        "race": ("race:race", "Compare learners by mistakes, regret or errors."),
        "tournament": ("race:tournament", "Audit all learners against all adversaries."),
        "monitor": ("", "Gather evidence against the claims of a project, night by night."),
    },
    "Players": {
        "list": ("list:list_players", "List the learners and adversaries."),
        "show": ("show:show", "Show a player: what it does, its claim, its settings."),
        "new": ("new:new", "Write a file with a learner or an adversary of your own."),
    },
    "Runs and data": {
        "runs": ("", "List, report, continue and check recorded runs."),
        "fit": ("fit:fit", "Train a learner on your data and print its rules."),
        "data": ("new:data", "Write the example data to a folder."),
        "completion": ("completion:completion", "Print the line that turns on completion in a shell."),
    },
}
_GROUPS = {"runs": (_RUNS, _RUNS_HELP), "monitor": (_MONITOR, _MONITOR_HELP)}


class _HelpFormatter(click.HelpFormatter):
    """Help whose examples fit a terminal, too; click wraps all else, but not at hyphens."""

    def write_text(self, text: str) -> None:
        super().write_text(text.replace("-", _UNBROKEN_HYPHEN))

    def write_dl(self, rows: Iterable[tuple[str, str]], *arguments: Any, **settings: Any) -> None:
        whole = [(name, text.replace("-", _UNBROKEN_HYPHEN)) for name, text in rows]
        super().write_dl(whole, *arguments, **settings)

    def getvalue(self) -> str:
        text = super().getvalue().replace(_UNBROKEN_HYPHEN, "-")
        if not sys.stdout.isatty():
            return text
        from audits.reports.terminal import fit_text, measure_width  # few outputs are help on a terminal

        return fit_text(text, measure_width(sys.stdout))


class _Context(click.Context):
    formatter_class = _HelpFormatter


class _NoSuchCommand(click.UsageError):
    """There is no command of this name. meant: the words of the closest one, if any is close."""

    def __init__(self, name: str, close: Sequence[str], context: click.Context) -> None:
        question = f" Did you mean {' or '.join(close)}?" if close else ""
        super().__init__(f"No such command {name!r}.{question}", context)
        self.name, self.meant = name, close[0].split() if close else []


class LazyGroup(click.Group):
    """A group that imports its commands when they are called, and shows its help when none is."""

    context_class = _Context

    def __init__(self, *arguments: Any, sections: Sections = _ARENA, **settings: Any) -> None:
        settings |= {"no_args_is_help": False, "invoke_without_command": True}
        super().__init__(*arguments, **settings)
        self._sections = sections
        self._commands = {name: entry for section in sections.values() for name, entry in section.items()}

    def list_commands(self, context: click.Context) -> list[str]:
        return [*self._commands]

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in self._commands:
            return None
        if not self._commands[name][0]:
            sections, text = _GROUPS[name]
            return LazyGroup(name, sections=sections, help=text, callback=show_help)
        module, _, attribute = self._commands[name][0].partition(":")
        command: click.Command = getattr(importlib.import_module(f"audits.cli.{module}"), attribute)
        command.context_class = _Context
        if not gc.isenabled():
            gc.freeze()
            gc.enable()
        return command

    def resolve_command(
        self, context: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in self._commands and not name.startswith("-") and not context.resilient_parsing:
            raise _NoSuchCommand(name, self._find_close(context, name), context)
        return super().resolve_command(context, args)

    def _find_close(self, context: click.Context, name: str) -> list[str]:
        """The commands that are close to a name, with all that comes before the words that follow it."""
        is_root = self._sections is _ARENA
        if not is_root and os.path.exists(name):
            return [f"{context.command_path} {next(iter(self._commands))} {name}"]
        path = "arena" if is_root else context.command_path
        paths = {own: f"{path} {own}" for own in self._commands}
        for own in _RUNS["Commands"]:
            paths.setdefault(own, f"arena runs {own}")
        close = [name] if name in paths else difflib.get_close_matches(name, paths, n=3, cutoff=0.6)
        return [paths[own] for own in close]

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        width = max(map(len, self._commands))
        for title, section in self._sections.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), text) for name, (_, text) in section.items()])

    def shell_complete(self, context: click.Context, incomplete: str) -> list[CompletionItem]:
        commands = self._commands.items()
        items = [
            CompletionItem(name, help=text) for name, (_, text) in commands if name.startswith(incomplete)
        ]
        return [*items, *click.Command.shell_complete(self, context, incomplete)]


@click.pass_context
def show_help(context: click.Context) -> None:
    """Print the help of a group that was called without a command."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


class Arena(LazyGroup):
    """The group `arena`, which prints errors in one line."""

    # Of an interrupt itself, click prints an empty line.
    def make_context(self, *arguments: Any, **settings: Any) -> click.Context:
        try:
            return super().make_context(*arguments, **settings)
        except KeyboardInterrupt as interrupt:
            raise click.Abort from interrupt

    def invoke(self, context: click.Context) -> Any:
        try:
            with count_warnings(partial(_print_warning, context)):
                return super().invoke(context)
        except KeyboardInterrupt as interrupt:
            raise click.Abort(*[_UNFINISHED] * (PRINTED in context.meta)) from interrupt

    def main(self, args: Sequence[str] | None = None, *arguments: Any, **options: Any) -> NoReturn:
        """Run, and end the process with one of the statuses above. `--debug` may stand anywhere."""
        words = [*(sys.argv[1:] if args is None else args)]  # `list` is the module of that command
        debugging = "--debug" in words or os.environ.get("ARENA_DEBUG", "0") not in ("", "0")
        words = [word for word in words if word != "--debug"]
        try:
            with _print_warnings():
                status = super().main(words, *arguments, **{**options, "standalone_mode": False}) or 0
        except (click.Abort, KeyboardInterrupt) as interrupt:
            unplayed = words[:2] == ["runs", "resume"] or (words and words[0] in _PLAYING)
            lacking = str(interrupt) or (_UNPLAYED if unplayed else _UNFINISHED)
            click.echo(f"arena: interrupted: {lacking}", err=True)
            status = INTERRUPTED
        except Exception as error:
            if debugging and not isinstance(error, click.ClickException):
                raise
            status = _report_error(error, words)
            if arrived:  # code in C may have made an error of its own of an interrupt
                status = INTERRUPTED
        if arrived:  # of an interrupt in code that exec ran, Python would end itself by SIGINT
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        sys.exit(status)


@contextmanager
def _print_warnings() -> Iterator[None]:
    """Print warnings of dp-arena's own in one line, as errors are."""
    show = warnings.showwarning

    def show_own(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
        if category.__module__.partition(".")[0] == "arena":
            from audits.reports.formatting import escape_controls  # most commands warn of nothing

            click.echo(f"arena: warning: {escape_controls(str(message), one_line=True)}", err=True)
        else:
            show(message, category, *place, **more)

    with warnings.catch_warnings():
        warnings.showwarning = show_own
        warnings.filterwarnings("always", module="audits|arena", category=UserWarning)
        yield


def _print_warning(context: click.Context, given: GivenWarning, times: int) -> None:
    """Print a warning of the user's code, with how often it was given, unless --quiet is given."""
    if QUIET in context.meta:
        return
    from arena.errors import format_place
    from audits.reports.formatting import escape_controls
    from audits.reports.terminal import fit_prose

    place = format_place(given.file, given.line)
    text = f"arena: warning: {given.category.__name__} in {place}: {given.text}"
    text += f" ({times:,} times)" if times > 1 else ""
    click.echo(fit_prose(escape_controls(text, one_line=True), sys.stderr), err=True)


def _suggest_command(error: Exception, words: Sequence[str]) -> str:
    """The sentence with the whole command as it was probably meant; empty if that is not known."""
    from arena.errors import ArenaError

    known: Any = error if isinstance(error, ArenaError) else ArenaError()
    options = getattr(error, "possibilities", None)
    choices = getattr(getattr(error, "param", None), "type", None)
    if isinstance(error, click.NoSuchOption) and options:
        known.corrected = {
            error.option_name: min(options, key=lambda name: name[:3] != error.option_name[:3])
        }
    elif isinstance(error, click.BadParameter) and isinstance(choices, click.Choice):
        for word in words:
            close = difflib.get_close_matches(word.rpartition("=")[2], map(str, choices.choices), n=1)
            if close and repr(word.rpartition("=")[2]) in str(error):
                known.corrected = {word.rpartition("=")[2]: close[0]}
    elif isinstance(error, _NoSuchCommand):
        return (
            f" Try: {shlex.join([*error.meant, *words[words.index(error.name) + 1 :]])}"
            if error.meant
            else ""
        )
    if not known.corrected and not known.lacking:
        return ""
    from audits.registry.suggestions import correct_words

    changed = correct_words(words, known)
    return "" if changed == [*words] else f" Try: {shlex.join(['arena', *changed])}"


def _report_error(error: Exception, words: Sequence[str]) -> int:
    from arena.errors import ArenaError  # already imported, unless the error came before any command
    from audits.reports.formatting import escape_controls
    from audits.reports.terminal import fit_prose

    message, status = str(error), INVALID_USAGE
    if isinstance(error, click.ClickException):
        message = error.format_message()
        if isinstance(error, click.UsageError) and error.ctx is not None:
            end = "" if message.endswith((".", "?", ")", "!")) else "."
            message += f"{end} See {error.ctx.command_path} --help."
    elif isinstance(error, OSError):
        message = f"{error.filename}: {error.strerror}"
        if error.filename is None:
            message = f"the output cannot be written ({error.strerror or error})"
            # Standard output failed. Its buffer is discarded, or Python would fail on it again at exit.
            with suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    elif not isinstance(error, ArenaError | MemoryError):
        text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        message, status = f"unexpected {text}; --debug shows the traceback", 1
    if isinstance(error, MemoryError) or MemoryError.__name__ in message:  # of a player, or in a worker
        reason = f" ({message.rstrip('.')})" if message else ""
        message = f"not enough memory{reason}: make {_LARGE} smaller"
    message = f"interrupted: {message}" if arrived else f"{message}{_suggest_command(error, words)}"
    with suppress(OSError):
        click.echo(fit_prose("arena: " + escape_controls(" ".join(message.split())), sys.stderr), err=True)
    return status


@click.group(cls=Arena, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(
    package_name="dp-arena", message="arena, dp-arena %(version)s", help="Show the version."
)
@click.option(
    "--debug",
    is_flag=True,
    expose_value=False,
    help="Show the traceback of an error; may stand anywhere. Also: ARENA_DEBUG=1.",
)
def arena() -> None:
    """Adversarial games against differentially private learners, and audits of their privacy claims.

    A learner and an adversary, the players, play in two worlds, whose data or queries are neighbours. The
    learner claims (ε, δ)-differential privacy: the adversary's view, all that it sees, hardly depends on the
    world. ε is in nats, δ is a probability.

    A player is a name that `arena list` prints, or path/to/file.py:Name for a class or a function of your
    own.

    \b
    To begin:
      arena audit laplace-count --against count-swap
    """
    show_help()


def _end_like_interrupts() -> None:
    """Have SIGTERM and SIGHUP end a command like Ctrl-C, unless they are ignored, as by nohup."""
    if os.name != "posix" or threading.current_thread() is not threading.main_thread():
        return
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            previous = signal.signal(number, handle_signal)
            # A process that is forked, as by a player, has the previous handler again.
            os.register_at_fork(after_in_child=partial(signal.signal, number, previous))


def main() -> None:
    """The entry point of the command `arena`."""
    # Modules live until the process ends, so there is no garbage to collect until the command is imported.
    gc.disable()
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="replace")  # a terminal that cannot print ε still gets its figures
    _end_like_interrupts()
    arena(prog_name="arena")
