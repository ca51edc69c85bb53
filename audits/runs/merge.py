"""Merging ledgers of one plan that were written on several machines."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from itertools import combinations
from pathlib import Path
from typing import ClassVar

import attrs

from arena import InvalidArgument
from audits.registry.origins import check_origins, join_origins, read_origins
from audits.runs.ledger import Ledger
from audits.runs.ledger.schema import describe_differences
from audits.runs.ledger.store import equal_results
from audits.runs.plan import OWN_COINS
from audits.runs.run_history import read_audit

Paths = Sequence[str | os.PathLike[str]]


@attrs.frozen
class MergeSource:
    """A ledger that was merged, and the number of blocks that were taken from it."""

    ledger: Path
    blocks: int


@attrs.frozen(kw_only=True)
class MergeResult:
    """The result of a merge. blocks, games (in each world): of `into`. games_planned: as in `RunStatus`."""

    derived: ClassVar = ("finished",)

    into: Path
    sources: tuple[MergeSource, ...]
    blocks: int
    games: int
    games_planned: int

    @property
    def finished(self) -> bool:
        """Whether all games are there."""
        return self.games == self.games_planned


def merge(
    paths: Paths,
    into: str | os.PathLike[str],
    *,
    allow_changes: bool = False,
    key: bytes | None = None,
    watch: Callable[[], None] | None = None,
) -> MergeResult:
    """Copy the blocks of several ledgers of one plan into one ledger.

    into: a new file, or a ledger of the same plan, which may be one of `paths`. The others are only read, and
    runs may go on writing them. allow_changes: the digests and versions that they record may differ. key:
    with which all must be signed, and `into` is; without one it is not signed. watch: called after every
    block that was read.

    A merge that is killed, or that fills the disk, leaves a valid ledger; repeating it adds the other blocks.

    Raises: InvalidArgument if a ledger cannot be read or contains no audit; if plans or versions differ, with
    the differences, or files or packages; if two ledgers contain different results of a block, before
    anything is written; `LedgerFailed`.
    """
    sources = [path for path in _drop_duplicates(paths) if not _is_same_file(path, Path(into))]
    if not sources or (len(paths) == 1 and not os.path.exists(into)):
        raise InvalidArgument("a merge needs two ledgers", remedy="Name those that contain parts of one run.")
    with ExitStack() as stack:
        ledgers = [stack.enter_context(Ledger.read(path, key=key)) for path in sources]
        settings, _ = read_audit(ledgers[0])
        for ledger in ledgers:
            ledger.check_blocks()
        for one, other in combinations(ledgers, 2):
            _check_consistent(one, other, allow_changes)
        origins = read_origins(ledgers[0].notes)
        for ledger in ledgers[1:]:
            origins = join_origins(origins, read_origins(ledger.notes))
        # By the command line in its notes the run can be resumed.
        commands = [ledger for ledger in ledgers if ledger.notes.get("command")]
        with Ledger.open(
            into,
            ledgers[0].plan,
            notes=lambda: (commands or ledgers)[0].notes,
            origins=lambda recorded: origins,
            allow_changes=allow_changes,
            key=key,
        ) as target:
            for ledger in ledgers:
                _check_consistent(target, ledger, allow_changes)
            return MergeResult(
                into=target.path,
                sources=tuple(_add_missing(target, ledger, watch) for ledger in ledgers),
                blocks=len(target.block_indices()),
                games=target.count_pairs(),
                games_planned=settings.games,
            )


def _add_missing(target: Ledger, source: Ledger, watch: Callable[[], None] | None) -> MergeSource:
    stored, added = target.block_indices(), 0
    for index, block in source.blocks():
        if index not in stored:
            target.add(index, block)
            added += 1
        if watch is not None:
            watch()
    return MergeSource(source.path, added)


def _check_consistent(one: Ledger, other: Ledger, allow_changes: bool) -> None:
    if not allow_changes:
        check_origins(one.path, read_origins(one.notes), read_origins(other.notes), f"in {other.path}")
    differences = describe_differences(one.plan, other.plan, digests=not allow_changes)
    if differences:
        raise InvalidArgument(
            f"{one.path} and {other.path} have different plans: {differences}",
            remedy="Merge ledgers of one plan, played with the same versions.",
        )
    for index in sorted(one.block_indices() & other.block_indices()):
        if not equal_results(one.block(index), other.block(index)):
            raise InvalidArgument(
                f"block {index} in {one.path} differs from that in {other.path}",
                remedy="They are two runs whose random numbers no seed repeats: leave one of them out."
                if one.plan.get(OWN_COINS)
                else "arena runs verify finds out which one follows from the plan: leave the other out.",
            )


def _drop_duplicates(paths: Paths) -> list[Path]:
    """The paths, without those that name the file of an earlier one."""
    distinct: list[Path] = []
    for path in map(Path, paths):
        if not any(_is_same_file(path, other) for other in distinct):
            distinct.append(path)
    return distinct


def _is_same_file(one: Path, other: Path) -> bool:
    if os.path.realpath(one) == os.path.realpath(other):
        return True
    return os.path.exists(one) and os.path.exists(other) and one.samefile(other)
