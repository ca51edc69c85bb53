"""Running the process of an entry: its output is read, its calls are timed, and it is ended."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, Thread
from typing import IO

import attrs
import psutil

from audits.surveys.catalogue import Entry
from audits.surveys.entry_process import TRACE, EntryTask, describe_entry
from audits.surveys.entry_result import CRASHED, NO_RETURN, TOO_SLOW, EntryResult
from audits.surveys.watched_calls import CallState

_START = "from audits.surveys.entry_process import main; main()"
_LOOK = 0.05  # seconds between two looks at a process
_GRACE = 1.0  # seconds for a process to print where it is
_OVERRUN, _MORE = 2.0, 15.0  # times the time of an entry, and seconds, after which it is ended
_KEPT = 4_000  # bytes of the beginning and of the end of the output
_FATAL = "Fatal Python error"  # begins what Python says of a crash
_LONGEST_LINE = 200  # letters that are reported


class EntryStopped(Exception):
    """The survey was interrupted while the entry was audited."""


def run_entry(entry: Entry, task: EntryTask, call_seconds: float, stop: Event) -> EntryResult:
    """Audit an entry in a process of its own. call_seconds: after which a call counts as one that never
    returns. stop: ends the process when it is set. Raises: EntryStopped."""
    begun = time.monotonic()
    with TemporaryDirectory() as folder:
        state_file, result_file = Path(folder, "state"), Path(folder, "result")
        state = CallState.create(state_file)
        words = [json.dumps(attrs.asdict(task)), str(state_file), str(result_file), str(os.getpid())]
        with subprocess.Popen(
            [sys.executable, "-c", _START, *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=os.environ | _ENVIRONMENT | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            start_new_session=True,  # so that Ctrl-C does not reach it
        ) as process:
            assert process.stdout is not None
            output = _Output(process.stdout)
            try:
                outcome, reason = _watch(process, state, task.max_seconds, call_seconds, stop, output)
            finally:
                _end(process)
                output.close()
        if result_file.exists():
            result = EntryResult.from_bytes(result_file.read_bytes())
        else:
            result = describe_entry(entry, outcome, reason or output.describe_end(process.returncode))
        return attrs.evolve(
            result,
            printed=output.lines,
            first_line=output.first_line,
            forked=state.forks,
            seconds=time.monotonic() - begun,
        )


# One thread for each entry, and the same order of sets in each run.
_ENVIRONMENT = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}


def _watch(
    process: subprocess.Popen[bytes],
    state: CallState,
    max_seconds: float,
    call_seconds: float,
    stop: Event,
    output: _Output,
) -> tuple[str, str]:
    """Wait for the end of the process. What happened if it leaves no result."""
    end = time.monotonic() + _OVERRUN * max_seconds + _MORE
    while process.poll() is None:
        if stop.wait(_LOOK):
            raise EntryStopped
        if state.seconds > call_seconds:
            place = _find_place(process, output)
            return NO_RETURN, f"a call did not return within {call_seconds:g} s{place}"
        if time.monotonic() > end:
            place = _find_place(process, output)
            return TOO_SLOW, f"it still ran after {_OVERRUN:g} times its {max_seconds:g} s{place}"
    return CRASHED, ""


def _find_place(process: subprocess.Popen[bytes], output: _Output) -> str:
    """Where the process is, as the end of a sentence; empty if it does not say."""
    if TRACE is None:
        return ""
    before = output.lines
    with suppress(ProcessLookupError):
        process.send_signal(TRACE)
    end = time.monotonic() + _GRACE
    while output.lines == before and time.monotonic() < end:
        time.sleep(_LOOK)
    time.sleep(_LOOK)
    output.lines = before
    line = next((line for line in output.last_lines if line.startswith("  File ")), "")
    return f" ({line.strip().replace('File ', '')})" if line else ""


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process with all that it has started."""
    with suppress(psutil.NoSuchProcess):
        started = psutil.Process(process.pid).children(recursive=True)
        for child in started:
            with suppress(psutil.NoSuchProcess):
                child.kill()
    with suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)  # those whose parents have ended, too
        process.kill()
    process.wait()


class _Output:
    """Reads what a process prints, and keeps the beginning and the end."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream, self._head, self._tail, self.lines = stream, b"", b"", 0
        self._thread = Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        with suppress(ValueError, OSError):
            while part := os.read(self._stream.fileno(), 2**16):
                self.lines += part.count(b"\n")
                self._head += part[: _KEPT - len(self._head)]
                self._tail = (self._tail + part)[-_KEPT:]

    def close(self) -> None:
        self._thread.join(_GRACE)  # a process that has left the group may hold the other end

    @property
    def first_line(self) -> str:
        return self._head.decode(errors="replace").strip().partition("\n")[0][:_LONGEST_LINE]

    @property
    def last_lines(self) -> list[str]:
        """The lines since Python last reported where it is."""
        text = self._tail.decode(errors="replace")
        return text[text.rfind("most recent call first") :].splitlines()

    def describe_end(self, status: int) -> str:
        """Why a process ended without a result."""
        try:
            how = f"signal {signal.Signals(-status).name}" if status < 0 else f"exit status {status}"
        except ValueError:
            how = f"signal {-status}"
        lines = [line.strip() for line in self._tail.decode(errors="replace").splitlines() if line.strip()]
        last = next((line for line in lines if line.startswith(_FATAL)), lines[-1] if lines else "")
        return f"its process ended with {how}" + (f": {last[:_LONGEST_LINE]}" if last else "")
