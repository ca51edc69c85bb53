"""Write the scores of all cases to build/anchors/scores.npz, from fixed seeds.

python -m benchmarks.anchors.make_scores
"""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import brentq

from audits.statistics.estimators.held_out import epsilon_if_gaussian
from benchmarks.anchors.score_cases import AUDITS, FOLDER, ONE_RUN, SCORES, TWO_WORLDS, OneRun, TwoWorlds

_SEED = 20_261


def find_mu(epsilon: float, delta: float) -> float:
    """The μ of the Gaussian mechanism for which (epsilon, delta) is exact."""
    return float(brentq(lambda mu: epsilon_if_gaussian(delta, mu) - epsilon, 1e-3, 20.0, xtol=1e-12))


def draw_two_worlds(case: TwoWorlds, rng: np.random.Generator) -> np.ndarray:
    shape = (AUDITS, 2, case.games)
    world = np.array([[0.0], [1.0]])
    if case.law == "Gaussian":
        return rng.standard_normal(shape) + world * find_mu(case.epsilon, case.delta)
    if case.law == "Laplace":
        return rng.laplace(world, 1 / case.epsilon, shape)
    truth = 1 / (1 + math.exp(-case.epsilon))  # randomised response: nothing but ties
    return (rng.random(shape) < np.where(world == 1, truth, 1 - truth)).astype(float)


def draw_one_run(case: OneRun, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    shape = (AUDITS, case.canaries)
    included = rng.random(shape) < 0.5
    return rng.standard_normal(shape) + included * find_mu(case.epsilon, case.delta), included


def main() -> None:
    arrays = {}
    for seed, case in enumerate(TWO_WORLDS):
        arrays[case.name] = draw_two_worlds(case, np.random.default_rng([_SEED, seed]))
    for seed, run in enumerate(ONE_RUN):
        scores, included = draw_one_run(run, np.random.default_rng([_SEED + 1, seed]))
        arrays[run.name], arrays[f"{run.name}, included"] = scores, included
    FOLDER.mkdir(parents=True, exist_ok=True)
    np.savez(SCORES, **arrays)


if __name__ == "__main__":
    main()
