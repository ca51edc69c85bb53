"""The same call on many things, by several processes, with the results in order."""

from __future__ import annotations

import signal
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import takewhile
from threading import Event, current_thread, main_thread
from typing import TypeVar

Given = TypeVar("Given")
Result = TypeVar("Result")

# Workers that outrun this process would pile up results, so it hands out so many tasks at a time.
_WAVE = 64


def in_order(
    call: Callable[[Given], Result], tasks: Sequence[Given], jobs: int
) -> Generator[Result, None, None]:
    """What `call` makes of every task, in their order. jobs: processes; with one, they are called here.

    It may be closed early: then no task is begun any more, and those that were are waited for.
    """
    if jobs == 1 or len(tasks) <= 1:
        yield from map(call, tasks)
        return
    from joblib import Parallel, delayed  # slow to import, and not needed for one job

    stopping = Event()
    # One task at a time and few ahead, so that a run which stops early has little to wait for.
    with Parallel(n_jobs=jobs, return_as="generator", batch_size=1, pre_dispatch="2*n_jobs") as parallel:
        for start in range(0, len(tasks), _WAVE):
            wave = tasks[start : start + _WAVE]
            calls = (delayed(call)(task) for task in takewhile(lambda _: not stopping.is_set(), wave))
            with _no_interrupt():
                results = parallel(calls)
            try:
                for result in results:  # noqa: UP028 - "yield from" would close it with tasks under way
                    yield result
            finally:
                stopping.set()
                with suppress(Exception):
                    deque(results, maxlen=0)
            stopping.clear()


@contextmanager
def _no_interrupt() -> Iterator[None]:
    """Let the workers that start here ignore Ctrl-C: it reaches them too, and one that dies of it half-way
    through a message would be waited for for ever. This process stops them in order."""
    if current_thread() is not main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
