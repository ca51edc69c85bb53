"""The chart of an experiment: accuracy against ε."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

from audits.experiments.experiment_plan import ASQ, ASQ_NP, PSQ, PSQ_NP, PSQ_SVT
from audits.experiments.experiment_result import ExperimentResult, RowFigures
from audits.experiments.experiment_text import experiment_title
from audits.reports.plots import BLUE, GREEN, ORANGE, draw_curve, plot, set_title

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_STYLES = {  # label, colour, and a marker for grey prints
    PSQ: ("passive", BLUE, "o"),
    ASQ: ("active", ORANGE, "s"),
    PSQ_SVT: ("passive, sparse vector", GREEN, "D"),
    PSQ_NP: ("passive, no noise", BLUE, ""),
    ASQ_NP: ("active, no noise", ORANGE, ""),
}


def draw_experiment(result: ExperimentResult, path: str | os.PathLike[str]) -> None:
    """Draw the experiment into a file: the same bytes for the same figures. Raises: as `plot` does."""
    with plot(path, of="experiment", columns=3) as axes:
        rows = result.rows
        for method in _STYLES:
            selected = sorted((row for row in rows if row.method == method), key=lambda row: row.epsilon)
            if selected and method in (PSQ_NP, ASQ_NP):
                label, colour, _ = _STYLES[method]
                mean, half_width = selected[0].accuracy.value, selected[0].accuracy.half_width or 0.0
                axes.axhline(mean, color=colour, linestyle="--", linewidth=1.2, label=label)
                axes.axhspan(mean - half_width, mean + half_width, color=colour, alpha=0.12, linewidth=0)
            elif selected:
                _draw_method(axes, method, selected)
        epsilons = sorted(result.experiment.epsilons)
        if epsilons:
            axes.set_xscale("log")
            axes.set_xticks(epsilons, [f"{epsilon:g}" for epsilon in epsilons])
            axes.minorticks_off()
        axes.set(xlabel="ε of all answers together (nats, logarithmic)", ylabel="accuracy of the student")
        set_title(axes, experiment_title(result), "Mean over the splits; shaded, 1.96 standard errors")


def _draw_method(axes: Axes, method: str, rows: list[RowFigures]) -> None:
    label, colour, marker = _STYLES[method]
    means = np.array([row.accuracy.value for row in rows])
    half_widths = np.array([row.accuracy.half_width or 0.0 for row in rows])
    limits = [means - half_widths, means + half_widths]
    epsilons = [row.epsilon for row in rows]
    draw_curve(axes, epsilons, means, limits, color=colour, label=label, marker=marker, markersize=5)
    in_paper = [(row.epsilon, row.paper.accuracy) for row in rows if row.paper is not None]
    if in_paper:
        axes.plot(
            *zip(*in_paper, strict=True),
            color=colour,
            marker=marker,
            markerfacecolor="none",
            linestyle="none",
            markersize=9,
            label=f"{label}, Table 4 of the paper",
        )
