"""Examples that a private sanitiser needs, against the size of the domain: sanitiser_sizes.svg.

`learners.online.sanitiser` at ε = 1, δ = 1e-6, for H^label of thresholds (d grows as log2 |X|) and of
points (d = 1). Half of the data are at the first point that a random concept labels 1, which is the more to
find the larger the domain; the others are uniform. A tenth of the labels are flipped. The need is the least
size at which the largest error over all functions is at most 0.1 on average over 20 data sets, with the best
of 3, 6, 12 and 25 calls of the generator at the rate 0.8: on a grid of ratio 2^(1/4), then interpolated.

Beside it: the size at which the sanitiser's own theorem holds (α = 0.1, β = 0.1), and the size of Theorem
4.2, d⁶·√d*/(ε·α²), with every constant and logarithm that it hides taken as 1.
"""

from __future__ import annotations

import numpy as np
from tabulate import tabulate

from arena.concepts import ConceptClass, Points, Thresholds
from arena.littlestone.concept_sets import labellings
from arena.randomness import block_seed, generator
from benchmarks.by_learner.charts import BLUE, GREY, RED, panels, save
from benchmarks.theorems.measurement import Mean, fit_power, measure_cases
from learners.online.sanitiser import Sanitiser, error_functions

EPSILON, DELTA, ALPHA, BETA = 1.0, 1e-6, 0.1, 0.1
SIZES = (4, 16, 64, 256)
SEEDS, DATA_SETS = 6, 20
CALLS, RATE = (3, 6, 12, 25), 0.8
GRID = np.unique((50 * 2.0 ** (np.arange(40) / 4)).astype(int))
KINDS: dict[str, type[Thresholds] | type[Points]] = {"thresholds": Thresholds, "points": Points}


def make_class(kind: str, points: int) -> ConceptClass:
    return KINDS[kind](range(points))


def measure_need(*, seed: int, kind: str, points: int) -> list[float]:
    """The least number of examples with a mean error of at most ALPHA."""
    rng = generator(block_seed(seed, points))
    labels = labellings(make_class(kind, points))
    functions = error_functions(labels)
    before = (0.0, 0.0)
    for size in GRID:
        counts = draw_counts(rng, labels, int(size))
        error = min(mean_error(rng, functions, counts, calls) for calls in CALLS)
        here = (np.log(size), np.log(error))
        if error <= ALPHA and size > GRID[0]:
            part = (before[1] - np.log(ALPHA)) / (before[1] - here[1])
            return [float(np.exp(before[0] + part * (here[0] - before[0])))]
        before = here
    raise ValueError(f"more than {GRID[-1]:,} examples are needed")


def draw_counts(rng: np.random.Generator, labels: np.ndarray, size: int) -> np.ndarray:
    """Data sets (DATA_SETS, 2·points) of so many examples, as counts."""
    points = labels.shape[1]
    targets = labels[rng.integers(len(labels), size=DATA_SETS)]
    occurs = 0.5 * np.eye(points)[targets.argmax(axis=1)] + 0.5 / points
    ones = occurs * np.where(targets, 0.9, 0.1)
    return rng.multinomial(size, np.concatenate([occurs - ones, ones], axis=1))


def mean_error(rng: np.random.Generator, functions: np.ndarray, counts: np.ndarray, calls: int) -> float:
    """The largest error of a function's mean, on average over data sets."""
    sanitiser = Sanitiser(functions, epsilon=EPSILON, delta=DELTA, alpha=ALPHA, calls=calls, rate=RATE)
    apart = sanitiser.run(rng, counts).distribution - counts / counts.sum(axis=1, keepdims=True)
    return float(np.abs(apart @ functions.T).max(axis=1).mean())


def own_size(kind: str, points: int) -> float:
    """The size at which the theorem of the sanitiser that is run holds."""
    functions = error_functions(labellings(make_class(kind, points)))
    return Sanitiser(functions, epsilon=EPSILON, delta=DELTA, alpha=ALPHA).sample_size(BETA)


def paper_size(kind: str, points: int) -> float:
    """d⁶·√d*/(ε·α²), with d and d* in closed form: both are ⌊log2(|X| + 1)⌋ or nearly so, or 1 for points."""
    dimension = np.floor(np.log2(points + 1)) if kind == "thresholds" else 1.0
    return float(dimension**6 * np.sqrt(dimension) / (EPSILON * ALPHA**2))


def main() -> None:
    cases = [{"kind": kind, "points": points} for kind in KINDS for points in SIZES]
    needs = measure_cases(measure_need, cases, SEEDS)[:, :, 0].reshape(len(KINDS), len(SIZES), SEEDS)
    rows = []
    for kind, found in zip(KINDS, needs, strict=True):
        for points, samples in zip(SIZES, found, strict=True):
            mean = Mean.of(samples)
            rows.append(
                (
                    kind,
                    f"{points:,}",
                    f"{mean.value:,.0f} ({mean.lower:,.0f} to {mean.upper:,.0f})",
                    f"{own_size(kind, points):,.0f}",
                    f"{paper_size(kind, points):.2g}",
                )
            )
        for points in (2**20, 2**60):
            rows.append((kind, f"2^{int(np.log2(points))}", "", "", f"{paper_size(kind, points):.2g}"))
    headers = ("class", "|X|", "examples needed (limits)", "its own theorem", "d⁶√d*/(εα²)")
    print(tabulate(rows, headers, tablefmt="github", disable_numparse=True))
    powers = [fit_power(np.log(SIZES), found) for found in needs]
    for kind, power in zip(KINDS, powers, strict=True):
        print(f"{kind}: examples needed grow as (ln |X|)^{power}")
    draw(needs)


def draw(needs: np.ndarray) -> None:
    figure, axes = panels(
        "Multiplicative weights need few more examples on a larger domain: a power of ln |X|\n"
        "(ε = 1, δ = 1e-6, largest error 0.1; means with 95 % limits)",
        sharey=True,
    )
    for axis, kind, found, colour in zip(axes, KINDS, needs, (BLUE, RED), strict=True):
        means = [Mean.of(samples) for samples in found]
        values = np.array([mean.value for mean in means])
        errors = [values - [mean.lower for mean in means], [mean.upper for mean in means] - values]
        axis.errorbar(SIZES, values, yerr=errors, color=colour, marker="o", capsize=3, label="measured")
        own, paper = ([size(kind, points) for points in SIZES] for size in (own_size, paper_size))
        axis.plot(SIZES, own, color=colour, linestyle="--", label="where its own theorem holds")
        axis.plot(SIZES, paper, color=GREY, linestyle=":", label="d⁶√d*/(εα²), constants as 1")
        axis.set(title=kind, xlabel="points of the domain, |X|", xscale="log", yscale="log")
        axis.xaxis.set_major_formatter("{x:,.0f}")
        axis.yaxis.set_major_formatter("{x:,.0f}")
        axis.legend(loc="upper left")
    axes[0].set_ylabel("examples")
    print(f"Written: {save(figure, 'theorems/sanitiser_sizes.svg')}")
