"""The size of a game, by what the adversary hands the learner in a first one."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

from arena import Adversary, GameAdversary, Moves, Sample, Unsupported, play
from audits.registry.match import Match

MAX_NUMBERS = 10**7  # coordinates of examples and queries in one game: a second or two


def check_size(match: Match) -> None:
    """Refuse players whose games are too large for a tournament. An adversary in game style is not measured.

    Raises: Unsupported; whatever `arena.play` raises.
    """
    if not isinstance(match.adversary, GameAdversary):
        measured = _MeasuredAdversary(match.adversary, match.adversary.name, match.adversary.protocols)
        play(match.learner, measured, match.referee, games=1, seed=0)


@attrs.frozen(eq=False)
class _MeasuredAdversary(Adversary):
    """Plays as the adversary does, and raises Unsupported when it has handed over too many numbers."""

    adversary: Adversary
    name: str  # type: ignore[misc]
    protocols: tuple[str, ...]  # type: ignore[misc]

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        moves = self.adversary.play(games, rng)
        numbers, reply = 0, None
        while True:
            try:
                move = moves.send(reply)
            except StopIteration as end:
                return end.value
            numbers += _count_numbers(move)
            if numbers > MAX_NUMBERS:
                raise Unsupported(
                    f"a game of {self.name} hands over more than {MAX_NUMBERS:,} numbers",
                    remedy="Audit the pair by itself.",
                )
            reply = yield move


def _count_numbers(move: Any) -> int:
    if isinstance(move, Sample):
        return np.size(move.points)
    if isinstance(move, list | tuple):
        return sum(map(_count_numbers, move))
    if attrs.has(type(move)):
        return sum(_count_numbers(getattr(move, field.name)) for field in attrs.fields(type(move)))
    return np.size(move) if isinstance(move, np.ndarray) else 1
