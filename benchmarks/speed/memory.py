"""Peak memory of an audit of 10⁷ games against one of 10⁵: it must not grow with the number of games."""

from __future__ import annotations

import subprocess
import sys

_CHILD = """
import resource, sys
from adversaries.{module} import {adversary}
from arena import {referee}
from audits.runs.plan import Plan
from audits.runs.run import run
from learners.{learner_module} import {learner}
learner = {learner}()
plan = Plan(learner=learner, adversary={adversary}({arguments}), referee={referee}(),
            epsilon=1.0, delta=0.0, games=int(sys.argv[1]), seed=1)
run(plan, jobs=int(sys.argv[2]))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""

CASES = {
    "halts (two scores)": {
        "module": "figure1.swaps",
        "adversary": "HaltCounter",
        "referee": "Figure1",
        "learner_module": "everlasting.paper_versions",
        "learner": "EverlastingV1",
        "arguments": "learner=learner",
    },
    "numbers (all scores different)": {
        "module": "release.point_swap",
        "adversary": "CountSwap",
        "referee": "Release",
        "learner_module": "releases.laplace_count",
        "learner": "LaplaceCount",
        "arguments": "",
    },
}


def measure_peak(case: dict[str, str], games: int, jobs: int) -> int:
    """Peak resident memory in KiB of an audit in a new process (workers not counted)."""
    child = [sys.executable, "-c", _CHILD.format(**case), str(games), str(jobs)]
    return int(subprocess.run(child, capture_output=True, text=True, check=True).stdout)


def main() -> None:
    for name, case in CASES.items():
        for jobs in (1, 2):
            small, large = measure_peak(case, 50_000, jobs), measure_peak(case, 5_000_000, jobs)
            print(
                f"memory, {name}, {jobs} job{'s' if jobs > 1 else ''}: {small / 1024:.0f} MiB for 10⁵ games, "
                f"{large / 1024:.0f} MiB for 10⁷, ratio {large / small:.2f}"
            )


if __name__ == "__main__":
    main()
