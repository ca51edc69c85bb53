"""What a worker sends back, what it is checked for, and how work is opened there.

A worker may be another process, another machine, or a machine whose memory fails. So what it sends says whose
block it is, what it was made with, and has a checksum; and it is checked before anything of it is used.
"""

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
from audits.runs.plan import versions

RESULT, ERROR, UNOPENED = "result", "error", "unopened"
_MOST_OPENED = 8  # plans of runs that share a worker

_OPENED: dict[str, Callable[[Any], Any]] = {}


@attrs.frozen(kw_only=True)
class Envelope:
    """What came of one task.

    place: of the task among the tasks. kind: RESULT, the ERROR that the call raised, or UNOPENED where the
    work could not be opened there. payload: what came, pickled. checksum: of these three.
    made_with: see `made_with`. where: the worker.
    """

    place: int
    kind: str
    payload: bytes
    checksum: bytes
    made_with: Mapping[str, str]
    where: str

    @classmethod
    def of(cls, place: int, kind: str, content: object) -> Envelope:
        """One of this process."""
        payload = pickle.dumps(content, protocol=pickle.HIGHEST_PROTOCOL)
        return cls(
            place=place,
            kind=kind,
            payload=payload,
            checksum=_checksum(place, kind, payload),
            made_with=made_with(),
            where=f"{socket.gethostname()} (process {os.getpid()})",
        )

    @property
    def whole(self) -> bool:
        """Whether it is what was sent."""
        return self.checksum == _checksum(self.place, self.kind, self.payload)

    @property
    def content(self) -> Any:
        """What it holds; look first whether it is whole."""
        return pickle.loads(self.payload)


@cache
def made_with() -> dict[str, str]:
    """What the bits of a block hang on beside its plan: client and workers must have it in common."""
    return {
        **versions(),
        "Python": platform.python_version().rpartition(".")[0],
        "byte order": sys.byteorder,
    }


def played(parcel: Any, digest: str, place: int, task: Any) -> Envelope:
    """Do one task where this process is: what every worker is asked.

    parcel: the call; or, where it had to travel, its pickle as an array of bytes or as a reference to that in
    the object store of ray. digest: of the pickle, by which it is opened once.
    """
    try:
        call = _opened(parcel, digest)
    except Exception as error:  # its modules may raise anything
        return Envelope.of(place, UNOPENED, describe_error(error))
    try:
        result = call(task)
        return Envelope.of(place, RESULT, result)
    except MemoryError:
        raise  # as one that is ended for want of memory: elsewhere there may be room
    except Exception as error:
        return Envelope.of(place, ERROR, _portable(error))


def _opened(parcel: Any, digest: str) -> Callable[[Any], Any]:
    if callable(parcel):
        return parcel
    if digest not in _OPENED:
        from cloudpickle import loads  # slow to import, and not needed where nothing travels

        call = loads(_fetched(parcel))
        while len(_OPENED) >= _MOST_OPENED:
            _OPENED.pop(next(iter(_OPENED)))
        _OPENED[digest] = call
    return _OPENED[digest]


def _fetched(parcel: Any) -> Any:
    ray = sys.modules.get("ray")  # it is there if it brought the parcel
    return ray.get(parcel) if ray is not None and isinstance(parcel, ray.ObjectRef) else parcel


def _portable(error: Exception) -> Exception:
    """The error, with where it came from; another that says the same where it cannot be pickled."""
    where = "".join(traceback.format_exception(error))
    try:
        again = pickle.loads(pickle.dumps(error))
    except Exception:  # an error of a player's own may do anything
        again = RuntimeError(describe_error(error))
    return _Traced(again, where)


class _Traced(Exception):
    """An error and the traceback that it had in the worker."""

    def __init__(self, error: Exception, where: str) -> None:
        self.error, self.where = error, where
        super().__init__(error, where)


def raised(content: Any) -> Exception:
    """The error of an envelope, ready to be raised here; `--debug` shows where it came from there."""
    error: Exception = content.error
    error.add_note(f"In a worker:\n{content.where}")
    return error


def _checksum(place: int, kind: str, payload: bytes) -> bytes:
    return sha256(f"{place} {kind} ".encode() + payload).digest()
