"""What Laplace noise costs, drawn three ways, and what the mechanisms add to it, on one block of 8,192 games.

python benchmarks/speed/noise.py
"""

from __future__ import annotations

import timeit
from collections.abc import Callable, Iterator

import numpy as np

from arena.randomness import generator
from learners.mechanisms.noise import laplace
from learners.mechanisms.selection import exponential_mechanism
from learners.mechanisms.sparse_vector import AboveThreshold, BetweenThresholds

GAMES = 8192
OFTEN = 2**40  # halts, so that no game stops while it is timed


def cases(rng: np.random.Generator) -> Iterator[tuple[str, Callable[[], object]]]:
    out, other, values, scores = np.empty(GAMES), np.empty(GAMES), np.zeros(GAMES), rng.random((GAMES, 4))

    def difference() -> None:
        rng.standard_exponential(out=out)
        rng.standard_exponential(out=other)
        np.subtract(out, other, out=out)

    yield "Generator.laplace", lambda: rng.laplace(size=GAMES)
    yield "difference of two exponentials", difference
    yield "laplace: an exponential and a sign", lambda: laplace(rng, out)
    yield "one exponential alone", lambda: rng.standard_exponential(out=out)

    between = BetweenThresholds(GAMES, rng, lower=0.4, upper=0.6, epsilon=1, size=1000, halts=OFTEN)
    yield "BetweenThresholds, clear votes", lambda: between.respond(values)
    yield "BetweenThresholds, every vote split", lambda: between.respond(0.5)
    above = AboveThreshold(GAMES, rng, threshold=100, epsilon=1, halts=OFTEN)
    yield "AboveThreshold, all below", lambda: above.respond(values)
    yield "AboveThreshold, all above", lambda: above.respond(200)
    yield (
        "exponential mechanism, 4 options",
        lambda: exponential_mechanism(rng, scores, epsilon=1, sensitivity=1),
    )


def main() -> None:
    reference = None
    for name, call in cases(generator(np.random.SeedSequence(1))):
        call()
        seconds = min(timeit.repeat(call, number=200, repeat=15)) / 200
        reference = reference or seconds
        print(f"{name:36} {seconds * 1e6:7.1f} µs {seconds / GAMES * 1e9:6.2f} ns a game", end=" ")
        print(f"{seconds / reference:6.2f}")


if __name__ == "__main__":
    main()
