"""The mistakes of `realizable` by rounds, for Littlestone dimensions 2, 3 and 4: docs/learners.svg.

Its defaults, at ε = 1, δ = 1e-6 and T = 60,000, on thresholds on 4, 8 and 16 points; before an adversary that
contradicts what is shown as long as any concept survives, and before points and a concept that are drawn.
"""

from __future__ import annotations

import os
import time

import attrs
import numpy as np
from charts import BLUE, GREEN, GREY, RED, panels, save
from tabulate import tabulate

from adversaries.online.adaptive import AdaptiveConsistent
from adversaries.online.random_sequences import IidExamples
from arena import Adversary
from arena.concepts import Thresholds
from audits.races.online_race import plan_online_race
from audits.races.race_result import RaceResult, run_race
from learners.online.realizable import RealizableLearner

ROUNDS, GAMES = 60_000, 100
MARKS = tuple(range(1_500, ROUNDS + 1, 1_500))
LEARNERS = {
    f"d = {d}": RealizableLearner(concepts=Thresholds(range(1, 2**d + 1)), rounds=ROUNDS) for d in (2, 3, 4)
}
AGAINST = {
    "adaptive: contradicts what is shown": AdaptiveConsistent(),
    "iid: points and a concept drawn beforehand": IidExamples(),
}


def play_race(adversary: Adversary) -> RaceResult:
    players = [(label, learner, adversary) for label, learner in LEARNERS.items()]
    race = plan_online_race(players, rounds=ROUNDS, games=GAMES)
    race = attrs.evolve(race, marks=MARKS)
    return run_race(race, jobs=os.cpu_count() or 1)


def table(results: dict[str, RaceResult]) -> str:
    rows = []
    for against, result in results.items():
        for one in result.standings:
            size, last = LEARNERS[one.entrant.label].effective_nodes, one.median
            rows.append(
                (
                    against.split(":")[0],
                    one.entrant.label,
                    f"{size:,}",
                    f"{last.values[-1]:,.0f} ({last.lower[-1]:,.0f} to {last.upper[-1]:,.0f})",
                    f"{last.values[-1] / size:.2f}",
                    f"{one.worst[-1]:,}",
                )
            )
    headers = ("against", "learner", "N_0", "median (limits)", "in N_0", "worst")
    return tabulate(rows, headers, disable_numparse=True)


def draw(results: dict[str, RaceResult]) -> None:
    figure, axes = panels(
        "The learner realizable on thresholds, at ε = 1 and δ = 1e-6. Medians of "
        f"{GAMES} games; shaded, their limits\n(95 %, at all marked rounds and for all three at once, in "
        "each panel)",
        sharey=True,
    )
    for axis, (against, result) in zip(axes, results.items(), strict=True):
        marks = np.array(result.race.marks)
        for one, colour, marker in zip(result.standings, (BLUE, RED, GREEN), "osD", strict=True):
            learner = LEARNERS[one.entrant.label]
            points = len(learner.concepts.domain or ())
            label = f"{one.entrant.label}: {points} points, N_0 = {learner.effective_nodes:,}"
            _curve(axis, marks, one.median, colour=colour, marker=marker, label=label)
        steep = marks[marks <= 36_000]  # drawn no further than the curves need
        axis.plot(steep, steep, color=GREY, linestyle=":", linewidth=1, label="an error every round")
        axis.set(title=f"against {against}", xlabel="rounds t")
        axis.xaxis.set_major_formatter("{x:,.0f}")
        axis.yaxis.set_major_formatter("{x:,.0f}")
    axes[0].set_ylabel("median mistakes in rounds 1 to t")
    axes[0].legend(loc="lower right", bbox_to_anchor=(1, 0.46))  # between two curves
    print(f"Written: {save(figure, 'learners.svg')}")


def _curve(axis, marks, found, *, colour: str, marker: str, label: str) -> None:  # type: ignore[no-untyped-def]
    axis.fill_between(marks, found.lower, found.upper, color=colour, alpha=0.2, linewidth=0)
    axis.plot(marks, found.values, color=colour, marker=marker, markersize=3, linewidth=1.5, label=label)


def main() -> None:
    start = time.perf_counter()
    results = {name: play_race(adversary) for name, adversary in AGAINST.items()}
    print(table(results))
    draw(results)
    print(f"{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
