"""Failures of learners: what they raise, in which games, and what is said of it."""

from __future__ import annotations

import inspect
import warnings

from arena import (
    Adversary,
    ArenaError,
    BudgetExceeded,
    InvalidArgument,
    Learner,
    LearnerFails,
    NotConforming,
    NothingTested,
    PlayerError,
    Referee,
    play,
)
from arena.errors import UnknownRelease, describe_error, format_place, is_users_file, locate_error
from arena.testing import check_learner
from audits.registry.received import describe_received

REFUSALS = (PlayerError, InvalidArgument, BudgetExceeded)  # what a learner raises that cannot play a game
_FIRST_GAMES, _FIRST_CALLS = 64, 8
_checked: set[Learner] = set()  # learners that have passed `check_learner` in this process


def warn_of_failures(learner: Learner, first: str, failures: int, tried: int, where: str) -> None:
    """Warn that the learner failed. where: what it failed in, as "in {} first games"."""
    share = where.format(f"{failures:,} of {tried:,}") + f" ({100 * failures / tried:.3g} %)"
    warnings.warn(f"{learner.own_name} failed {share}; first: {first}", LearnerFails, stacklevel=3)


def refuse_failures(learner: Learner, first: str, where: str) -> NothingTested:
    """The error for a learner that always failed. first: what it raised; empty if there was no game. where:
    as "in all 64 first games"."""
    if not first:
        return NothingTested(
            f"no adversary could be made for {learner.own_name}, so nothing was tested. Give data with more "
            "records or other values, or an adversary."
        )
    received = describe_received(learner)
    return NothingTested(
        f"{learner.own_name} failed, or declined to play, {where}, so nothing was tested; first: {first}. "
        + (f"It received {received}. " if received else "")
        + "Fix the learner, or set what it needs."
    )


def find_failure(learner: Learner, adversary: Adversary, referee: Referee) -> PlayerError | None:
    """The first failure of a learner that is its own and no refusal, in a few games in each world, if any."""
    games = _FIRST_CALLS if learner.one_call_a_game else _FIRST_GAMES
    failure = play(learner, adversary, referee, games=games, seed=0, faults=True).failure
    return None if failure is None or isinstance(failure.__cause__, ArenaError) else failure


def fails_sometimes(learner: Learner, adversary: Adversary, referee: Referee, error: PlayerError) -> bool:
    """Whether `error` is the learner's own, and it raises in some games but not in all: this is seen."""
    if error.player != "learner" or isinstance(error.__cause__, ArenaError | MemoryError):
        return False
    if not referee.two_worlds:
        return False
    played = play(learner, adversary, referee, games=_FIRST_GAMES, seed=0, faults=True)
    return played.failed is not None and 0 < played.failed.sum() < len(played.failed)


def check_learner_first(learner: Learner) -> None:
    """Check a learner before its claim is tested, once in a process. Raises: NotConforming; UnknownRelease.

    A learner that raises or refuses in games of the check is left to the test, which says how often it does.
    """
    if learner in _checked:
        return
    try:
        check_learner(learner)
    except UnknownRelease:
        raise
    except REFUSALS:
        return
    except NotConforming as error:
        if isinstance(error.__cause__, REFUSALS):
            return
        raise
    _checked.add(learner)


def describe_failure(error: ArenaError, learner: Learner) -> str:
    """What a learner raised, and where: the line that did, or that of the learner's definition."""
    text = str(error) if isinstance(error, PlayerError) else describe_error(error)
    if isinstance(error, PlayerError) and error.place:
        return text
    place = locate_error(error) or _locate_definition(learner)
    return f"{text} ({place})" if place else text


def _locate_definition(learner: Learner) -> str:
    try:
        path, line = inspect.getsourcefile(type(learner)) or "", inspect.getsourcelines(type(learner))[1]
    except (TypeError, OSError):  # its source is gone
        return ""
    return format_place(path, line) if path and is_users_file(path) else ""
