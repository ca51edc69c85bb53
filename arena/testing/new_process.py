"""Calls in new processes, where nothing has been played yet.

On Linux one process that has only imported the arena forks a new one for every call, in hundredths of a
second. Elsewhere every call starts an interpreter. A call that cannot be sent is made in a copy of this
process.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import pickle
import signal
import socket
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from importlib import import_module
from typing import Any, BinaryIO, TypeVar

import numpy as np

from arena.engine import add_games, count_games
from arena.errors import CannotBeSent, NotConforming, describe_error
from arena.parcels import pack, unpack

Result = TypeVar("Result")
_Ask = Generator["bytes | None", None, None]

_SECONDS = 300  # for a call
_COPIED = (
    "it cannot be sent to another process ({}), so that was a copy of this one, without its event loop, "
    "threads and devices: give the mechanism by make=, a function that makes it in each process"
)
_FORKS = sys.platform == "linux"
_PR_SET_PDEATHSIG = 1  # of Linux' prctl
_SERVE = "from arena.testing.new_process import serve; serve()"
# What the process that forks the others imports once: modules with these prefixes that are imported here.
imported_once = ["arena.", "learners.", "adversaries."]
_ANSWER = "from arena.testing.new_process import answer_stdin; answer_stdin()"
_inside = False  # whether this process is one of the new ones
_server: tuple[int, subprocess.Popen[bytes], socket.socket] | None = None  # with the process that started it


def call_in_new_processes(name: str, calls: Sequence[Callable[[], Result]]) -> list[Result]:
    """The results of calls, each in a new process, all at a time. Raises: NotConforming of the player `name`
    if a call fails or takes longer than five minutes, or if this process is itself one of the new ones."""
    # A file that audits its players whenever it is imported would otherwise start processes without end.
    if _inside:
        raise NotConforming(
            name,
            "a file with players can be imported without an audit",
            "importing it starts an audit: put the audit under `if __name__ == '__main__':`",
        )
    hint = ""
    try:
        asks = [_ask(pickle.dumps((dict(os.environ), list(sys.path), pack(call)))) for call in calls]
    except CannotBeSent as error:
        if not _FORKS:
            raise NotConforming(
                name,
                "it can be sent to another process",
                f"pickling it raised {error}; give the mechanism by make=, a function that makes it there",
            ) from error
        asks = [_ask_copy(call) for call in calls]
        hint = f"; {_COPIED.format(error)}"
    try:
        starts = [next(ask) for ask in asks]  # of one that failed already, its answer
        return [_read(name, next(ask, start), hint) for ask, start in zip(asks, starts, strict=True)]
    finally:
        for ask in asks:
            ask.close()


def _read(name: str, answer: bytes | None, hint: str) -> Any:
    if answer is None:
        raise NotConforming(
            name,
            f"a new process plays some games with it within {_SECONDS} s",
            f"it was still playing: make it faster{hint}",
        )
    done, result, games = (
        pickle.loads(answer) if answer else (False, "the process ended without its games", 0)
    )
    add_games(games)
    if not done:
        raise NotConforming(name, "it can play in a new process", result + hint)
    return result


def _ask(request: bytes) -> _Ask:
    """Send a request to a new process, yield None, and then the answer: empty if the process ended without
    one, None if it took too long."""
    if _FORKS:
        ours, theirs = socket.socketpair()
        with theirs:
            socket.send_fds(_start_server(), [b"+"], [theirs.fileno()])
        yield from _exchange(ours, request)
        return
    with subprocess.Popen(
        [sys.executable, "-c", _ANSWER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=os.environ | {"PYTHONPATH": _join_path()},
    ) as process:
        try:
            yield None
            with suppress(subprocess.TimeoutExpired):
                yield process.communicate(request, timeout=_SECONDS)[0]
            yield None
        finally:
            process.kill()


def _ask_copy(call: Callable[[], Any]) -> _Ask:
    ours, theirs = socket.socketpair()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Python and JAX warn of threads, which wait meanwhile
        child = os.fork()
    if not child:
        try:
            ours.close()
            _answer(theirs, lambda _: call())
        finally:
            os._exit(0)
    theirs.close()
    try:
        yield from _exchange(ours, b"")
    finally:
        os.waitpid(child, 0)


def _exchange(connection: socket.socket, request: bytes) -> _Ask:
    """As `_ask`, with a process that tells its number first; it is ended if it does not answer in time."""
    end, process, answer = time.monotonic() + _SECONDS, 0, bytearray()
    try:
        connection.settimeout(_SECONDS)
        connection.sendall(request)
        connection.shutdown(socket.SHUT_WR)
        process = int.from_bytes(connection.recv(8), "big")
        yield None
        part = b"+"
        while part:
            connection.settimeout(max(0.001, end - time.monotonic()))
            part = connection.recv(2**20)
            answer += part
        process = 0
        yield bytes(answer)
    except TimeoutError:
        yield None
    except OSError:
        yield b""
    finally:
        connection.close()
        if process:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)


def _start_server() -> socket.socket:
    global _server
    if _server is None or _server[0] != os.getpid() or _server[1].poll() is not None:
        names = [name for name in sys.modules if name.startswith(tuple(imported_once))]
        ours, theirs = socket.socketpair()
        with theirs:
            process = subprocess.Popen(
                [sys.executable, "-c", _SERVE, *names],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=os.environ | {"PYTHONPATH": _join_path()},
                start_new_session=True,  # so that Ctrl-C does not reach it
            )
        _server = os.getpid(), process, ours
        atexit.register(_end_server, *_server)
    return _server[2]


def _join_path() -> str:
    return os.pathsep.join(filter(None, sys.path))


def _end_server(owner: int, process: subprocess.Popen[bytes], connection: socket.socket) -> None:
    if owner == os.getpid():
        connection.close()
        process.wait()


def serve() -> None:
    """Fork a process for every connection that comes through standard input, until that is closed."""
    control = socket.socket(fileno=0)
    for name in ("cloudpickle", *sys.argv[1:]):
        with suppress(Exception):
            import_module(name)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # so that nothing has to wait for them
    while connections := socket.recv_fds(control, 1, 1)[1]:
        if not os.fork():
            try:
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                control.detach()
                np.random.seed()  # noqa: NPY002 - copies of a process would draw the same
                _answer(socket.socket(fileno=connections[0]), _perform)
            finally:
                os._exit(0)
        os.close(connections[0])


def answer_stdin() -> None:
    """Answer the one request of standard input."""
    with os.fdopen(os.dup(1), "wb") as out:
        _write_answer(sys.stdin.buffer, out, _perform)


def _answer(connection: socket.socket, perform: Callable[[bytes], Any]) -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)  # it ends with the process that forked it
    connection.sendall(os.getpid().to_bytes(8, "big"))
    with connection, connection.makefile("rb") as request, connection.makefile("wb") as out:
        _write_answer(request, out, perform)


def _write_answer(request: BinaryIO, out: BinaryIO, perform: Callable[[bytes], Any]) -> None:
    content = request.read()
    # Whatever a mechanism or its libraries print is lost.
    null = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(null, number)
    with count_games() as count:
        try:
            answer = True, perform(content)
        except BaseException as error:  # the user's code may raise anything
            answer = False, describe_error(error)
    out.write(pickle.dumps((*answer, count.games)))
    out.flush()


def _perform(request: bytes) -> Any:
    global _inside
    _inside = True
    environment, path, call = pickle.loads(request)
    os.environ.clear()
    os.environ.update(environment)
    sys.path[:] = path
    return unpack(call)()
