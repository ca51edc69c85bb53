"""Checks that a seed repeats the games, and that no player uses the global generators of the process."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from arena.engine import Played, play
from arena.errors import NotConforming
from arena.players import Adversary, GameAdversary, Learner
from arena.referees import Referee

P = TypeVar("P")

_FEW_GAMES = 8  # of a batch that is played twice
_MAX_IMPORTING = 4  # times that games are played again because they imported modules


def check_repeats(learner: Learner, adversary: Adversary, referee: Referee, name: str) -> Played:
    """Check that games with the same seed are the same, and that no global generator is used.

    name: the player that is blamed. Returns the games.

    Raises: NotConforming; whatever a referee raises in a game.
    """
    record = not isinstance(adversary, GameAdversary)

    def play_few() -> Played:
        return play(learner, adversary, referee, games=_FEW_GAMES, seed=7, record=record)

    first, second = forbid_global_randomness(name, play_few), play_few()
    for part, one, other in zip(("views", "scores"), _outcome(first), _outcome(second), strict=True):
        if one != other:
            raise NotConforming(name, "the same random numbers give the same game", f"{part} differ")
    return first


def _outcome(played: Played) -> tuple[list[bytes], bytes]:
    """What the adversary saw, as far as it was recorded, and its score."""
    view = [part.tobytes() for part in played.shown]
    halted = b"" if played.halted is None else played.halted.tobytes()
    return [*view, halted], b"" if played.score is None else played.score.tobytes()


def forbid_global_randomness(name: str, play_games: Callable[[], P]) -> P:
    """The result of `play_games`, which may use the global generators of the process only to import modules.

    Some libraries draw from them while they are imported. If modules were imported, the games are played once
    more, without imports.

    Raises: NotConforming, of the player `name`; whatever `play_games` raises.
    """
    for _ in range(_MAX_IMPORTING):
        states, modules = _read_global_states(), set(sys.modules)
        result = play_games()
        if states == _read_global_states():
            return result
        if modules.issuperset(sys.modules):
            break
    raise NotConforming(
        name,
        "all random numbers come from the generator that a player is given, none from a global one",
        "`random` or `numpy.random` was used (a function of yours may, with coins=global)",
    )


def _read_global_states() -> tuple[object, ...]:
    numpy: Any = np.random.get_state()  # noqa: NPY002 - to see that nobody uses it
    return numpy[1].tobytes(), numpy[2], random.getstate()
