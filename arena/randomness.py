"""Random numbers: each block has a child of one `SeedSequence`, and in it one stream for each party. Their
seeds are hashes, since a generator shows its seed to whoever holds it."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256, shake_128
from typing import Any

import attrs
import numpy as np
from numpy.random.bit_generator import ISpawnableSeedSequence

from arena.settings import at_least, check_value, whole

# Which way seeds are turned into random numbers; a ledger of another way is not continued.
STREAMS = 2
_GAME_WORDS = 3


@attrs.frozen
class Streams:
    """The three independent streams of random numbers of one batch of games."""

    learner: np.random.Generator
    adversary: np.random.Generator
    referee: np.random.Generator


class GameSeed(ISpawnableSeedSequence):
    """The seed of one game: three words of 64 bits, as many as SFC64 takes, so that nothing is hashed.

    words: (3,) uint64. Otherwise it is the `SeedSequence` of these words.
    """

    def __init__(self, words: np.ndarray) -> None:
        self.words = words
        self._sequence: np.random.SeedSequence | None = None

    def generate_state(self, n_words: int, dtype: Any = np.uint32) -> np.ndarray:
        if n_words == _GAME_WORDS and dtype is np.uint64:
            return self.words
        return self.sequence.generate_state(n_words, dtype)

    def spawn(self, n_children: int) -> Any:
        return self.sequence.spawn(n_children)

    @property
    def sequence(self) -> np.random.SeedSequence:
        if self._sequence is None:
            self._sequence = np.random.SeedSequence(self.words.tolist())
        return self._sequence

    @property
    def entropy(self) -> Any:
        return self.sequence.entropy

    @property
    def spawn_key(self) -> Any:
        return self.sequence.spawn_key


def draw_game_seeds(rng: np.random.Generator, games: int) -> Iterator[GameSeed]:
    """A seed for each of so many games: parts of one hash, so that none of them says anything of another."""
    parts = shake_128(rng.bytes(32)).digest(8 * _GAME_WORDS * games)
    return map(GameSeed, np.frombuffer(parts, "<u8").astype(np.uint64).reshape(games, _GAME_WORDS))


def generator(seed: np.random.SeedSequence | GameSeed) -> np.random.Generator:
    """A generator on SFC64, the fastest of numpy's bit generators that passes the usual statistical tests."""
    return np.random.Generator(np.random.SFC64(seed))  # type: ignore[arg-type]


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
