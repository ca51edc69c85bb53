"""The charts of a report, as SVG to stand in a page: the same bytes for the same figures."""

from __future__ import annotations

import io
import math
import re
from html import escape
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from audits.reports.text import nats, percent
from audits.runs.run_history import MAX_POINTS, RunHistory
from audits.statistics.bands import TradeOff

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Told apart by those who see colours otherwise, and on a grey print by their line styles.
BLUE, ORANGE, BLACK, GREY = "#0072b2", "#d55e00", "#222222", "#666666"
_FEW = 40  # blocks, each of which is then marked
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_LONG = 50  # blocks, from which on most of what happens would happen at the left edge


@attrs.frozen
class Chart:
    """A chart, with a heading and the sentence that says how to read it. svg: None where there is none."""

    title: str
    svg: str | None
    caption: str


def charts(found: RunHistory) -> list[Chart]:
    """All charts of a run.

    Raises: ImportError without matplotlib.
    """
    return [_evidence(found), _bound(found), _trade_off(found)]


def _evidence(found: RunHistory) -> Chart:
    kept = _kept(len(found.games))
    now, most = found.log_wealth / math.log(10), found.log_evidence / math.log(10)
    line = found.threshold / math.log(10)
    error = percent(1 - found.settings.confidence)
    odds = f"{1 / (1 - found.settings.confidence):,.6g}"

    def draw(axes: Axes) -> None:
        games = found.games[kept]
        axes.step(games, now[kept], where="post", color=BLUE, linewidth=0.8, alpha=0.6, label="now")
        _course(axes, games, most[kept], label="highest so far")
        axes.axhline(line, color=ORANGE, linestyle="--", label=f"claim falls ({odds})", zorder=4)
        top = max(float(most.max()), line)
        axes.set_ylim(min(-0.1 * top, 1.1 * max(float(now.min()), -top)), 1.12 * top)
        axes.yaxis.set_major_formatter(lambda value, _: _power(value))
        axes.locator_params(axis="y", integer=True)
        axes.set(ylabel="wealth of the bets")
        _games_axis(axes, found)

    told = f"Evidence against the claim over the games: it ends at {_power(float(most[-1]), 1)}; "
    told += f"the claim falls at {odds}."
    caption = (
        f"Bets against the claim start with a wealth of 1 and, were the claim true, would ever reach {odds} "
        f"with a chance of at most {error}: from the dashed line on, the claim is refuted for good."
    )
    return Chart("Evidence against the claim", _svg("evidence", told, draw), caption)


def _bound(found: RunHistory) -> Chart:
    verdict, kept = found.verdict, _kept(len(found.games))
    claim, most = verdict.claim.epsilon, verdict.epsilon_lower
    ceilings = np.array([(0, 0.0), *found.ceilings]).T
    top = 1.1 * min(max(verdict.ceiling, claim), 3 * max(most, claim))

    def draw(axes: Axes) -> None:
        _course(axes, found.games[kept], found.epsilon_lower[kept], label=f"certified ({nats(most)})")
        axes.axhline(claim, color=ORANGE, linestyle="--", label=f"claim ({nats(claim)})")
        axes.step(
            *ceilings,
            where="post",
            color=BLACK,
            linestyle=":",
            label=f"ceiling ({nats(verdict.ceiling)})",
            zorder=4,
        )
        # A far-off ceiling leaves the chart at its top, or the course of the bound would be a flat line.
        axes.set_ylim(0, top)
        axes.set(ylabel="ε (nats)")
        _games_axis(axes, found)

    told = f"Certified ε over the games: {nats(most)} nats in the end, the claim {nats(claim)} nats, "
    told += f"the ceiling {nats(verdict.ceiling)} nats."
    caption = (
        f"Every claim of an ε below the solid line is false with confidence {percent(verdict.confidence)}; "
        "the dotted line is as high as any adversary could have brought it in as many games"
    )
    caption += f", and rises out of the chart to {nats(verdict.ceiling)}." if verdict.ceiling > top else "."
    return Chart("Certified ε", _svg("bound", told, draw), caption)


def _trade_off(found: RunHistory) -> Chart:
    title, curves = "Trade-off of the two errors", found.estimates.trade_off
    if curves is None or curves.allowed is None:
        return Chart(title, None, f"There is no trade-off curve: it {_no_band(found)}.")
    below = bool((curves.upper < curves.allowed).any())
    told = "Type II error against type I error: the certified curve "
    told += "dips below what the claim allows." if below else "stays where the claim allows it to be."
    caption = (
        "A guess of the world errs in world 0 (type I) or in world 1 (type II); the claim keeps every guess "
        f"inside the shaded region, and with confidence {percent(found.settings.confidence)} the best guess "
        f"does at least as well as the solid line, which {'leaves' if below else 'stays in'} that region."
    )
    return Chart(
        title, _svg("trade-off", told, lambda axes: _draw_errors(axes, curves), square=True), caption
    )


def _draw_errors(axes: Axes, curves: TradeOff) -> None:
    assert curves.allowed is not None
    axes.fill_between(curves.alpha, curves.allowed, 1, color=ORANGE, alpha=0.12, linewidth=0)
    axes.plot(curves.alpha, curves.allowed, color=ORANGE, linestyle="--", label="the claim allows")
    axes.fill_between(curves.alpha, curves.estimate, curves.upper, color=BLUE, alpha=0.25, linewidth=0)
    axes.plot(curves.alpha, curves.upper, color=BLUE, linewidth=2, label="certified")
    axes.plot(curves.alpha, curves.estimate, color=BLUE, linewidth=0.8, linestyle="-.", label="seen")
    axes.set(xlabel="type I error (chance)", ylabel="type II error (chance)")
    axes.set(xlim=(-0.01, 1), ylim=(-0.01, 1), aspect="equal")


def _no_band(found: RunHistory) -> str:
    """Why there is no band, in the words of the estimate that rests on it."""
    (said,) = [row.reason for row in found.estimates.rows if row.method == "band"]
    return said


def _course(axes: Axes, games: np.ndarray, values: np.ndarray, *, label: str) -> None:
    """What counts, above all else in the chart: it changes with every block, and not in between."""
    marker = "o" if len(games) <= _FEW else None
    axes.step(
        games,
        values,
        where="post",
        color=BLUE,
        linewidth=2,
        marker=marker,
        markersize=3,
        zorder=3,
        label=label,
    )


def _games_axis(axes: Axes, found: RunHistory) -> None:
    first, last = float(found.games[1]), float(found.games[-1])
    if last >= _LONG * first:
        axes.set_xscale("log")
        axes.set(xlim=(0.8 * first, 1.1 * last), xlabel="games in each world (logarithmic)")
        axes.xaxis.set_minor_formatter("")
    else:
        axes.set(xlim=(0, 1.02 * last), xlabel="games in each world")
        axes.locator_params(axis="x", nbins=6)
    axes.xaxis.set_major_formatter("{x:,.0f}")


def _kept(points: int) -> np.ndarray:
    """The points that are drawn: all, or as many as can be told apart on either scale."""
    if points <= MAX_POINTS:
        return np.arange(points)
    even = np.linspace(0, points - 1, MAX_POINTS // 2)
    return np.unique(np.concatenate([even, np.geomspace(1, points - 1, MAX_POINTS // 2)]).round().astype(int))


def _power(value: float, decimals: int = 0) -> str:
    """10 to the power of `value`; up to a million in full."""
    if -1e-9 < value <= 6:
        return f"{10**value:,.3g}" if value < 3 else f"{10**value:,.0f}"
    return "10" + f"{value:.{0 if abs(value) >= 10 else decimals}f}".translate(_SUPERSCRIPTS)


def _svg(name: str, told: str, draw: Any, *, square: bool = False) -> str:
    """What `draw` draws as inline SVG. told: what one who cannot see it is told."""
    import matplotlib as mpl  # an extra, and slow to import
    from matplotlib.figure import Figure

    style: Any = {"svg.hashsalt": f"dp-arena {name}", "svg.fonttype": "none", "font.size": 12}
    style |= {"axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": GREY}
    style |= {"axes.grid": True, "grid.color": "#e3e3e3", "grid.linewidth": 0.6, "axes.axisbelow": True}
    with mpl.rc_context(style):
        figure = Figure(figsize=(4.8, 4.8) if square else (6, 3.4), layout="constrained")
        draw(figure.subplots())
        figure.legend(loc="outside upper left", ncols=3, frameon=False, borderaxespad=0, columnspacing=1.0)
        drawn = io.StringIO()
        figure.savefig(drawn, format="svg", metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))
    svg = drawn.getvalue()
    svg = svg[svg.index("<svg") :]
    # Charts share a page, where an id may stand but once.
    used = set(re.findall(r"#([\w.-]+)", svg))
    svg = re.sub(r' id="([^"]*)"', lambda found: found[0] if found[1] in used else "", svg)
    return svg.replace("<svg ", f'<svg role="img" aria-label="{escape(told)}" ', 1)
