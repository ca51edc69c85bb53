"""The picture of an experiment: accuracy against ε."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

from audits.experiments.plan import ASQ, ASQ_NP, PSQ, PSQ_NP
from audits.experiments.result import Mean, Outcome, Result
from audits.experiments.text import title
from audits.reports.plots import plot

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Of Okabe and Ito, as in other charts; markers are for grey prints.
_STYLES = {
    PSQ: ("passive", "#0072b2", "o"),
    ASQ: ("active", "#d55e00", "s"),
    PSQ_NP: ("passive, no noise", "#0072b2", ""),
    ASQ_NP: ("active, no noise", "#d55e00", ""),
}


def draw(result: Result, path: str | os.PathLike[str]) -> None:
    """Draw the experiment into a file: the same bytes for the same figures.

    Raises: InvalidArgument as `plot` does.
    """
    plot(path, lambda axes: _draw(axes, result), of="experiment", columns=3)


def _draw(axes: Axes, result: Result) -> None:
    outcomes = result.outcomes
    for method in _STYLES:
        found = [one for one in outcomes if one.row.method == method]
        if found and method in (PSQ_NP, ASQ_NP):
            _level(axes, method, found[0].accuracy)
        elif found:
            _curve(axes, method, sorted(found, key=lambda one: one.row.epsilon))
    epsilons = sorted(result.experiment.epsilons)
    if epsilons:
        axes.set_xscale("log")
        axes.set_xticks(epsilons, [f"{epsilon:g}" for epsilon in epsilons])
        axes.minorticks_off()
    axes.set(xlabel="ε of all answers together, in nats (logarithmic)", ylabel="accuracy of the student")
    told = "Mean over the splits; shaded, 1.96 standard errors"
    axes.set_title(f"{title(result)}\n{told}", fontsize=11, loc="left")


def _level(axes: Axes, method: str, mean: Mean) -> None:
    label, colour, _ = _STYLES[method]
    axes.axhline(mean.value, color=colour, linestyle="--", linewidth=1.2, label=label)
    off = mean.off or 0.0
    axes.axhspan(mean.value - off, mean.value + off, color=colour, alpha=0.12, linewidth=0)


def _curve(axes: Axes, method: str, found: list[Outcome]) -> None:
    label, colour, marker = _STYLES[method]
    epsilons = [one.row.epsilon for one in found]
    means = np.array([one.accuracy.value for one in found])
    off = np.array([one.accuracy.off or 0.0 for one in found])
    axes.fill_between(epsilons, means - off, means + off, color=colour, alpha=0.2, linewidth=0)
    axes.plot(epsilons, means, color=colour, marker=marker, markersize=5, linewidth=1.8, label=label)
    known = [(one.row.epsilon, one.paper.accuracy) for one in found if one.paper is not None]
    if known:
        axes.plot(
            *zip(*known, strict=True),
            color=colour,
            marker=marker,
            markerfacecolor="none",
            linestyle="none",
            markersize=9,
            label=f"{label}, Table 4 of the paper",
        )
