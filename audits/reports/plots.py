"""Charts: one picture for one statement, drawn alike in figures, files and pages, by matplotlib."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from arena import InvalidArgument
from audits.data.output_files import check_output_file

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# The palette of Okabe and Ito, which colour-blind readers can tell apart.
BLUE, ORANGE, GREEN, BLACK = "#0072b2", "#d55e00", "#009e73", "#222222"
GREY, GRID = "#666666", "#e3e3e3"
_COLOURS = (BLUE, ORANGE, GREEN, "#cc79a7", "#56b4e9", "#e69f00", BLACK)
_ENDINGS = (".pdf", ".png", ".svg")
LONGEST = 1e9  # nats: charts cut a larger ε off, since matplotlib overflows near the largest number
_SIZE, _ROW_HEIGHT, _ROWLESS_HEIGHT = (6.4, 4.0), 0.34, 1.35  # inches
_LOG_RATIO = 30  # the axis of ε is logarithmic if claims differ by a larger factor
_REACH = 3  # the axis of ε ends at so many times the largest figure, even if a ceiling is above
BEYOND = "out of reach of so many games"

# What every chart sets on a page; elsewhere only where the user has left the setting as matplotlib has it.
_STYLE: Any = {
    "axes.spines.top": False,
    "svg.fonttype": "none",  # text stays text
    "axes.spines.right": False,
    "axes.edgecolor": GREY,
    "axes.grid": True,
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "axes.titlesize": "medium",
    "axes.titlelocation": "left",
    "legend.frameon": False,
    "legend.fontsize": "small",
    "figure.figsize": _SIZE,
    "pdf.fonttype": 42,  # TrueType, since conferences refuse the Type 3 fonts that matplotlib embeds
}


@attrs.frozen(kw_only=True)
class Picture:
    """A chart of one statement. draw: on the axes of matplotlib. title: the subject. reading: a sentence that
    says how to read it, below the subject. rows: of bars, which determine the height; 0: of none."""

    draw: Callable[[Axes], object]
    title: str
    reading: str = ""
    rows: int = 0

    @property
    def size(self) -> tuple[float, float] | None:
        """Width and height in inches, if rows determine them."""
        if not self.rows:
            return None
        import matplotlib as mpl  # an extra, and slow to import

        scale = mpl.rcParams["font.size"] / mpl.rcParamsDefault["font.size"]
        return mpl.rcParams["figure.figsize"][0], scale * (_ROWLESS_HEIGHT + _ROW_HEIGHT * self.rows)

    @classmethod
    def of_bounds(cls, rows: Sequence[BoundRow], title: str, reading: str = "") -> Picture:
        """One bar for each bound on ε, beside what is claimed."""
        return cls(draw=partial(draw_bounds, rows=rows), title=title, reading=reading, rows=len(rows))


@attrs.frozen(kw_only=True)
class BoundRow:
    """A bound on ε in a chart, in nats, and the claim; None: unknown. ceiling: the most that so many games
    could certify. detectable: the loss that would have been found with probability 90 %."""

    name: str
    certified: float = 0.0
    claimed: float | None = None
    ceiling: float | None = None
    detectable: float | None = None
    refuted: bool = False


def check_plot(path: str | os.PathLike[str]) -> None:
    """Raises: InvalidArgument if a chart is no PDF, PNG or SVG, or could not be drawn or written."""
    if Path(path).suffix.lower() not in _ENDINGS:
        raise InvalidArgument(
            "a chart must be a PDF, a PNG or an SVG",
            value=str(path),
            remedy="Name a file .pdf, .png or .svg.",
        )
    check_output_file("chart", path, packages=("matplotlib",))


def chart_style(of: str, *, font_size: float) -> AbstractContextManager[Any]:
    """The style of charts on pages. of: the subject, from which identifiers within an SVG are derived."""
    import matplotlib as mpl  # an extra, and slow to import
    from cycler import cycler

    own: Any = {"svg.hashsalt": f"dp-arena {of}", "font.size": font_size}
    return mpl.rc_context({**_STYLE, **own, "axes.prop_cycle": cycler(color=_COLOURS)})


def complete_user_style(of: str) -> Any:
    """The settings of matplotlib for a figure: the user's, where they differ from matplotlib's own."""
    import matplotlib as mpl  # an extra, and slow to import

    present: Any = mpl.rcParams
    usual: Any = mpl.rcParamsDefault
    free = {name: value for name, value in _STYLE.items() if present[name] == usual[name]}
    return {**free, "svg.hashsalt": f"dp-arena {of}"}


def choose_colour(number: int) -> str:
    """The colour of a chart's curve `number`: of the user's cycle of colours, if there is one."""
    import matplotlib as mpl  # an extra, and slow to import
    from matplotlib.colors import to_hex

    if mpl.rcParams["axes.prop_cycle"] == mpl.rcParamsDefault["axes.prop_cycle"]:
        return _COLOURS[number % len(_COLOURS)]
    own = mpl.rcParams["axes.prop_cycle"].by_key().get("color", _COLOURS)
    return str(to_hex(own[number % len(own)]))


def draw_curve(
    axes: Axes, x: Any, values: Any, limits: Any, *, color: str, band_alpha: float = 0.2, **style: Any
) -> None:
    """A curve, and a shaded band between its limits (2, k). style: of the curve, as matplotlib takes it."""
    axes.fill_between(x, *np.asarray(limits), color=color, alpha=band_alpha, linewidth=0)
    axes.plot(x, values, color=color, **{"linewidth": 1.8, **style})


def draw_beyond(axes: Axes, games: Any, ceilings: Any, top: float, label: str = BEYOND) -> None:
    """Shade what no adversary could certify: above the ceilings (k,) after numbers of games (k,)."""
    style: Any = {"color": GREY, "alpha": 0.16, "linewidth": 0, "label": label}
    axes.fill_between(games, np.minimum(ceilings, top), top, **style)


def draw_bars(axes: Axes, rows: Sequence[tuple[str, float]], *, label: str) -> None:
    """One horizontal bar for each name and value; the first one is emphasised."""
    names, values = zip(*rows, strict=True)
    places: Any = range(len(rows))
    axes.barh(places, values, color=[choose_colour(0), *[GREY] * (len(rows) - 1)], height=0.6)
    for place, value in enumerate(values):
        axes.annotate(f"{value:.4g}", (value, place), xytext=(4, 0), textcoords="offset points", va="center")
    _list_names(axes, names)
    axes.margins(x=0.12)
    axes.set(xlabel=label)


def draw_bounds(axes: Axes, rows: Sequence[BoundRow]) -> None:
    """One row for each bound: a bar up to what is certified, a mark at what is claimed, and the figures."""
    values = [x for row in rows for x in (row.certified, row.claimed, row.detectable) if x is not None]
    known = [x for x in values if 0 < x <= LONGEST]
    start, end = 0.0, 1.15 * max(known, default=1.0)
    if len(rows) > 1 and known and max(known) > _LOG_RATIO * min(known):
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter("{x:g}")
        start, end = 0.5 * min(known), 1.5 * max(known)
    axes.set_xlim(start, end)
    colours = {False: choose_colour(0), True: choose_colour(1)}
    labels = {False: "certified", True: "certified: refutes the claim", None: BEYOND}
    for place, row in enumerate(rows):
        style: Any = {"color": colours[row.refuted], "left": start, "height": 0.56}
        axes.barh(
            place, max(0.0, min(row.certified, end) - start), label=labels.pop(row.refuted, ""), **style
        )
        if row.ceiling is not None and row.ceiling < end:
            style = {"color": GREY, "alpha": 0.16, "left": row.ceiling, "height": 0.8, "linewidth": 0}
            axes.barh(place, end - row.ceiling, label=labels.pop(None, ""), **style)
    ink = _choose_ink()
    claims = [(row.claimed, place) for place, row in enumerate(rows) if row.claimed is not None]
    drawn = np.array([claim for claim in claims if claim[0] <= end]).reshape(-1, 2).T
    if drawn.size:
        axes.vlines(drawn[0], drawn[1] - 0.4, drawn[1] + 0.4, colors=ink, linewidth=2, label="claimed")
    found = np.array(
        [(row.detectable, place) for place, row in enumerate(rows) if row.detectable is not None]
    )
    if found.size:
        mark: Any = {"markerfacecolor": "none", "label": "found with probability 90 %"}
        axes.plot(*found.T, "D", color=ink, **mark)
    _list_names(axes, [row.name for row in rows])
    _write_figures(axes, rows)
    axes.grid(False, axis="y")
    axes.set(xlabel="ε (nats)")


def _choose_ink() -> str:
    import matplotlib as mpl  # an extra, and slow to import

    return str(mpl.rcParams["text.color"])


def _write_figures(axes: Axes, rows: Sequence[BoundRow]) -> None:
    """Write the figures of each row at its right end."""
    right = axes.twinx()
    right.set_ylim(axes.get_ylim())
    right.set_yticks(range(len(rows)), [_describe_row(row) for row in rows])
    right.tick_params(length=0)
    right.grid(False)
    for spine in right.spines.values():
        spine.set_visible(False)


def _list_names(axes: Axes, names: Sequence[str]) -> None:
    """One name a row, the first on top."""
    axes.set_yticks(range(len(names)), names, parse_math=False)
    axes.set_ylim(len(names) - 0.5, -0.5)


def _describe_row(row: BoundRow) -> str:
    figures = [f"{x:.4g}".replace("inf", "∞") for x in (row.certified, row.claimed) if x is not None]
    return " of ".join(figures)
