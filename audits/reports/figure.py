"""Figures of reports, made without pyplot, which notebooks display all the same. Needs matplotlib."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from matplotlib.figure import Figure

from audits.reports.plots import BLUE, GREY, LONGEST, ORANGE, chart_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SIZE, _BAR_SIZE = (8, 5), (8, 2.4)  # inches
_DOTS = 110  # an inch of a figure in a notebook


class ReportFigure(Figure):
    """A matplotlib figure that notebooks display, though pyplot does not know it."""

    def _repr_png_(self) -> bytes:
        file = io.BytesIO()
        self.savefig(file, format="png", dpi=_DOTS)
        return file.getvalue()

    def to_svg(self) -> str:
        """The figure as an SVG element, for a page."""
        file = io.StringIO()
        with chart_style("report", font_size=11):
            self.savefig(file, format="svg", metadata={"Date": None, "Creator": None})
        text = file.getvalue()
        return text[text.index("<svg") :]


def make_figure(draw: Callable[[Axes], None], *, of: str, bars: bool = False) -> ReportFigure:
    """The figure on whose axes `draw` draws, with a legend below. of: the subject. bars: a low figure."""
    with chart_style(of, font_size=11):
        figure = ReportFigure(figsize=_BAR_SIZE if bars else _SIZE, layout="constrained")
        axes = figure.subplots()
        draw(axes)
        if axes.get_legend_handles_labels()[0]:
            figure.legend(loc="outside lower center", ncols=2, frameon=False, fontsize=9)
        return figure


def draw_bars(axes: Axes, rows: Sequence[tuple[str, float]], *, label: str, title: str) -> None:
    """One horizontal bar for each name and value; the first one is emphasised."""
    names, values = zip(*rows, strict=True)
    places: Any = range(len(rows))
    widths = [min(value, LONGEST) for value in values]
    axes.barh(places, widths, color=[BLUE, ORANGE, GREY, GREY][: len(rows)], height=0.6)
    for place, (value, width) in enumerate(zip(values, widths, strict=True)):
        axes.annotate(f"{value:.4g}", (width, place), xytext=(4, 0), textcoords="offset points", va="center")
    axes.set_yticks(places, names)
    axes.invert_yaxis()
    axes.margins(x=0.12)
    axes.set(xlabel=label)
    axes.set_title(title, fontsize=11, loc="left")
