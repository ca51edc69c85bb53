"""Players wrapped for exact audits: learners with given states, adversaries that must not use randomness."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Generator, Iterator
from typing import Any

import attrs
import numpy as np

from arena import Adversary, Claim, GameAdversary, Learner, Moves, Unsupported


@attrs.frozen(eq=False)
class PresetStates(Learner):
    """A learner that starts batches of games in given states, in order, and ignores its random generator."""

    learner: Learner
    states: Iterator[Any]
    name: str  # type: ignore[misc]
    protocols: tuple[str, ...]  # type: ignore[misc]

    @classmethod
    def of(cls, learner: Learner, *states: Any) -> PresetStates:
        return cls(learner, iter(states), learner.name, learner.protocols)

    @property
    def point_shape(self) -> tuple[int, ...]:
        return self.learner.point_shape

    @property
    def claim(self) -> Claim:
        return self.learner.claim

    def users_of(self, points: np.ndarray) -> np.ndarray:
        return self.learner.users_of(points)

    def start(self, games: int, rng: np.random.Generator) -> Any:
        return next(self.states)


def forbid_randomness(adversary: Adversary) -> Adversary:
    """The adversary; playing it raises Unsupported as soon as it draws a random number."""
    if isinstance(adversary, GameAdversary):
        return _DeterministicGameAdversary(adversary, adversary.name, adversary.protocols)
    return _DeterministicAdversary(adversary, adversary.name, adversary.protocols)


@attrs.frozen(eq=False)
class _DeterministicAdversary(Adversary):
    adversary: Adversary
    name: str  # type: ignore[misc]
    protocols: tuple[str, ...]  # type: ignore[misc]

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        return _check_moves(lambda: self.adversary.play(games, rng), rng, self.name)


@attrs.frozen(eq=False)
class _DeterministicGameAdversary(GameAdversary):
    adversary: GameAdversary
    name: str  # type: ignore[misc]
    protocols: tuple[str, ...]  # type: ignore[misc]

    def play_one(self, rng: np.random.Generator) -> Moves:
        return _check_moves(lambda: self.adversary.play_one(rng), rng, self.name)


def _check_moves(begin: Callable[[], Moves], rng: np.random.Generator, name: str) -> Moves:
    before = _generator_state(rng)
    moves = begin()
    # The engine refuses anything that is not a generator.
    return _relay_moves(moves, rng, before, name) if isinstance(moves, Generator) else moves


def _relay_moves(moves: Moves, rng: np.random.Generator, before: bytes, name: str) -> Moves:
    reply: Any = None
    while True:
        try:
            move = moves.send(reply)
        except StopIteration as end:
            _check_unused(rng, before, name)
            return end.value
        _check_unused(rng, before, name)
        reply = yield move


def _check_unused(rng: np.random.Generator, before: bytes, name: str) -> None:
    if _generator_state(rng) != before:
        raise Unsupported(
            f"exact audits need an adversary without randomness, and {name} draws random numbers",
            remedy="Fix these choices in its settings, or use `arena audit`, which plays games.",
        )


def _generator_state(rng: np.random.Generator) -> bytes:
    """What changes when a random number is drawn or a generator is spawned."""
    bits = rng.bit_generator
    return pickle.dumps((bits.state, getattr(bits.seed_seq, "n_children_spawned", 0)))
