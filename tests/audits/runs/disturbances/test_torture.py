"""A small torture: a run disturbed in each of the ways of `make torture`."""

from __future__ import annotations

import subprocess
import sys

import pytest
from support.paths import ROOT

TORTURE = ROOT / "tests" / "torture.py"


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the hook for writes is SQLite's on Linux")
def test_runs_that_were_killed_end_as_undisturbed_ones() -> None:
    done = subprocess.run([sys.executable, str(TORTURE), "--share", "0.01"], text=True, capture_output=True)
    assert done.returncode == 0, done.stdout + done.stderr
    (whole,) = [line.split() for line in done.stdout.splitlines() if line.startswith("all")]
    runs, disturbances, _, left, equal = map(int, whole[1:])
    assert (left, equal) == (0, runs)
    assert disturbances >= 10
