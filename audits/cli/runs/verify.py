"""`arena runs verify`: replay blocks of a ledger and compare them bit for bit."""

from __future__ import annotations

import click

from audits.cli import REFUTED
from audits.cli.common.command import Output, option, option_groups, option_record
from audits.cli.common.options import ChangesOption, KeyOption, LedgerArgument, TrustOption, WorkerOptions
from audits.cli.runs.resume import rebuild_plan
from audits.runs import run_parts as verification


@option_record
class VerifyOptions(TrustOption, KeyOption, ChangesOption):
    blocks: int | None = option(
        "--blocks",
        metavar="K",
        help="Replay K blocks of games, chosen at random. "
        f"Default: {verification.DEFAULT_BLOCKS}; with --key none.",
    )
    seed: int | None = option(
        "--seed",
        help="Random seed of the choice of blocks. Default: random numbers of the operating system, which "
        "nobody can foresee.",
    )
    all_blocks: bool = option("--all", help="Replay all blocks.")


@click.command("verify")
@option_groups
def verify(source: LedgerArgument, chosen: VerifyOptions, workers: WorkerOptions, output: Output) -> None:
    """Check RUN, the ledger of an audit: every checksum, and some blocks by replaying them.

    The plan is rebuilt from the command that the ledger records. Whoever wrote the ledger chose that command,
    so plug-ins run only with --trust. With --key the signatures are checked, and no games are replayed unless
    --blocks or --all asks for it. Exit
    status: 0 all replayed blocks are equal bit for bit, 3 a block differs, 2 the ledger is damaged, was not
    signed with the key, or cannot be replayed.

    \b
    Examples:
      arena runs verify run.ledger
      arena runs verify run.ledger --all --jobs 8
      arena runs verify run.ledger --key secret.key
    """
    if chosen.all_blocks and chosen.blocks is not None:
        raise click.UsageError("--all replays all blocks, so it excludes --blocks.")
    key = chosen.load_key()
    if key is not None and chosen.blocks is None and not chosen.all_blocks:
        result = verification.verify_signatures(source.run, key)
    else:
        result = _replay(source, chosen, workers, output, key)
    output.print_result(result, _format_text)
    click.get_current_context().exit(REFUTED if result.differing else 0)


def _replay(
    source: LedgerArgument, chosen: VerifyOptions, workers: WorkerOptions, output: Output, key: bytes | None
) -> verification.Verification:
    plan, _, _ = rebuild_plan(source.run, output, trust=chosen.trust, allow_changes=chosen.allow_changes)
    count = verification.DEFAULT_BLOCKS if chosen.blocks is None else chosen.blocks
    blocks = None if chosen.all_blocks else count
    with output.progress_bar("blocks", blocks) as bar:
        return verification.verify(
            source.run,
            plan,
            blocks=blocks,
            seed=chosen.seed,
            allow_changes=chosen.allow_changes,
            key=key,
            jobs=workers.build(),
            watch=bar.update,
        )


def _format_text(result: verification.Verification) -> str:
    if result.differing:
        return (
            f"{len(result.differing):,} of {len(result.played):,} replayed blocks differ from the ledger: "
            f"{', '.join(map(str, result.differing))}.\n"
            "They were altered, or played by a player, a library or a machine that computes other values."
        )
    checked = "checksums and signatures" if result.signatures == "correct" else "checksums"
    text = f"All {checked} of the plan, the notes and {result.blocks:,} blocks are correct"
    if not result.played:
        return f"{text}: who wrote them had the key."
    text += f", and {len(result.played):,} replayed blocks are equal bit for bit."
    if result.signatures == "not checked":
        text += "\nIts signatures were not checked: give the key, --key FILE."
    if result.seed is not None:
        digits = 2  # or as many as tell the probability from 1
        while round(result.miss_probability, digits) == 1:
            digits += 1
        text += (
            "\nIf one block were forged, this would have missed it with probability "
            f"{result.miss_probability:.{digits}f}; --all plays all. (--seed {result.seed} chooses the same "
            "blocks again.)"
        )
    return text
