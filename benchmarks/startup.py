"""How long `arena --help` takes, as a user waits for it."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from pathlib import Path


def main() -> None:
    arena = Path(sys.executable).with_name("arena")
    times = []
    for _ in range(7):
        start = time.perf_counter()
        subprocess.run([arena, "--help"], capture_output=True, check=True)
        times.append(time.perf_counter() - start)
    print(f"arena --help: {statistics.median(times):.2f} s (median of {len(times)})")


if __name__ == "__main__":
    main()
