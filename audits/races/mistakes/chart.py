"""The chart of a race: medians with their bands, and bounds."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import attrs
import numpy as np

from audits.races.mistakes.result import Held, RaceResult
from audits.races.mistakes.text import bound_text, title
from audits.reports.plots import COLOURS, plot
from audits.reports.text import percent
from audits.statistics.quantiles import Quantile

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MARKERS = "osD^vPX"  # for grey prints
_ABOVE = 2.5  # a bound higher than so many times all else leaves the chart at its top


def draw(result: RaceResult, path: str | os.PathLike[str]) -> None:
    """Draw the race into a file: the same bytes for the same figures.

    Raises: InvalidArgument as `plot` does.
    """
    plot(path, lambda axes: _draw(axes, result), of="race", columns=2)


def _draw(axes: Axes, result: RaceResult) -> None:
    race = result.race
    marks = np.array(race.marks)
    curves = [Curve.of(one.entrant.label, one.median, one.bounds, one.held) for one in result.standings]
    draw_curves(axes, marks, curves)
    axes.set_xscale("log")
    # Below a decade a log axis labels hardly any tick of its own.
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.set(xlabel="rounds t (logarithmic)", ylabel=f"{race.of} in rounds 1 to t")
    sure = percent(race.confidence)
    told = f"Median of the games; shaded, its limits at the marked rounds ({sure} for all of them together)"
    axes.set_title(f"{title(race)}\n{told}", fontsize=11, loc="left")


@attrs.frozen(eq=False)
class Curve:
    """A learner in a chart: its median with limits, and its bound, of which `told` speaks; None without one.

    Shapes: bounds (k,), infinite where nothing is promised.
    """

    label: str
    median: Quantile
    bounds: np.ndarray
    told: str | None

    @classmethod
    def of(cls, label: str, median: Quantile, bounds: np.ndarray, held: Held | None) -> Curve:
        said = held is not None and not held.unsaid
        return cls(
            label, median, bounds, f"{label}: bound {bound_text(held.bound)}" if held and said else None
        )


def draw_curves(axes: Axes, marks: np.ndarray, curves: list[Curve], least: float = 1.0) -> None:
    """The curves; the axis reaches up to `least` at least."""
    low, high = span = _reach(curves, least)
    for number, curve in enumerate(curves):
        _curve(axes, curve, marks, number, span)
    axes.set_ylim(low, high)


def _curve(axes: Axes, one: Curve, marks: np.ndarray, number: int, span: tuple[float, float]) -> None:
    colour, marker = COLOURS[number % len(COLOURS)], _MARKERS[number % len(_MARKERS)]
    lower, upper = (np.clip(limit, *span) for limit in (one.median.lower, one.median.upper))
    axes.fill_between(marks, lower, upper, color=colour, alpha=0.2, linewidth=0)
    middle = one.median.values
    axes.plot(marks, middle, color=colour, marker=marker, markersize=4, linewidth=1.8, label=one.label)
    if one.told is not None:
        outside = ", above the chart" if one.bounds.min() > span[1] else ""
        axes.plot(
            marks, one.bounds, color=colour, linestyle="--", linewidth=1.2, label=f"{one.told}{outside}"
        )


def _reach(curves: list[Curve], least: float) -> tuple[float, float]:
    """The lowest and highest figure that is shown."""
    medians = [one.median for one in curves]
    seen = np.concatenate([limit for m in medians for limit in (m.lower, m.values, m.upper)])
    seen = seen[np.isfinite(seen)]
    low, high = min(0.0, float(seen.min())), max(least, float(seen.max()))
    bounds = np.concatenate([one.bounds for one in curves])
    near = bounds[np.isfinite(bounds) & (bounds <= _ABOVE * high)]
    high = max(high, float(near.max(initial=0.0)))
    room = 0.05 * (high - low)
    return low - room, high + 2 * room
