"""The commands by group and section, and the group that imports a command when it is called."""

from __future__ import annotations

import difflib
import gc
import importlib
import os
from collections.abc import Mapping
from typing import Any

import click
from click.shell_completion import CompletionItem

# By section of the help and by name: the module below audits.cli and the command in it, and its line.
Sections = Mapping[str, Mapping[str, tuple[str, str]]]

_RUNS: Sections = {
    "Commands": {
        "list": ("runs.list:list_runs", "List the runs whose ledgers are in a folder."),
        "report": ("runs.report:report", "Write an HTML report on a run."),
        "watch": ("runs.watch:watch", "Watch a run that another process plays."),
        "resume": ("runs.resume:resume", "Continue a run that was interrupted."),
        "merge": ("runs.merge:merge", "Combine the ledgers of several machines."),
        "verify": ("runs.verify:verify", "Replay some games of a run and compare."),
        "export": ("runs.export:export", "Write the games of a run as a table."),
    }
}
_RUNS_HELP = (
    "Work on recorded runs. A run is an audit that `arena audit --ledger FILE` stores in FILE, its ledger."
)
_ARENA: Sections = {
    "Games": {
        "play": ("play:play", "Play one pair of games and print the transcript."),
        "audit": ("audit:audit", "Play many games and test a privacy claim."),
        "certify": ("certify:certify", "Bound ε by the scores of games or canaries of your own."),
        "exact": ("exact:exact", "Compute output distributions and the exact privacy loss."),
        "solve": ("solve:solve", "Compute how much the best of all adversaries learns."),
        "search": ("search:search", "Search for an adversary that refutes a privacy claim."),
        "race": ("race:race", "Compare learners by mistakes, regret or errors."),
        "tournament": ("tournament:tournament", "Audit all learners against all adversaries."),
    },
    "Players": {
        "list": ("list:list_players", "List the learners and adversaries."),
        "show": ("show:show", "Show a player: what it does, its claim, its settings."),
        "new": ("new:new", "Write a file with a learner or an adversary of your own."),
    },
    "Runs and data": {
        "runs": ("", "List, report, continue and check recorded runs."),
        "fit": ("fit:fit", "Train a learner on your data and print its rules."),
        "data": ("data:data", "Write the example data to a folder."),
        "completion": ("common.completion:completion", "Print the line that turns on completion in a shell."),
    },
}


class LazyGroup(click.Group):
    """A group that imports its commands when they are called, and shows its help when none is."""

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
            return LazyGroup(name, sections=_RUNS, help=_RUNS_HELP, callback=show_help)
        module, _, attribute = self._commands[name][0].partition(":")
        command: click.Command = getattr(importlib.import_module(f"audits.cli.{module}"), attribute)
        if not gc.isenabled():
            gc.freeze()
            gc.enable()
        return command

    def resolve_command(
        self, context: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in self._commands and not name.startswith("-") and not context.resilient_parsing:
            context.fail(f"No such command {name!r}. {self._suggest(context, name)}".rstrip())
        return super().resolve_command(context, args)

    def _suggest(self, context: click.Context, name: str) -> str:
        """The sentence "Did you mean ...?"; empty if no command is close."""
        if self._sections is _RUNS and os.path.exists(name):
            return f"Did you mean {context.command_path} list {name}?"
        path = context.command_path if self._sections is _RUNS else "arena"
        paths = {own: f"{path} {own}" for own in self._commands}
        for own in _RUNS["Commands"]:
            paths.setdefault(own, f"arena runs {own}")
        close = [name] if name in paths else difflib.get_close_matches(name, paths, n=3, cutoff=0.6)
        return f"Did you mean {' or '.join(paths[own] for own in close)}?" if close else ""

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
