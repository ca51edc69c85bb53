"""How many public points are best: Remarks 12 and 29, in the realizable case: pate_best_m.svg.

Thresholds (d = 1), ε = 1, δ = 1e-6. For each m, K is a multiple of the noise, and T of the sparse vector is
8·(1,000·m/n)², as Theorem 10 has it with a constant of our own, and at least 1. Few points leave d/m; many
need more noise and so more teachers, each with fewer examples: √m/(nε) for Gaussian noise, m/(nε)² for the
sparse vector. Theorem 10 says that the best m grows as nε, Remark 29 that it grows as (nε)^(2/3).
"""

from __future__ import annotations

import numpy as np

from arena.randomness import generator
from benchmarks.by_learner.charts import BLUE, GREEN, RED, panels, save
from benchmarks.tables import write_table
from benchmarks.theorems.measurement import Mean, fit_power, measure_cases
from benchmarks.theorems.pate.setup.sources import Tsybakov
from benchmarks.theorems.pate.setup.students import gaussian, learn_threshold, sparse
from learners.pate.voters import Voters

SOURCE = Tsybakov(1.0)
GAUSSIAN, SVT = "psq, Gaussian", "psq, SVT"
SEEDS = 40
SIZES = [2**k for k in (15, 18, 21)]
POINTS = {GAUSSIAN: [2**k for k in range(5, 14)], SVT: [2**k for k in range(3, 12)]}
LEAST_PART = 4  # examples of a teacher, with fewer of which nothing is measured
RATES = {GAUSSIAN: "0.67", SVT: "1.00"}


def build_learner(algorithm: str, n: int, m: int) -> Voters:
    if algorithm == GAUSSIAN:
        return gaussian(m, 1.0)
    return sparse(m, 1.0, int(np.clip(round(8 * (1_000 * m / n) ** 2), 1, m)))


def measure_error(seed: int, algorithm: str, n: int, m: int) -> tuple[float]:
    """The excess risk."""
    rng = generator(np.random.SeedSequence([seed, n, m]))
    t = learn_threshold(SOURCE, build_learner(algorithm, n, m), n, m, rng)
    return (float(SOURCE.excess(np.array(t))),)


def measure_curve(algorithm: str, n: int) -> tuple[list[int], np.ndarray]:
    """The m at which there are enough teachers, and excess risks (m, seeds)."""
    points = [m for m in POINTS[algorithm] if build_learner(algorithm, n, m).teachers * LEAST_PART <= n]
    cases = [{"algorithm": algorithm, "n": n, "m": m} for m in points]
    return points, measure_cases(measure_error, cases, SEEDS)[:, :, 0]


def best_points(points: list[int], samples: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """(200,): the m of the least mean, in resamples of the seeds."""
    drawn = rng.integers(0, samples.shape[1], (200, samples.shape[1]))
    return np.array(points)[samples[:, drawn].mean(axis=2).argmin(axis=0)]


def main() -> None:
    figure, axes = panels(
        "There is a best number of public points: too few leave d/m, too many need more noise and so more "
        f"teachers.\nRealizable thresholds, ε = 1, δ = 1e-6; means over {SEEDS} draws with 95 % limits",
        sharey=True,
    )
    rows, rng = [], np.random.default_rng(0)
    for axis, algorithm in zip(axes, (GAUSSIAN, SVT), strict=True):
        all_best = []
        for colour, marker, n in zip((BLUE, RED, GREEN), "osD", SIZES, strict=True):
            points, samples = measure_curve(algorithm, n)
            means = [Mean.of(row) for row in samples]
            values = np.array([mean.value for mean in means])
            off = np.array([[mean.value - mean.lower, mean.upper - mean.value] for mean in means]).T
            label = f"n = {n:,}"
            axis.errorbar(points, values, yerr=off, color=colour, marker=marker, markersize=4, label=label)
            best = best_points(points, samples, rng)
            all_best.append(best)
            low, middle, high = np.percentile(best, [2.5, 50, 97.5])
            least = int(values.argmin())
            left = str(fit_power(points[: least + 1], samples[: least + 1])) if least >= 2 else ""
            right = str(fit_power(points[least:], samples[least:])) if len(points) - least >= 3 else ""
            limits = f"{middle:,.0f} ({low:,.0f} to {high:,.0f})"
            rows.append((algorithm, f"{n:,}", limits, f"{values[least]:.2g}", left, right))
        axis.set(xscale="log", yscale="log", xlabel="m, public points", title=algorithm)
        axis.legend(loc="lower left")
        slopes = np.polyfit(np.log(SIZES), np.log(np.array(all_best)), 1)[0]
        low, middle, high = np.percentile(slopes, [2.5, 50, 97.5])
        print(
            f"{algorithm}: the best m grows as n to the {middle:.2f} ({low:.2f} to {high:.2f}); "
            f"paper {RATES[algorithm]}"
        )
    headers = ("algorithm", "n", "best m", "excess risk there", "exponent of m below it", "above it")
    write_table("pate/pate_best_m", headers, rows)
    axes[0].set_ylabel("Err(h) − Err(h*)")
    print(f"Written: {save(figure, 'theorems/pate_best_m.svg')}")


if __name__ == "__main__":
    main()
