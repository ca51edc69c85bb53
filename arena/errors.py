"""The errors of the arena. A refusal names the rule, the value that breaks it, and a remedy."""

from __future__ import annotations

import copyreg
import os
import re
import sysconfig
from collections.abc import Mapping, Sequence
from pathlib import Path
from traceback import walk_tb
from types import MappingProxyType

import numpy as np

# Exceptions of a player that are caught. SystemExit would otherwise end a run as if it had found nothing.
RAISED = (Exception, SystemExit)

_PUBLISHED = "raised "
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?")
_ADDRESS, _HIDDEN = re.compile(r"0x[0-9a-fA-F]+"), "0x#"
_MOST_GAMES = 5  # games that a message lists
# Files that are not the user's: dp-arena, Python and installed packages.
_SHIPPED = [
    str(Path(__file__).parents[1] / name) + os.sep for name in ("arena", "learners", "adversaries", "audits")
]
_INSTALLED = [sysconfig.get_path(name) + os.sep for name in ("stdlib", "platstdlib", "purelib", "platlib")]
_NOT_THE_USERS = (*_SHIPPED, *_INSTALLED, "<")
# Also of one user, or of Python beneath an environment.
_PACKAGES = re.compile(r"[\\/](site|dist)-packages[\\/]")


class ArenaError(Exception):
    """Base of every refusal. A fault of the arena itself is an `InternalError` instead.

    corrected: words of a command line, and what was probably meant. lacking: words that it lacks.
    """

    corrected: Mapping[str, str] = MappingProxyType({})
    lacking: Sequence[str] = ()

    def __reduce__(self) -> tuple[object, ...]:
        # Errors cross process boundaries as pickles, which cannot call constructors with other arguments.
        return copyreg.__newobj__, (type(self), *self.args), self.__dict__  # type: ignore[attr-defined]


class InvalidArgument(ArenaError, ValueError):
    """A value that is not allowed: the rule that must hold, what was given, and what to do about it."""

    def __init__(
        self,
        rule: str,
        *,
        value: object = None,
        remedy: str = "",
        corrected: Mapping[str, str] | None = None,
        lacking: Sequence[str] = (),
    ) -> None:
        self.rule = rule
        self.value = value
        self.remedy = remedy
        if corrected:
            self.corrected = corrected
        if lacking:
            self.lacking = lacking
        message = rule if value is None else f"{rule}, got {value!r}"
        super().__init__(f"{message}. {remedy}" if remedy else message)


class Unsupported(InvalidArgument):
    """A sensible request that this learner, class or protocol cannot meet."""


class MissingPackage(Unsupported):
    """A player needs a package that is not installed. extra: the optional dependency that installs it."""

    def __init__(self, rule: str, *, extra: str) -> None:
        super().__init__(rule, remedy=suggest_extra(extra))


class UnknownRelease(Unsupported):
    """A learner released an object whose type is not known, so that nobody can say what it shows."""


class BudgetExceeded(ArenaError):
    """A learner was asked for more answers, rounds or halts than its budget allows."""


class ProtocolViolation(ArenaError):
    """A player broke the protocol: the rule, the player's kind and name, the round (0: training), and the
    games in which it happened, if known."""

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
        parts = [f"{player}, {_name_round(round)}{_list_games(self.games)}: {rule}"]
        if expected is not None:
            parts.append(f"expected {expected}")
        if got is not None:
            parts.append(f"got {got}")
        text = "; ".join(parts)
        super().__init__(f"{text}. {remedy}" if remedy else text)

    def in_games(self, games: list[int]) -> ProtocolViolation:
        """The same violation, with other indices of games."""
        fields = ("rule", "player", "round", "expected", "got", "remedy")
        return ProtocolViolation(games=games, **{name: getattr(self, name) for name in fields})


class PlayerError(ArenaError):
    """A player raised an exception of its own, the cause. place: the user's file and line, if any."""

    @classmethod
    def of(cls, error: BaseException, *, player: str, name: str, round: int) -> PlayerError:
        return cls(player, name, round, describe_error(error), locate_error(error))

    def __init__(self, player: str, name: str, round: int, error: str, place: str = "") -> None:
        self.player = player
        self.name = name
        self.round = round
        self.error = error
        self.place = place
        text = f"{player} {name} raised {error} in {_name_round(round)}"
        super().__init__(f"{text} ({place})" if place else text)


class NothingTested(ArenaError):
    """The games of an audit or a search could not have refuted anything, so that passing would be empty."""


class SameReleases(UserWarning):
    """Every game of an audit released the same, so that its data show little of the mechanism."""


class LearnerFails(UserWarning):
    """A learner fails in some of the games, or against some adversaries, which then show little."""


class CannotBeSent(ArenaError):
    """A player holds something that cannot be pickled, so no other process can play with it."""


class PlaysAlone(UserWarning):
    """One process plays everything, since the players cannot be sent to others. Figures are the same."""


class NotConforming(ArenaError):
    """A player fails a check of `arena.testing`: the rule that must hold, and what was observed."""

    def __init__(self, player: str, rule: str, got: str = "", *, lacking: Sequence[str] = ()) -> None:
        self.player = player
        self.rule = rule
        self.got = got
        if lacking:
            self.lacking = lacking
        super().__init__(f"{player} does not conform: {rule}" + (f"; {got}" if got else ""))


class InternalError(Exception):
    """A fault of the arena itself, not of a player or a user."""


def suggest_extra(extra: str, alternative: str = "") -> str:
    """The remedy for a missing optional dependency: the command that installs `extra`, or an alternative."""
    command = f"Run pip install 'dp-arena[{extra}]'"
    return f"{command}, or {alternative}." if alternative else f"{command}."


def count_things(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def describe_error(error: BaseException) -> str:
    """An exception as text: its type, and its message if it has one."""
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def split_numbers(text: str) -> tuple[str, list[float]]:
    """A text of an exception with # in place of each number, and the numbers, so that those with noise do not
    make it another text in every game. Addresses in memory are left out.

    >>> split_numbers("ValueError: -2.5 in <list at 0x7f31> of 3 rows")
    ('ValueError: # in <list at 0x#> of # rows', [-2.5, 3.0])
    """
    numbers: list[float] = []

    def replace(found: re.Match[str]) -> str:
        number = float(found[0])
        if not found[0].lstrip("-").isdigit() or int(found[0]) == number:
            numbers.append(number)
            return "#"
        return found[0]  # an integer that no float equals

    parts = [_NUMBER.sub(replace, part) for part in _ADDRESS.split(text)]
    return _HIDDEN.join(parts), numbers


def hide_addresses(text: str) -> str:
    """A text with the addresses of objects in memory left out, which are no release."""
    return _ADDRESS.sub(_HIDDEN, text)


def publish_error(error: BaseException) -> str | list[str | float]:
    """What stands for an exception where it is an event of the view: its type and text, and the numbers in
    the text."""
    text, numbers = split_numbers(describe_error(error))
    return [f"{_PUBLISHED}{text}", *numbers] if numbers else f"{_PUBLISHED}{text}"


def is_published_error(value: object) -> bool:
    """Whether a released value stands for an exception."""
    text = value[0] if isinstance(value, list) and value else value
    return isinstance(text, str) and text.startswith(_PUBLISHED)


def locate_error(error: BaseException) -> str:
    """The file and the line of the user's code that led to an exception; empty if none did."""
    frames = [(frame.f_code.co_filename, line) for frame, line in walk_tb(error.__traceback__)]
    lines = [place for place in frames if is_users_file(place[0])]
    return format_place(*lines[-1]) if lines else ""


def is_users_file(path: str) -> bool:
    """Whether a file belongs neither to dp-arena nor to Python or an installed package."""
    return not path.startswith(_NOT_THE_USERS) and not _PACKAGES.search(path)


def format_place(path: str, line: int) -> str:
    try:
        here = os.path.join(os.getcwd(), "")
    except OSError:  # the folder was deleted
        here = ""
    return f"{path.removeprefix(here)}, line {line}"


def _name_round(round: int) -> str:
    return "the training phase" if round == 0 else f"round {round}"


def _list_games(games: list[int] | None) -> str:
    if games is None:
        return ""
    shown = ", ".join(str(g) for g in games[:_MOST_GAMES])
    more = f" and {len(games) - _MOST_GAMES} more" if len(games) > _MOST_GAMES else ""
    return f", game{'s' if len(games) > 1 else ''} {shown}{more}"
