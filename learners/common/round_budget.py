"""The rounds of a game, of which a learner plays so many and no more."""

from __future__ import annotations

from arena.errors import BudgetExceeded


class RoundBudget:
    """Counts the rounds of a game: `played` so far, the one that has begun included, and `left` after it."""

    def __init__(self, name: str, most: int) -> None:
        """name: of the learner, for the message."""
        self._name = name
        self._most = most
        self.played = 0

    @property
    def left(self) -> int:
        return self._most - self.played

    def begin(self) -> None:
        """A round begins.

        Raises: BudgetExceeded if all have been played.
        """
        if not self.left:
            raise BudgetExceeded(
                f"{self._name} has spent its {self._most} rounds; set rounds to the game's length"
            )
        self.played += 1
