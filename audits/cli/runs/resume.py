"""`arena runs resume`: continue a run from the command line that its ledger records.

Whoever wrote the ledger chose that command. So no code that it names is run before the user agreed, and no
data that it names are parsed before they were compared with the ledger's digests.
"""

from __future__ import annotations

import shlex
from typing import Any

import click

from arena.errors import ArenaError, InvalidArgument
from audits.cli.audit import (
    PlanOptions,
    RunOptions,
    audit,
    execute_plan,
    get_exit_status,
    make_plan,
)
from audits.cli.common.command import UNRECORDED, Output, Quiet, fill_record, option_groups
from audits.cli.common.options import LedgerArgument, MatchOptions, TrustOption, WorkerOptions
from audits.registry.origins import check_origins, read_origins
from audits.registry.players import ADVERSARIES, LEARNERS
from audits.registry.user_files import NotTrusted, UsedFiles
from audits.runs.ledger import Ledger
from audits.runs.plan import Plan
from audits.runs.run import describe_origins
from audits.runs.run_history import RunFollower
from audits.runs.verdict import Verdict

_COMMAND = ["arena", "audit"]


@click.command("resume")
@option_groups
def resume(
    source: LedgerArgument, agreed: TrustOption, workers: WorkerOptions, run: RunOptions, output: Output
) -> None:
    """Continue RUN, the ledger of an audit, by the command line that it records.

    The figures are those of a run without interruption. If the run is finished, its verdict is printed, and
    no player is loaded. Plug-ins and data are looked up as the command names them, from the current
    folder. Whoever wrote the ledger chose the command. So plug-ins run only with --trust, and data of
    which the ledger has no digest are read only with it. Exit status: as for arena audit.

    \b
    Examples:
      arena runs resume run.ledger --jobs 8
      arena runs resume run.ledger --html report.html
    """
    if run.key is not None:
        with Ledger.read(source.run, key=run.load_key()) as ledger:
            ledger.check_blocks()  # also of a finished run, whose verdict is printed without its players
    follower = RunFollower(source.run)
    verdict = None if run.estimators or run.html is not None else _read_final_verdict(follower)
    if verdict is not None:
        output.print_result(verdict)
        click.get_current_context().exit(get_exit_status(verdict))
    plan, files, command = rebuild_plan(
        source.run, output, trust=agreed.trust, allow_changes=run.allow_changes
    )
    execute_plan(plan, files, run, workers.build(), output, ledger=source.run, command=command)


def _read_final_verdict(follower: RunFollower) -> Verdict | None:
    """The verdict of a finished run; None if it is unfinished, or another process is playing it."""
    status = follower.read_status(test=False)
    if status.running or not (status.finished or follower.may_end_early):
        return None
    return follower.make_verdict() if follower.read_status().finished else None


def rebuild_plan(
    path: str, output: Quiet, *, trust: bool, allow_changes: bool
) -> tuple[Plan, UsedFiles, str]:
    """The plan of the run in the ledger at `path`, the files that it comes from, and the command line.

    The recorded command is parsed by those options of `arena audit` on which a plan depends, and the
    resulting plan must be the ledger's.

    trust: whether code may run, and data be parsed that the ledger has no digest of. allow_changes: whether
    they may have changed.

    Raises: InvalidArgument if the ledger cannot be read or records no such command, if trust is needed, if a
    file or a package has changed, if one is not found, or if the command now describes another plan.
    """
    with Ledger.read(path) as ledger:
        command, recorded = str(ledger.notes.get("command", "")), read_origins(ledger.notes)
        params = _parse_command(command, path)
        files = UsedFiles(trusted=trust, allow_changes=allow_changes, agreed={*recorded["files"].values()})
        players = ((LEARNERS, params["learner"]), (ADVERSARIES, params["against"]))
        packaged = [name for registry, name in players if registry.is_announced(name)]
        if packaged and not trust:
            raise _need_trust(path, command, f"{packaged[0]} (of an installed package)")
        if trust:  # before code runs
            output.print_notes([command])
        try:
            plan = make_plan(
                fill_record(MatchOptions, params), fill_record(PlanOptions, params), output, files
            )
        except NotTrusted as error:
            raise _need_trust(path, command, str(error.value)) from error
        except (click.ClickException, ArenaError) as error:
            raise _blame_command(path, command, error) from error
        present = describe_origins(plan, files, recorded["files"])
        loads = [f"it loads {', '.join(present['files'])}"] if files.digests else []
        output.print_notes(loads if trust else [command, *loads])
        if not allow_changes:
            check_origins(ledger.path, recorded, present)
        ledger.check_plan(plan.describe(), allow_changes=allow_changes)
    return plan, files, command


def _parse_command(command: str, path: str) -> dict[str, Any]:
    """The values of the options of a recorded command. Nothing is read, written or imported for it."""
    try:
        words = shlex.split(command)
    except ValueError:
        words = []
    if words[:2] != _COMMAND:
        raise InvalidArgument(
            f"the ledger {path} records no arena audit command from which its plan could be rebuilt",
            remedy="Give the ledger to the program that began the run, which continues it.",
        )
    options = [parameter for parameter in audit.params if parameter.name not in UNRECORDED]
    parser = click.Command("arena audit", params=options, add_help_option=False)
    try:
        params = parser.make_context("arena audit", words[2:]).params
        if params["against"] is None:  # a recorded command names the default
            raise click.UsageError("Missing option '--against'.")
        return params
    except click.ClickException as error:
        raise _blame_command(path, command, error) from error


def _need_trust(path: str, command: str, source: str) -> InvalidArgument:
    return InvalidArgument(
        f"the command in the ledger {path} would load {source}: {command}",
        remedy="Whoever wrote the ledger chose it. Read what it names; give --trust if that may run.",
    )


def _blame_command(path: str, command: str, error: Exception) -> InvalidArgument:
    reason = error.format_message() if isinstance(error, click.ClickException) else str(error)
    return InvalidArgument(
        f"the plan in the ledger {path} cannot be rebuilt from its command, {command}: {reason.rstrip('.')}",
        remedy="Relative paths start from the folder in which the run was begun: try again from there.",
    )
