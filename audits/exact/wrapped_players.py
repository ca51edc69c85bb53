"""Players as an exact audit needs them: learners of given seats, adversaries that may not draw coins."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from typing import Any

import attrs
import numpy as np

from arena import Adversary, Claim, GameAdversary, Learner, Moves, Unsupported


@attrs.frozen(eq=False)
class PresetStates(Learner):
    """A learner by its spec, but whose seats are given, in order, whatever coins they are handed."""

    spec: Learner
    states: Iterator[Any]
    name: str  # type: ignore[misc]
    protocols: tuple[str, ...]  # type: ignore[misc]

    @classmethod
    def of(cls, spec: Learner, *states: Any) -> PresetStates:
        """`spec`, seated on these."""
        return cls(spec, iter(states), spec.name, spec.protocols)

    @property
    def point_shape(self) -> tuple[int, ...]:
        return self.spec.point_shape

    @property
    def claim(self) -> Claim:
        return self.spec.claim

    def start(self, games: int, rng: np.random.Generator) -> Any:
        return next(self.states)


def forbid_randomness(adversary: Adversary) -> Adversary:
    """The adversary, refused with `Unsupported` as soon as it draws a coin."""
    if isinstance(adversary, GameAdversary):
        return _WatchedGame(adversary, adversary.name, adversary.protocols)
    return _Watched(adversary, adversary.name, adversary.protocols)


@attrs.frozen(eq=False)
class _Watched(Adversary):
    spec: Adversary
    name: str  # type: ignore[misc]
    protocols: tuple[str, ...]  # type: ignore[misc]

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        return _watched(lambda: self.spec.play(games, rng), rng, self.name)


@attrs.frozen(eq=False)
class _WatchedGame(GameAdversary):
    spec: GameAdversary
    name: str  # type: ignore[misc]
    protocols: tuple[str, ...]  # type: ignore[misc]

    def play_one(self, rng: np.random.Generator) -> Moves:
        return _watched(lambda: self.spec.play_one(rng), rng, self.name)


def _watched(begin: Callable[[], Moves], rng: np.random.Generator, name: str) -> Moves:
    before = _state(rng)
    moves = begin()
    # What is no generator is the engine's to refuse.
    return _relayed(moves, rng, before, name) if isinstance(moves, Generator) else moves


def _relayed(moves: Moves, rng: np.random.Generator, before: str, name: str) -> Moves:
    reply: Any = None
    while True:
        try:
            move = moves.send(reply)
        except StopIteration as end:
            _check_coins(rng, before, name)
            return end.value
        _check_coins(rng, before, name)
        reply = yield move


def _check_coins(rng: np.random.Generator, before: str, name: str) -> None:
    if _state(rng) != before:
        raise Unsupported(
            f"exact audits play adversaries without coins, and {name} draws some",
            remedy="Fix what it draws in its spec, or use `arena audit`, which plays games.",
        )


def _state(rng: np.random.Generator) -> str:
    """What changes when a coin is drawn, or a generator spawned."""
    bits = rng.bit_generator
    return f"{bits.state} {getattr(bits.seed_seq, 'n_children_spawned', 0)}"
