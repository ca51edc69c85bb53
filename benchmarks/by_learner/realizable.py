"""The realizable learner on one core: milliseconds a game of T = 10,000 rounds.

Thresholds on 16 points, N_0 = 1,024, ε = 16. Two streams, drawn beforehand: uniform points, and errors of the
first function, so that sequences change in every round until it goes.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from arena.concepts import Thresholds
from arena.randomness import block_seed, generator
from learners.mechanisms.sparse_vector import RunningSum
from learners.online.realizable import RealizableLearner, RealizableState

ROUNDS, NODES = 10_000, 1_024
LEARNER = RealizableLearner(concepts=Thresholds(range(16)), rounds=ROUNDS, nodes=NODES, epsilon=16.0)


class Timed(RealizableState):
    """Adds up the time that updates and histograms take."""

    spent = 0.0

    def _move_on(self, game: int) -> None:
        start = time.perf_counter()
        super()._move_on(game)
        self.spent += time.perf_counter() - start


def streams(games: int) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    rng = generator(block_seed(0, 1))
    x = rng.integers(0, 16, (ROUNDS, games)).astype(float)
    wrong = rng.integers(8, 11, (ROUNDS, games)).astype(float)
    return {"uniform points": (x, x >= 11), "errors of h_1": (wrong, wrong >= 11)}


def seconds(work: Callable[[], None]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def watching(games: int) -> None:
    """AboveThreshold alone."""
    sums = RunningSum(games, generator(block_seed(0, 2)), thresholds=1e6, epsilon=LEARNER.watch_epsilon)
    wrong = np.zeros(games, bool)
    for _ in range(ROUNDS):
        sums.observe(wrong)


def main() -> None:
    for games in (100, 500):
        watch = seconds(lambda n=games: watching(n))  # type: ignore[misc]
        for name, (x, y) in streams(games).items():
            state = Timed(LEARNER, games, generator(block_seed(0, 0)))

            def play(state: Timed = state, x: np.ndarray = x, y: np.ndarray = y) -> None:
                for x_t, y_t in zip(x, y, strict=True):
                    state.hypothesis()
                    state.observe(x_t, y_t)

            total = seconds(play)
            print(
                f"{games} games, {name}: {1e3 * total / games:.1f} ms a game; "
                f"AboveThreshold {watch / total:.0%}, updates and histograms {state.spent / total:.0%}, "
                f"drawing pairs, inserting and comparing "
                f"{(total - watch - state.spent) / total:.0%}"
            )


if __name__ == "__main__":
    main()
