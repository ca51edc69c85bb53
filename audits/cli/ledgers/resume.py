"""`arena resume`: a run goes on, by the command that its ledger holds."""

from __future__ import annotations

import click

from audits import reports as report
from audits.cli.audit import carry_out, status_of
from audits.cli.ledgers.recorded_command import recalled
from audits.cli.options import PART, QUIET, takes_workers
from audits.runs.follow import Follower
from audits.runs.shards import Part
from audits.runs.verdict import Verdict
from audits.runs.workers import Workers


@click.command()
@click.argument("run", metavar="RUN")
@takes_workers
@PART
@click.option("--estimators", is_flag=True, help="Print every estimator beside the test, on the same games.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object, as of arena audit.")
@click.option("--html", metavar="FILE", help="Also write the page that arena report writes.")
@QUIET
def resume(
    run: str,
    *,
    jobs: Workers,
    part: Part | None,
    estimators: bool,
    as_json: bool,
    html: str | None,
    quiet: bool,
) -> None:
    """Go on with RUN, the ledger of an audit, by the command line that it holds.

    The figures are those of a run that was never interrupted. Of a run that is finished the verdict is
    printed, and no player need be there. Plug-ins and data are looked for where the command says, from the
    folder in which it stands now. Exit status: as of arena audit.

    A ledger holds the command line and no objects: those would have to be unpickled, and so could run
    whatever their writer liked.

    \b
    Examples:
      arena resume run.ledger --jobs 8
      arena resume run.ledger --html report.html
    """
    verdict = None if estimators or html is not None else _found(run)
    if verdict is not None:
        click.echo(report.verdict_json(verdict) if as_json else report.verdict_text(verdict))
        click.get_current_context().exit(status_of(verdict))
    plan, command = recalled(run, quiet=quiet)
    if not quiet and not as_json:
        click.echo(f"arena: note: {command}", err=True)
    carry_out(
        plan,
        command=command,
        quiet=quiet,
        estimators=estimators,
        jobs=jobs,
        ledger=run,
        part=part,
        as_json=as_json,
        html=html,
    )


def _found(run: str) -> Verdict | None:
    """The verdict of a run that is finished; None of one that is not, or that another process has."""
    follower = Follower(run)
    standing = follower.look(test=False)
    if standing.running or not (standing.finished or follower.may_end_early):
        return None
    return follower.verdict() if follower.look().finished else None


COMMANDS = {"resume": resume}
