"""`arena merge`: ledgers of one plan, played on several machines, made one."""

from __future__ import annotations

import click
from tabulate import tabulate

from audits.cli.options import JSON, QUIET
from audits.cli.progress import bar
from audits.reports.json_form import to_json
from audits.runs.merge import merge


@click.command("merge")
@click.argument("ledgers", metavar="LEDGER...", nargs=-1, required=True)
@click.option(
    "--into", metavar="FILE", required=True, help="A new file, or a ledger of the same run: one of them, say."
)
@JSON
@QUIET
def merge_ledgers(ledgers: tuple[str, ...], *, into: str, as_json: bool, quiet: bool) -> None:
    """Bring the blocks of every LEDGER, of one plan played with the same versions, into one.

    The others are only read. A block that two of them hold must be the same; if one is not, nothing is
    written. A merge that was killed, or that ran out of space, is gone on with by the same command.

    \b
    Example: a run shared by two machines
      arena audit static-erm --against reconstruct --epsilon 1 --ledger a.ledger --part 1/2
      arena audit static-erm --against reconstruct --epsilon 1 --ledger b.ledger --part 2/2
      arena merge a.ledger b.ledger --into whole.ledger
      arena resume whole.ledger
    """
    with bar(unit="blocks", hidden=quiet or as_json) as shown:
        merged = merge(ledgers, into, watch=shown.update)
    if as_json:
        click.echo(to_json(merged))
        return
    rows = [(str(source.ledger), f"{source.blocks:,} blocks") for source in merged.sources]
    rows.append(
        (f"in {merged.into}", f"{merged.blocks:,} blocks, {merged.games:,} of {merged.games_planned:,} games")
    )
    click.echo(tabulate(rows, tablefmt="plain", disable_numparse=True))
    todo = "prints the verdict" if merged.finished else "plays what is missing"
    click.echo(f"\narena resume {merged.into} {todo}.")


COMMANDS = {"merge": merge_ledgers}
