"""Signals that end a run: delivered at the end of critical sections, and kept from workers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from audits.cli import _end_like_interrupts
from audits.runs.workers.workers import ENDING, defer_interrupts, start_processes


@pytest.fixture(autouse=True)
def _handlers() -> Iterator[None]:
    """As the command line installs them; a suite in the background has some ignored."""
    previous = {number: signal.signal(number, signal.default_int_handler) for number in ENDING}
    yield
    for number, handler in previous.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", ENDING)
@pytest.mark.parametrize("section", [defer_interrupts, start_processes])
def test_a_signal_waits_for_the_end_of_a_section(section, number: signal.Signals) -> None:
    done = []

    def work() -> None:
        with section():
            os.kill(os.getpid(), number)
            done.append(True)

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done
    assert signal.getsignal(number) is signal.default_int_handler


@pytest.mark.thorough
def test_a_signal_that_ends_the_process_at_once_still_does() -> None:
    with_default = (
        "import os, signal; from audits.runs.workers.workers import defer_interrupts\n"
        "with defer_interrupts(): os.kill(os.getpid(), signal.SIGTERM)"
    )
    assert subprocess.run([sys.executable, "-c", with_default]).returncode == -signal.SIGTERM


@pytest.mark.skipif(sys.platform != "linux", reason="what a process does with signals is read in /proc")
def test_processes_started_inside_never_see_ctrl_c_but_end_by_sigterm() -> None:
    read_status = [sys.executable, "-c", "print(open('/proc/self/status').read())"]
    with start_processes():
        status = subprocess.run(read_status, text=True, capture_output=True, check=True).stdout
    fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    blocked, ignored = int(fields["SigBlk"], 16), int(fields["SigIgn"], 16)
    assert blocked == 1 << signal.SIGINT - 1
    assert not ignored & (1 << signal.SIGTERM - 1)
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == set()


def test_a_forked_process_has_the_handler_of_before() -> None:
    _end_like_interrupts()
    assert signal.getsignal(signal.SIGTERM) is not signal.default_int_handler
    child = os.fork()
    if child == 0:
        os._exit(signal.getsignal(signal.SIGTERM) is signal.default_int_handler)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1
