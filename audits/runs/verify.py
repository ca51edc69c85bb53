"""Blocks of a ledger played again, and compared to the bit."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import closing
from typing import Any

import attrs
import numpy as np

from arena import InvalidArgument
from arena.randomness import generator
from audits.runs.blocks import play_blocks
from audits.runs.ledger import Ledger
from audits.runs.ledger.store import same
from audits.runs.plan import Plan
from audits.runs.workers import Workers

USUAL_BLOCKS = 10


@attrs.frozen(kw_only=True)
class Verified:
    """What was found. played, differing: indices of blocks; of: how many blocks the ledger holds."""

    played: tuple[int, ...]
    differing: tuple[int, ...]
    of: int

    def as_json(self) -> dict[str, Any]:
        """One flat object."""
        return {"played": list(self.played), "differing": list(self.differing), "of": self.of}


def verify(
    path: str | os.PathLike[str],
    plan: Plan,
    *,
    blocks: int | None = USUAL_BLOCKS,
    seed: int = 0,
    jobs: int | Workers = 1,
    watch: Callable[[], None] | None = None,
) -> Verified:
    """Check every checksum of the ledger at `path`, and play some of its blocks again.

    blocks: how many, chosen at random by `seed`; None for all. jobs: processes, or the workers of a cluster.
    watch: called after every block.

    Raises: InvalidArgument if the ledger cannot be read, is damaged, holds another plan, or no games, or if
    the learner draws coins of its own; whatever `audits.runs.blocks.play_block` raises.
    """
    if blocks is not None and blocks < 1:
        raise InvalidArgument("at least 1 block must be played", value=blocks)
    if plan.learner.own_coins:
        raise InvalidArgument(
            f"{plan.learner.name} draws coins of its own, so that no block can be played again to compare",
            remedy="arena report and arena export check the checksums of its ledger.",
        )
    with Ledger.read(path) as ledger:
        ledger.check_plan(plan.describe())
        there = sorted(ledger.have())
        if not there:
            raise InvalidArgument(f"the ledger {path} holds no games yet", remedy="Let the run go on first.")
        chosen, differing = _some(there, blocks, seed), []
        with closing(play_blocks(plan, chosen, jobs)) as results:
            for index, result in zip(chosen, results, strict=True):
                if not same(ledger.block(index), result):
                    differing.append(index)
                if watch is not None:
                    watch()
    return Verified(played=tuple(chosen), differing=tuple(differing), of=len(there))


def _some(there: list[int], blocks: int | None, seed: int) -> list[int]:
    if blocks is None or blocks >= len(there):
        return there
    places = generator(np.random.SeedSequence(seed)).choice(len(there), size=blocks, replace=False)
    return sorted(there[place] for place in places)
