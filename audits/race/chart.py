"""The chart of a race: medians with their bands, and bounds."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

from audits.plots import plot
from audits.race.result import RaceResult, Standing
from audits.race.text import bound_text, title
from audits.report.text import percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Of Okabe and Ito: told apart by those who see colours otherwise. Markers are for grey prints.
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#222222")
_MARKERS = "osD^vPX"
_ABOVE = 2.5  # a bound higher than so many times all else leaves the chart at its top


def draw(result: RaceResult, path: str | os.PathLike[str]) -> None:
    """Draw the race into a file: the same bytes for the same figures.

    Raises: InvalidArgument as `plot` does.
    """
    plot(path, lambda axes: _draw(axes, result), of="race", columns=2)


def _draw(axes: Axes, result: RaceResult) -> None:
    race = result.race
    low, high = _reach(result)
    for number, one in enumerate(result.standings):
        _curve(axes, one, np.array(race.marks), number, (low, high))
    axes.set_xscale("log")
    axes.set_ylim(low, high)
    # Below a decade a log axis labels hardly any tick of its own.
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.set(xlabel="rounds t (logarithmic)", ylabel=f"{race.of} in rounds 1 to t")
    sure = percent(race.confidence)
    told = f"Median of the games; shaded, its limits at the marked rounds ({sure} for all of them together)"
    axes.set_title(f"{title(race)}\n{told}", fontsize=11, loc="left")


def _curve(axes: Axes, one: Standing, marks: np.ndarray, number: int, span: tuple[float, float]) -> None:
    colour, marker = _COLOURS[number % len(_COLOURS)], _MARKERS[number % len(_MARKERS)]
    lower, upper = (np.clip(limit, *span) for limit in (one.median.lower, one.median.upper))
    axes.fill_between(marks, lower, upper, color=colour, alpha=0.2, linewidth=0)
    label = one.entrant.label
    axes.plot(marks, one.median.values, color=colour, marker=marker, markersize=4, linewidth=1.8, label=label)
    if one.held is not None and not one.held.unsaid:
        outside = ", above the chart" if one.bounds.min() > span[1] else ""
        told = f"{label}: bound {bound_text(one.held.bound)}{outside}"
        axes.plot(marks, one.bounds, color=colour, linestyle="--", linewidth=1.2, label=told)


def _reach(result: RaceResult) -> tuple[float, float]:
    """The lowest and highest figure that is shown."""
    curves = [
        limit for one in result.standings for limit in (one.median.lower, one.median.values, one.median.upper)
    ]
    seen = np.concatenate(curves)
    seen = seen[np.isfinite(seen)]
    low, high = min(0.0, float(seen.min())), max(1.0, float(seen.max()))
    bounds = np.concatenate([one.bounds for one in result.standings])
    near = bounds[np.isfinite(bounds) & (bounds <= _ABOVE * high)]
    high = max(high, float(near.max(initial=0.0)))
    room = 0.05 * (high - low)
    return low - room, high + 2 * room
