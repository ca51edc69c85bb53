"""Mistakes of dp-winnow at a hidden coordinate, by T, d, ε and ρ: Theorem 4.5, section 4.4.

The picture is hidden_coordinate.svg.

The point i comes up in every second round, with label 1, and other points between. All are multiplied by ρ.
Uniform weights label all points 0. So until the learner has found i it errs in every second round, and a game
ends after 1,000 rounds without a mistake. The T that it is told may be more than that: after it has learned,
another mistake has a probability of at most β, by the theorem.

"By the theorem": K, m, b and L as its proof needs. Exponents of bounds are fitted to the same cases.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import attrs
import numpy as np
from tabulate import tabulate

from arena.concepts import Halfspaces
from benchmarks.by_learner.charts import BLUE, GREY, RED, panels, save
from benchmarks.papers.winnow_constants import winnow_constants
from benchmarks.tables import write_table
from benchmarks.theorems.measurement import Mean, Power, fit_power, measure_cases
from learners.halfspaces.dp_winnow import DpWinnow

SEEDS, GAMES = 8, 8
CALM = 1_000  # rounds without a mistake, after which a game has learned
MOST_ROUNDS = 60_000
BY_THEOREM: dict[str, Any] = {"updates": None, "draws": None, "rate": None}
USUAL: dict[str, Any] = {"dimension": 64, "rounds": 10**8, "epsilon": 1.0, "margin": 1.0}
ROUNDS = [10**k for k in (5, 7, 9, 11, 13)]
DIMENSIONS = [4**k for k in range(2, 7)]
EPSILONS = [1.0, 2.0, 4.0, 8.0, 16.0]
MARGINS = [1.0, 1 / 2, 1 / 3, 1 / 4]


@attrs.frozen
class Series:
    """Cases in which one quantity varies.

    values: from where to where, as the table shows it. size: what the mistakes are fitted to a power of.
    """

    name: str
    power_of: str
    values: str
    cases: list[dict[str, Any]]
    size: Callable[[dict[str, Any]], float]

    @property
    def sizes(self) -> list[float]:
        return [self.size(case) for case in self.cases]


SERIES = (
    Series(
        "T",
        "ln T",
        "T = 1e5 to 1e13",
        [USUAL | {"rounds": rounds} for rounds in ROUNDS],
        lambda case: math.log(case["rounds"]),
    ),
    Series(
        "d",
        "ln d",
        "d = 16 to 4,096",
        [USUAL | {"dimension": dimension} for dimension in DIMENSIONS],
        lambda case: math.log(case["dimension"]),
    ),
    Series(
        "ε",
        "1/ε",
        "ε = 16 to 1",
        [USUAL | {"epsilon": epsilon} for epsilon in EPSILONS[::-1]],
        lambda case: 1 / case["epsilon"],
    ),
    Series(
        "ρ",
        "1/ρ",
        "ρ = 1 to 1/4",
        [USUAL | {"epsilon": 16.0, "margin": margin} for margin in MARGINS],
        lambda case: 1 / case["margin"],
    ),
)


def build_learner(
    *, dimension: int, rounds: int, epsilon: float, margin: float, theorem: bool = True
) -> DpWinnow:
    settings = BY_THEOREM if theorem else {}
    return DpWinnow(concepts=Halfspaces(dimension, margin), rounds=rounds, epsilon=epsilon, **settings)


def count_mistakes(seed: int, dimension: int, margin: float, **others: Any) -> Sequence[float]:
    """The mean number of mistakes over the games of this seed."""
    learner = build_learner(dimension=dimension, margin=margin, **others)
    rng, coins = np.random.default_rng(seed).spawn(2)
    state, rows = learner.start(GAMES, coins), np.arange(GAMES)
    hidden = rng.integers(0, dimension, GAMES)
    mistakes, last = np.zeros(GAMES), 0
    for t in range(MOST_ROUNDS):
        other = (hidden + rng.integers(1, dimension, GAMES)) % dimension
        y = np.full(GAMES, t % 2 == 0)
        x = np.full((GAMES, dimension), -margin)
        x[rows, np.where(y, hidden, other)] = margin
        wrong = state.hypothesis()(x) != y
        state.observe(x, y)
        mistakes += wrong
        last = t if wrong.any() else last
        if t - last >= CALM:
            return [float(mistakes.mean())]
    raise RuntimeError(f"not learned in {MOST_ROUNDS:,} rounds")


def find_bounds(case: dict[str, Any]) -> tuple[float, float]:
    """The bound on mistakes of the learner by the theorem's settings, and the printed one."""
    learner = build_learner(**case)
    bound = learner.bound(case["rounds"])
    assert bound is not None
    printed = winnow_constants(c=learner.c, delta=learner.delta, beta=learner.beta, **case)
    return bound.at_most, printed.mistakes


def exponent(series: Series, values: Sequence[float]) -> float:
    return float(np.polyfit(np.log(series.sizes), np.log(values), 1)[0])


def describe_mean(samples: np.ndarray) -> str:
    mean = Mean.of(samples)
    return f"{mean.value:,.0f} ({mean.lower:,.0f} to {mean.upper:,.0f})"


def main() -> None:
    found, bounds, powers, rows, laws = {}, {}, {}, [], []
    for series in SERIES:
        name = series.name
        found[name] = measure_cases(count_mistakes, series.cases, SEEDS)[:, :, 0]
        bounds[name] = [find_bounds(case) for case in series.cases]
        powers[name] = fit_power(series.sizes, found[name])
        ours, printed = zip(*bounds[name], strict=True)
        laws.append(
            (
                series.power_of,
                series.values,
                powers[name],
                f"{exponent(series, ours):.2f}",
                f"{exponent(series, printed):.2f}",
            )
        )
        for case, samples, bound in zip(series.cases, found[name], bounds[name], strict=True):
            values = (f"{case['rounds']:.0e}", case["dimension"], case["epsilon"], f"{case['margin']:.2f}")
            rows.append((*values, describe_mean(samples), *(f"{value:,.3g}" for value in bound)))
    defaults = {
        series.name: measure_cases(
            count_mistakes, [case | {"theorem": False} for case in series.cases], SEEDS
        )[:, :, 0]
        for series in SERIES[:2]
    }
    for series in SERIES[:2]:
        for case, samples in zip(series.cases, defaults[series.name], strict=True):
            values = (f"{case['rounds']:.0e}", case["dimension"], case["epsilon"], f"{case['margin']:.2f}")
            rows.append((*values, f"{describe_mean(samples)}, defaults", "none", "none"))
        law = fit_power(series.sizes, defaults[series.name])
        laws.append((f"{series.power_of}, default settings", series.values, law, "none", "none"))
    headers = ("T", "d", "ε", "ρ", "mistakes (95 %)", "bound", "printed bound")
    print(tabulate(rows, headers, tablefmt="github", disable_numparse=True))
    headers = ("mistakes as a power of", "values", "measured (95 %)", "our bound", "printed bound")
    write_table("halfspaces/hidden_coordinate", headers, laws)
    draw(found, defaults, bounds, powers)


def draw(
    found: dict[str, np.ndarray],
    defaults: dict[str, np.ndarray],
    bounds: dict[str, list[tuple[float, float]]],
    powers: dict[str, Power],
) -> None:
    figure, axes = panels(
        "A private Winnow needs more mistakes in longer games and in more dimensions, but only as powers of "
        "their logarithms\n(one hidden coordinate, ε = 1, δ = 1e-6, margin 1; means with 95 % limits)",
        sharey=True,
    )
    for axis, series, label, x in (
        (axes[0], SERIES[0], "rounds T that the learner is told", ROUNDS),
        (axes[1], SERIES[1], "dimension d", DIMENSIONS),
    ):
        for samples, colour, marker, told in (
            (found[series.name], BLUE, "o", "dp-winnow with the settings of Theorem 4.5"),
            (defaults[series.name], RED, "s", "dp-winnow by default, without a bound"),
        ):
            means = [Mean.of(row) for row in samples]
            values = np.array([mean.value for mean in means])
            off = [values - [m.lower for m in means], np.array([m.upper for m in means]) - values]
            style = {"color": colour, "marker": marker, "markersize": 4, "capsize": 3, "linestyle": "none"}
            axis.errorbar(x, values, yerr=off, label=told, **style)
        power = powers[series.name]
        axis.plot(x, power.at(np.array(series.sizes)), color=BLUE, linewidth=1)
        axis.plot(
            x, [bound for bound, _ in bounds[series.name]], color=GREY, linestyle=":", label="its bound"
        )
        axis.set(
            title=f"as ({series.power_of}) to the power {power}", xlabel=label, xscale="log", yscale="log"
        )
        axis.set_ylim(10, 200_000)
        axis.yaxis.set_major_formatter("{x:,.0f}")
    axes[0].set_ylabel("mistakes until it has learned")
    axes[1].set_xticks(DIMENSIONS, [f"{d:,}" for d in DIMENSIONS])
    axes[1].minorticks_off()
    axes[0].legend(loc="lower right")
    print(f"Written: {save(figure, 'theorems/hidden_coordinate.svg')}")


if __name__ == "__main__":
    main()
