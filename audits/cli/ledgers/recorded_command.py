"""The plan of a run, from the command line that the notes of its ledger hold."""

from __future__ import annotations

import os
import shlex

import click
from click.core import ParameterSource

from arena.errors import ArenaError, InvalidArgument
from audits.cli.audit import BESIDE, audit, planned
from audits.cli.options import matched
from audits.runs.ledger import Ledger
from audits.runs.plan import Plan

_BEGUN = ["arena", "audit"]


def recalled(path: str | os.PathLike[str], *, quiet: bool) -> tuple[Plan, str]:
    """The plan of the run in the ledger at `path`, made anew, and the command line that asks for it.

    The command is read by the options of `arena audit`, as if it were typed again, and the plan that comes of
    it must be the ledger's. Nothing is unpickled: a ledger may come from anywhere, and bytes that become
    objects can run whatever their writer liked. A command can name no more than shipped players, and files
    of the reader's own.

    Raises: InvalidArgument if the ledger cannot be read, holds no such command, or holds another plan than
    comes of it today; if a player or a file that it names is not found.
    """
    with Ledger.read(path, check_all=False) as ledger:
        command = str(ledger.notes.get("command", ""))
        plan = _plan_of(command, path, quiet=quiet)
        ledger.check_plan(plan.describe())
    return plan, command


def _plan_of(command: str, path: str | os.PathLike[str], *, quiet: bool) -> Plan:
    try:
        words = shlex.split(command)
    except ValueError:
        words = []
    if words[:2] != _BEGUN:
        raise InvalidArgument(
            f"the ledger {path} holds no command of arena audit by which its plan could be made again",
            remedy="Give the same ledger to what began the run: it goes on from there.",
        )
    try:
        context = audit.make_context("arena audit", words[2:])
        for name in BESIDE:
            if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
                raise click.UsageError(f"{name} is none of its options.")
            context.params.pop(name)
        return matched(planned)(**context.params, quiet=quiet)
    except (click.ClickException, click.exceptions.Exit, ArenaError) as error:
        told = error.format_message() if isinstance(error, click.ClickException) else str(error)
        raise InvalidArgument(
            f"the plan in the ledger {path} cannot be made again by its command, {command}: {told}",
            remedy="Paths in it start from the folder in which it was begun: go there, and try again.",
        ) from error
