"""`arena verify`: replay blocks of a ledger and compare them bit for bit."""

from __future__ import annotations

import click

from audits.cli import REFUTED
from audits.cli.ledgers.recorded_command import rebuild_plan
from audits.cli.option_groups import option, option_groups, option_record
from audits.cli.options import LedgerArgument, SeedOption, WorkerOptions
from audits.cli.output import Output
from audits.runs import verify as verification


@option_record
class VerifyOptions(SeedOption):
    blocks: int = option(
        "--blocks",
        default=verification.DEFAULT_BLOCKS,
        metavar="K",
        help="Replay K blocks, chosen at random.",
    )
    all_blocks: bool = option("--all", help="Replay all blocks.")


@click.command("verify")
@option_groups
def verify(source: LedgerArgument, chosen: VerifyOptions, workers: WorkerOptions, output: Output) -> None:
    """Check RUN, the ledger of an audit: every checksum, and some blocks by replaying them.

    The plan is rebuilt from the command that the ledger records. --seed only chooses the blocks. Exit
    status: 0 all replayed blocks are equal bit for bit, 3 a block differs, 2 the ledger is damaged or cannot
    be replayed.

    \b
    Examples:
      arena verify run.ledger
      arena verify run.ledger --all --jobs 8
    """
    plan, _ = rebuild_plan(source.run, output)
    blocks = None if chosen.all_blocks else chosen.blocks
    with output.progress_bar("blocks", blocks) as bar:
        result = verification.verify(
            source.run, plan, blocks=blocks, seed=chosen.seed, jobs=workers.build(), watch=bar.update
        )
    output.print_result(result, _format_text)
    click.get_current_context().exit(REFUTED if result.differing else 0)


def _format_text(result: verification.Verification) -> str:
    if result.differing:
        return (
            f"{len(result.differing):,} of {len(result.played):,} replayed blocks differ from the ledger: "
            f"{', '.join(map(str, result.differing))}.\n"
            "They were altered, or played by a player, a library or a machine that computes other values."
        )
    return (
        f"All checksums of {result.blocks:,} blocks are correct, and {len(result.played):,} replayed blocks "
        "are equal bit for bit."
    )
