"""`arena runs watch`: follow a run that another process plays."""

from __future__ import annotations

import time
from contextlib import suppress

import click

from arena.errors import InvalidArgument
from audits.cli import INTERRUPTED
from audits.cli.audit import get_exit_status
from audits.cli.common.command import Output, option, option_groups, option_record, print_note
from audits.cli.common.options import LedgerArgument
from audits.reports.formatting import escape_controls
from audits.runs.run_history import RunFollower
from audits.runs.run_page import check_html, write_html

_MAX_SECONDS = 86_400.0
_PAUSE_FACTOR = 9  # a pause is at least this many times as long as a look, to leave the machine to the run


@option_record
class WatchOptions:
    """How often to look, and the page to update."""

    every: float = option(
        "--every",
        default=2.0,
        metavar="SECONDS",
        help="Time between updates. It is longer if updates would take more than a tenth of the time.",
    )
    html: str | None = option(
        "--html", metavar="FILE", help="Write an HTML report, as arena runs report does, at each update."
    )


@click.command("watch")
@option_groups
def watch(source: LedgerArgument, options: WatchOptions, output: Output) -> None:
    """Watch RUN, the ledger of an audit that another process plays, until it ends or you press Ctrl-C.

    The ledger is only read. At the end the figures are printed as arena audit prints them, with its exit
    status; it is 130 if the run is not finished. With --json every update prints one object on one line.

    \b
    Examples:
      arena runs watch run.ledger
      arena runs watch run.ledger --every 60 --html report.html
    """
    if not 0 < options.every <= _MAX_SECONDS:
        raise InvalidArgument("--every must be more than 0 seconds and at most a day", value=options.every)
    if options.html is not None:
        check_html(options.html, source.run)
    started, follower = time.monotonic(), RunFollower(source.run)
    status = follower.read_status()
    with (
        output.progress_bar("games", status.games_planned, scaled=True, beside_json=True) as bar,
        suppress(KeyboardInterrupt),
    ):
        while True:
            if output.as_json:
                output.print_result(status, str)
            if status.epsilon_lower is not None:
                bar.set_postfix_str(f"ε ≥ {status.epsilon_lower:.2f}", refresh=False)
            bar.update(status.games - bar.n)
            bar.refresh()
            if options.html is not None and status.epsilon_lower is not None:
                write_html(source.run, options.html)
            if status.finished or status.running is False:
                break
            time.sleep(max(options.every, _PAUSE_FACTOR * (time.monotonic() - started)))
            started = time.monotonic()
            status = follower.read_status()
    verdict = follower.make_verdict()
    if not output.as_json:
        if verdict is not None:
            click.echo(escape_controls(verdict.summary()))
        elif status.games:
            print_note("block 0, which the test reads first, is missing")
        else:
            print_note("no block of games is finished yet")
        if status.running is False and not status.finished:
            print_note(f"no process plays it; arena runs resume {status.ledger} continues it")
    click.get_current_context().exit(INTERRUPTED if verdict is None else get_exit_status(verdict))
