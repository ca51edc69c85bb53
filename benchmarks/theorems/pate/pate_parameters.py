"""How the error of PATE depends on ε and on the number of teachers K: Table 1, Theorems 10, 22 and 28.

Thresholds (d = 1), realizable, n = 2^20, δ = 1e-6. With ε, m changes as in Remarks 12 and 29, and K with the
noise. With K, everything else is kept; Theorem 28 has K = 6√(2 ln 2n)·σ = 32σ.
"""

from __future__ import annotations

import numpy as np

from arena.randomness import generator
from benchmarks.tables import write_table
from benchmarks.theorems.measurement import Mean, fit_power, measure_cases
from benchmarks.theorems.pate.setup.sources import Tsybakov
from benchmarks.theorems.pate.setup.students import gaussian, learn_threshold, questions, sparse

SOURCE = Tsybakov(1.0)
SEEDS = 60
N = 2**20
EPSILONS = [0.25, 0.5, 1.0, 2.0, 4.0]
MULTIPLES = [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0]
RATES = {"psq, Gaussian": "-0.67", "psq, SVT": "-1.00", "asq": "-1.00"}
UNSTABLE = 8


def measure_error(seed: int, algorithm: str, epsilon: float, multiple: float) -> tuple[float]:
    """The excess risk. multiple: K over the standard deviation of the noise; 0 for the default."""
    rng = generator(np.random.SeedSequence([seed, *np.float64([epsilon, multiple]).view(np.uint64).tolist()]))
    m = round((N * epsilon) ** (2 / 3) / 4 if algorithm == "psq, Gaussian" else N * epsilon / 1_000)
    if algorithm == "psq, SVT":
        learner = sparse(m, epsilon, UNSTABLE)
    else:
        learner = gaussian(questions(m) if algorithm == "asq" else m, epsilon)
        if multiple:
            learner = gaussian(learner.queries, epsilon, round(multiple * learner.effective_sigma))
    t = learn_threshold(SOURCE, learner, N, m, rng, active=algorithm == "asq")
    return (float(SOURCE.excess(np.array(t))),)


def show(samples: np.ndarray) -> str:
    mean = Mean.of(samples)
    return f"{mean.value:.2g} ({mean.lower:.2g} to {mean.upper:.2g})"


def main() -> None:
    rows = []
    for algorithm, theirs in RATES.items():
        cases = [{"algorithm": algorithm, "epsilon": epsilon, "multiple": 0.0} for epsilon in EPSILONS]
        found = measure_cases(measure_error, cases, SEEDS)[:, :, 0]
        rows.append((algorithm, *map(show, found), fit_power(EPSILONS, found), theirs))
    headers = ("algorithm", *(f"ε = {epsilon:g}" for epsilon in EPSILONS), "exponent of ε", "paper")
    write_table("pate/pate_by_epsilon", headers, rows)
    rows = []
    for algorithm in ("psq, Gaussian", "asq"):
        cases = [{"algorithm": algorithm, "epsilon": 1.0, "multiple": one} for one in MULTIPLES]
        found = measure_cases(measure_error, cases, SEEDS)[:, :, 0]
        rows.append((algorithm, *map(show, found)))
    headers = ("algorithm", *(f"K = {one:g}σ" for one in MULTIPLES))
    write_table("pate/pate_by_teachers", headers, rows)


if __name__ == "__main__":
    main()
