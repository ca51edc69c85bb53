"""The plan of a run, rebuilt from the command line that its ledger records."""

from __future__ import annotations

import os
import shlex

import click
from click.core import ParameterSource

from arena.errors import ArenaError, InvalidArgument
from audits.cli.audit import UNRECORDED, PlanOptions, audit, make_plan
from audits.cli.option_groups import fill_record
from audits.cli.options import MatchOptions
from audits.cli.output import Quiet
from audits.runs.ledger import Ledger
from audits.runs.plan import Plan

_COMMAND = ["arena", "audit"]


def rebuild_plan(path: str | os.PathLike[str], output: Quiet) -> tuple[Plan, str]:
    """The plan of the run in the ledger at `path`, and the command line that describes it.

    The recorded command is parsed by the options of `arena audit` as if it were typed again, and the
    resulting plan must be the ledger's. It can only name shipped players and files of the reader.

    Raises: InvalidArgument if the ledger cannot be read or records no such command, if the command now
    describes another plan, or if a player or a file is not found.
    """
    with Ledger.read(path, check_all=False) as ledger:
        command = str(ledger.notes.get("command", ""))
        plan = _parse_command(command, path, output)
        ledger.check_plan(plan.describe())
    return plan, command


def _parse_command(command: str, path: str | os.PathLike[str], output: Quiet) -> Plan:
    try:
        words = shlex.split(command)
    except ValueError:
        words = []
    if words[:2] != _COMMAND:
        raise InvalidArgument(
            f"the ledger {path} records no arena audit command from which its plan could be rebuilt",
            remedy="Give the ledger to the program that began the run, which continues it.",
        )
    try:
        context = audit.make_context("arena audit", words[2:])
        for name in UNRECORDED:
            if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
                raise click.UsageError(f"A recorded command does not contain {name}.")
        params = context.params
        return make_plan(fill_record(MatchOptions, params), fill_record(PlanOptions, params), output)
    except (click.ClickException, click.exceptions.Exit, ArenaError) as error:
        reason = error.format_message() if isinstance(error, click.ClickException) else str(error)
        reason = reason.rstrip(".")
        raise InvalidArgument(
            f"the plan in the ledger {path} cannot be rebuilt from its command, {command}: {reason}",
            remedy="Relative paths start from the folder in which the run was begun: try again from there.",
        ) from error
