"""Charts: one style for all, and the same bytes for the same figures."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from arena import InvalidArgument
from audits.data.output_files import check_output_file

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# The palette of Okabe and Ito, which colour-blind readers can tell apart.
BLUE, ORANGE, GREEN, BLACK = "#0072b2", "#d55e00", "#009e73", "#222222"
GREY, GRID = "#666666", "#e3e3e3"
_COLOURS = (BLUE, ORANGE, GREEN, "#cc79a7", "#56b4e9", "#e69f00", BLACK)
_ENDINGS = (".png", ".svg")
LONGEST = 1e9  # nats: charts cut a larger ε off, since matplotlib overflows near the largest number


def check_plot(path: str | os.PathLike[str]) -> None:
    """Raises: InvalidArgument if a chart is neither PNG nor SVG, or could not be drawn or written."""
    if Path(path).suffix.lower() not in _ENDINGS:
        raise InvalidArgument(
            "a chart must be a PNG or an SVG", value=str(path), remedy="Name a file .png or .svg."
        )
    check_output_file("chart", path, packages=("matplotlib",))


@contextmanager
def plot(path: str | os.PathLike[str], *, of: str, columns: int) -> Iterator[Axes]:
    """Axes to draw on; at the end of the block the chart is written. of: as of `chart_style`."""
    check_plot(path)
    from matplotlib.figure import Figure  # an extra, and slow to import

    with chart_style(of, font_size=11):
        figure = Figure(figsize=(8, 5), layout="constrained")
        axes = figure.subplots()
        yield axes
        if axes.get_legend_handles_labels()[0]:
            figure.legend(loc="outside lower center", ncols=columns, frameon=False, fontsize=9)
        is_png = Path(path).suffix.lower() == ".png"
        metadata = {"Software": None} if is_png else {"Date": None, "Creator": None}
        try:
            figure.savefig(path, dpi=150, metadata=metadata)
        except OSError as error:
            raise InvalidArgument(f"the chart {path} cannot be written ({error.strerror})") from error


def chart_style(of: str, *, font_size: float) -> AbstractContextManager[Any]:
    """The style of all charts. of: the subject, from which identifiers within an SVG are derived."""
    import matplotlib as mpl  # an extra, and slow to import

    style: Any = {"svg.hashsalt": f"dp-arena {of}", "svg.fonttype": "none", "font.size": font_size}
    style |= {"axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": GREY}
    style |= {"axes.grid": True, "grid.color": GRID, "grid.linewidth": 0.6, "axes.axisbelow": True}
    return mpl.rc_context(style)


def choose_colour(number: int) -> str:
    """The colour of a chart's curve `number`."""
    return _COLOURS[number % len(_COLOURS)]


def draw_curve(
    axes: Axes, x: Any, values: Any, limits: Any, *, color: str, band_alpha: float = 0.2, **style: Any
) -> None:
    """A curve, and a shaded band between its limits (2, k). style: of the curve, as matplotlib takes it."""
    axes.fill_between(x, *np.asarray(limits), color=color, alpha=band_alpha, linewidth=0)
    axes.plot(x, values, color=color, **{"linewidth": 1.8, **style})


def set_title(axes: Axes, subject: str, explanation: str) -> None:
    """The title of a chart: its subject, and below it how to read it."""
    axes.set_title(f"{subject}\n{explanation}", fontsize=11, loc="left")


def draw_bars(axes: Axes, rows: Sequence[tuple[str, float]], *, title: str, label: str = "ε (nats)") -> None:
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
