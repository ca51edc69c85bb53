"""Deferring or ignoring Ctrl-C (SIGINT) in critical sections."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from threading import current_thread, main_thread
from typing import Any


def ignore_interrupts() -> AbstractContextManager[None]:
    """Ignore SIGINT, so that processes started inside ignore it too.

    Ctrl-C reaches every process of the terminal. A worker that it ends in the middle of a message would leave
    this process waiting for the rest; this process stops its workers itself.
    """
    return _handle_interrupts(signal.SIG_IGN)


@contextmanager
def defer_interrupts() -> Iterator[None]:
    """Deliver SIGINT only at the end, so that nothing is left half done."""
    interrupts: list[int] = []
    try:
        with _handle_interrupts(lambda number, _: interrupts.append(number)):
            yield
    finally:
        if interrupts:
            signal.raise_signal(signal.SIGINT)


@contextmanager
def _handle_interrupts(handler: Any) -> Iterator[None]:
    """Install a handler of SIGINT. Does nothing outside the main thread, where Python never runs handlers."""
    previous = signal.getsignal(signal.SIGINT)  # None if code that is not Python installed it
    if current_thread() is not main_thread() or previous is None:
        yield
        return
    signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)
