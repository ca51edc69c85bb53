"""Private mechanisms that remember between games, so that a process repeats one draw, and some that do not.

A game of any of them is private at ε = 1, or has no noise at all; only the games of a process depend on each
other.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable
from functools import cache
from typing import Any, ClassVar

import attrs
import numpy as np
from support.simple_players import NamedByClass

from arena import Claim, Learner, PrivacyUnit, Sample
from arena.players import GameLearner

RNG = np.random.Generator
SYSTEM = secrets.SystemRandom()


def total(labels: Any) -> float:
    return float(np.clip(np.asarray(labels, float), 0, 1).sum())


def key(labels: Any) -> bytes:
    return np.asarray(labels, float).tobytes()


def draw_own_laplace() -> float:
    return SYSTEM.expovariate(1) * SYSTEM.choice((-1, 1))


def remember_in_dictionary() -> Callable[..., Any]:
    released: dict[bytes, float] = {}

    def release(labels: Any, rng: RNG) -> float:
        return released.setdefault(key(labels), total(labels) + rng.laplace())

    return release


def remember_noise() -> Callable[..., Any]:
    """The noise is kept, not the value."""
    noise: list[float] = []

    def release(labels: Any, rng: RNG) -> float:
        noise.append(rng.laplace())
        return total(labels) + noise[0]

    return release


def remember_some() -> Callable[..., Any]:
    """Only data with a label 1 are remembered."""
    cache = remember_in_dictionary()
    return lambda labels, rng: cache(labels, rng) if total(labels) > 0.5 else total(labels) + rng.laplace()


def remember_for_a_while(times: int = 10) -> Callable[..., Any]:
    """Every draw is used several times."""
    kept: list[float] = []

    def release(labels: Any, rng: RNG) -> float:
        if not kept:
            kept.extend([rng.laplace()] * times)
        return total(labels) + kept.pop()

    return release


def remember_first_only() -> Callable[..., Any]:
    """A cache of one entry, which stays for ever."""
    first: dict[bytes, float] = {}

    def release(labels: Any, rng: RNG) -> float:
        value = total(labels) + rng.laplace()
        return first.setdefault(key(labels), value) if not first or key(labels) in first else value

    return release


def remember_most() -> Callable[..., Any]:
    """Little of the noise is fresh, so that no two releases are equal."""
    cache = remember_in_dictionary()
    return lambda labels, rng: (cache(labels, rng) + 0.01 * rng.normal(), rng.random())


def remember_late(after: int = 2_000) -> Callable[..., Any]:
    """It begins to remember after many games."""
    cache, games = remember_in_dictionary(), [0]

    def release(labels: Any, rng: RNG) -> float:
        games[0] += 1
        return cache(labels, rng) if games[0] > after else total(labels) + rng.laplace()

    return release


def remember_rarely(after: int = 200, every: int = 20) -> Callable[..., Any]:
    """After so many games, the noise of one in `every` is that of the game before it."""
    noise = [0.0]

    def release(labels: Any, rng: RNG) -> float:
        noise.append(rng.laplace())
        if len(noise) > after and len(noise) % every == 0:
            noise[-1] = noise[-2]
        return total(labels) + noise[-1]

    return release


def remember_rarely_global() -> Callable[..., Any]:
    release = remember_rarely()
    return lambda labels: release(labels, np.random)


def remember_late_own(after: int = 400, times: int = 10) -> Callable[..., Any]:
    """After so many games, every draw is used several times."""
    games, noise = [0], [0.0]

    def release(labels: Any) -> float:
        games[0] += 1
        if games[0] < after or games[0] % times == 0:
            noise[0] = draw_own_laplace()
        return total(labels) + noise[0]

    return release


def remember_bit() -> Callable[..., Any]:
    """Randomised response of one bit."""
    released: dict[bytes, int] = {}

    def release(labels: Any, rng: RNG) -> int:
        lie = rng.random() < 1 / (1 + math.e)
        return released.setdefault(key(labels), int((total(labels) > 0) ^ lie))

    return release


def remember_batch() -> Callable[..., Any]:
    """Vectorised: the releases of the first batch of so many games are repeated."""
    released: dict[tuple[bytes, int], np.ndarray] = {}

    def release(labels: Any, games: int, rng: RNG) -> np.ndarray:
        noise = rng.laplace(size=games)
        return released.setdefault((key(labels), games), total(labels) + noise)

    return release


def remember_global() -> Callable[..., Any]:
    """Its random numbers are those of numpy's global generator."""
    released: dict[bytes, float] = {}

    def release(labels: Any) -> float:
        return released.setdefault(key(labels), total(labels) + np.random.laplace())  # noqa: NPY002

    return release


def remember_own() -> Callable[..., Any]:
    """Its random numbers are those of the operating system."""
    released: dict[bytes, float] = {}

    def release(labels: Any) -> float:
        return released.setdefault(key(labels), total(labels) + draw_own_laplace())

    return release


def remember_most_own() -> Callable[..., Any]:
    cache = remember_own()
    return lambda labels: cache(labels) + 0.01 * SYSTEM.random()


def remember_own_batch() -> Callable[..., Any]:
    noise: list[float] = []

    def release(labels: Any, games: int) -> np.ndarray:
        noise.extend(draw_own_laplace() for _ in range(games - len(noise)))
        return total(labels) + np.array(noise[:games])

    return release


@cache
def _release_once(labels: bytes) -> float:
    return float(np.frombuffer(labels).sum()) + draw_own_laplace()


def remember_by_lru_cache(labels: Any) -> float:
    return _release_once(key(labels))


class Counted:
    """A callable whose class keeps the releases."""

    released: ClassVar[dict[bytes, float]] = {}

    def __call__(self, labels: Any, rng: RNG) -> float:
        return self.released.setdefault(key(labels), total(labels) + rng.laplace())


# --- none of these remembers --------------------------------------------------------------------------------


@cache
def weigh(ones: int) -> float:
    return math.sqrt(ones) ** 2


def cache_helper(labels: Any, rng: RNG) -> float:
    return weigh(int(total(labels))) + rng.laplace()


def cache_helper_own(labels: Any) -> float:
    return weigh(int(total(labels))) + draw_own_laplace()


def release_exactly(labels: Any, rng: RNG) -> float:
    return total(labels)


def release_exactly_own(labels: Any) -> float:
    return total(labels)


# --- learners -----------------------------------------------------------------------------------------------


class LeakingState:
    """The state of one game; the noise is that of the class."""

    noise: ClassVar[list[float]] = []

    def __init__(self, rng: RNG) -> None:
        self.noise.append(rng.laplace())

    def release(self, sample: Sample) -> float:
        return float(sample.counts @ sample.labels) + self.noise[0]


@attrs.frozen
class Leaking(NamedByClass, GameLearner):
    """Its running state leaks through a class attribute."""

    protocols = ("Release",)

    claim = Claim(epsilon=1.0, delta=0, protects=(PrivacyUnit.TRAINING_EXAMPLE,))

    def start_one(self, rng: RNG) -> LeakingState:
        return LeakingState(rng)


def list_remembering() -> dict[str, tuple[Callable[..., Any] | Learner, dict[str, Any]]]:
    """The mechanisms that remember, new ones with nothing in memory, with the settings of `function`."""
    given = [
        remember_in_dictionary,
        remember_noise,
        remember_some,
        remember_for_a_while,
        remember_first_only,
        remember_most,
        remember_bit,
    ]
    own = [remember_own, remember_most_own]
    return {
        **{make.__name__: (make(), {}) for make in [*given, *own]},
        "remember_by_lru_cache": (remember_by_lru_cache, {}),
        "Counted": (Counted(), {}),
        "remember_batch": (remember_batch(), {"vectorised": True}),
        "remember_own_batch": (remember_own_batch(), {"vectorised": True, "coins": "own"}),
        "remember_global": (remember_global(), {"coins": "global"}),
        "Leaking": (Leaking(), {}),
    }
