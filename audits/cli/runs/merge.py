"""`arena runs merge`: combine ledgers of one plan that several machines played."""

from __future__ import annotations

import click

from audits.cli.common.command import Output, argument, option, option_groups, option_record
from audits.cli.common.options import ChangesOption, KeyOption
from audits.reports.formatting import name_table
from audits.runs.run_parts import MergeResult
from audits.runs.run_parts import merge as merge_ledgers


@option_record
class MergeOptions(KeyOption, ChangesOption):
    ledgers: tuple[str, ...] = argument(metavar="LEDGER...", nargs=-1, required=True)
    into: str = option(
        "--into",
        "-o",
        synonyms=("--output",),
        metavar="FILE",
        required=True,
        help="The ledger to write: a new file, or one of the same run, such as a LEDGER.",
    )


@click.command("merge")
@option_groups
def merge(files: MergeOptions, output: Output) -> None:
    """Copy the games of every LEDGER into one ledger.

    All must record the same audit, played with the same versions of dp-arena and numpy. They are only read. A
    block of games that two of them contain must be the same in both, and so must the files and packages that
    they record; otherwise nothing is written. If a merge is killed or runs out of disk space, the same
    command completes it.

    \b
    Examples: a run shared by two machines
      arena audit static-erm --against reconstruct --epsilon 1 --ledger a.ledger --part 1/2
      arena audit static-erm --against reconstruct --epsilon 1 --ledger b.ledger --part 2/2
      arena runs merge a.ledger b.ledger --into whole.ledger
      arena runs resume whole.ledger
    """
    with output.progress_bar("blocks") as bar:
        result = merge_ledgers(
            files.ledgers,
            files.into,
            allow_changes=files.allow_changes,
            key=files.load_key(),
            watch=bar.update,
        )
    output.print_result(result, _format_text)


def _format_text(merged: MergeResult) -> str:
    rows = [(str(source.ledger), f"{source.blocks:,} blocks") for source in merged.sources]
    games = f"{merged.games:,} of {merged.games_planned:,} games"
    rows.append((f"in {merged.into}", f"{merged.blocks:,} blocks, {games}"))
    next_step = "prints the verdict" if merged.finished else "plays the missing blocks"
    return f"{name_table(rows)}\n\narena runs resume {merged.into} {next_step}."
