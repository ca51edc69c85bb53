"""What runs in a worker: how it does a task and sends back the result, and how it ends with its parent."""

from __future__ import annotations

import os
import pickle
import platform
import signal
import socket
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Mapping
from functools import cache, partial
from threading import Thread, Timer
from typing import Any

import attrs

from arena.errors import describe_error
from arena.parcels import unpack
from audits.counted_warnings import GivenWarning, count_warnings
from audits.registry.origins import versions
from audits.runs.workers.workers import ENDING

RESULT, ERROR, MISSING, UNOPENED = "result", "error", "missing", "unopened"
_MAX_CALLS = 8  # of runs that share a worker
_LOOK = 0.25  # seconds between two looks at the parent
_GRACE = 2.0  # seconds for the parent to end its workers, of which it needs a few hundredths
_PR_SET_PDEATHSIG = 1  # of Linux' prctl

_calls: dict[str, Callable[[Any], Any]] = {}


@cache
def software() -> dict[str, str]:
    """What the bits of a block depend on besides its plan: client and workers must have the same."""
    python = platform.python_version().rpartition(".")[0]
    return {**versions(), "Python": python, "byte order": sys.byteorder}


@attrs.frozen
class Outcome:
    """The outcome of one task: RESULT; ERROR of the call, with its traceback; MISSING if the worker does not
    have the call, or UNOPENED if that could not be unpickled. warnings: of the call."""

    kind: str
    content: Any = None
    warnings: Counter[GivenWarning] = attrs.field(factory=Counter)
    software: Mapping[str, str] = attrs.field(factory=lambda: software())
    worker: str = attrs.field(factory=lambda: f"{socket.gethostname()} (process {os.getpid()})")


def perform(digest: str, parcel: Any, task: Any) -> Outcome:
    """Do one task in this process, as every worker is asked to.

    digest: of the pickled call. parcel: the call itself; its pickle; or None if it was unpickled before.
    """
    try:
        call = parcel if callable(parcel) else _find_call(digest, parcel)
    except Exception as error:  # its modules may raise anything
        return Outcome(UNOPENED, describe_error(error))
    if call is None:
        return Outcome(MISSING)
    counts: Counter[GivenWarning] = Counter()
    try:
        with count_warnings(lambda given, times: counts.update({given: times})):
            content = call(task)
        return Outcome(RESULT, content, warnings=_keep_portable(counts))
    except MemoryError:
        raise  # as if the worker had been ended for want of memory: another may have enough
    except Exception as error:
        return Outcome(ERROR, _make_portable(error))


def _find_call(digest: str, parcel: bytes | None) -> Callable[[Any], Any] | None:
    if digest not in _calls and parcel is not None:
        call = unpack(parcel)
        while len(_calls) >= _MAX_CALLS:
            _calls.pop(next(iter(_calls)))
        _calls[digest] = call
    return _calls.get(digest)


def _keep_portable(counts: Counter[GivenWarning]) -> Counter[GivenWarning]:
    """The warnings, with classes that every process knows."""
    known = Counter[GivenWarning]()
    for given, times in counts.items():
        is_known = given.category.__module__ in ("builtins", "numpy.exceptions")
        text = given.text if is_known else f"{given.category.__name__}: {given.text}"
        known[GivenWarning(text, given.category if is_known else UserWarning, given.file, given.line)] += (
            times
        )
    return known


def _make_portable(error: Exception) -> tuple[Exception, str]:
    """The error and its traceback; if it cannot be pickled, another one with the same message."""
    trace = "".join(traceback.format_exception(error))
    try:
        return pickle.loads(pickle.dumps(error)), trace
    except Exception:  # an error of a player's own may do anything
        return RuntimeError(describe_error(error)), trace


def start_worker(parent: int, for_thread: bool) -> None:
    """What a process of a pool does first; parent, for_thread: as `end_with_parent` takes them.

    On SIGTERM and SIGHUP it leaves the parent time to end it, lest that wait for the rest of a message.
    """
    end_with_parent(parent, for_thread)
    for number in ENDING[1:]:
        previous = signal.signal(number, _end_later)
        # A process that is forked, as by a player, has the previous handler again.
        os.register_at_fork(after_in_child=partial(signal.signal, number, previous))


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
