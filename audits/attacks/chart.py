"""The chart of a poisoning: errors in the last round by the part of the queries that is chosen."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from audits.attacks.poisoning import NOBODY, PoisoningResult
from audits.attacks.text import rows_of
from audits.reports.plots import COLOURS, plot
from audits.reports.text import percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LINES = ("-", "--", ":")


def draw(result: PoisoningResult, path: str | os.PathLike[str]) -> None:
    """Draw the poisoning into a file: the same bytes for the same figures.

    Raises: InvalidArgument as `plot` does.
    """
    plot(path, lambda axes: _draw(axes, result), of="poisoning", columns=2)


def _draw(axes: Axes, result: PoisoningResult) -> None:
    race = result.plan.race
    labels = list(dict.fromkeys(one.dose.label for one in result.doses))
    aims = [aim for aim in dict.fromkeys(one.dose.aim for one in result.doses) if aim != NOBODY] or [NOBODY]
    for number, label in enumerate(labels):
        for kind, aim in enumerate(aims):
            at, (middle, lower, upper) = rows_of(result, label, aim)
            colour = COLOURS[number % len(COLOURS)]
            line = _LINES[kind % len(_LINES)]
            axes.plot(
                at, middle, color=colour, linestyle=line, marker="o", markersize=4, label=f"{label}, {aim}"
            )
            axes.fill_between(at, lower, upper, color=colour, alpha=0.1, linewidth=0)
    axes.set_ylim(bottom=0)
    axes.set(
        xlabel="part of the queries that is chosen", ylabel=f"mean error of hypotheses in round {race.rounds}"
    )
    sure = percent(race.confidence)
    axes.set_title(
        f"Poisoned queries, {race.games:,} games each\n"
        f"Medians of games; shaded, limits ({sure} for all together)",
        fontsize=11,
        loc="left",
    )
