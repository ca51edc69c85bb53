"""Ctrl-C at moments that bear it."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread
from typing import Any


@contextmanager
def ignored() -> Iterator[None]:
    """Workers that start in this ignore Ctrl-C: it reaches them too, and one that dies of it half-way through
    a message would be waited for for ever. This process stops them in order."""
    with _handled(signal.SIG_IGN):
        yield


@contextmanager
def held_back() -> Iterator[None]:
    """Ctrl-C waits until the end of this, so that nothing is left half done."""
    came: list[int] = []
    try:
        with _handled(lambda number, _: came.append(number)):
            yield
    finally:
        if came:
            signal.raise_signal(signal.SIGINT)


@contextmanager
def _handled(handler: Any) -> Iterator[None]:
    """Ctrl-C comes to `handler`; in the main thread, where it arrives."""
    before = signal.getsignal(signal.SIGINT)
    if current_thread() is not main_thread() or before is None:  # None: set by what is not Python
        yield
        return
    signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
