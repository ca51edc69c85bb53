"""Ledgers of one plan, played on several machines, made one."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from itertools import combinations
from pathlib import Path
from typing import Any

import attrs

from arena import InvalidArgument
from audits.runs.ledger import Ledger
from audits.runs.ledger.schema import canonical, differences
from audits.runs.ledger.store import same
from audits.runs.plan import OWN_COINS
from audits.runs.replay import read_head

Paths = Sequence[str | os.PathLike[str]]


@attrs.frozen(kw_only=True)
class Merged:
    """What a merge came to.

    into: the ledger that has all. came: from each of the others, in their order, how many blocks.
    games: there now, in each world; of: at most so many.
    """

    into: Path
    came: tuple[tuple[Path, int], ...]
    blocks: int
    games: int
    of: int

    def as_json(self) -> dict[str, Any]:
        """One object."""
        came = [{"ledger": str(path), "blocks": blocks} for path, blocks in self.came]
        return {
            "into": str(self.into),
            "came": came,
            "blocks": self.blocks,
            "games": self.games,
            "of": self.of,
            "finished": self.games == self.of,
        }


def merge(paths: Paths, into: str | os.PathLike[str], *, watch: Callable[[], None] | None = None) -> Merged:
    """Bring the blocks of several ledgers of one plan into one.

    into: a new file, or a ledger of the same plan, which may be one of `paths`. The others are only read, and
    may be written to meanwhile. watch: called after every block that was looked at.

    A merge that is killed, or for which the disk has no room, leaves a ledger that is whole but lacks blocks;
    the same merge again goes on from there.

    Raises: InvalidArgument if one cannot be read or holds no audit; if plans or versions differ, with the
    differences; if a block is in two of them and differs, in which case nothing was written; `LedgerFailed`.
    """
    others = [path for path in _different(paths) if not _is_one_file(path, Path(into))]
    if not others or (len(paths) == 1 and not os.path.exists(into)):
        raise InvalidArgument("a merge needs two ledgers", remedy="Name those that hold parts of one run.")
    with ExitStack() as stack:
        ledgers = [stack.enter_context(Ledger.read(path)) for path in others]
        numbers, _ = read_head(ledgers[0])
        for one, other in combinations(ledgers, 2):
            _check_alike(one, other)
        with Ledger.open(into, ledgers[0].plan, notes=lambda: _notes(ledgers)) as whole:
            for ledger in ledgers:
                _check_alike(whole, ledger)
            came = tuple((ledger.path, _add(whole, ledger, watch)) for ledger in ledgers)
            return Merged(
                into=whole.path,
                came=came,
                blocks=len(whole.have()),
                games=whole.pairs(),
                of=numbers.games,
            )


def _add(whole: Ledger, ledger: Ledger, watch: Callable[[], None] | None) -> int:
    """Add the blocks of a ledger that are missing; how many those were."""
    have, added = whole.have(), 0
    for index, block in ledger.blocks():
        if index not in have:
            whole.add(index, block)
            added += 1
        if watch is not None:
            watch()
    return added


def _check_alike(one: Ledger, other: Ledger) -> None:
    """Refuse two ledgers of different plans, or with a block that differs."""
    plans = canonical(one.plan), canonical(other.plan)
    if plans[0] != plans[1]:
        raise InvalidArgument(
            f"{one.path} and {other.path} are of different plans: {differences(*plans)}",
            remedy="Merge ledgers of one plan, played with the same versions.",
        )
    for index in sorted(one.have() & other.have()):
        if not same(one.block(index), other.block(index)):
            raise InvalidArgument(
                f"block {index} in {one.path} differs from that in {other.path}",
                remedy="They are two runs, whose coins no seed repeats: leave one of them out."
                if one.plan.get(OWN_COINS)
                else "Let arena verify find out which one this plan gives, and leave the other out.",
            )


def _notes(ledgers: Sequence[Ledger]) -> dict[str, Any]:
    """Those of the first that has a command line, by which a run can go on."""
    return next((ledger.notes for ledger in ledgers if ledger.notes.get("command")), ledgers[0].notes)


def _different(paths: Paths) -> list[Path]:
    """The paths, without those that name a file once more."""
    found: list[Path] = []
    for path in map(Path, paths):
        if not any(_is_one_file(path, other) for other in found):
            found.append(path)
    return found


def _is_one_file(one: Path, other: Path) -> bool:
    return one.resolve() == other.resolve() or (one.exists() and other.exists() and one.samefile(other))
