"""Startup of the command line: wall and CPU seconds of each command, minimum and median of seven runs."""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
import time

RUNS = 7
COMMANDS = (
    "--help",
    "audit --help",
    "show laplace-count",
    "audit laplace-count --against count-swap --games 2000",
    "list",
)


def measure(command: str) -> tuple[float, float]:
    """The wall and CPU seconds of one run of `arena` in a new process."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([sys.executable, "-m", "audits.cli", *command.split()], capture_output=True, check=True)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def main() -> None:
    for command in COMMANDS:
        wall, cpu = zip(*(measure(command) for _ in range(RUNS)), strict=True)
        print(
            f"arena {command}: wall {min(wall):.2f} s, median {statistics.median(wall):.2f}; "
            f"CPU {min(cpu):.2f} s, median {statistics.median(cpu):.2f}"
        )


if __name__ == "__main__":
    main()
