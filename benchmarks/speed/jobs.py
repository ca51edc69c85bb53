"""Two jobs against one, on an audit of 20 seconds or more; the figures must be the same."""

from __future__ import annotations

import time

from adversaries.figure1.swaps import QuerySwap
from arena import Figure1
from audits.runs.plan import Plan
from audits.runs.run import run
from learners.everlasting.paper_versions import EverlastingV2


def main() -> None:
    learner = EverlastingV2()
    plan = Plan(
        learner=learner,
        adversary=QuerySwap(learner=learner),
        referee=Figure1(),
        epsilon=1.0,
        delta=1e-5,
        games=300_000,
        seed=7,
    )
    results = {}
    for jobs in (1, 2):
        start = time.perf_counter()
        verdict = run(plan, jobs=jobs)
        results[jobs] = time.perf_counter() - start, verdict.epsilon_lower, verdict.clopper_pearson
    (one, *figures), (two, *same) = results[1], results[2]
    print(
        f"jobs: {one:.1f} s with one, {two:.1f} s with two, ratio {one / two:.2f}; "
        f"same figures: {figures == same}"
    )


if __name__ == "__main__":
    main()
