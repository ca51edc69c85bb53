"""One run that is both private and right: everlasting-gaussian as it is by default, against honest.

Thresholds on the line, two rounds of 2.4 million queries each, (1, 1e-6)-DP. By rounds: the largest error of
a hypothesis (on 10,000 fresh points, so ± 0.006), the share of wrong answers, and games that halted early.
"""

from __future__ import annotations

import numpy as np
from tabulate import tabulate

from adversaries.figure1.honest import Honest
from audits.races import plan_predictor_race, run_race
from benchmarks.theorems.measurement import Mean, measure_cases
from learners.everlasting.everlasting_gaussian import EverlastingGaussian

SEEDS = 10
ROUNDS = 2


def measure_run(*, seed: int) -> list[float]:
    """Of each round: the worst error, the share of wrong answers, whether it halted."""
    race = plan_predictor_race([("it", EverlastingGaussian(), Honest())], rounds=ROUNDS, games=1, seed=seed)
    found = run_race(race, jobs=1).standings[0]
    return [*found.worst.tolist(), *found.wrong_answers.tolist(), *found.halted.tolist()]


def main() -> None:
    learner = EverlastingGaussian()
    figures = measure_cases(measure_run, [{}], SEEDS)[0].reshape(SEEDS, 3, ROUNDS)
    print(f"n = {learner.sample_size:,}; claim: {learner.claim}")
    rows = []
    for index in range(ROUNDS):
        run = learner.round(index + 1)
        worst, wrong, halted = figures[:, :, index].T
        means = [Mean.of(worst), Mean.of(wrong)]
        cells = [f"{mean.value:.4f} ({mean.lower:.4f} to {mean.upper:.4f})" for mean in means]
        noise = f"{1 / (run.noise * run.teachers):.4f}"
        rows.append(
            [index + 1, run.teachers, run.chunk, noise, f"{worst.max():.4f}", *cells, int(np.sum(halted))]
        )
    headers = ["round", "teachers", "λ", "σ/T", "largest error", "mean of it", "wrong answers", "halted"]
    print(tabulate(rows, headers, tablefmt="github"))


if __name__ == "__main__":
    main()
