"""Figure 1 with BetweenThresholds, 100 queries a game, 100,000 games a world, on one core.

The yardstick, measured in the same run: numpy's `Generator.laplace` drawing one number for every game and
round. Prints the ratio, and where the time of the games goes.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import attrs
import numpy as np

from arena import Adversary, Figure1, Moves, Query, Sample, Train, play
from arena.randomness import block_seed, generator
from learners.mechanisms.noise import laplace
from learners.mechanisms.sparse_vector import BetweenThresholds
from learners.predictors.vote_predictors import BetweenThresholdsPredictor

BLOCK, ROUNDS, GAMES = 8_192, 100, 200_000
SAMPLE = Sample([0.0, 0.5, 1.0], [0, 1, 1], [500, 100, 400])


@attrs.frozen
class RepeatQuery(Adversary):
    """Trains on neighbours and asks one point all the time."""

    name = "ask"
    protocols = ("Figure1",)

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        yield Train(SAMPLE, SAMPLE.replace_one(1, 0.5, 0))
        for _ in range(ROUNDS):
            reply = yield Query(0.5)
        return reply.halted


LEARNER = BetweenThresholdsPredictor(size=SAMPLE.size)


def sizes() -> list[int]:
    return [min(BLOCK, GAMES - start) for start in range(0, GAMES, BLOCK)]


def games() -> None:
    for block, size in enumerate(sizes()):
        play(LEARNER, RepeatQuery(), Figure1(), games=size, seed=block_seed(0, block))


def mechanism_alone() -> None:
    """The same answers without arena: the mechanism in a loop."""
    for size in sizes():
        mechanism = BetweenThresholds(
            size, generator(block_seed(0, 0)), lower=0.25, upper=0.75, epsilon=0.5, size=1_000
        )
        votes = np.full(size, 0.1)
        for _ in range(ROUNDS):
            mechanism.respond(votes)


def noise_alone() -> None:
    """The random numbers that the mechanism draws, nothing else."""
    rng = generator(block_seed(0, 0))
    for size in sizes():
        out = np.empty(size)
        for _ in range(ROUNDS):
            laplace(rng, out)


def numpy_laplace() -> None:
    rng = np.random.default_rng(0)
    for size in sizes():
        for _ in range(ROUNDS):
            rng.laplace(0.0, 1.0, size)


def seconds(work: Callable[[], None]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def main() -> None:
    works = (games, mechanism_alone, noise_alone, numpy_laplace)
    for work in works:
        work()
    runs = np.array([[seconds(work) for work in works] for _ in range(7)])
    table, mechanism, noise, _ = np.median(runs, axis=0)
    ratios = runs[:, 0] / runs[:, 3]
    print(f"Figure 1, BetweenThresholds: {GAMES:,} games of {ROUNDS} queries in {table:.3f} s")
    print(f"  {GAMES * ROUNDS / table / 1e6:.0f} million game-rounds a second")
    print(
        f"  ratio to Generator.laplace, one number each: {np.median(ratios):.2f} "
        f"({ratios.min():.2f} to {ratios.max():.2f})"
    )
    print(
        f"  where it goes: noise {noise / table:.0%}, comparisons and halts "
        f"{(mechanism - noise) / table:.0%}, referee, engine, adversary {(table - mechanism) / table:.0%}"
    )


if __name__ == "__main__":
    main()
