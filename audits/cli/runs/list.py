"""`arena runs list`: the ledgers in a folder, and the state of their runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from tabulate import tabulate
from tqdm import tqdm

from arena.errors import ArenaError, InvalidArgument
from audits.cli.common.command import Output, argument, option, option_groups, option_record, print_note
from audits.reports.formatting import escape_controls, nats
from audits.runs.ledger.schema import is_ledger
from audits.runs.run_history import RunFollower, RunStatus

_HEADERS = ("ledger", "learner", "adversary", "games", "verdict", "state", "size")


@option_record
class FolderOptions:
    """Where to look for ledgers, and whether to test their games."""

    folders: tuple[str, ...] = argument(metavar="[FOLDER]...", nargs=-1)
    recursive: bool = option("-r", "--recursive", help="Also search the folders below.")
    fast: bool = option(
        "--fast", help="Print no verdicts, which take time since they are computed from all games."
    )


@click.command("list")
@option_groups
def list_runs(searched: FolderOptions, output: Output) -> None:
    """List the runs whose ledgers are in each FOLDER, which may also be a ledger. Default: the current one.

    Ledgers are recognised by their content, not by their names. They are only read, and may be in use. Games
    are stored in blocks; a verdict covers those before the first missing block. A damaged ledger is listed
    with its error.

    \b
    Examples:
      arena runs list
      arena runs list results /mnt/cluster -r --json
    """
    paths: list[Path] = []
    for folder in map(Path, searched.folders or (".",)):
        if not (folder.is_dir() or folder.is_file()):
            raise InvalidArgument(
                f"there is no folder {folder}", remedy="Name folders that contain ledgers, or ledgers."
            )
        found = folder.glob("**/*" if searched.recursive else "*")
        paths += [folder] if folder.is_file() else [path for path in sorted(found) if is_ledger(path)]
    with output.progress_bar("blocks") as bar:
        results = [_read_status(path, test=not searched.fast, watch=bar.update) for path in paths]
    if output.as_json or not results:
        output.print_result({"runs": results}, lambda result: "There are no ledgers.")
        return
    rows = [_format_row(status) for status in results if isinstance(status, RunStatus)]
    if rows:
        safe = [[escape_controls(cell, one_line=True) for cell in row] for row in rows]
        click.echo(tabulate(safe, _HEADERS, tablefmt="plain", disable_numparse=True))
    for result in results:
        if not isinstance(result, RunStatus):
            print_note(result["error"])


def _read_status(path: Path, *, test: bool, watch: Any) -> RunStatus | dict[str, str]:
    """The status of a run; of a ledger that cannot be read, the path and the error."""
    try:
        return RunFollower(path).read_status(test=test, watch=watch)
    except ArenaError as error:
        return {"ledger": str(path), "error": str(error)}


def _format_row(status: RunStatus) -> tuple[str, ...]:
    verdict = ""
    if status.epsilon_lower is not None:
        bound = f"ε ≥ {nats(status.epsilon_lower)}"
        verdict = f"refuted, {bound}" if status.refuted else f"{bound}, claimed {nats(status.epsilon)}"
    return (
        str(status.ledger),
        status.learner,
        status.adversary,
        f"{status.games:,} of {status.games_planned:,}",
        verdict,
        "running" if status.running else "finished" if status.finished else "unfinished",
        tqdm.format_sizeof(status.bytes, "B"),
    )
