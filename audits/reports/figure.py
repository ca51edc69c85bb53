"""Figures of reports, made without pyplot, which notebooks display all the same. Needs matplotlib."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from html import escape
from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from audits.reports.formatting import escape_controls
from audits.reports.plots import BLACK, BLUE, GREY, GRID, ORANGE, chart_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SIZE, _BAR_SIZE = (8, 5), (8, 2.4)  # inches
_DOTS = 110  # an inch of a figure in a notebook
# What a page sets by its style, for light and dark screens.
_THEME = {BLUE: "var(--blue)", ORANGE: "var(--orange)", GREY: "var(--axis)", GRID: "var(--grid)"}
_THEME |= {BLACK: "currentColor", "#000000": "currentColor"}


class ReportFigure(Figure):
    """A matplotlib figure that notebooks display, though pyplot does not know it."""

    def _repr_png_(self) -> bytes:
        file = io.BytesIO()
        self.savefig(file, format="png", dpi=_DOTS)
        return file.getvalue()

    def to_svg(self, *, of: str = "report", description: str = "") -> str:
        """The figure as an SVG element in the colours of the page. of: the subject, for identifiers."""
        file, metadata = io.StringIO(), dict.fromkeys(("Date", "Creator", "Format", "Type"))
        with chart_style(of, font_size=11):
            self.savefig(file, format="svg", transparent=True, metadata=metadata)
        svg = file.getvalue()
        svg = escape_controls(svg[svg.index("<svg") :])
        for colour, variable in _THEME.items():
            svg = svg.replace(colour, variable)
        # Charts share a page, in which an id may occur only once.
        used = set(re.findall(r"#([\w.-]+)", svg))
        svg = re.sub(r' id="([^"]*)"', lambda match: match[0] if match[1] in used else "", svg)
        return svg.replace(
            "<svg ", f'<svg role="img" aria-label="{escape(escape_controls(description))}" ', 1
        )


def make_figure(
    draw: Callable[[Axes], object],
    *,
    of: str,
    bars: bool = False,
    size: tuple[float, float] = _SIZE,
    font_size: float = 11,
) -> ReportFigure:
    """The figure on whose axes `draw` draws, with a legend below unless it drew one. bars: a low figure."""
    with chart_style(of, font_size=font_size):
        figure = ReportFigure(figsize=_BAR_SIZE if bars else size, layout="constrained")
        axes = figure.subplots()
        draw(axes)
        if axes.get_legend_handles_labels()[0] and not figure.legends:
            figure.legend(loc="outside lower center", ncols=2, frameon=False, fontsize=9)
        return figure
