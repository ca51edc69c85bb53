"""A small torture: runs killed at random moments, and within a write to their ledger."""

from __future__ import annotations

import subprocess
import sys

import pytest
from support.paths import ROOT

TORTURE = ROOT / "tests" / "torture.py"


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform != "linux", reason="the hook for writes is SQLite's on Linux")
def test_runs_that_were_killed_end_as_undisturbed_ones() -> None:
    done = subprocess.run(
        [sys.executable, str(TORTURE), "--runs", "5"], text=True, capture_output=True, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (whole,) = [line.split() for line in done.stdout.splitlines() if line.startswith("all")]
    runs, kills, equal = int(whole[1]), int(whole[2]), int(whole[-1])
    assert (runs, kills) == (equal, 2 * equal)
    assert runs >= 4
