"""Parts of a run, for machines that share no cluster: each plays its own blocks into a ledger of its own.

Part k of m plays the blocks whose index leaves k - 1 when divided by m. Every block is the one that a run of
the whole plan plays, so that the ledgers of all parts, merged, are that run's.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, Self

import attrs

from arena import InvalidArgument
from audits.runs.blocks import play_blocks
from audits.runs.plan import Plan
from audits.runs.run import check_players, opened
from audits.runs.workers import Workers


@attrs.frozen
class Part:
    """Part `number`, counted from 1, of `of`."""

    number: int
    of: int

    def __attrs_post_init__(self) -> None:
        if not 1 <= self.number <= self.of:
            raise InvalidArgument(
                "a part is K/M with 1 <= K <= M", value=str(self), remedy="Say 2/5 for the second of five."
            )

    @classmethod
    def read(cls, text: str) -> Self:
        """The part that a text such as 2/5 means. Raises: InvalidArgument if it means none."""
        found = re.fullmatch(r"\s*([0-9]{1,9})\s*/\s*([0-9]{1,9})\s*", text)
        if found is None:
            raise InvalidArgument(
                "a part is K/M with 1 <= K <= M", value=text, remedy="Say 2/5 for the second of five."
            )
        return cls(int(found[1]), int(found[2]))

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    def blocks(self, plan: Plan) -> range:
        """The indices of its blocks."""
        return range(self.number - 1, plan.blocks, self.of)


@attrs.frozen(kw_only=True)
class Played:
    """How far a part is. blocks, games: of the part that are there; of_blocks, of_games: that it has.

    Games are counted in each world.
    """

    part: Part
    blocks: int
    of_blocks: int
    games: int
    of_games: int
    interrupted: bool

    def as_json(self) -> dict[str, Any]:
        """One flat object."""
        return {**attrs.asdict(self), "part": str(self.part)}


def play_part(
    plan: Plan,
    part: Part,
    *,
    ledger: str | Path,
    jobs: int | Workers = 1,
    watch: Callable[[int], None] | None = None,
    command: str | None = None,
) -> Played:
    """Play what the ledger lacks of a part of the plan; a keyboard interrupt ends it early.

    jobs: processes, or the workers of a cluster. watch: called after every block with the games of the part
    that are there.
    command: the command line that asks for the plan, for the notes of a new ledger.

    Raises: InvalidArgument of a plan that ends when its claim falls, of which a part cannot know; else what
    `audits.runs.run.run` raises.
    """
    if plan.until_refuted:
        raise InvalidArgument(
            "a part cannot know when the claim falls",
            remedy="Leave out --until-refuted, and say with --games how many to play.",
        )
    check_players(plan)
    own, interrupted = part.blocks(plan), False
    with closing(opened(ledger, plan, command)) as book:
        have = book.have()
        missing = [index for index in own if index not in have]
        blocks, games = len(own) - len(missing), sum(plan.pairs(index) for index in own if index in have)
        with closing(play_blocks(plan, missing, jobs, keep=book.add)) as results:
            try:
                for result in results:
                    blocks, games = blocks + 1, games + result.pairs
                    if watch is not None:
                        watch(games)
            except KeyboardInterrupt:
                interrupted = True
    return Played(
        part=part,
        blocks=blocks,
        of_blocks=len(own),
        games=games,
        of_games=sum(plan.pairs(index) for index in own),
        interrupted=interrupted,
    )
