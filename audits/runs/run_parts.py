"""Parts of a run, for machines that share no cluster; merged ledgers; and blocks that are played again.

Part k of m plays the blocks k - 1, k - 1 + m, k - 1 + 2m, ... as a run of the whole plan does, into a ledger
of its own.
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from itertools import combinations
from pathlib import Path
from typing import ClassVar, Self

import attrs
import numpy as np

from arena import InvalidArgument
from arena.randomness import generator
from arena.settings import at_least, check_value, whole
from audits.distinguishers.view_features import Block
from audits.interrupts import acknowledge_interrupt
from audits.registry.origins import check_origins, join_origins, read_origins
from audits.registry.user_files import UsedFiles
from audits.runs.blocks import (
    check_players,
    check_repeated_games,
    check_scatter,
    choose_bins,
    play_blocks,
    repeats_calls,
)
from audits.runs.ledger import Ledger
from audits.runs.ledger.schema import describe_differences
from audits.runs.ledger.store import equal_results
from audits.runs.plan import OWN_COINS, Plan
from audits.runs.run import check_files_after, open_ledger
from audits.runs.run_history import no_games_yet, read_audit
from audits.runs.workers import Workers
from audits.statistics.score_histogram import EXACT, BlockScatter, ScoreBins
from audits.statistics.score_pairs import PairCounts

DEFAULT_BLOCKS = 10  # that are played again
_SEED_BITS = 53  # of a seed that JSON keeps exactly
Paths = Sequence[str | os.PathLike[str]]


@attrs.frozen
class RunPart:
    """Part `number`, counted from 1, of `of` parts."""

    number: int
    of: int

    def __attrs_post_init__(self) -> None:
        if not 1 <= self.number <= self.of:
            raise _not_a_part(str(self))

    @classmethod
    def parse(cls, text: str) -> Self:
        """The part that a text such as 2/5 names. Raises: InvalidArgument if it names none."""
        match = re.fullmatch(r"\s*([0-9]{1,9})\s*/\s*([0-9]{1,9})\s*", text)
        if match is None:
            raise _not_a_part(text)
        return cls(int(match[1]), int(match[2]))

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    def block_indices(self, plan: Plan) -> range:
        """The indices of the blocks of this part."""
        return range(self.number - 1, len(plan.blocks), self.of)


def _not_a_part(text: str) -> InvalidArgument:
    return InvalidArgument(
        "a part is K/M with 1 <= K <= M", value=text, remedy="Write 2/5 for the second of five."
    )


@attrs.frozen(kw_only=True)
class PartProgress:
    """The state of a part. part: as text. blocks, games in each world: of the part, in the ledger."""

    part: str
    blocks: int
    blocks_planned: int
    games: int
    games_planned: int
    interrupted: bool


def play_part(
    plan: Plan,
    part: RunPart,
    *,
    ledger: str | Path,
    jobs: int | Workers = 1,
    watch: Callable[[int], None] | None = None,
    command: str | None = None,
    files: UsedFiles | None = None,
    key: bytes | None = None,
    relation_chosen: bool = True,
) -> PartProgress:
    """Play the blocks of a part that the ledger lacks, or some of them before a keyboard interrupt.

    watch: called with the games of the part in the ledger. The rest, and the errors, are as of `run`.
    """
    if plan.until_refuted:
        raise InvalidArgument(
            "a part of a run cannot know when the claim is refuted",
            remedy="Leave out --until-refuted, and give the number of games with --games.",
        )
    check_players(plan)
    own, interrupted = part.block_indices(plan), False
    with closing(open_ledger(ledger, plan, command, files, key, relation_chosen)) as opened_ledger:
        stored = opened_ledger.block_indices()
        missing = [index for index in own if index not in stored]
        blocks, games = len(own) - len(missing), sum(plan.blocks[index] for index in own if index in stored)
        bins = choose_bins(plan) if missing else EXACT
        workers = Workers.from_jobs(jobs, len(missing))
        with closing(play_blocks(plan, missing, workers, bins=bins, keep=opened_ledger.add)) as results:
            try:
                for result in results:
                    blocks, games = blocks + 1, games + result.pairs
                    if watch is not None:
                        watch(games)
            except KeyboardInterrupt:
                acknowledge_interrupt()
                interrupted = True
        check_files_after(opened_ledger, plan, files)
        if missing and not interrupted and plan.learner.one_call_a_game:
            _check_calls(plan, {index: opened_ledger.block(index) for index in own}, workers, bins)
    return PartProgress(
        part=str(part),
        blocks=blocks,
        blocks_planned=len(own),
        games=games,
        games_planned=sum(plan.blocks[index] for index in own),
        interrupted=interrupted,
    )


def _check_calls(plan: Plan, blocks: dict[int, Block], workers: Workers, bins: ScoreBins) -> None:
    """Check the games of a part, where each is a call, as a run does after its last game."""
    scatter = BlockScatter()
    for block in blocks.values():
        if isinstance(block, PairCounts):
            scatter.update(block)
    if scatter.suspected:
        check_scatter(plan, max(block.pairs for block in blocks.values()))
    if repeats_calls(plan):
        games = sum(block.pairs for block in blocks.values())
        check_repeated_games(plan, blocks, workers, games=games, bins=bins)


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

    into: a new file, or a ledger of the same plan, which may be one of `paths`; the others are only read.
    allow_changes: the digests and versions that they record may differ. key: with which all must be signed,
    and `into` is. watch: called after every block that was read. A merge that is killed can be repeated.

    Raises: InvalidArgument if a ledger is unfit, or if plans, versions, files or results of a block differ,
    before anything is written; LedgerFailed.
    """
    sources: dict[str, Path] = {}
    for path in map(Path, paths):
        sources.setdefault(os.path.realpath(path), path)
    sources.pop(os.path.realpath(into), None)
    if not sources or (len(paths) == 1 and not os.path.exists(into)):
        raise InvalidArgument("a merge needs two ledgers", remedy="Name those that contain parts of one run.")
    with ExitStack() as stack:
        ledgers = [stack.enter_context(Ledger.read(path, key=key)) for path in sources.values()]
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


# --- verifying ---------------------------------------------------------------------------------------------


@attrs.frozen(kw_only=True)
class Verification:
    """The blocks that were played again, those that differ, and the number in the ledger.

    seed: by which they were chosen, if so. signatures: "correct", "not checked" (without the key) or "none".
    """

    derived: ClassVar = ("miss_probability",)

    played: tuple[int, ...]
    differing: tuple[int, ...]
    blocks: int
    seed: int | None
    signatures: str

    @property
    def miss_probability(self) -> float:
        """The probability that one forged block, whose forger could not foresee the choice, is missed."""
        return 1 - len(self.played) / self.blocks


def verify(
    path: str | os.PathLike[str],
    plan: Plan,
    *,
    blocks: int | None = DEFAULT_BLOCKS,
    seed: int | None = None,
    allow_changes: bool = False,
    key: bytes | None = None,
    jobs: int | Workers = 1,
    watch: Callable[[], None] | None = None,
) -> Verification:
    """Check every checksum of the ledger at `path`, and play some of its blocks again.

    blocks: the number of blocks, chosen at random; None for all. seed: repeats a choice; by default no forger
    can foresee it. allow_changes: as in `Ledger.check_plan`. key: checks the signatures too.

    Raises: InvalidArgument if the ledger is unfit, or contains another plan or no games, or if the learner
    draws random numbers that no seed repeats; whatever `play_blocks` raises.
    """
    if blocks is not None:
        check_value("blocks", blocks, whole, at_least(1))
    if seed is not None:
        check_value("seed", seed, whole, at_least(0))
    if plan.learner.own_coins:
        raise InvalidArgument(
            f"{plan.learner.own_name} draws random numbers that no seed repeats, so no block can be compared",
            remedy="arena runs report and export check checksums, and arena runs verify --key signatures.",
        )
    with Ledger.read(path, key=key) as ledger:
        ledger.check_blocks()
        ledger.check_plan(plan.describe(), allow_changes=allow_changes)
        stored = sorted(ledger.block_indices())
        if not stored:
            raise no_games_yet(path)
        indices, differing = stored, []
        chosen_by = None
        if blocks is not None and blocks < len(stored):
            chosen_by = secrets.randbits(_SEED_BITS) if seed is None else seed
            random_generator = generator(np.random.SeedSequence(chosen_by))
            places = random_generator.choice(len(stored), size=blocks, replace=False)
            indices = sorted(stored[place] for place in places)
        exact = range(plan.blocks.exact)
        first_blocks = [ledger.block(index) for index in exact] if stored[: len(exact)] == [*exact] else None
        bins, workers = choose_bins(plan, first_blocks), Workers.from_jobs(jobs, len(indices))
        with closing(play_blocks(plan, indices, workers, bins=bins)) as results:
            for index, result in zip(indices, results, strict=True):
                if not equal_results(ledger.block(index), result):
                    differing.append(index)
                if watch is not None:
                    watch()
    return Verification(
        played=tuple(indices),
        differing=tuple(differing),
        blocks=len(stored),
        seed=chosen_by,
        signatures="none" if not ledger.signed else "not checked" if key is None else "correct",
    )


def verify_signatures(path: str | os.PathLike[str], key: bytes) -> Verification:
    """Check every checksum and every signature of the ledger at `path`, and play nothing."""
    with Ledger.read(path, key=key) as ledger:
        ledger.check_blocks()
        blocks = len(ledger.block_indices())
    if not blocks:
        raise no_games_yet(path)
    return Verification(played=(), differing=(), blocks=blocks, seed=None, signatures="correct")
