"""Everything the arena refuses, and how it says so: the rule, the value, the remedy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

# What a player may raise: sys.exit() in it would end a run with the status of one that found nothing.
RAISED = (Exception, SystemExit)


class ArenaError(Exception):
    """Base of every refusal. Faults of the arena itself are `InternalError` instead."""


class InvalidArgument(ArenaError, ValueError):
    """A value that no rule allows.

    `rule` says what must hold, `value` what was given, `remedy` what to do about it.
    """

    def __init__(self, rule: str, *, value: object = None, remedy: str = "") -> None:
        self.rule = rule
        self.value = value
        self.remedy = remedy
        message = rule if value is None else f"{rule}, got {value!r}"
        super().__init__(f"{message}. {remedy}" if remedy else message)

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild, (type(self), self.args[0], self.__dict__.copy()))


class Unsupported(InvalidArgument):
    """A request that makes sense but that this learner, class or protocol cannot meet."""


class BudgetExceeded(ArenaError):
    """A learner was asked for more than its budget (answers, rounds, halts) allows."""


class ProtocolViolation(ArenaError):
    """A player broke the protocol.

    Attributes: `rule` (what the protocol says), `player` (kind and name), `round`
    (0 is the training phase), `games` (the offending rows of the table), `expected`, `got`.
    """

    def __init__(
        self,
        rule: str,
        *,
        player: str,
        round: int,
        games: np.ndarray | Sequence[int] | None = None,
        expected: object = None,
        got: object = None,
        remedy: str = "",
    ) -> None:
        self.rule = rule
        self.player = player
        self.round = round
        self.games = None if games is None else [int(g) for g in games]
        self.expected = expected
        self.got = got
        self.remedy = remedy
        super().__init__(self._message())

    def in_games(self, games: list[int]) -> ProtocolViolation:
        """The same violation, told of these rows of a larger table."""
        return ProtocolViolation(
            self.rule,
            player=self.player,
            round=self.round,
            games=games,
            expected=self.expected,
            got=self.got,
            remedy=self.remedy,
        )

    def _message(self) -> str:
        where = "the training phase" if self.round == 0 else f"round {self.round}"
        parts = [f"{self.player}, {where}{_games(self.games)}: {self.rule}"]
        if self.expected is not None:
            parts.append(f"expected {self.expected}")
        if self.got is not None:
            parts.append(f"got {self.got}")
        text = "; ".join(parts)
        return f"{text}. {self.remedy}" if self.remedy else text

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild, (type(self), self.args[0], self.__dict__.copy()))


class PlayerError(ArenaError):
    """A player raised an exception of its own; it is chained as the cause where the process allows."""

    @classmethod
    def of(cls, error: BaseException, *, player: str, name: str, round: int) -> PlayerError:
        """What `error`, raised by the player's code, becomes; raise it from `error`."""
        return cls(player, name, round, describe_error(error))

    def __init__(self, player: str, name: str, round: int, error: str) -> None:
        self.player = player
        self.name = name
        self.round = round
        self.error = error
        where = "the training phase" if round == 0 else f"round {round}"
        super().__init__(f"{player} {name} raised {error} in {where}")

    def __reduce__(self) -> tuple[object, ...]:
        return (type(self), (self.player, self.name, self.round, self.error))


class NotConforming(ArenaError):
    """A player fails a check of `arena.testing`. Attributes: `player` (its name), `rule`, `got`."""

    def __init__(self, player: str, rule: str, got: str = "") -> None:
        self.player = player
        self.rule = rule
        self.got = got
        super().__init__(f"{player} does not conform: {rule}" + (f"; {got}" if got else ""))

    def __reduce__(self) -> tuple[object, ...]:
        return (type(self), (self.player, self.rule, self.got))


class InternalError(Exception):
    """A fault of the arena, never of a player or a user."""


def describe_error(error: BaseException) -> str:
    """An exception of a player's own in one phrase: its kind, and what it says if it says anything."""
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def _games(games: list[int] | None) -> str:
    if games is None:
        return ""
    shown = ", ".join(str(g) for g in games[:5])
    more = f" and {len(games) - 5} more" if len(games) > 5 else ""
    return f", game{'s' if len(games) > 1 else ''} {shown}{more}"


def _rebuild(kind: type[ArenaError], message: str, state: dict[str, object]) -> ArenaError:
    # Errors cross process boundaries by pickle; keyword-only constructors need help there.
    error = kind.__new__(kind)
    error.args = (message,)
    error.__dict__.update(state)
    return error
