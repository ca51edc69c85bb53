"""Limits of a run in calls and in seconds, and how long a run will take.

One call of a function plays one game. All calls count: those of both worlds, of searches and of checks.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext, suppress
from contextvars import ContextVar
from math import inf
from typing import Any, Protocol, Self, TypeVar

from arena import Adversary, InvalidArgument, Learner, Referee, play
from arena.engine import add_games, count_games, set_deadline
from arena.errors import RAISED
from arena.settings import at_least, check_value, more_than, number, whole

CALLS, SECONDS = "max_calls", "max_seconds"
_REASONS = {CALLS: "it would have made more calls than max_calls", SECONDS: "max_seconds have passed"}
CHECKING_CALLS = 500  # of the checks of a function before its games
_FEW_CHECKING_CALLS = 120  # the same, if the run makes few calls
_OWN_COINS_CALLS = 180  # added to these, if the function draws random numbers of its own
_SCARCE = 5 * CHECKING_CALLS  # calls of a run, up to which its checks are few
_LEAST_GAMES = 40  # calls that a limit leaves for games that count, at least
CHECKED_AGAIN = 32  # calls after a refutation, to see that a learner remembers nothing
_REPEATED = 0.1  # share of games, but at least the first block, that may be played again
_PROBING = 0.25  # share of a limit for games that only show what is worth playing
_LONG = 10.0  # seconds, from which on a cost is announced
_MEASURABLE = 0.02  # seconds that the clock measures well
_LONG_GAME = 1.0  # seconds, so that its modules do not matter
_LONG_BATCH = 0.2  # seconds that few games take, so that many are not timed
_FEW_GAMES, _MANY_GAMES = 16, 256  # that are timed, where each is a call and elsewhere
_REPETITIONS = 3  # of which the shortest counts, since other processes may interrupt
_TIMED_CALLS = 1 + _REPETITIONS * (1 + _FEW_GAMES)  # of a function, at most
_FEW_TIMED_CALLS = 1 + _REPETITIONS
_UNITS = (("day", 86_400), ("hour", 3_600), ("minute", 60), ("second", 1))
LOGGER = logging.getLogger("audits")
clock = time.monotonic
_T = TypeVar("_T")


class SupportsIndexing(Protocol):
    """What has an integer for an index, as the sizes of blocks."""

    def __getitem__(self, index: int, /) -> int: ...


class TimeIsOver(BaseException):  # no Exception, which learners may catch
    """Games were being played when `max_seconds` had passed."""


class Limits:
    """The limits of a run that has begun, None for none, and the calls that it has made so far.

    max_calls: games of both worlds and of checks. max_seconds: of the clock, from now on. They decide when a
    run stops, and what a search does before, and no figure otherwise. Use it in a `with` statement, within
    which calls are counted. Raises: InvalidArgument.
    """

    def __init__(self, max_calls: int | None = None, max_seconds: float | None = None) -> None:
        if max_calls is not None:
            check_value(CALLS, max_calls, whole, at_least(1))
        if max_seconds is not None:
            check_value(SECONDS, max_seconds, number, more_than(0))
        self.max_calls, self.max_seconds = max_calls, max_seconds
        self.reached = ""  # by which the run was stopped
        self._begin = clock()
        self._end = inf if max_seconds is None else self._begin + max_seconds
        self._stack = ExitStack()
        self._count: Any = None
        self._probing_calls, self._probing_seconds = 0, 0.0
        self._probing_rate: float | None = None  # seconds a call

    def __enter__(self) -> Self:
        self._count = self._stack.enter_context(count_games())
        if self.given:
            self._stack.callback(_limits.reset, _limits.set(self))
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    @property
    def given(self) -> bool:
        """Whether there is any limit."""
        return self.max_calls is not None or self.max_seconds is not None

    @property
    def calls(self) -> int:
        """The calls so far."""
        return self._count.games if self._count is not None else 0

    @property
    def calls_left(self) -> float:
        return inf if self.max_calls is None else self.max_calls - self.calls

    @property
    def whole_calls_left(self) -> int | None:
        """The calls that are left, at least 1; None without a limit."""
        return None if self.max_calls is None else max(1, self.max_calls - self.calls)

    def estimate_calls_left(self) -> float:
        """The calls that are left, or that the seconds left allow if calls take as long as those so far."""
        each = self._seconds_a_call
        return min(self.calls_left, (self._end - clock()) / each if each else inf)

    @property
    def seconds_left(self) -> float | None:
        """The seconds that are left, above 0; None without a limit."""
        return None if self.max_seconds is None else max(1e-3, self._end - clock())

    def find_reached(self, calls: int = 0) -> str:
        """The limit that so many further calls would exceed: "max_calls", "max_seconds", or "" for none. They
        are taken to last as long as those so far."""
        if calls > self.calls_left:
            return CALLS
        return SECONDS if self._is_late(calls) else ""

    def _is_late(self, calls: float) -> bool:
        return clock() + calls * self._seconds_a_call >= self._end

    @property
    def _seconds_a_call(self) -> float:
        return (clock() - self._begin) / self.calls if self.calls else 0.0

    def end_in_time(self, calls: float = 0) -> AbstractContextManager[None]:
        """Within it, games end when `max_seconds` have passed, or earlier by the time of `calls` that follow.
        Raises: TimeIsOver, before a call of a user's code."""
        return self._end_at(self._end - calls * self._seconds_a_call)

    def end_in_time_before_checks(self, learner: Learner) -> AbstractContextManager[None]:
        """As `end_in_time`, with time for the checks at the end of a run."""
        return self.end_in_time(self._count_checks(0, learner))

    def _end_at(self, end: float) -> AbstractContextManager[None]:
        def check() -> None:
            if clock() >= end:
                raise TimeIsOver

        return nullcontext() if end == inf else set_deadline(check)

    def try_probing(self, calls: int, probe: Callable[[], _T], time_call: Callable[[], float]) -> _T | None:
        """What `probe` returns, which makes so many calls, or None if they exceed the share of the limits
        that is for games that only show what is worth playing. time_call: plays a few, and returns the
        seconds of one."""
        if self._probing_rate is None:
            self._probing_rate = 0.0 if self.max_seconds is None else time_call()
        seconds = self._probing_seconds + calls * self._probing_rate
        if self.max_calls is not None and self._probing_calls + calls > _PROBING * self.max_calls:
            return None
        if self.max_seconds is not None and seconds > _PROBING * self.max_seconds:
            return None
        begin, found = clock(), None
        left = inf if self.max_seconds is None else _PROBING * self.max_seconds - self._probing_seconds
        with suppress(TimeIsOver), self._end_at(min(self._end, begin + left)):
            found = probe()
        seconds = clock() - begin
        self._probing_rate = seconds / calls
        self._probing_calls += calls
        self._probing_seconds += seconds
        return found

    def find_reached_before(self, calls: int, learner: Learner) -> str:
        """As `find_reached`, with time for the checks at the end of a run."""
        reached = self.find_reached(calls + CHECKED_AGAIN)
        return reached or (SECONDS if self._is_late(calls + self._count_checks(calls, learner)) else "")

    def _count_checks(self, calls: int, learner: Learner) -> float:
        """Calls of the checks that follow after so many further ones, some of which are played again."""
        return CHECKED_AGAIN + (_REPEATED * (self.calls + calls) if learner.one_call_a_game else 0.0)

    def keep_affordable(self, missing: Sequence[int], sizes: SupportsIndexing) -> Sequence[int]:
        """The first of the missing blocks, by index, for which the calls suffice, with checks that follow.
        sizes: of all blocks, in pairs."""
        if self.max_calls is None:
            return missing
        left = self.calls_left - CHECKED_AGAIN - 2 * (sizes[0] + 1)
        for place, index in enumerate(missing):
            left -= 2 * (sizes[index] + _REPEATED * (sizes[index] + 1))
            if left < 0:
                return missing[:place]
        return missing

    def count_elsewhere(self, calls: int) -> None:
        """Count calls that a worker has made."""
        add_games(calls)


_limits: ContextVar[Limits | None] = ContextVar("limits", default=None)


def find_limits() -> Limits | None:
    """Those of the run in progress, if it has any."""
    return _limits.get()


def explain_stop(reached: str) -> str:
    """A sentence for reports; empty if no limit was reached."""
    return f"Stopped, since {_REASONS[reached]}." if reached else ""


def makes_few_calls(learner: Learner, calls: float, seconds: float = 0.0) -> bool:
    """Whether a run is short, or its limits are, so that checks have to be few, too.

    calls: of the run without limits. seconds: of a call; 0 if it is not known.
    """
    limits = find_limits()
    if not learner.one_call_a_game:
        return False
    if limits is not None and limits.max_calls is not None:
        calls = min(calls, limits.max_calls)
    if limits is not None and limits.max_seconds is not None:
        calls = min(calls, limits.max_seconds / seconds if seconds else 0.0)
    return calls < _SCARCE


def count_checking_calls(learner: Learner, *, few: bool) -> int:
    """Calls that the checks of a function make before its games, at most. few: as of `makes_few_calls`."""
    if not few:
        return CHECKING_CALLS
    return _FEW_CHECKING_CALLS + (_OWN_COINS_CALLS if learner.own_coins else 0)


def check_enough(learner: Learner, max_calls: int | None, least: int = _LEAST_GAMES) -> None:
    """Refuse a number of calls that leaves fewer than `least` for games that count, where each is a call.
    Raises: InvalidArgument."""
    if max_calls is None or not learner.one_call_a_game:
        return
    checks = count_checking_calls(learner, few=max_calls < _SCARCE)
    if max_calls < checks + least:
        raise InvalidArgument(
            f"{CALLS} must be at least {checks + least:,}, of which checks take up to {checks}",
            value=max_calls,
            remedy="Allow more calls.",
        )


# --- costs -------------------------------------------------------------------------------------------------


def time_game(
    learner: Learner, adversary: Adversary, referee: Referee, *, faults: bool = False, few: bool = False
) -> float:
    """Seconds that a game takes, by 4 calls of a slow function or 52 of a fast one, which count as 52; 0 if
    it cannot play. few: by 4 calls, which count as 4."""

    def time_games(games: int) -> float:
        start = clock()
        play(learner, adversary, referee, games=games, seed=0, faults=faults)
        return clock() - start

    def time_often(games: int) -> float:
        return min(time_games(games) for _ in range(_REPETITIONS))

    with count_games() as count:
        try:
            first = time_games(1)  # which may load modules
            single = first if first > _LONG_GAME else time_often(1)
            if single > _LONG_GAME or few or (learner.one_call_a_game and single >= _MEASURABLE):
                return single
            if learner.one_call_a_game:
                return max(0.0, time_often(_FEW_GAMES) - single) / (_FEW_GAMES - 1)
            batch = time_games(_FEW_GAMES)  # together, so that they share what the start of a batch costs
            return batch / _FEW_GAMES if batch > _LONG_BATCH else time_often(_MANY_GAMES) / _MANY_GAMES
        except RAISED:  # the run will show it
            return 0.0
        finally:  # so that a limit in calls leaves as many to a run, however fast this machine is
            if learner.one_call_a_game:
                add_games(max(0, (_FEW_TIMED_CALLS if few else _TIMED_CALLS) - count.games))


def announce_cost(
    learner: Learner,
    calls: float,
    seconds: float,
    limits: Limits,
    announce: Callable[[str], None] | None = None,
    *,
    checks: int = 0,
    repeated: int = 0,
    jobs: int = 1,
) -> None:
    """Say how many calls follow at most and how long they take at least, if that is over ten seconds: by
    default as a warning of the log `audits`.

    calls: of games that count. checks: further calls. repeated: calls of games that are played again, a share
    of those that count. seconds: of a call. jobs: processes that play games.
    Raises: InvalidArgument if the time is too short.
    """
    needed = (count_checking_calls(learner, few=True) + _LEAST_GAMES) * seconds
    if learner.one_call_a_game and limits.max_seconds is not None and needed > limits.max_seconds:
        raise InvalidArgument(
            f"{SECONDS} must allow {count_checking_calls(learner, few=True)} calls for checks and "
            f"{_LEAST_GAMES} for games, and a call of {learner.own_name} takes {_describe_seconds(seconds)}",
            value=limits.max_seconds,
            remedy=f"Allow more than {needed:.0f} s.",
        )
    shortest = (checks + (calls + repeated) / jobs) * seconds if seconds else 0.0
    calls += checks + repeated
    if limits.max_calls is not None and calls > limits.max_calls:
        calls = limits.max_calls
        shortest = (min(checks, calls) + max(calls - checks, 0) / jobs) * seconds
    is_limited = limits.max_seconds is not None and shortest > limits.max_seconds
    if is_limited:
        shortest, calls = limits.max_seconds or 0.0, (limits.max_seconds or 0.0) * jobs / seconds
    checks = int(min(checks + min(repeated, _REPEATED * calls), calls))
    if not shortest > _LONG:
        return
    bounds = "" if limits.given else "; max_calls and max_seconds set limits"
    lasts = _describe_seconds(shortest)
    duration = lasts if is_limited else f"at least {lasts.removeprefix('about ')}"
    share = f", up to {checks:,} of them for checks" if checks else ""
    text = (
        f"{learner.own_name}: at most {int(calls):,} calls{share}, of {_describe_seconds(seconds)} each, "
        f"{duration} in all{bounds}"
    )
    (LOGGER.warning if announce is None else announce)(text)


def _describe_seconds(seconds: float) -> str:
    """About so long, with its unit."""
    if seconds < 1:
        return f"{1_000 * seconds:.2g} ms"
    unit, length = next((unit, length) for unit, length in _UNITS if seconds >= length)
    count = f"{seconds / length:.2g}" if seconds < 100 * length else f"{seconds / length:,.0f}"
    return f"about {count} {unit}{'' if count == '1' else 's'}"
