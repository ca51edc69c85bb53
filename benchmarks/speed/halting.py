"""halt-counter against everlasting-v1, 50,000 games a world, one core, fresh partition and teachers in
every game.
"""

from __future__ import annotations

import time

from adversaries.figure1.swaps import HaltCounter
from arena import Figure1
from audits.runs.plan import Plan
from audits.runs.run import run
from learners.everlasting.paper_versions import EverlastingV1


def main() -> None:
    learner = EverlastingV1()
    plan = Plan(
        learner=learner,
        adversary=HaltCounter(learner=learner),
        referee=Figure1(),
        epsilon=1.0,
        delta=1e-5,
        confidence=0.999,
        games=50_000,
        seed=7,
    )
    for _ in range(3):
        start = time.perf_counter()
        verdict = run(plan)
        print(
            f"halt-counter against everlasting-v1: {verdict.games:,} games a world in "
            f"{time.perf_counter() - start:.2f} s, ε ≥ {verdict.epsilon_lower:.2f}, "
            f"ceiling {verdict.ceiling:.2f}"
        )


if __name__ == "__main__":
    main()
