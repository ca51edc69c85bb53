"""How the processes of a run end: by Ctrl-C, SIGTERM or SIGHUP, or with the process that started them."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from threading import Thread, Timer, current_thread, main_thread
from typing import Any

_ENDING = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
_LOOK = 0.25  # seconds between two looks at the parent
_GRACE = 2.0  # seconds for the parent to end its workers, of which it needs a few hundredths
_PR_SET_PDEATHSIG = 1  # of Linux' prctl


@contextmanager
def defer_interrupts() -> Iterator[None]:
    """Deliver signals that end a run only at the end, so that nothing is left half done.

    Signals without a handler in Python end the process at once or are ignored, as before. Does nothing
    outside the main thread, where Python never runs handlers.
    """
    arrived: list[int] = []
    try:
        with ExitStack() as stack:
            for number in _ENDING if current_thread() is main_thread() else ():
                previous = signal.getsignal(number)
                if callable(previous):
                    stack.callback(signal.signal, number, previous)
                    signal.signal(number, lambda number, _: arrived.append(number))
            yield
    finally:
        if arrived:
            signal.raise_signal(arrived[0])


@contextmanager
def start_processes() -> Iterator[None]:
    """Defer signals that end a run, and keep SIGINT from all processes that are started inside.

    Ctrl-C reaches every process of the terminal. A worker that it ends in the middle of a message would leave
    this process waiting for the rest; this process stops its workers itself.
    """
    with defer_interrupts():
        if not hasattr(signal, "pthread_sigmask"):
            yield
            return
        # Processes and threads inherit the mask. A process that ignored SIGINT would lose a Ctrl-C.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def handle_signal(number: int, handler: Callable[[int, Any], None]) -> None:
    """Install a handler of a signal. A process that is forked, as by a player, has the previous one again."""
    previous = signal.signal(number, handler)
    os.register_at_fork(after_in_child=partial(signal.signal, number, previous))


def start_worker(parent: int, for_thread: bool) -> None:
    """What a process of a pool does first; parent, for_thread: as `end_with_parent` takes them.

    SIGTERM and SIGHUP often reach all processes of a command, whose parent then ends the workers itself. One
    that ended at once, in the middle of a message, would leave it waiting for the rest.
    """
    end_with_parent(parent, for_thread)
    for number in _ENDING[1:]:
        handle_signal(number, _end_later)


def _end_later(number: int, frame: object) -> None:
    ending = Timer(_GRACE, os._exit, (128 + number,))
    ending.daemon = True
    ending.start()


def end_with_parent(parent: int, for_thread: bool) -> None:
    """Have this process end at most a second after its parent has, however the parent ended.

    parent: the process that started this one. for_thread: whether Linux may end it with the *thread* that
    started it, which works even while a player's C code holds the interpreter.
    """
    if for_thread and sys.platform == "linux":
        import ctypes  # slow to import

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    Thread(target=_watch_parent, args=(parent,), daemon=True).start()


def _watch_parent(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_LOOK)
    os._exit(1)
