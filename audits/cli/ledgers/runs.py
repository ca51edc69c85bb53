"""`arena runs`: the ledgers in a folder, and how their runs stand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
from tabulate import tabulate
from tqdm import tqdm

from arena.errors import ArenaError
from audits.cli.options import JSON, QUIET
from audits.cli.progress import bar
from audits.reports.formatting import nats
from audits.runs.follow import Follower, Standing
from audits.runs.ledger.finding import ledgers_in

_HEAD = ("ledger", "learner", "adversary", "games", "verdict", "state", "size")
Found = Standing | tuple[Path, str]  # how a run stands, or what is wrong with its ledger


@click.command()
@click.argument("folders", metavar="[FOLDER]...", nargs=-1)
@click.option("-r", "--recursive", is_flag=True, help="Look into the folders below, too.")
@click.option("--fast", is_flag=True, help="No verdicts, which take as long as the tests of the games.")
@JSON
@QUIET
def runs(folders: tuple[str, ...], *, recursive: bool, fast: bool, as_json: bool, quiet: bool) -> None:
    """List the runs whose ledgers are in each FOLDER, which may also be a ledger. Default: this folder.

    Ledgers are told by what is in them, not by their names; they are only read, and runs may go on meanwhile.
    A verdict is that on the games up to the first block that is missing. One that is damaged is listed with
    what is wrong with it.

    \b
    Examples:
      arena runs
      arena runs results /mnt/cluster -r --json
    """
    paths = [path for folder in folders or (".",) for path in _ledgers(folder, recursive=recursive)]
    with bar(unit="blocks", hidden=quiet or as_json) as shown:
        found = [_look(path, test=not fast, shown=shown) for path in paths]
    if as_json:
        told = [_wrong(one) if isinstance(one, tuple) else one.as_json() for one in found]
        click.echo(json.dumps({"runs": told}))
        return
    if not found:
        click.echo("There are no ledgers.")
        return
    sound = [_row(one) for one in found if isinstance(one, Standing)]
    if sound:
        click.echo(tabulate(sound, _HEAD, tablefmt="plain", disable_numparse=True))
    for one in found:
        if isinstance(one, tuple):
            click.echo(f"arena: note: {one[1]}", err=True)


def _ledgers(folder: str, *, recursive: bool) -> list[Path]:
    return [Path(folder)] if Path(folder).is_file() else list(ledgers_in(folder, below=recursive))


def _look(path: Path, *, test: bool, shown: Any) -> Found:
    try:
        return Follower(path).look(test=test, watch=shown.update)
    except ArenaError as error:
        return path, str(error)


def _wrong(found: tuple[Path, str]) -> dict[str, str]:
    return {"ledger": str(found[0]), "error": found[1]}


def _row(standing: Standing) -> tuple[str, ...]:
    return (
        str(standing.path),
        standing.learner,
        standing.adversary,
        f"{standing.games:,} of {standing.of:,}",
        _verdict(standing),
        "running" if standing.running else "finished" if standing.finished else "to be resumed",
        tqdm.format_sizeof(standing.size, "B"),
    )


def _verdict(standing: Standing) -> str:
    now = standing.progress
    if now is None:
        return ""
    bound = f"ε ≥ {nats(now.epsilon_lower)}"
    return f"refuted, {bound}" if now.refuted else f"{bound}, claimed {nats(standing.claimed)}"


COMMANDS = {"runs": runs}
