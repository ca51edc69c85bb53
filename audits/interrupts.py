"""Ctrl-C at moments that bear it."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread


@contextmanager
def held_back() -> Iterator[None]:
    """Ctrl-C waits until the end of this, so that nothing is left half done; in the main thread, where it
    arrives."""
    before = signal.getsignal(signal.SIGINT)
    if current_thread() is not main_thread() or before is None:  # None: set by what is not Python
        yield
        return
    came: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if came:
            signal.raise_signal(signal.SIGINT)
