"""What an audit of a function costs beyond its own time: microseconds a game, and calls per counted game.

python benchmarks/speed/function_cost.py [GAMES ...]

GAMES: in each world; default: 500 4000 20000 100000. Microseconds are CPU time of this process beyond that of
the same calls in a loop, for each game of either world that counts, least of three runs. Two new processes
play 28 games each besides. Further games: those between this number and the next, without what every audit
costs.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from tabulate import tabulate

import audits

DATA = np.arange(5.0)
ROUNDS = 3


def make_functions(calls: list[int]) -> dict[str, tuple[Callable[..., Any], dict[str, Any]]]:
    """Functions that count their calls in calls[0], by name, with the settings of each."""

    def constant(data: np.ndarray, rng: np.random.Generator) -> float:
        calls[0] += 1
        return 1.0

    def given(data: np.ndarray, rng: np.random.Generator) -> float:
        calls[0] += 1
        return len(data) + rng.laplace()

    def seeded(data: np.ndarray) -> float:
        calls[0] += 1
        return len(data) + np.random.laplace()  # noqa: NPY002

    return {
        "constant": (constant, {}),
        "given": (given, {}),
        "global": (seeded, {"coins": "global"}),
    }


def measure(function: Callable[..., Any], settings: dict[str, Any], games: int) -> float:
    """The CPU seconds of an audit."""
    start = time.process_time()
    audits.audit(
        function,
        data=DATA,
        neighbour=DATA[1:],
        epsilon=1.0,
        games=games,
        settings={"neighbours": "add or remove one", **settings},
    )
    return time.process_time() - start


def measure_calls(function: Callable[..., Any], number: int, *arguments: Any) -> float:
    """The CPU seconds of so many calls in a loop."""
    start = time.process_time()
    for _ in range(number):
        function(DATA, *arguments)
    return time.process_time() - start


def main(sizes: list[int]) -> None:
    calls, rows = [0], []
    for name, (function, settings) in make_functions(calls).items():
        arguments = () if settings else (np.random.default_rng(0),)
        measure(function, settings, 100)  # imports
        beyond, counts = [], []
        for games in sizes:
            calls[0] = 0
            seconds = min(measure(function, settings, games) for _ in range(ROUNDS))
            counts.append(calls[0] // ROUNDS)
            own = min(measure_calls(function, counts[-1], *arguments) for _ in range(ROUNDS))
            beyond.append(seconds - own)
        more = [
            (b - a) / (2e-6 * (m - n))
            for (a, b), (n, m) in zip(pairwise(beyond), pairwise(sizes), strict=True)
        ]
        for games, count, cost, slope in zip(sizes, counts, beyond, [*more, float("nan")], strict=True):
            rows.append((name, games, count / (2 * games), cost / (2e-6 * games), slope))
    headers = ["function", "games in each world", "calls a game", "µs a game", "µs a further game"]
    print(tabulate(rows, headers, floatfmt=".3g", intfmt=","))


if __name__ == "__main__":
    main([int(games) for games in sys.argv[1:]] or [500, 4_000, 20_000, 100_000])
