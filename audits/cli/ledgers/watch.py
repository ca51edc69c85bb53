"""`arena watch`: a run that another process plays, as it goes on."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from typing import Any

import click

from arena.errors import InvalidArgument
from audits import reports as report
from audits.cli import INTERRUPTED
from audits.cli.audit import status_of
from audits.cli.options import JSON, QUIET, REAL
from audits.cli.progress import bar
from audits.runs.follow import Follower, Standing
from audits.runs.verdict import Verdict

_LONGEST = 86_400.0
_NONE = "no block of games is finished yet"
_SHARE = 9  # pauses are at least so many times as long as looks: the machine is the run's


@click.command()
@click.argument("run", metavar="RUN")
@click.option(
    "--every",
    type=REAL,
    default=2.0,
    show_default=True,
    metavar="SECONDS",
    help="Look so often; less often where looking would take more than a tenth of the time.",
)
@click.option("--html", metavar="FILE", help="Write the page of arena report at every look, whole each time.")
@JSON
@QUIET
def watch(run: str, *, every: float, html: str | None, as_json: bool, quiet: bool) -> None:
    """Watch RUN, the ledger of an audit that another process plays, until it ends or Ctrl-C.

    The ledger is only read. At the end the figures are printed, as arena audit prints them, with its exit
    status: 130 where the run was not finished. With --json there is an object for every look, one a line.

    \b
    Examples:
      arena watch run.ledger
      arena watch run.ledger --every 60 --html report.html
    """
    if not 0 < every <= _LONGEST:
        raise InvalidArgument("--every must be more than 0 seconds, and at most a day of them", value=every)
    if html is not None:
        report.check_html(html, run)
    began, follower = time.monotonic(), Follower(run)
    standing = follower.look()
    with (
        bar(unit="games", total=standing.of, hidden=quiet, scaled=True) as shown,
        suppress(KeyboardInterrupt),
    ):
        while True:
            _show(standing, shown, as_json=as_json)
            if html is not None and standing.progress is not None:
                report.write_html(run, html)
            if standing.finished or standing.running is False:
                break
            time.sleep(max(every, _SHARE * (time.monotonic() - began)))
            began = time.monotonic()
            standing = follower.look()
    verdict = follower.verdict()
    if not as_json:
        _conclude(standing, verdict)
    click.get_current_context().exit(INTERRUPTED if verdict is None else status_of(verdict))


def _show(standing: Standing, shown: Any, *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(standing.as_json()))
    if standing.progress is not None:
        shown.set_postfix_str(f"ε ≥ {standing.progress.epsilon_lower:.2f}", refresh=False)
    shown.update(standing.games - shown.n)
    shown.refresh()


def _conclude(standing: Standing, verdict: Verdict | None) -> None:
    if verdict is None:
        lacks = "block 0, which the test reads first, is missing" if standing.games else _NONE
        click.echo(f"arena: note: {lacks}", err=True)
    else:
        click.echo(report.verdict_text(verdict))
    if standing.running is False and not standing.finished:
        click.echo(f"arena: note: no process plays it; arena resume {standing.path} goes on", err=True)


COMMANDS = {"watch": watch}
