"""Charts in files of their own: one look for all, and the same bytes for the same figures."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arena import InvalidArgument
from audits.data.output_files import check_output_file

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Of Okabe and Ito: told apart by those who see colours otherwise.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#222222")
_ENDINGS = (".png", ".svg")


def check_plot(path: str | os.PathLike[str]) -> None:
    """Refuse, before any game is played, a chart that could not be drawn or written.

    Raises: InvalidArgument if matplotlib is missing, or the file is no PNG or SVG, a directory, or in none.
    """
    if Path(path).suffix.lower() not in _ENDINGS:
        raise InvalidArgument(
            "a chart is a PNG or an SVG", value=str(path), remedy="Name a file .png or .svg."
        )
    if importlib.util.find_spec("matplotlib") is None:
        raise InvalidArgument("the chart needs matplotlib", remedy="Run pip install dp-arena[report].")
    check_output_file("chart", path)


def plot(path: str | os.PathLike[str], paint: Callable[[Axes], None], *, of: str, columns: int) -> None:
    """Write the chart that `paint` draws, with its legend below in so many columns.

    of: what it is a chart of; names within an SVG follow from it.

    Raises: InvalidArgument as `check_plot` does, or if the file cannot be written.
    """
    check_plot(path)
    import matplotlib as mpl  # an extra, and slow to import
    from matplotlib.figure import Figure

    style: Any = {"svg.hashsalt": f"dp-arena {of}", "svg.fonttype": "none", "font.size": 11}
    style |= {"axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": "#666666"}
    style |= {"axes.grid": True, "grid.color": "#e3e3e3", "grid.linewidth": 0.6, "axes.axisbelow": True}
    with mpl.rc_context(style):
        figure = Figure(figsize=(8, 5), layout="constrained")
        paint(figure.subplots())
        figure.legend(loc="outside lower center", ncols=columns, frameon=False, fontsize=9)
        plain = {"Software": None} if Path(path).suffix.lower() == ".png" else {"Date": None, "Creator": None}
        try:
            figure.savefig(path, dpi=150, metadata=plain)
        except OSError as error:
            raise InvalidArgument(f"the chart {path} cannot be written ({error.strerror})") from error
