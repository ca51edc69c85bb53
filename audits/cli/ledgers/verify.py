"""`arena verify`: blocks of a ledger, played again and compared to the bit."""

from __future__ import annotations

import click

from audits.cli import REFUTED
from audits.cli.ledgers.recorded_command import recalled
from audits.cli.options import JSON, QUIET, SEED, WHOLE, takes_workers
from audits.cli.progress import bar
from audits.reports.json_form import to_json
from audits.runs.verify import DEFAULT_BLOCKS, verify
from audits.runs.workers import Workers


@click.command("verify")
@click.argument("run", metavar="RUN")
@click.option(
    "--blocks",
    type=WHOLE,
    default=DEFAULT_BLOCKS,
    show_default=True,
    metavar="K",
    help="Play K blocks again, chosen at random.",
)
@click.option("--all", "everything", is_flag=True, help="Play all blocks again.")
@SEED
@takes_workers
@JSON
@QUIET
def verify_ledger(
    run: str, *, blocks: int, everything: bool, seed: int, jobs: Workers, as_json: bool, quiet: bool
) -> None:
    """Check RUN, the ledger of an audit: every checksum, and some blocks by playing them again.

    The plan is made again by the command that the ledger holds. --seed chooses the blocks, and nothing else.
    Exit status: 0 all that was played is the same, bit for bit; 3 a block differs; 2 the ledger is damaged,
    or cannot be played again.

    \b
    Examples:
      arena verify run.ledger
      arena verify run.ledger --all --jobs 8
    """
    plan, _ = recalled(run, quiet=quiet)
    number = None if everything else blocks
    with bar(unit="blocks", total=number, hidden=quiet or as_json) as shown:
        found = verify(run, plan, blocks=number, seed=seed, jobs=jobs, watch=shown.update)
    if as_json:
        click.echo(to_json(found))
    elif found.differing:
        click.echo(
            f"{len(found.differing):,} of {len(found.played):,} blocks differ from what the plan gives here: "
            f"{', '.join(map(str, found.differing))}.\n"
            "Either they were played by a player, a library or a machine that draws otherwise, or altered."
        )
    else:
        click.echo(
            f"All checksums of {found.blocks:,} blocks are right, and {len(found.played):,} blocks played again "
            "are the same, bit for bit."
        )
    click.get_current_context().exit(REFUTED if found.differing else 0)


COMMANDS = {"verify": verify_ledger}
