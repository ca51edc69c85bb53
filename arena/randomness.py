"""Random numbers: each block has a child of one `SeedSequence`, and in it one stream for each party. Their
seeds are hashes, since a generator shows its seed to whoever holds it."""

from __future__ import annotations

from hashlib import sha256

import attrs
import numpy as np

from arena.settings import at_least, check_value, whole

# Which way seeds are turned into random numbers; a ledger of another way is not continued.
STREAMS = 2


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


def streams(seed: np.random.SeedSequence, coins: int = 0) -> Streams:
    """The streams of the batch with this seed; coins: which of the learner's, where there are several."""
    parties = f"learner {coins}", "adversary", "referee"
    return Streams(*(generator(_hash_seed(seed, party)) for party in parties))


def child_seed(seed: np.random.SeedSequence, *number: int) -> np.random.SeedSequence:
    """A child, built from its key instead of by `seed.spawn`, so that calls can be repeated."""
    return np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, *number))


def _hash_seed(seed: np.random.SeedSequence, party: str) -> np.random.SeedSequence:
    text = f"{seed.entropy} {seed.spawn_key} {party}"
    return np.random.SeedSequence(int.from_bytes(sha256(text.encode()).digest(), "big"))
