"""How the pictures of docs/ are drawn: one style, small files, the same bytes for the same figures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

DOCS = Path(__file__).resolve().parents[2] / "docs"
# Of Okabe and Ito: told apart by those who see colours otherwise. Markers are for grey prints.
BLUE, RED, GREEN, GREY = "#0072b2", "#d55e00", "#009e73", "#666666"

mpl.rcParams.update(
    {
        "svg.hashsalt": "dp-arena",
        "font.size": 10,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.edgecolor": GREY,
        "axes.grid": True,
        "grid.color": "#e3e3e3",
        "grid.linewidth": 0.6,
        "axes.axisbelow": True,
        "axes.titlesize": 10,
        "axes.titlelocation": "left",
        "legend.frameon": False,
        "legend.fontsize": 9,
    }
)


def panels(title: str, **shared: bool) -> tuple[Figure, Any]:
    """A figure of two panels side by side."""
    figure = Figure(figsize=(10, 4.4), layout="constrained", facecolor="white")
    figure.suptitle(title, x=0.01, ha="left", fontsize=11)
    return figure, figure.subplots(1, 2, **shared)


def save(figure: Figure, name: str) -> Path:
    """Write docs/`name`, without a date."""
    path = DOCS / name
    figure.savefig(path, metadata={"Date": None, "Creator": None})
    return path
