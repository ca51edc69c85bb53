"""`arena export`: the blocks of a ledger as a table."""

from __future__ import annotations

import json
from pathlib import Path

import click

from arena.errors import InvalidArgument
from audits.cli.options import JSON, QUIET
from audits.cli.progress import bar
from audits.runs.export import check_table, export_blocks, export_figures


@click.command("export")
@click.argument("run", metavar="RUN")
@click.argument("file", metavar="FILE")
@click.option("--figures", metavar="FILE2", help="Also write the figures after each block to this table.")
@JSON
@QUIET
def export_run(run: str, file: str, *, figures: str | None, as_json: bool, quiet: bool) -> None:
    """Write the games of RUN, the ledger of an audit, to FILE, a table that ends in .csv or .parquet.

    A row stands for the pairs of games of one block that scored alike: block, count, score_0 and score_1, in
    world 0 and in world 1; where a distinguisher is learned, what was seen in each world instead. CSV keeps every
    bit. With --figures: block, games, epsilon_lower, log_wealth, log_evidence.

    \b
    Examples:
      arena export run.ledger games.csv
      arena export run.ledger games.parquet --figures figures.parquet
    """
    if figures is not None:
        check_table(figures, run)
        if Path(figures).resolve() == Path(file).resolve():
            raise InvalidArgument(
                "the games and the figures are two tables",
                value=figures,
                remedy="Name another for --figures.",
            )
    with bar(unit="blocks", hidden=quiet or as_json) as shown:
        rows = {file: export_blocks(run, file, watch=shown.update)}
    if figures is not None:
        rows[figures] = export_figures(run, figures)
    if as_json:
        click.echo(json.dumps({"rows": rows}))
        return
    for path, count in rows.items():
        click.echo(f"{path} has {count:,} rows.")


COMMANDS = {"export": export_run}
