"""The learners without privacy, yardsticks for the others: seconds of one core for 10,000 games of T = 1,000.

Thresholds on 2^10 points, before points and a concept that are drawn, as a race plays them.
"""

from __future__ import annotations

import time

from adversaries.online.random_sequences import IidExamples
from arena.concepts import Thresholds
from audits.races.online_race import plan_online_race
from audits.races.race_result import run_race
from learners.online.conservative import ConservativeLearner, Halving, Soa

ROUNDS, GAMES = 1_000, 10_000


def seconds(learner: ConservativeLearner) -> tuple[float, int]:
    """With the mistakes of the worst game."""
    race = plan_online_race([(learner.name, learner, IidExamples())], rounds=ROUNDS, games=GAMES, marks=1)
    start = time.process_time()
    worst = int(run_race(race).standings[0].worst[-1])
    return time.process_time() - start, worst


def main() -> None:
    concepts = Thresholds(range(2**10))
    for learner in (Soa(concepts=concepts), Halving(concepts=concepts)):
        spent, worst = seconds(learner)
        print(f"{learner.name}: {spent:.1f} s; {worst} mistakes in the worst game")


if __name__ == "__main__":
    main()
