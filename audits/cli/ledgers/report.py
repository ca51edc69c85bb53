"""`arena report`: a run, read back from its ledger, as a page."""

from __future__ import annotations

from pathlib import Path

import click

from audits import reports as report


@click.command("report")
@click.argument("run", metavar="RUN")
@click.option("-o", "--output", metavar="FILE", help="Default: RUN with the suffix .html.")
def report_on(run: str, output: str | None) -> None:
    """Write a report on RUN, the ledger of an audit: finished, interrupted, killed, or still under way.

    It is one HTML file: the verdict, the evidence and the certified ε against the games played, the trade-off
    of the errors, all estimators, one pair of games, every setting. The ledger is only read, and the
    players need not be there.

    \b
    Example:
      arena audit laplace-count --against count-swap --ledger run.ledger
      arena report run.ledger -o report.html
    """
    path = str(Path(run).parent / f"{Path(run).stem}.html") if output is None else output
    report.write_html(run, path)
    click.echo(f"The report is in {path}.")


COMMANDS = {"report": report_on}
