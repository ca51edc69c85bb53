"""`arena runs resume` and `arena runs verify` play a run by the command line that its ledger records.

Whoever wrote the ledger chose that command. So no code that it names is run before the user agreed, and no
data that it names are parsed before they were compared with the ledger's digests.
"""

from __future__ import annotations

import shlex
from typing import Any

import click

from arena.errors import ArenaError, InvalidArgument
from audits.cli import REFUTED
from audits.cli.audit import (
    ChangesOption,
    KeyOption,
    PlanOptions,
    RunOptions,
    audit,
    execute_plan,
    get_exit_status,
    make_plan,
    plan_other_relation,
)
from audits.cli.options import (
    LedgerArgument,
    MatchOptions,
    WorkerOptions,
    fill_record,
    option,
    option_groups,
    option_record,
)
from audits.cli.output import UNRECORDED, Output, Quiet
from audits.registry.origins import check_origins, read_origins
from audits.registry.players import ADVERSARIES, LEARNERS
from audits.registry.user_files import NotTrusted, UsedFiles
from audits.runs import run_parts as verification
from audits.runs.ledger import Ledger
from audits.runs.plan import Plan
from audits.runs.run import describe_origins
from audits.runs.run_history import RunFollower
from audits.runs.verdict import Verdict

_COMMAND = ["arena", "audit"]


@option_record
class TrustOption:
    trust: bool = option(
        "--trust",
        help="Run the files and packages that the ledger's command names. Read them first: they are code.",
    )


@click.command("resume")
@option_groups
def resume(
    source: LedgerArgument, agreed: TrustOption, workers: WorkerOptions, run: RunOptions, output: Output
) -> int:
    """Continue RUN, the ledger of an audit, by the command line that it records.

    The figures are those of a run without interruption. If the run is finished, its verdict is printed, and
    no player is loaded. Plug-ins and data are looked up as the command names them, from the current
    folder. Whoever wrote the ledger chose the command. So plug-ins run only with --trust, and data of
    which the ledger has no digest are read only with it. Exit status: as for arena audit.

    \b
    Examples:
      arena runs resume run.ledger --jobs 8
      arena runs resume run.ledger --html report.html
    """
    if run.key is not None:
        with Ledger.read(source.run, key=run.load_key()) as ledger:
            ledger.check_blocks()  # also of a finished run, whose verdict is printed without its players
    follower = RunFollower(source.run)
    verdict = None if run.estimators or run.html is not None else _read_final_verdict(follower)
    if verdict is not None:
        output.print_result(verdict)
        return get_exit_status(verdict)
    plan, files, params = rebuild_plan(
        source.run, output, trust=agreed.trust, allow_changes=run.allow_changes
    )
    game, asked = fill_record(MatchOptions, params), fill_record(PlanOptions, params)
    return execute_plan(
        plan,
        files,
        run,
        workers.build(),
        output,
        ledger=source.run,
        command=params["command"],
        play_other=plan_other_relation(plan, game, asked, workers),
    )


def _read_final_verdict(follower: RunFollower) -> Verdict | None:
    """The verdict of a finished run; None if it is unfinished, or another process is playing it, or it does
    not say yet what a refutation means for a relation that nobody chose."""
    status = follower.read_status(test=False)
    if status.running or not (status.finished or follower.may_end_early):
        return None
    if not follower.read_status().finished or follower.lacks_decision():
        return None
    return follower.make_verdict()


def rebuild_plan(
    path: str, output: Quiet, *, trust: bool, allow_changes: bool
) -> tuple[Plan, UsedFiles, dict[str, Any]]:
    """The plan of the run in the ledger at `path`, the files that it comes from, and the values of the
    options of its command line, which is among them.

    trust: whether code may run, and data be parsed that the ledger has no digest of. allow_changes: whether
    they may have changed. Raises: InvalidArgument, also if the command now describes another plan.
    """
    with Ledger.read(path) as ledger:
        command, recorded = str(ledger.notes.get("command", "")), read_origins(ledger.notes)
        params = _parse_command(command, path)
        files = UsedFiles(trusted=trust, allow_changes=allow_changes, agreed={*recorded["files"].values()})
        players = ((LEARNERS, params["learner"]), (ADVERSARIES, params["against"]))
        packaged = [name for registry, name in players if registry.is_announced(name)]
        if packaged and not trust:
            raise _need_trust(path, command, f"{packaged[0]} (of an installed package)")
        if trust:  # before code runs
            output.print_notes([command])
        try:
            plan = make_plan(
                fill_record(MatchOptions, params), fill_record(PlanOptions, params), output, files
            )
        except NotTrusted as error:
            raise _need_trust(path, command, str(error.value)) from error
        except (click.ClickException, ArenaError) as error:
            raise _blame_command(path, command, error) from error
        present = describe_origins(plan, files, recorded["files"])
        loads = [f"it loads {', '.join(present['files'])}"] if files.digests else []
        output.print_notes(loads if trust else [command, *loads])
        if not allow_changes:
            check_origins(ledger.path, recorded, present)
        ledger.check_plan(plan.describe(), allow_changes=allow_changes)
    return plan, files, {**params, "command": command}


def _parse_command(command: str, path: str) -> dict[str, Any]:
    """The values of the options of a recorded command. Nothing is read, written or imported for it."""
    try:
        words = shlex.split(command)
    except ValueError:
        words = []
    if words[:2] != _COMMAND:
        raise InvalidArgument(
            f"the ledger {path} records no arena audit command from which its plan could be rebuilt",
            remedy="Give the ledger to the program that began the run, which continues it.",
        )
    options = [parameter for parameter in audit.params if parameter.name not in UNRECORDED]
    parser = click.Command("arena audit", params=options, add_help_option=False)
    try:
        params = parser.make_context("arena audit", words[2:]).params
        if params["against"] is None:  # a recorded command names the default
            raise click.UsageError("Missing option '--against'.")
        return params
    except click.ClickException as error:
        raise _blame_command(path, command, error) from error


def _need_trust(path: str, command: str, source: str) -> InvalidArgument:
    return InvalidArgument(
        f"the command in the ledger {path} would load {source}: {command}",
        remedy="Whoever wrote the ledger chose it. Read what it names; give --trust if that may run.",
    )


def _blame_command(path: str, command: str, error: Exception) -> InvalidArgument:
    reason = error.format_message() if isinstance(error, click.ClickException) else str(error)
    return InvalidArgument(
        f"the plan in the ledger {path} cannot be rebuilt from its command, {command}: {reason.rstrip('.')}",
        remedy="Relative paths start from the folder in which the run was begun: try again from there.",
    )


@option_record
class VerifyOptions(TrustOption, KeyOption, ChangesOption):
    blocks: int | None = option(
        "--blocks",
        metavar="K",
        help="Replay K blocks of games, chosen at random. "
        f"Default: {verification.DEFAULT_BLOCKS}; with --key none.",
    )
    seed: int | None = option(
        "--seed", help="Random seed of the choice of blocks. Default: one that nobody can foresee."
    )
    all_blocks: bool = option("--all", help="Replay all blocks.")


@click.command("verify")
@option_groups
def verify(source: LedgerArgument, chosen: VerifyOptions, workers: WorkerOptions, output: Output) -> int:
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
        plan, _, _ = rebuild_plan(source.run, output, trust=chosen.trust, allow_changes=chosen.allow_changes)
        count = verification.DEFAULT_BLOCKS if chosen.blocks is None else chosen.blocks
        blocks = None if chosen.all_blocks else count
        with output.progress_bar("blocks", blocks) as bar:
            result = verification.verify(
                source.run,
                plan,
                blocks=blocks,
                seed=chosen.seed,
                allow_changes=chosen.allow_changes,
                key=key,
                jobs=workers.build(),
                watch=bar.update,
            )
    output.print_result(result, _format_verification)
    return REFUTED if result.differing else 0


def _format_verification(result: verification.Verification) -> str:
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
