"""The chart of a race of predictors: medians of worst errors by round with their bands, and bounds."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

from audits.races.errors.result import PredictorResult, PredictorStanding
from audits.races.errors.text import title
from audits.races.mistakes.chart import Curve, draw_curves
from audits.reports.plots import plot
from audits.reports.text import percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LEAST = 0.05  # the axis reaches so far at least


def draw(result: PredictorResult, path: str | os.PathLike[str]) -> None:
    """Draw the race into a file: the same bytes for the same figures.

    Raises: InvalidArgument as `plot` does.
    """
    plot(path, lambda axes: _draw(axes, result), of="race of predictors", columns=2)


def _draw(axes: Axes, result: PredictorResult) -> None:
    race = result.race
    draw_curves(axes, np.array(race.at), [_curve(one, race.rounds) for one in result.standings], _LEAST)
    axes.set_xticks(race.at)
    axes.set(xlabel="round of the predictor", ylabel="largest error of a hypothesis of the round")
    told = f"Median of the games; shaded, its limits ({percent(race.confidence)} for all of them together)"
    axes.set_title(f"{title(race)}\n{told}", fontsize=11, loc="left")


def _curve(one: PredictorStanding, rounds: int) -> Curve:
    at_most = np.inf if one.held is None else one.held.bound.at_most
    return Curve.of(one.entrant.label, one.median, np.full(rounds, at_most), one.held)
