"""Commands on ledgers that need no player: `arena runs list`, `watch`, `report`, `export` and `merge`."""

from __future__ import annotations

import functools
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import click
from tabulate import tabulate
from tqdm import tqdm

from arena.errors import ArenaError, InvalidArgument
from audits.cli import INTERRUPTED
from audits.cli.audit import ChangesOption, KeyOption, get_exit_status
from audits.cli.options import LedgerArgument, argument, option, option_groups, option_record
from audits.cli.output import Output, print_note
from audits.reports.formatting import describe_lower, escape_controls, name_table, nats
from audits.runs.ledger.schema import is_ledger
from audits.runs.run_history import RunFollower, RunStatus, check_table, export_blocks, export_figures
from audits.runs.run_page import check_html, write_html
from audits.runs.run_parts import MergeResult
from audits.runs.run_parts import merge as merge_ledgers

_MAX_SECONDS = 86_400.0  # between two updates
_PAUSE_FACTOR = 9  # a pause is at least this many times as long as a look, to leave the machine to the run
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
        bound = describe_lower(status.epsilon_lower, status.epsilon if status.refuted else None)
        verdict = f"refuted, {bound}" if status.refuted else f"{bound}, claimed {nats(status.epsilon)}"
        verdict = f"undecided, {verdict}" if status.undecided else verdict
    return (
        str(status.ledger),
        status.learner,
        status.adversary,
        f"{status.games:,} of {status.games_planned:,}",
        verdict,
        "running" if status.running else "finished" if status.finished else "unfinished",
        tqdm.format_sizeof(status.bytes, "B"),
    )


@option_record
class WatchOptions:
    """How often to look, and the page to update."""

    every: float = option(
        "--every",
        default=2.0,
        metavar="SECONDS",
        help="Time between updates. It is longer if updates would take more than a tenth of the time.",
    )
    html: str | None = option(
        "--html", metavar="FILE", help="Write an HTML report, as arena runs report does, at each update."
    )


@click.command("watch")
@option_groups
def watch(source: LedgerArgument, options: WatchOptions, output: Output) -> int:
    """Watch RUN, the ledger of an audit that another process plays, until it ends or you press Ctrl-C.

    The ledger is only read. At the end the figures are printed as arena audit prints them, with its exit
    status; it is 130 if the run is not finished. With --json every update prints one object on one line.

    \b
    Examples:
      arena runs watch run.ledger
      arena runs watch run.ledger --every 60 --html report.html
    """
    if not 0 < options.every <= _MAX_SECONDS:
        raise InvalidArgument("--every must be more than 0 seconds and at most a day", value=options.every)
    if options.html is not None:
        check_html(options.html, source.run)
    started, follower = time.monotonic(), RunFollower(source.run)
    status = follower.read_status()
    with (
        output.progress_bar("games", status.games_planned, scaled=True, beside_json=True) as bar,
        suppress(KeyboardInterrupt),
    ):
        while True:
            if output.as_json:
                output.print_result(status, str)
            if status.epsilon_lower is not None:
                bar.set_postfix_str(f"ε ≥ {status.epsilon_lower:.2f}", refresh=False)
            bar.update(status.games - bar.n)
            bar.refresh()
            if options.html is not None and status.epsilon_lower is not None:
                write_html(source.run, options.html)
            if status.finished or status.running is False:
                break
            time.sleep(max(options.every, _PAUSE_FACTOR * (time.monotonic() - started)))
            started = time.monotonic()
            status = follower.read_status()
    verdict = follower.make_verdict()
    if not output.as_json:
        if verdict is not None:
            click.echo(escape_controls(verdict.summary()))
        elif status.games:
            print_note("block 0, which the test reads first, is missing")
        else:
            print_note("no block of games is finished yet")
        if status.running is False and not status.finished:
            print_note(f"no process plays it; arena runs resume {status.ledger} continues it")
    return INTERRUPTED if verdict is None else get_exit_status(verdict)


@option_record
class ReportOptions(LedgerArgument):
    page: str | None = option(
        "--output", "-o", metavar="FILE", help="Where to write it. Default: RUN with the suffix .html."
    )


@click.command("report")
@option_groups
def report(asked: ReportOptions, output: Output) -> None:
    """Write a report on RUN, the ledger of an audit that is finished, interrupted or still running.

    It is one HTML file with the verdict, the evidence and the certified ε by games played, the trade-off
    curve of the errors, all estimators, one pair of games, and every setting. The ledger is only read, and
    the players are not needed.

    \b
    Examples:
      arena audit laplace-count --against count-swap --ledger run.ledger
      arena runs report run.ledger -o report.html
    """
    path = str(Path(asked.run).parent / f"{Path(asked.run).stem}.html") if asked.page is None else asked.page
    with output.stage_progress() as show:
        write_html(asked.run, path, functools.partial(show, "blocks"))
    output.print_result({"report": path}, lambda result: f"The report is in {result['report']}.")


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
                "the games and the figures need two tables", value=files.figures, remedy="Name another."
            )
    with output.progress_bar("blocks") as bar:
        rows = {files.file: export_blocks(files.run, files.file, watch=bar.update)}
    if files.figures is not None:
        rows[files.figures] = export_figures(files.run, files.figures)
    text = "\n".join(f"{path} has {count:,} rows." for path, count in rows.items())
    output.print_result({"rows": rows}, lambda result: text)


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
    output.print_result(result, _format_merge)


def _format_merge(merged: MergeResult) -> str:
    rows = [(str(source.ledger), f"{source.blocks:,} blocks") for source in merged.sources]
    games = f"{merged.games:,} of {merged.games_planned:,} games"
    rows.append((f"in {merged.into}", f"{merged.blocks:,} blocks, {games}"))
    next_step = "prints the verdict" if merged.finished else "plays the missing blocks"
    return f"{name_table(rows)}\n\narena runs resume {merged.into} {next_step}."
