"""Mechanisms whose calls another process can watch: since when the present one runs, and whether it forked.

The state is a file of two numbers, mapped into memory by both processes, since the code of a mechanism may
hold the interpreter and never give it back.
"""

from __future__ import annotations

import functools
import inspect
import mmap
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

from arena.errors import RAISED, describe_error
from arena.parcels import is_model

_SIZE = 16  # bytes: the time at which the present call began, 0 outside of calls; and the number of forks
Rebuild = tuple[Callable[..., Any], tuple[Any, ...]]


class CallState:
    """The state of the calls of a process, in a file that `create` has made."""

    def __init__(self, path: Path) -> None:
        with path.open("r+b") as file:
            self._numbers = memoryview(mmap.mmap(file.fileno(), _SIZE)).cast("d")
        self.calls, self.failed, self.failure = 0, 0, ""  # of this process; what was raised first

    @classmethod
    def create(cls, path: Path) -> Self:
        """The state in a new file."""
        path.write_bytes(bytes(_SIZE))
        return cls(path)

    def watch(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, whose calls are noted, and whose forks end: see `end_forks`."""
        numbers, guarded = self._numbers, end_forks(function)

        @functools.wraps(function)
        def call(*arguments: Any, **named: Any) -> Any:
            outer = numbers[0]
            numbers[0] = outer or time.monotonic()
            self.calls += 1
            try:
                return guarded(*arguments, **named)
            except RAISED as error:
                self.failed += 1
                self.failure = self.failure or describe_error(error)
                raise
            finally:
                numbers[0] = outer

        return call

    def count_forks(self) -> None:
        """Count the forks of this process during calls, from now on."""
        os.register_at_fork(before=self._note_fork)

    def _note_fork(self) -> None:
        self._numbers[1] += bool(self._numbers[0])

    @property
    def seconds(self) -> float:
        """For how long the present call has been running; 0 if there is none."""
        begun = self._numbers[0]
        return time.monotonic() - begun if begun else 0.0

    @property
    def forks(self) -> int:
        return int(self._numbers[1])


def end_forks(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function. A process that it forks ends where the function returns there, and plays no games."""

    def call(*arguments: Any, **named: Any) -> Any:
        process = os.getpid()
        try:
            return function(*arguments, **named)
        finally:
            if os.getpid() != process:
                os._exit(0)

    return call


def watch_mechanism(mechanism: Any, state: CallState, rebuild: Rebuild) -> Any:
    """The mechanism, whose calls are noted. rebuild: a function and its arguments, the last of which is
    the name of the entry, that make it in another process. Learners, their names and coroutine functions are
    left as they are."""
    if is_model(mechanism):
        kind: Any = mechanism
        while isinstance(kind, functools.partial):
            kind = kind.func
        kind = kind if inspect.isclass(kind) else type(kind)
        kind.fit = state.watch(kind.fit)  # this process is there for this mechanism alone
        return mechanism
    if not callable(mechanism) or any(
        map(inspect.iscoroutinefunction, (mechanism, type(mechanism).__call__))
    ):
        return mechanism
    return WatchedFunction(mechanism, rebuild, state)


class WatchedFunction:
    """A function whose calls are noted, with its signature and the name of its entry. A copy of it makes the
    function anew, and notes nothing."""

    def __init__(self, function: Any, rebuild: Rebuild, state: CallState | None = None) -> None:
        self.function, self._rebuild = function, rebuild
        self._call = end_forks(function) if state is None else state.watch(function)
        self.__name__ = self.__qualname__ = rebuild[1][-1]
        self.__wrapped__ = function  # for its signature

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return self._call(*arguments, **named)

    def __reduce__(self) -> Any:
        return _copy, self._rebuild


def _copy(make: Callable[..., Any], arguments: tuple[Any, ...]) -> WatchedFunction:
    return WatchedFunction(make(*arguments), (make, arguments))
