"""Where every coin comes from: a `SeedSequence` child per block, and in it one stream per party."""

from __future__ import annotations

import attrs
import numpy as np

from arena.errors import InvalidArgument


@attrs.frozen
class Streams:
    """The three independent streams of one table: learner's, adversary's, referee's."""

    learner: np.random.Generator
    adversary: np.random.Generator
    referee: np.random.Generator


def generator(seed: np.random.SeedSequence) -> np.random.Generator:
    """A generator on SFC64, the fastest of numpy's bit generators that passes the usual batteries."""
    return np.random.Generator(np.random.SFC64(seed))


def block_seed(seed: int, block: int) -> np.random.SeedSequence:
    """The seed of block `block` of a plan; it depends on nothing else."""
    if seed < 0:
        raise InvalidArgument("a seed is an integer of at least 0", value=seed)
    return np.random.SeedSequence(seed, spawn_key=(block,))


def streams(seed: np.random.SeedSequence) -> Streams:
    """The streams of the table seeded by `seed`.

    The children are built from the key, not by `seed.spawn`, so asking twice gives the same streams.
    """
    learner, adversary, referee = (
        generator(np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, party)))
        for party in range(3)
    )
    return Streams(learner, adversary, referee)
