"""Examples that m private answers need: docs/everlasting_queries.svg.

Thresholds on the line, D uniform, (1, 1e-6)-DP, error 0.1 with probability 0.9. All vote among teachers of 15
examples each; they differ in how m answers are paid for:

- single query: the predictor of Dwork and Feldman, subsample and aggregate with Laplace noise on the votes,
  for ε/m each (basic composition);
- Gaussian votes: all answers are paid for together, √m (`pate-gaussian`);
- stable votes: the sparse vector of Bassily, Thakkar and Thakurta pays for unstable votes only
  (`pate-svt`, calibration "tight"), a part of all, but its threshold asks for wide margins;
- everlasting-gaussian with its default sizes, which learns from the queries: n does not depend on m.

Every hypothesis (the rule at the noise of one answer) has to err on at most 0.1 of D; the largest noise of
all answers is drawn at once. An answer "unstable" of the sparse vector is an error, and its errors are
averaged over the noise, in its favour; it must not halt. n of a case is the least of a grid of step 5 % with
which 27 of 30 trials succeed.
"""

from __future__ import annotations

from functools import cache
from math import ceil, log, sqrt

import numpy as np
from matplotlib.figure import Figure
from scipy import stats
from tabulate import tabulate

from benchmarks.by_learner.charts import BLUE, GREEN, GREY, RED, save
from benchmarks.theorems.measurement import Mean, fit_power, measure_cases
from learners.everlasting.everlasting_gaussian import EverlastingGaussian
from learners.mechanisms.noise import gaussian_sigma
from learners.pate.screening import threshold_for, tight_scale

EPSILON, DELTA, ALPHA = 1.0, 1e-6, 0.1
CHUNK = 15
QUERIES = tuple(10**k for k in range(9))
LARGE = 4  # from QUERIES[LARGE] on, powers of m are fitted
SEEDS, TRIALS, NEEDED = 12, 30, 27
STEP = 1.05
MOST_TEACHERS = 2_000
MOST_EXACT = 100  # runs of the sparse vector that are composed exactly

NAMES = {
    "single": ("single query, ε/m each (Dwork, Feldman)", RED, "o", "1"),
    "gaussian": ("Gaussian votes (pate-gaussian)", BLUE, "s", "1/2"),
    "svt": ("sparse vector (Bassily, Thakkar, Thakurta; pate-svt)", GREY, "^", "1/2"),
}


class Trial:
    """Teachers' thresholds beyond the target, in units of D, and the rare events of the noise."""

    def __init__(self, rng: np.random.Generator) -> None:
        # ERM takes the least example of label 1.
        self.errors = np.sort(rng.uniform(0, 1, (MOST_TEACHERS, CHUNK)).min(axis=1))
        self.rare = rng.standard_exponential(2)

    def succeeds(self, name: str, queries: int, teachers: int) -> bool:
        if name == "svt":
            return self.stable_error(queries, teachers) <= ALPHA
        chance = np.minimum(self.rare / queries, 0.5)
        if name == "single":
            up, down = stats.laplace.isf(chance, scale=queries / EPSILON / teachers)
        else:
            sigma = gaussian_sigma(epsilon=EPSILON, delta=DELTA, sensitivity=sqrt(queries))
            up, down = stats.norm.isf(chance, scale=sigma / teachers)
        return max(up, down) < 0.5 and bool(self.errors[int((0.5 + up) * MOST_TEACHERS)] <= ALPHA)

    def stable_error(self, queries: int, teachers: int) -> float:
        """The share of D that is answered wrongly or ⊥, or 1 if so many ⊥ are likely to halt it."""
        # Votes on D: unanimous below the target and beyond the last teacher, between them one step a teacher.
        steps = np.diff(np.concatenate([[0.0], self.errors]))
        votes = np.arange(MOST_TEACHERS) / MOST_TEACHERS
        distance = np.abs(votes - 0.5) * teachers
        for unstable in budgets(queries):
            scale, threshold = sparse_vector(queries, unstable)
            # P[dist + Lap(2λ) > w + Lap(λ)] is nearly that with the larger noise alone.
            stuck = stats.laplace.cdf(threshold - distance, scale=2 * scale)
            clear = stats.laplace.cdf(threshold - teachers / 2, scale=2 * scale)
            rate = float(steps @ stuck) + clear * (1 - float(steps.sum()))
            if stats.poisson.isf(0.05, rate * queries) < unstable:
                wrong = float(steps @ (np.where(votes < 0.5, 1 - stuck, 0))) + rate
                return wrong
        return 1.0


def budgets(queries: int) -> list[int]:
    """Numbers T of unstable answers that are tried."""
    return [ceil(1.6**power) for power in range(2 + ceil(log(queries + 1) / log(1.6)))]


@cache
def sparse_vector(queries: int, unstable: int) -> tuple[float, float]:
    """(λ, w) as in pate-svt, with half of δ for the labels; for many runs by zCDP, nearly as well."""
    if unstable <= MOST_EXACT:
        scale = tight_scale(unstable, EPSILON, DELTA / 2)
    else:
        root = sqrt(log(2 / DELTA) + EPSILON) - sqrt(log(2 / DELTA))
        scale = 2 * sqrt(unstable / 2) / root
    return scale, threshold_for(DELTA / 2 / (queries + unstable), scale)


def measure_need(*, name: str, queries: int, seed: int) -> list[float]:
    """[n]: the least of a grid of numbers of teachers with which enough trials succeed, times λ."""
    seeds = np.random.SeedSequence((seed, queries, sorted(NAMES).index(name))).spawn(TRIALS)
    trials = [Trial(np.random.default_rng(each)) for each in seeds]
    low, high = 0, 600
    while high - low > 1:
        middle = (low + high) // 2
        teachers = round(STEP**middle)
        enough = sum(trial.succeeds(name, queries, teachers) for trial in trials) >= NEEDED
        low, high = (low, middle) if enough else (middle, high)
    return [CHUNK * round(STEP**high)]


def main() -> None:
    needs = {
        name: measure_cases(measure_need, [{"name": name, "queries": m} for m in QUERIES], SEEDS)[:, :, 0]
        for name in NAMES
    }
    ours = EverlastingGaussian().sample_size
    rows, wins = [], {}
    for name, found in needs.items():
        means = [Mean.of(samples) for samples in found]
        cells = [f"{mean.value:,.0f} ({mean.lower:,.0f} to {mean.upper:,.0f})" for mean in means]
        rows.append([NAMES[name][0], *cells, str(fit_power(QUERIES[LARGE:], found[LARGE:])), NAMES[name][3]])
        wins[name] = 10 ** float(np.interp(log(ours), np.log(found.mean(axis=1)), np.log10(QUERIES)))
    rows.append(["everlasting-gaussian", *[f"{ours:,}"] * len(QUERIES), "0", "0"])
    headers = ["n for m =", *(f"10^{k}" for k in range(len(QUERIES))), "power of m, from 10^4 on", "theorem"]
    print(tabulate(rows, headers, tablefmt="github"))
    for name, queries in wins.items():
        print(
            f"everlasting-gaussian needs fewer examples than {NAMES[name][0]} from {queries:,.0f} queries on"
        )
    draw(needs, ours, wins)


def draw(needs: dict[str, np.ndarray], ours: int, wins: dict[str, float]) -> None:
    figure = Figure(figsize=(9, 5.2), layout="constrained", facecolor="white")
    axis = figure.subplots()
    figure.suptitle(
        f"Everlasting prediction begins to win at {wins['gaussian']:,.0f} queries, or at {wins['svt']:,.0f} "
        "against the sparse vector.\nThresholds, error 0.1 with probability 0.9, (1, 10⁻⁶)-DP",
        x=0.01,
        ha="left",
        fontsize=11,
    )
    for name, (label, colour, marker, _) in NAMES.items():
        means = [Mean.of(samples) for samples in needs[name]]
        values = np.array([mean.value for mean in means])
        off = np.abs(np.array([[mean.value - mean.lower, mean.upper - mean.value] for mean in means])).T
        axis.errorbar(QUERIES, values, yerr=off, label=label, color=colour, marker=marker, capsize=3)
        axis.plot([wins[name]], [ours], marker="o", markersize=11, color=colour, fillstyle="none")
    axis.axhline(ours, color=GREEN, label="everlasting-gaussian: any number of queries")
    axis.text(1, ours * 1.15, f"n = {ours:,}", color=GREEN, fontsize=9)
    axis.minorticks_off()
    axis.set(xscale="log", yscale="log", xlabel="queries answered, m", ylabel="examples needed, n")
    axis.legend(loc="upper left")
    axis.set_ylim(top=1e11)
    print(f"Written: {save(figure, 'everlasting_queries.svg')}")


if __name__ == "__main__":
    main()
