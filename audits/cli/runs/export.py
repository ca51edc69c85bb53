"""`arena runs export`: the blocks of a ledger as a table."""

from __future__ import annotations

import os

import click

from arena.errors import InvalidArgument
from audits.cli.common.command import Output, argument, option, option_groups, option_record
from audits.cli.common.options import LedgerArgument
from audits.runs.run_history import check_table, export_blocks, export_figures


@option_record
class ExportOptions(LedgerArgument):
    file: str = argument(metavar="FILE")
    figures: str | None = option(
        "--figures", metavar="FILE2", help="Also write the figures after each block to this table."
    )


@click.command("export")
@option_groups
def export(files: ExportOptions, output: Output) -> None:
    """Write the games of RUN, the ledger of an audit, to FILE, a table that ends in .csv or .parquet.

    Games are played in pairs, one in each world, and stored in blocks. A row counts the pairs of a block with
    the same scores; its columns are block, count, score_0 (of world 0) and score_1. If the distinguisher is
    learned, features of both views take the place of scores. CSV keeps all digits. The table of --figures has
    the columns block, games, epsilon_lower, log_wealth and log_evidence, the last three in nats.

    \b
    Examples:
      arena runs export run.ledger games.csv
      arena runs export run.ledger games.parquet --figures figures.parquet
    """
    if files.figures is not None:
        check_table(files.figures, files.run)
        if os.path.realpath(files.figures) == os.path.realpath(files.file):
            raise InvalidArgument(
                "the games and the figures need two tables",
                value=files.figures,
                remedy="Name another for --figures.",
            )
    with output.progress_bar("blocks") as bar:
        rows = {files.file: export_blocks(files.run, files.file, watch=bar.update)}
    if files.figures is not None:
        rows[files.figures] = export_figures(files.run, files.figures)
    text = "\n".join(f"{path} has {count:,} rows." for path, count in rows.items())
    output.print_result({"rows": rows}, lambda result: text)
