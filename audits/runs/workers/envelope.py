"""What a worker sends back: a result with its task's number, the software, and a checksum, to be checked."""

from __future__ import annotations

import os
import pickle
import platform
import socket
import sys
import traceback
from collections.abc import Callable, Mapping
from functools import cache
from hashlib import sha256
from typing import Any

import attrs

from arena.errors import describe_error
from arena.parcels import unpack
from audits.registry.origins import versions

RESULT, ERROR, MISSING, UNOPENED = "result", "error", "missing", "unopened"
_MAX_CALLS = 8  # of runs that share a worker

_CALLS: dict[str, Callable[[Any], Any]] = {}


@attrs.frozen(kw_only=True)
class Envelope:
    """The outcome of one task.

    place: of the task among the tasks. kind: RESULT, the ERROR that the call raised, MISSING if the worker
    does not have the call, or UNOPENED if that could not be unpickled. payload: the content, pickled.
    checksum: of these three. software: see `software`. worker: its name.
    """

    place: int
    kind: str
    payload: bytes
    checksum: bytes
    software: Mapping[str, str]
    worker: str

    @classmethod
    def of(cls, place: int, kind: str, content: object) -> Envelope:
        """An envelope of this process."""
        payload = pickle.dumps(content, protocol=pickle.HIGHEST_PROTOCOL)
        return cls(
            place=place,
            kind=kind,
            payload=payload,
            checksum=_checksum(place, kind, payload),
            software=software(),
            worker=f"{socket.gethostname()} (process {os.getpid()})",
        )

    @property
    def is_intact(self) -> bool:
        """Whether it matches its checksum."""
        return self.checksum == _checksum(self.place, self.kind, self.payload)

    @property
    def content(self) -> Any:
        """The content, unpickled. Check first that the envelope is intact."""
        return pickle.loads(self.payload)


@cache
def software() -> dict[str, str]:
    """What the bits of a block depend on besides its plan: client and workers must have the same."""
    python = platform.python_version().rpartition(".")[0]
    return {**versions(), "Python": python, "byte order": sys.byteorder}


def perform(digest: str, parcel: Any, place: int, task: Any) -> Envelope:
    """Do one task in this process: the function that every worker is asked to call.

    digest: of the pickled call, by which it is unpickled only once. parcel: the call itself; or its pickle,
    or None if this process should have unpickled it before.
    """
    try:
        call = parcel if callable(parcel) else _find_call(digest, parcel)
    except Exception as error:  # its modules may raise anything
        return Envelope.of(place, UNOPENED, describe_error(error))
    if call is None:
        return Envelope.of(place, MISSING, None)
    try:
        result = call(task)
        return Envelope.of(place, RESULT, result)
    except MemoryError:
        raise  # as if the worker had been ended for want of memory: another may have enough
    except Exception as error:
        return Envelope.of(place, ERROR, _make_portable(error))


def _find_call(digest: str, parcel: bytes | None) -> Callable[[Any], Any] | None:
    if digest not in _CALLS and parcel is not None:
        call = unpack(parcel)
        while len(_CALLS) >= _MAX_CALLS:
            _CALLS.pop(next(iter(_CALLS)))
        _CALLS[digest] = call
    return _CALLS.get(digest)


def _make_portable(error: Exception) -> tuple[Exception, str]:
    """The error and its traceback; if it cannot be pickled, another one with the same message."""
    trace = "".join(traceback.format_exception(error))
    try:
        copy = pickle.loads(pickle.dumps(error))
    except Exception:  # an error of a player's own may do anything
        copy = RuntimeError(describe_error(error))
    return copy, trace


def restore_error(content: tuple[Exception, str]) -> Exception:
    """The error in an envelope, to be raised here; `--debug` shows its traceback in the worker."""
    error, trace = content
    error.add_note(f"In a worker:\n{trace}")
    return error


def _checksum(place: int, kind: str, payload: bytes) -> bytes:
    return sha256(f"{place} {kind} ".encode() + payload).digest()
