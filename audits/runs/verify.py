"""Playing blocks of a ledger again and comparing them bit for bit."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from contextlib import closing
from typing import ClassVar

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
_SEED_BITS = 53  # of a seed that JSON keeps exactly


@attrs.frozen(kw_only=True)
class Verification:
    """The blocks that were played again, those that differ, and the number in the ledger.

    seed: by which they were chosen, if so. signatures: "correct", "not checked" for want of the key, or
    "none".
    """

    derived: ClassVar = ("miss_probability",)

    played: tuple[int, ...]
    differing: tuple[int, ...]
    blocks: int
    seed: int | None
    signatures: str

    @property
    def miss_probability(self) -> float:
        """The probability that one forged block is not among those played, if its forger could not foresee
        which these are."""
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

    blocks: the number of blocks, chosen at random; None for all. seed: repeats a choice; by default it comes
    from the operating system, so that no forger can foresee it. allow_changes: as in `Ledger.check_plan`.
    key: checks the signatures too. watch: called after every block.

    Raises: InvalidArgument if the ledger is unfit, or contains another plan or no games, or if the learner
    draws random numbers that no seed repeats; whatever `play_blocks` raises.
    """
    if blocks is not None:
        check_value("blocks", blocks, whole, at_least(1))
    if seed is not None:
        check_value("seed", seed, whole, at_least(0))
    if plan.learner.own_coins:
        raise InvalidArgument(
            f"{plan.learner.name} draws random numbers that no seed repeats, so no block can be compared",
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
