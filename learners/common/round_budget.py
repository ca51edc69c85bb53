"""The number of rounds for which a learner is configured, and how many of them have been played."""

from __future__ import annotations

from arena.errors import BudgetExceeded


class RoundBudget:
    """Counts the rounds of a batch of games: `played`, including the current one, and `left` after it."""

    def __init__(self, name: str, rounds: int) -> None:
        """name: of the learner, for messages. rounds: the most that may be played."""
        self._name = name
        self._rounds = rounds
        self.played = 0

    @property
    def left(self) -> int:
        return self._rounds - self.played

    def begin(self) -> None:
        """Begin a round.

        Raises: BudgetExceeded if all rounds have been played.
        """
        if not self.left:
            raise BudgetExceeded(
                f"{self._name} has spent its {self._rounds} rounds; set rounds to the game's length"
            )
        self.played += 1
