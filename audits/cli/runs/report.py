"""`arena runs report`: an HTML page on a run, from its ledger."""

from __future__ import annotations

from pathlib import Path

import click

from audits import reports
from audits.data.terminal_text import escape_controls


@click.command("report")
@click.argument("run", metavar="RUN")
@click.option("-o", "--output", metavar="FILE", help="Default: RUN with the suffix .html.")
def report(run: str, output: str | None) -> None:
    """Write a report on RUN, the ledger of an audit that is finished, interrupted or still running.

    It is one HTML file with the verdict, the evidence and the certified ε by games played, the trade-off
    curve of the errors, all estimators, one pair of games, and every setting. The ledger is only read, and
    the players are not needed.

    \b
    Example:
      arena audit laplace-count --against count-swap --ledger run.ledger
      arena runs report run.ledger -o report.html
    """
    path = str(Path(run).parent / f"{Path(run).stem}.html") if output is None else output
    reports.write_html(run, path)
    click.echo(f"The report is in {escape_controls(path, one_line=True)}.")
