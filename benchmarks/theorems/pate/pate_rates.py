"""How the error of PATE falls with n: Table 1, Theorems 10, 22 and 28, and Lemma 38: pate_rates.svg.

Thresholds (d = 1), ε = 1, δ = 1e-6. For each n, m grows as Remarks 12 and 29 have it, and K is a multiple of
the noise (constants in `setup/students.py`, below the theorems'). They bound the disagreement with h*,
and the excess risk by that; both are measured. In the agnostic column two thresholds are best, and m grows as
in the realizable one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from arena.randomness import generator
from benchmarks.by_learner.charts import BLUE, DOCS, GREEN, GREY, RED, save
from benchmarks.tables import write_table
from benchmarks.theorems.measurement import Mean, Power, fit_power, measure_cases
from benchmarks.theorems.pate.setup.sources import LineSource, Tsybakov, TwoBest
from benchmarks.theorems.pate.setup.students import (
    draw_teachers,
    gaussian,
    learn_threshold,
    questions,
    sparse,
)

EPSILON, UNSTABLE = 1.0, 8
SOURCES: dict[str, tuple[LineSource, float]] = {  # and the τ by which m grows
    "realizable": (Tsybakov(1.0), 1.0),
    "τ = 1": (Tsybakov(1.0, 0.3), 1.0),
    "τ = 1/2": (Tsybakov(0.5), 0.5),
    "τ = 1/3": (Tsybakov(1 / 3), 1 / 3),
    "agnostic": (TwoBest(), 1.0),
}
ALGORITHMS = ("no privacy", "psq, Gaussian", "psq, SVT", "asq")
SIZES = [32_768, 100_000, 316_000, 1_000_000]
LARGE = [2**k for k in (15, 17, 19, 21, 23)]  # teachers without noise are drawn as one number each
SEEDS = 40
# m over the power of nε, for each τ: about where the student's error and that of the vote are equal.
CONSTANTS = {
    1.0: {"psq, Gaussian": 0.25, "psq, SVT": 0.001, "asq": 0.001},
    0.5: {"psq, Gaussian": 4.0, "psq, SVT": 0.3, "asq": 1.0},
    1 / 3: {"psq, Gaussian": 8.0, "psq, SVT": 1.5, "asq": 4.0},
}


def public_points(algorithm: str, n: int, tau: float) -> int:
    """m by Remark 29 (Gaussian) or Remark 12 (SVT; asq has the same rate)."""
    power = 2 * tau / (4 - tau) if algorithm == "psq, Gaussian" else tau / (2 - tau)
    return max(8, round(CONSTANTS[tau][algorithm] * (n * EPSILON) ** power))


def measure_error(seed: int, source: str, algorithm: str, n: int) -> tuple[float, float, int, int]:
    """Excess risk, disagreement with h*, m and K."""
    drawn, tau = SOURCES[source]
    rng = generator(np.random.SeedSequence([seed, n, ALGORITHMS.index(algorithm)]))
    if algorithm == "no privacy":
        t, m, teachers = float(draw_teachers(drawn, 1, n, rng)[0]), 0, 1
    else:
        m = public_points(algorithm, n, tau)
        learner = {
            "psq, Gaussian": lambda: gaussian(m, EPSILON),
            "psq, SVT": lambda: sparse(m, EPSILON, UNSTABLE),
            "asq": lambda: gaussian(questions(m), EPSILON),
        }[algorithm]()
        teachers = learner.teachers
        t = learn_threshold(drawn, learner, n, m, rng, active=algorithm == "asq")
    return float(drawn.excess(np.array(t))), float(drawn.disagreement(np.array(t))), m, teachers


def promised(source: str, algorithm: str) -> float | None:
    """The exponent of n in Table 1, or of Lemma 38 without privacy; None where Table 1 has no rate."""
    if source == "agnostic":
        return -0.5 if algorithm == "no privacy" else None
    tau = SOURCES[source][1]
    if algorithm == "no privacy":
        return -1 / (2 - tau)
    return -2 * tau / (4 - tau) if algorithm == "psq, Gaussian" else -tau / (2 - tau)


def sizes(source: str) -> list[int]:
    return LARGE if source == "realizable" else SIZES


def measure_source(source: str) -> np.ndarray:
    """(algorithms, sizes, seeds, figures)."""
    cases = [{"source": source, "algorithm": one, "n": n} for one in ALGORITHMS for n in sizes(source)]
    return measure_cases(measure_error, cases, SEEDS).reshape(len(ALGORITHMS), len(sizes(source)), SEEDS, 4)


def fit(n: Sequence[int], samples: np.ndarray) -> Power | None:
    return fit_power(n, samples) if (samples.mean(axis=1) > 0).all() else None


def print_table(found: dict[str, np.ndarray]) -> None:
    rows = []
    for source, figures in found.items():
        n = sizes(source)
        for algorithm, samples in zip(ALGORITHMS, figures, strict=True):
            theirs = promised(source, algorithm)
            last = Mean.of(samples[-1, :, 0])
            rows.append(
                (
                    source,
                    algorithm,
                    "none" if theirs is None else f"{theirs:.2f}",
                    "" if source == "agnostic" else fit(n, samples[:, :, 1]) or "",
                    fit(n, samples[:, :, 0]) or "",
                    f"{last.value:.2g} ({last.lower:.2g} to {last.upper:.2g})",
                    f"{samples[-1, 0, 2]:,.0f}" if algorithm != "no privacy" else "",
                    f"{samples[-1, 0, 3]:,.0f}",
                )
            )
    headers = ("column", "algorithm", "exponent of n, paper", "of Dis(h, h*)", "of the excess risk")
    headers += ("excess risk at the largest n", "m there", "K there")
    write_table("pate/pate_rates", headers, rows)


def draw(found: dict[str, np.ndarray]) -> None:
    figure = Figure(figsize=(12, 5), layout="constrained", facecolor="white")
    figure.suptitle(
        "PATE on thresholds: the excess risk falls with n about as fast as Table 1 says, or faster, and "
        "hardly at all where two rules are best.\n"
        f"Means over {SEEDS} draws with 95 % limits; ε = 1, δ = 1e-6; in the legends fitted exponents of n, "
        "and (the paper's)",
        x=0.01,
        ha="left",
        fontsize=11,
    )
    shown = ("realizable", "τ = 1/2", "agnostic")
    axes = figure.subplots(1, len(shown), sharey=True)
    colours = dict(zip(ALGORITHMS, (GREY, BLUE, RED, GREEN), strict=True))
    for axis, source in zip(axes, shown, strict=True):
        n = sizes(source)
        for marker, (algorithm, samples) in zip(
            "xosD", zip(ALGORITHMS, found[source], strict=True), strict=True
        ):
            means = [Mean.of(row) for row in samples[:, :, 0]]
            values = np.array([mean.value for mean in means])
            low, high = (np.array([getattr(mean, side) for mean in means]) for side in ("lower", "upper"))
            power, theirs = fit(n, samples[:, :, 0]), promised(source, algorithm)
            exponent = "" if power is None else f": {power.exponent:.2f}"
            label = algorithm + exponent + ("" if theirs is None else f" ({theirs:.2f})")
            off = [values - np.maximum(low, values / 3), high - values]
            axis.errorbar(
                n,
                values,
                yerr=off,
                color=colours[algorithm],
                marker=marker,
                markersize=4,
                capsize=2,
                label=label,
            )
        axis.set(xscale="log", yscale="log", xlabel="n, private examples", title=source)
        axis.legend(loc="lower left")
        axis.set_ylim(bottom=1e-9)
    axes[0].set_ylabel("Err(h) − Err(h*)")
    save(figure, "theorems/pate_rates.svg")
    print(f"Written: {DOCS.name}/theorems/pate_rates.svg")


def main() -> None:
    found = {source: measure_source(source) for source in SOURCES}
    print_table(found)
    draw(found)


if __name__ == "__main__":
    main()
