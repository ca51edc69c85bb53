"""`arena runs report`: an HTML page on a run, from its ledger."""

from __future__ import annotations

from pathlib import Path

import click

from audits.cli.common.command import Output, option, option_groups, option_record
from audits.cli.common.options import LedgerArgument
from audits.runs.run_page import write_html


@option_record
class ReportOptions(LedgerArgument):
    page: str | None = option(
        "--output", "-o", metavar="FILE", help="Where to write it. Default: RUN with the suffix .html."
    )


@click.command("report")
@option_groups
def report(asked: ReportOptions, output: Output) -> None:
    """Write a report on RUN, the ledger of an audit that is finished, interrupted or still running.

    It is one HTML file with the verdict, the evidence and the certified ε by games played, the trade-off
    curve of the errors, all estimators, one pair of games, and every setting. The ledger is only read, and
    the players are not needed.

    \b
    Examples:
      arena audit laplace-count --against count-swap --ledger run.ledger
      arena runs report run.ledger -o report.html
    """
    path = str(Path(asked.run).parent / f"{Path(asked.run).stem}.html") if asked.page is None else asked.page
    with output.progress_bar("blocks") as bar:

        def update(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)

        write_html(asked.run, path, update)
    output.print_result({"report": path}, lambda result: f"The report is in {result['report']}.")
