"""The chart of a race: medians by round with their limits, and bounds."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from audits.races.online_race import OnlineRace
from audits.races.race_result import RaceResult
from audits.races.race_text import describe_bound, race_players
from audits.reports.formatting import percent
from audits.reports.plots import choose_colour, draw_curve, plot, set_title

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MARKERS = "osD^vPX"  # distinguish learners in grey prints
_BOUND_REACH = 2.5  # the axis reaches up to bounds within this multiple of the largest figure
_MIN_COUNT, _MIN_ERROR = 1.0, 0.05  # the axis reaches at least so high, for mistakes or regret, and errors


def draw_race(result: RaceResult, path: str | os.PathLike[str]) -> None:
    """Draw the race into a file: the same bytes for the same figures. Raises: as `plot` does."""
    online = isinstance(result.race, OnlineRace)
    with plot(path, of="race" if online else "race of predictors", columns=2) as axes:
        draw_standings(axes, result)


def draw_standings(axes: Axes, result: RaceResult) -> None:
    """Draw the curves of all learners, without their legend."""
    race, marks = result.race, np.array(result.race.marks)
    online = isinstance(race, OnlineRace)
    low, high = span = _choose_span(result, _MIN_COUNT if online else _MIN_ERROR)
    for number, standing in enumerate(result.standings):
        _draw_standing(axes, standing, marks, number, span)
    axes.set_ylim(low, high)
    if online:
        axes.set_xscale("log")
        # On less than a decade a log axis labels hardly any tick by default.
        axes.xaxis.set_major_formatter("{x:,.0f}")
        axes.set(xlabel="rounds t (logarithmic)", ylabel=f"{race.quantity} in rounds 1 to t")
    else:
        axes.set_xticks(race.marks)
        axes.set(xlabel="round of the predictor", ylabel="largest error of a hypothesis of the round")
    confidence = f"{percent(race.confidence)} for all of them together"
    set_title(
        axes,
        race_players(race),
        f"Median of the games; shaded, its limits at the marked rounds ({confidence})",
    )


def _draw_standing(
    axes: Axes, standing: Any, marks: np.ndarray, number: int, span: tuple[float, float]
) -> None:
    colour, marker, median = choose_colour(number), _MARKERS[number % len(_MARKERS)], standing.median
    limits = np.clip([median.lower, median.upper], *span)
    draw_curve(
        axes, marks, median.values, limits, label=standing.label, color=colour, marker=marker, markersize=4
    )
    if standing.bound_test is not None and not standing.bound_test.inapplicable:
        label = f"{standing.label}: bound {describe_bound(standing.bound_test.bound)}"
        label += ", above the chart" if standing.bounds.min() > span[1] else ""
        axes.plot(marks, standing.bounds, color=colour, linestyle="--", linewidth=1.2, label=label)


def _choose_span(result: RaceResult, min_height: float) -> tuple[float, float]:
    medians = [standing.median for standing in result.standings]
    figures = np.concatenate([values for m in medians for values in (m.lower, m.values, m.upper)])
    figures = figures[np.isfinite(figures)]
    low, high = min(0.0, float(figures.min())), max(min_height, float(figures.max()))
    bounds = np.concatenate([standing.bounds for standing in result.standings])
    near = bounds[np.isfinite(bounds) & (bounds <= _BOUND_REACH * high)]
    high = max(high, float(near.max(initial=0.0)))
    margin = 0.05 * (high - low)
    return low - margin, high + 2 * margin
