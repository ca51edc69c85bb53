"""Figures of reports, made without pyplot, which notebooks display all the same. Needs matplotlib."""

from __future__ import annotations

import io
import os
import re
import textwrap
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties

from arena import InvalidArgument
from audits.reports.formatting import escape_controls
from audits.reports.plots import (
    BLACK,
    BLUE,
    GREY,
    GRID,
    ORANGE,
    Picture,
    chart_style,
    check_plot,
    complete_user_style,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_DOTS = 150  # an inch of a picture that consists of dots
_LETTER = 0.48  # mean width of a letter, of the size of its font
# What a page sets by its style, for light and dark screens.
_THEME = {BLUE: "var(--blue)", ORANGE: "var(--orange)", GREY: "var(--axis)", GRID: "var(--grid)"}
_THEME |= {BLACK: "currentColor", "#000000": "currentColor"}
# What a file would say of the time and the program that wrote it.
_UNSAID = {
    "png": ("Software",),
    "svg": ("Date", "Creator", "Format", "Type"),
    "pdf": ("CreationDate", "Creator", "Producer"),
}


class ReportFigure(Figure):
    """A matplotlib figure that notebooks display, though pyplot does not know it. A result that is drawn
    again gives the same bytes of a PDF, a PNG or an SVG."""

    subject = "report"  # from which identifiers within an SVG are derived

    def savefig(self, fname: Any, **settings: Any) -> None:
        """Write the figure, in the style in which it was made; settings: as matplotlib has them."""
        ending = Path(fname).suffix if isinstance(fname, str | os.PathLike) else ""
        kind = str(settings.get("format") or ending.removeprefix(".")).lower()
        settings = {"dpi": _DOTS, "metadata": dict.fromkeys(_UNSAID.get(kind, ())), **settings}
        with mpl.rc_context(complete_user_style(self.subject)):
            super().savefig(fname, **settings)

    def _repr_png_(self) -> bytes:
        file = io.BytesIO()
        self.savefig(file, format="png", dpi=mpl.rcParams["figure.dpi"] * 1.1)
        return file.getvalue()

    def to_svg(self, *, description: str = "") -> str:
        """The figure as an SVG element in the colours of the page."""
        file, metadata = io.StringIO(), dict.fromkeys(_UNSAID["svg"])
        with chart_style(self.subject, font_size=11):
            Figure.savefig(self, file, format="svg", transparent=True, metadata=metadata)
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
    picture: Picture,
    *,
    of: str,
    title: str | None = None,
    page: bool = False,
    size: tuple[float, float] | None = None,
) -> ReportFigure:
    """The picture as a figure with a legend, in the user's style, or in that of pages.

    title: in place of the picture's own; empty: none. size: in inches; default: the style's.
    """
    with chart_style(of, font_size=11) if page else mpl.rc_context(complete_user_style(of)):
        figure = ReportFigure(figsize=size or picture.size, layout="constrained")
        figure.subject = of
        axes = figure.subplots()
        draw_picture(axes, picture, title, legend=False)
        handles, labels = axes.get_legend_handles_labels()
        if handles:
            columns = 2 if len(handles) == 4 or max(map(len, labels)) > 24 else 3
            spacing: Any = {
                "loc": "outside upper left" if page else "outside lower center",
                "borderaxespad": 0.2,
                "columnspacing": 1.2,
                "handlelength": 1.5,
            }
            figure.legend(ncols=columns, **spacing)
        return figure


def draw_picture(axes: Axes, picture: Picture, title: str | None = None, *, legend: bool = True) -> None:
    """Draw a picture on axes of the user's. title: in place of its own; empty: none."""
    picture.draw(axes)
    size = FontProperties(size=mpl.rcParams["axes.titlesize"]).get_size_in_points()
    inches = axes.get_window_extent().width / axes.figure.dpi
    letters = max(20, int(72 * inches / (_LETTER * size)))
    lines = (picture.title, picture.reading) if title is None else (title,)
    text = "\n".join(textwrap.fill(escape_controls(line), letters) for line in lines if line)
    if text:
        axes.set_title(text, parse_math=False)
    if legend and axes.get_legend_handles_labels()[0]:
        below: Any = {"loc": "upper left", "bbox_to_anchor": (0, -0.2)}  # bars leave no room for it
        axes.legend(**(below if picture.rows else {}))


def write_figure(picture: Picture, path: str | os.PathLike[str], *, of: str) -> None:
    """Write a picture to a PDF, a PNG or an SVG. Raises: InvalidArgument."""
    check_plot(path)
    try:
        make_figure(picture, of=of).savefig(path)
    except OSError as error:
        raise InvalidArgument(f"the chart {path} cannot be written ({error.strerror})") from error
