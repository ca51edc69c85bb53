"""Random numbers: each block has a child of one `SeedSequence`, and in it one stream for each party."""

from __future__ import annotations

import attrs
import numpy as np

from arena.settings import at_least, check_value, whole


@attrs.frozen
class Streams:
    """The three independent streams of random numbers of one batch of games."""

    learner: np.random.Generator
    adversary: np.random.Generator
    referee: np.random.Generator


def generator(seed: np.random.SeedSequence) -> np.random.Generator:
    """A generator on SFC64, the fastest of numpy's bit generators that passes the usual statistical tests."""
    return np.random.Generator(np.random.SFC64(seed))


def block_seed(seed: int, block: int) -> np.random.SeedSequence:
    """The seed of block `block` of a plan with this seed."""
    check_value("seed", seed, whole, at_least(0))
    return np.random.SeedSequence(seed, spawn_key=(block,))


def streams(seed: np.random.SeedSequence) -> Streams:
    """The streams of the batch with this seed.

    The children are built from the key instead of by `seed.spawn`, so that calls can be repeated.
    """
    learner, adversary, referee = (
        generator(np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, party)))
        for party in range(3)
    )
    return Streams(learner, adversary, referee)
