"""Playing blocks of a ledger again and comparing them bit for bit."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import closing

import attrs
import numpy as np

from arena import InvalidArgument
from arena.randomness import generator
from arena.settings import at_least, check_value, whole
from audits.runs.blocks import choose_bins, play_blocks
from audits.runs.ledger import Ledger
from audits.runs.ledger.store import equal_results
from audits.runs.plan import Plan
from audits.runs.run_history import no_games_yet
from audits.runs.workers import Workers

DEFAULT_BLOCKS = 10


@attrs.frozen(kw_only=True)
class Verification:
    """The result of `verify`. played, differing: indices of blocks. blocks: the number in the ledger."""

    played: tuple[int, ...]
    differing: tuple[int, ...]
    blocks: int


def verify(
    path: str | os.PathLike[str],
    plan: Plan,
    *,
    blocks: int | None = DEFAULT_BLOCKS,
    seed: int = 0,
    jobs: int | Workers = 1,
    watch: Callable[[], None] | None = None,
) -> Verification:
    """Check every checksum of the ledger at `path`, and play some of its blocks again.

    blocks: the number of blocks, chosen at random by `seed`; None for all. jobs: as in `run`. watch: called
    after every block.

    Raises: InvalidArgument if the ledger cannot be read, is damaged, or contains another plan or no games, or
    if the learner draws random numbers that no seed repeats; whatever `play_blocks` raises.
    """
    if blocks is not None:
        check_value("blocks", blocks, whole, at_least(1))
    if plan.learner.own_coins:
        raise InvalidArgument(
            f"{plan.learner.name} draws random numbers that no seed repeats, so no block can be compared",
            remedy="arena report and arena export check the checksums of its ledger.",
        )
    with Ledger.read(path) as ledger:
        ledger.check_plan(plan.describe())
        stored = sorted(ledger.block_indices())
        if not stored:
            raise no_games_yet(path)
        indices, differing = stored, []
        if blocks is not None and blocks < len(stored):
            random_generator = generator(np.random.SeedSequence(seed))
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
    return Verification(played=tuple(indices), differing=tuple(differing), blocks=len(stored))
