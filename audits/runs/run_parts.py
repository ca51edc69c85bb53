"""Parts of a run, for machines that share no cluster: each plays its own blocks into its own ledger.

Part k of m plays the blocks k - 1, k - 1 + m, k - 1 + 2m, ... They are the same as in a run of the whole
plan, so the merged ledgers of all parts are the ledger of that run.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Self

import attrs

from arena import InvalidArgument
from audits.registry.user_files import UsedFiles
from audits.runs.blocks import check_players, choose_bins, play_blocks
from audits.runs.plan import Plan
from audits.runs.run import check_files_after, open_ledger
from audits.runs.workers import Workers
from audits.statistics.score_histogram import EXACT


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
) -> PartProgress:
    """Play the blocks of a part that the ledger lacks. A keyboard interrupt ends it early.

    watch: called after every block with the games of the part in the ledger. jobs, command, files, key: as in
    `run`.
    Raises: InvalidArgument if the plan ends when its claim is refuted; otherwise whatever `run` raises.
    """
    if plan.until_refuted:
        raise InvalidArgument(
            "a part of a run cannot know when the claim is refuted",
            remedy="Leave out --until-refuted, and give the number of games with --games.",
        )
    check_players(plan)
    own, interrupted = part.block_indices(plan), False
    with closing(open_ledger(ledger, plan, command, files, key)) as opened_ledger:
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
                interrupted = True
        check_files_after(opened_ledger, plan, files)
    return PartProgress(
        part=str(part),
        blocks=blocks,
        blocks_planned=len(own),
        games=games,
        games_planned=sum(plan.blocks[index] for index in own),
        interrupted=interrupted,
    )
