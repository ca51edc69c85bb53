"""The plan of a run, rebuilt from the command line that its ledger records.

Whoever wrote the ledger chose that command. So no code that it names is run before the user agreed, and no
data that it names are read before they were compared with the ledger's digest.
"""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import Any

import attrs
import click

from arena.errors import ArenaError, InvalidArgument
from audits.cli.audit import PlanOptions, audit, make_plan
from audits.cli.common.option_groups import fill_record
from audits.cli.common.options import MatchOptions
from audits.cli.common.output import UNRECORDED, Quiet
from audits.registry.origins import check_origins, find_changes, read_origins
from audits.registry.players import ADVERSARIES, LEARNERS
from audits.registry.user_files import NotTrusted, UsedFiles
from audits.runs.ledger import Ledger
from audits.runs.plan import Plan
from audits.runs.run import describe_origins

_COMMAND = ["arena", "audit"]
_CODE = ".py"


@attrs.frozen
class _Source:
    """What a command names besides dp-arena's own players. path: of a file; None for an installed package."""

    text: str
    path: Path | None = None
    is_code: bool = True


def rebuild_plan(
    path: str | os.PathLike[str], output: Quiet, *, trust: bool, allow_changes: bool
) -> tuple[Plan, UsedFiles, str]:
    """The plan of the run in the ledger at `path`, the files that it comes from, and the command line.

    The recorded command is parsed by those options of `arena audit` on which a plan depends, and the
    resulting plan must be the ledger's. If it names more than dp-arena's own players, both are printed.

    trust: whether such code may run, and data be read that the ledger has no digest of. allow_changes:
    whether they may have changed.

    Raises: InvalidArgument if the ledger cannot be read or records no such command, if trust is needed, if a
    file or a package has changed, if one is not found, or if the command now describes another plan.
    """
    with Ledger.read(path) as ledger:
        command = str(ledger.notes.get("command", ""))
        params = _parse_command(command, path)
        recorded = read_origins(ledger.notes)
        files = UsedFiles(trusted=trust, allow_changes=allow_changes, agreed=set(recorded["files"].values()))
        sources = _list_sources(params)
        for source in sources:
            if source.path is not None:
                files.add(source.path, code=source.is_code)
        files.look_up(recorded["files"])
        present = {"files": files.digest_by_name(), "packages": {}}
        states = [_describe(source, files, recorded["files"]) for source in sources]
        named = {files.name(source.path.resolve()) for source in sources if source.path is not None}
        changed = find_changes(recorded["files"], present["files"])
        states += [f"{name} (changed since)" for name in changed if name not in named]
        if not trust and any(source.is_code or not files.is_agreed(source.path) for source in sources):
            raise _need_trust(path, command, states)
        if not allow_changes:
            check_origins(ledger.path, recorded, present)
        if states:
            output.print_notes([command, f"it loads {', '.join(states)}"])
        try:
            plan = make_plan(
                fill_record(MatchOptions, params), fill_record(PlanOptions, params), output, files
            )
        except NotTrusted as error:
            raise _need_trust(path, command, [*states, str(error.value)]) from error
        except (click.ClickException, ArenaError) as error:
            raise _blame_command(path, command, error) from error
        if not allow_changes:
            check_origins(ledger.path, recorded, describe_origins(plan, files, recorded["files"]))
        ledger.check_plan(plan.describe(), allow_changes=allow_changes)
    return plan, files, command


def _parse_command(command: str, path: str | os.PathLike[str]) -> dict[str, Any]:
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


def _list_sources(params: dict[str, Any]) -> list[_Source]:
    """The files that a command names, as far as they exist, and players of installed packages."""
    names = (params["learner"], params["against"])
    sources = [
        _Source(name)
        for registry, name in zip((LEARNERS, ADVERSARIES), names, strict=True)
        if registry.is_announced(name)
    ]
    values = [pair.partition("=")[2].strip() for pair in (*params["settings"], *params["set_adversary"])]
    for text in (*names, *values):
        file = text.rpartition(":")[0] if f"{_CODE}:" in text else text
        if file.endswith(_CODE):
            sources.append(_Source(file, Path(file)))
    pieces = [piece for text in values for piece in (text, text.partition(":")[2])]
    files = [piece for piece in pieces if Path(piece).suffix not in ("", _CODE)]
    for file in files if params["data"] is None else (params["data"], *files):
        sources.append(_Source(file, Path(file), is_code=False))
    return [s for s in dict.fromkeys(sources) if s.path is None or os.path.exists(s.path)]


def _describe(source: _Source, files: UsedFiles, recorded: dict[str, str]) -> str:
    if source.path is None:
        return f"{source.text} (of an installed package)"
    known = files.name(source.path.resolve()) in recorded
    state = (
        "as recorded" if files.is_agreed(source.path) else "changed since" if known else "no digest recorded"
    )
    return f"{source.text} ({state})"


def _need_trust(path: str | os.PathLike[str], command: str, states: list[str]) -> InvalidArgument:
    return InvalidArgument(
        f"the command in the ledger {path} would load {', '.join(states)}: {command}",
        remedy="Whoever wrote the ledger chose it. Read these files; give --trust if they may run, and "
        "--allow-changes if no figure depends on those that changed.",
    )


def _blame_command(path: str | os.PathLike[str], command: str, error: Exception) -> InvalidArgument:
    reason = error.format_message() if isinstance(error, click.ClickException) else str(error)
    return InvalidArgument(
        f"the plan in the ledger {path} cannot be rebuilt from its command, {command}: {reason.rstrip('.')}",
        remedy="Relative paths start from the folder in which the run was begun: try again from there.",
    )
