"""Mistakes of winnow, confident-winnow and dp-winnow, against what they should depend on: docs/winnow.svg.

- the dimension d, against sparse disjunctions, with 2 ln d/ρ² beside; and against margin-adaptive, which
  comes near that;
- the margin ρ, against the same;
- the length r and the alternations D of decision lists, the margin being that of the list;
- ε, for dp-winnow. Its mistakes come in updates, about L mistakes each, and L goes like 1/ε.

dp-winnow plays games long enough to have learned, at its own defaults otherwise; its bound is printed where
its settings have one. Last, the seconds that a table of 1,000 games of 1,000 rounds in 1,024 dimensions takes
on one core.
"""

from __future__ import annotations

import os
import time
from typing import Any

import attrs
import numpy as np
from charts import BLUE, GREEN, GREY, RED, save
from matplotlib.figure import Figure
from tabulate import tabulate

from adversaries.halfspaces.few_coordinates import MarginAdaptive
from adversaries.halfspaces.short_lists import ShortLists, SparseDisjunction
from arena import Adversary, Learner, Oblivious, Realizable, play
from arena.concepts import Halfspaces
from audits.races.online_race import plan_online_race
from audits.races.race_result import run_race
from audits.registry.players import LEARNERS
from audits.registry.settings_text import summarize_player

DIMENSIONS = [2**k for k in range(4, 15, 2)]
MARGINS = [1 / 3, 1 / 5, 1 / 9, 1 / 15, 1 / 25]
LENGTHS = [1, 2, 3, 4, 6, 8]
ALTERNATIONS = [1, 2, 3]
EPSILONS = [1.0, 2.0, 4.0, 8.0, 16.0, 64.0]
USUAL = Halfspaces(64, 0.2)
GAMES, FEW = 100, 12
LONG = 40_000  # rounds in which dp-winnow has learned at ε = 1
JOBS = os.cpu_count() or 1


@attrs.frozen
class Point:
    """Median mistakes and their 95 % limits; bound: infinite where there is none."""

    of: str
    at: float
    learner: str
    rounds: int
    median: float
    lower: float
    upper: float
    bound: float


def build_learner(name: str, **settings: Any) -> Learner:
    """The learner of that name."""
    found: Learner = LEARNERS.find(name)(**settings)
    return found


def measure(of: str, at: float, learner: Learner, adversary: Adversary, rounds: int, games: int) -> Point:
    race = plan_online_race([("it", learner, adversary)], rounds=rounds, games=games, marks=1)
    (one,) = run_race(race, jobs=JOBS).standings
    median = one.median
    return Point(
        of,
        at,
        learner.name,
        rounds,
        *(float(x[-1]) for x in (median.values, median.lower, median.upper, one.bounds)),
    )


def enough(halfspaces: Halfspaces) -> int:
    """Rounds in which Winnow has made nearly all its mistakes."""
    return min(LONG, max(1_000, round(4 * np.log(halfspaces.dimension) / halfspaces.margin**2)))


def all_of(of: str, at: float, halfspaces: Halfspaces) -> list[Point]:
    """All learners against sparse disjunctions, and winnow against margin-adaptive."""
    rounds, stream = enough(halfspaces), SparseDisjunction()
    found = [
        measure(of, at, build_learner(name, concepts=halfspaces), stream, rounds, GAMES)
        for name in ("winnow", "confident-winnow")
    ]
    found.append(measure(of, at, build_learner("dp-winnow", concepts=halfspaces), stream, LONG, FEW))
    winnow = build_learner("winnow", concepts=halfspaces)
    # It draws one coordinate only, of which none is unlike the others.
    forced = measure(of, at, winnow, MarginAdaptive(), rounds, 4)
    return [*found, attrs.evolve(forced, learner="winnow, margin-adaptive")]


def lists() -> list[Point]:
    found = []
    for changes in ALTERNATIONS:
        for length in (r for r in LENGTHS if r >= changes):
            stream = ShortLists(
                length=length, alternations=changes, concepts=Halfspaces(USUAL.dimension, 1e-6)
            )
            halfspaces = Halfspaces(USUAL.dimension, stream.reached)
            winnow = build_learner("winnow", concepts=halfspaces)
            stream = attrs.evolve(stream, concepts=None)
            found.append(measure(f"D = {changes}", length, winnow, stream, enough(halfspaces), GAMES))
    return found


def by_epsilon() -> list[Point]:
    stream = SparseDisjunction()
    return [
        measure("ε", epsilon, build_learner("dp-winnow", concepts=USUAL, epsilon=epsilon), stream, LONG, FEW)
        for epsilon in EPSILONS
    ]


def seconds() -> str:
    """A table of each learner, one after the other, on one core."""
    halfspaces, rows = Halfspaces(1_024, 0.2), []
    for name in ("winnow", "confident-winnow", "dp-winnow"):
        learner = build_learner(name, concepts=halfspaces)
        stream = SparseDisjunction(learner=learner)
        for referee in (Oblivious(stream.rounds), Realizable(Oblivious(stream.rounds), halfspaces)):
            start = time.perf_counter()
            play(learner, stream, referee, games=1_000, seed=1)
            told = "held to the margin" if isinstance(referee, Realizable) else "not held to it"
            rows.append((summarize_player(learner), told, f"{time.perf_counter() - start:.1f}"))
    return tabulate(rows, ("learner", "1,000 games, d = 1,024, T = 1,000", "s"), disable_numparse=True)


def table(points: list[Point]) -> str:
    rows = [
        (
            p.of,
            f"{p.at:.4g}",
            p.learner,
            f"{p.rounds:,}",
            f"{p.median:,.0f}",
            f"{p.lower:,.0f} to {p.upper:,.0f}" if np.isfinite([p.lower, p.upper]).all() else "",
            f"{p.bound:,.0f}" if np.isfinite(p.bound) else "none",
        )
        for p in points
    ]
    headers = ("of", "at", "learner", "T", "median mistakes", "limits (95 %)", "bound")
    return tabulate(rows, headers, disable_numparse=True)


# --- the picture ------------------------------------------------------------------------------------------

STYLES = {
    "dp-winnow": (RED, "s"),
    "winnow, margin-adaptive": (GREY, "^"),
    "confident-winnow": (GREEN, "D"),
    "winnow": (BLUE, "o"),
}


def draw(
    by_dimension: list[Point], by_margin: list[Point], of_lists: list[Point], private: list[Point]
) -> None:
    figure = Figure(figsize=(10, 8.4), layout="constrained", facecolor="white")
    figure.suptitle(
        "Learners of halfspaces with margin, d = 64, ρ = 0.2 and ε = 1 unless said otherwise;\n"
        "against random sparse disjunctions unless said otherwise",
        x=0.01,
        ha="left",
        fontsize=11,
    )
    (first, second), (third, fourth) = axes = figure.subplots(2, 2)
    for axis in axes.flat:
        axis.set(ylabel="median mistakes", xscale="log", yscale="log")
    for axis, points in ((first, by_dimension), (second, by_margin)):
        for name, (colour, marker) in STYLES.items():
            _line(axis, [p for p in points if p.learner == name], colour, marker, name)
        bounds = [p for p in points if p.learner == "winnow"]
        told = {"color": GREY, "linestyle": ":", "label": "2 ln d/ρ²"}
        axis.plot([p.at for p in bounds], [p.bound for p in bounds], **told)
    first.set_xlabel("dimension d")
    second.set_xlabel("inverse of the margin, 1/ρ")
    first.set_ylim(bottom=5)  # room for the legend
    first.legend(loc="lower right")
    for changes, colour, marker in zip(ALTERNATIONS, (BLUE, GREEN, RED), "oDs", strict=True):
        of = f"D = {changes}"
        _line(third, [p for p in of_lists if p.of == of], colour, marker, f"winnow, {of}")
    third.set(title="decision lists of the margin that they have", xlabel="terms r of the list")
    third.legend(loc="upper left")
    _line(fourth, private, RED, "s", "dp-winnow")
    fourth.set(title=f"dp-winnow, T = {LONG:,}", xlabel="ε (nats)")
    for axis, ticks in ((first, DIMENSIONS), (third, LENGTHS), (fourth, EPSILONS)):
        axis.set_xticks(ticks, [f"{x:,g}" for x in ticks])
    second.set_xticks([1 / m for m in MARGINS], [f"{1 / m:.0f}" for m in MARGINS])
    for axis in axes.flat:
        axis.minorticks_off()
        axis.yaxis.set_major_formatter("{x:,.0f}")
    print(f"Written: {save(figure, 'winnow.svg')}")


def _line(axis, points: list[Point], colour: str, marker: str, label: str) -> None:  # type: ignore[no-untyped-def]
    x, y = [p.at for p in points], np.array([p.median for p in points])
    off = np.array([[p.median - p.lower for p in points], [p.upper - p.median for p in points]])
    off[~np.isfinite(off)] = 0  # too few games for a limit
    axis.errorbar(x, y, yerr=off, color=colour, marker=marker, markersize=4, capsize=3, label=label)


def main() -> None:
    start = time.perf_counter()
    by_dimension = [p for d in DIMENSIONS for p in all_of("d", d, Halfspaces(d, USUAL.margin))]
    by_margin = [
        p for margin in MARGINS for p in all_of("1/ρ", 1 / margin, Halfspaces(USUAL.dimension, margin))
    ]
    print(table([*by_dimension, *by_margin]))
    of_lists, private = lists(), by_epsilon()
    print(table([*of_lists, *private]))
    draw(by_dimension, by_margin, of_lists, private)
    print(f"{time.perf_counter() - start:.0f} s\n\n{seconds()}")


if __name__ == "__main__":
    main()
