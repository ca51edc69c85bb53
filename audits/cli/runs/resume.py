"""`arena runs resume`: continue a run from the command line that its ledger records."""

from __future__ import annotations

import click

from audits.cli.audit import RunOptions, execute_plan, get_exit_status, print_verdict
from audits.cli.common.option_groups import option_groups
from audits.cli.common.options import LedgerArgument, TrustOption, WorkerOptions
from audits.cli.common.output import Output
from audits.cli.runs.recorded_command import rebuild_plan
from audits.runs.ledger import Ledger
from audits.runs.run_status import RunFollower
from audits.runs.verdict import Verdict


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
        print_verdict(verdict, output, follower.summarize_players())
        click.get_current_context().exit(get_exit_status(verdict))
    plan, files, command = rebuild_plan(
        source.run, output, trust=agreed.trust, allow_changes=run.allow_changes
    )
    if not (output.as_json or files.digests):
        output.print_notes([command])
    execute_plan(plan, files, run, workers.build(), output, ledger=source.run, command=command)


def _read_final_verdict(follower: RunFollower) -> Verdict | None:
    """The verdict of a finished run; None if it is unfinished, or another process is playing it."""
    status = follower.read_status(test=False)
    if status.running or not (status.finished or follower.may_end_early):
        return None
    return follower.make_verdict() if follower.read_status().finished else None
