"""The chart of a poisoning attack: errors in the last round by the fraction of chosen queries."""

from __future__ import annotations

import os

from audits.attacks.poisoning import PoisoningResult
from audits.reports.formatting import percent
from audits.reports.plots import choose_colour, draw_curve, plot, set_title

_LINES = ("-", "--", ":")


def draw_poisoning(result: PoisoningResult, path: str | os.PathLike[str]) -> None:
    """Draw the attack into a file: the same bytes for the same figures. Raises: as `plot` does."""
    with plot(path, of="poisoning", columns=2) as axes:
        plan = result.plan
        aims: list[str | None] = list(dict.fromkeys(dose.aim for dose in plan.doses if dose.aim)) or [None]
        for number, label in enumerate(dict.fromkeys(dose.label for dose in plan.doses)):
            for kind, aim in enumerate(aims):
                curve = [dose for dose in result.doses if dose.label == label and dose.aim in (aim, None)]
                last = [figures.mean[-1] for figures in curve]
                draw_curve(
                    axes,
                    [figures.fraction for figures in curve],
                    [middle.median for middle in last],
                    [[middle.lower for middle in last], [middle.upper for middle in last]],
                    label=f"{label}, {aim or 'no query chosen'}",
                    color=choose_colour(number),
                    band_alpha=0.1,
                    linestyle=_LINES[kind % len(_LINES)],
                    linewidth=1.5,
                    marker="o",
                    markersize=4,
                )
        axes.set_ylim(bottom=0)
        axes.set(
            xlabel="fraction of the queries that is chosen",
            ylabel=f"mean error of hypotheses in round {plan.rounds}",
        )
        confidence = f"{percent(plan.confidence)} for all together"
        set_title(
            axes,
            f"Poisoned queries, {plan.games:,} games each",
            f"Medians of games; shaded, limits ({confidence})",
        )
