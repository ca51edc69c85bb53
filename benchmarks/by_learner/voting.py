"""Answers of pate-gaussian a second and core, once votes are known, beside numpy's normals in the same run.

python benchmarks/by_learner/voting.py

Games are played by the engine, referee and all, 8,192 at a table: one point for all games, one of 16 points
or vectors for each game, and a point of its own for each. The yardstick draws one number of
`Generator.standard_normal` for every answer. The last lines weigh answers by the law that the learner tells,
as small-margin and disagreement do.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import attrs
import numpy as np

from adversaries.voting.repeated_queries import SmallMargin
from adversaries.voting.vote_inference import DisagreementWalk
from arena import Adversary, Learner, Moves, Query, Sample, Train, Voting, play
from arena.randomness import block_seed, generator
from learners.pate.independent_answers import PateGaussian
from learners.pate.teacher import Teacher

GAMES, ROUNDS, TABLES, FEATURES = 8_192, 100, 8, 112
ANSWERS = GAMES * ROUNDS * TABLES
LINE = PateGaussian()
SPACE = PateGaussian(
    teacher=Teacher.from_text(f"DecisionTreeClassifier(max_depth=3):{FEATURES}"), teachers=15
)


@attrs.frozen(eq=False)
class RepeatQuery(Adversary):
    """Trains on neighbours, and asks each game its own of these points in turn; one point if there is one."""

    name = "ask"
    protocols = ("Voting",)

    sample: Sample
    points: np.ndarray

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        yield Train(self.sample, self.sample.replace_one(0, self.sample.points[0], 0))
        place = np.arange(games)
        for number in range(ROUNDS):
            one = len(self.points) == 1
            yield Query(self.points[0] if one else self.points[(place + number) % len(self.points)])
        return np.zeros(games)


def seconds_of(learner: Learner, adversary: Adversary) -> float:
    """The least time of three, of all tables."""
    play(learner, adversary, Voting(), games=GAMES, seed=0)

    def games() -> None:
        for block in range(TABLES):
            play(learner, adversary, Voting(), games=GAMES, seed=block_seed(0, block))

    return min(time_call(games) for _ in range(3))


def time_call(call: Callable[[], None]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def normals() -> None:
    rng, out = generator(block_seed(0, 0)), np.empty(GAMES)
    for _ in range(ROUNDS * TABLES):
        rng.standard_normal(out=out)


def main() -> None:
    rng = np.random.default_rng(0)
    vectors, labels = rng.random((450, FEATURES)), np.arange(450) % 2
    on_line, in_space = Sample(np.linspace(0, 1, 101), np.arange(101) % 2), Sample(vectors, labels)
    cases: list[tuple[str, Learner, Adversary]] = [
        ("one point for all games", LINE, RepeatQuery(on_line, np.array([0.5]))),
        ("one of 16 numbers for each game", LINE, RepeatQuery(on_line, np.linspace(0, 1, 16))),
        (
            f"one of 16 vectors of {FEATURES} for each game",
            SPACE,
            RepeatQuery(in_space, rng.random((16, FEATURES))),
        ),
        ("8,192 numbers, one for each game", LINE, RepeatQuery(on_line, rng.random(GAMES))),
        ("small-margin, with its score", LINE, SmallMargin(learner=LINE)),
        ("disagreement, with its score", LINE, DisagreementWalk(learner=LINE)),
    ]
    yardstick = min(time_call(normals) for _ in range(3))
    print(f"{'bare normals':44} {ANSWERS / yardstick / 1e6:7.1f} million answers a second")
    for name, learner, adversary in cases:
        seconds = seconds_of(learner, adversary)
        rate = ANSWERS / seconds / 1e6
        print(f"{name:44} {rate:7.1f} million answers a second, {seconds / yardstick:6.1f} x the normals")


if __name__ == "__main__":
    main()
