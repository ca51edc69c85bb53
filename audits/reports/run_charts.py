"""The charts of an audit's HTML report, as SVG: the same bytes for the same figures."""

from __future__ import annotations

import io
import re
from html import escape
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from audits.reports.formatting import nats, percent
from audits.reports.plots import BLACK, BLUE, GREY, GRID, LONGEST, ORANGE, chart_style
from audits.runs.run_history import MAX_POINTS, RunHistory

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MARKED_POINTS = 40  # curves with more points have no markers
_LOG_RATIO = 50  # the axis of games is logarithmic if the last figure has so many times the first one's games
_MOST_THRESHOLDS = 4  # with evidence of more of them, the axis above the threshold is logarithmic


# What a page sets by its style, for light and dark screens.
_THEME = {BLUE: "var(--blue)", ORANGE: "var(--orange)", GREY: "var(--axis)", GRID: "var(--grid)"}
_THEME |= {BLACK: "currentColor", "#000000": "currentColor"}


@attrs.frozen
class RunChart:
    """A chart with a heading.

    plain_words: what it shows, in a sentence for readers who know no statistics. caption: how to read it.
    svg: None if it cannot be drawn.
    """

    title: str
    plain_words: str
    svg: str | None
    caption: str


def draw_run(replay: RunHistory) -> list[RunChart]:
    """All charts of a run. Raises: ImportError without matplotlib."""
    return [_draw_evidence(replay), _draw_certified_bound(replay), _draw_trade_off(replay)]


def _draw_evidence(replay: RunHistory) -> RunChart:
    shown = _choose_points(len(replay.games))
    wealth, evidence, threshold = replay.log_wealth, replay.log_evidence, replay.threshold
    final = float(evidence[-1])
    error = percent(1 - replay.settings.confidence)
    tests = 1 if replay.settings.curve is None else 2
    odds = f"{tests / (1 - replay.settings.confidence):,.6g}"
    top = 1.12 * max(final, threshold)
    # Evidence far above the threshold would press the line that decides against the axis of games.
    logarithmic = final > _MOST_THRESHOLDS * threshold

    def draw(axes: Axes) -> None:
        games = replay.games[shown]
        axes.plot(games, wealth[shown], color=BLUE, linewidth=1, alpha=0.8, label="now")
        _draw_blocks(axes, games, evidence[shown], label="highest so far")
        axes.axhline(threshold, color=ORANGE, linestyle="--", label=f"claim refuted (ln {odds})", zorder=4)
        if logarithmic:
            axes.set_yscale("symlog", linthresh=threshold)
            axes.minorticks_off()
            ticks = [0.0, threshold, *(10.0**n for n in range(10) if 1.5 * threshold < 10**n < top)]
            axes.set_yticks(ticks, [nats(tick) if tick == threshold else f"{tick:,.0f}" for tick in ticks])
        scale = threshold if logarithmic else top
        axes.set_ylim(min(-0.1 * scale, 1.1 * max(float(wealth.min()), -scale)), top)
        axes.set(ylabel="log wealth of the bets (nats)")
        _set_games_axis(axes, replay)

    description = (
        f"Evidence against the claim over the games: the wealth has a logarithm of {nats(final)} at the end; "
        f"the claim is refuted at {odds}."
    )
    scale = " (above the dashed line the axis, too, is logarithmic)" if logarithmic else ""
    caption = (
        f"Bets against the claim start with a wealth of 1, whose logarithm is 0{scale}. If the claim is "
        f"true, they ever reach {odds}, whose logarithm is {nats(threshold)}, with a probability of at most "
        f"{error}; once they reach the dashed line, the claim is refuted for good."
    )
    if tests == 2:
        caption += " Some bet against (ε, δ), others against the privacy curve; the larger wealth is shown."
    plain_words = "Somebody who does not believe the promise of privacy bets against it in every game: " + (
        "here the winnings grew beyond what luck can explain."
        if final >= threshold
        else "here the winnings stayed within what luck can explain."
    )
    svg = _render_svg("evidence", description, draw)
    return RunChart("Evidence against the claim", plain_words, svg, caption)


def _draw_certified_bound(replay: RunHistory) -> RunChart:
    verdict, shown = replay.verdict, _choose_points(len(replay.games))
    claim, certified, on_curve = verdict.claim.epsilon, verdict.epsilon_lower, verdict.curve_epsilon_lower
    # No ceiling is known before the first block.
    ceilings = np.array(replay.ceilings).T
    # A ceiling far above the chart would make the curve of the bound a flat line.
    drawn = min(claim, LONGEST)
    top = 1.1 * max(min(max(verdict.ceiling, drawn), 3 * max(certified, drawn)), on_curve or 0.0)

    def draw(axes: Axes) -> None:
        games, bounds = replay.games[shown], replay.epsilon_lower[shown]
        _draw_blocks(axes, games, bounds, label=f"certified ({nats(certified)})")
        axes.axhline(drawn, color=ORANGE, linestyle="--", label=f"claim ({nats(claim)})")
        if on_curve is not None:
            axes.axhline(on_curve, color=BLUE, linestyle="-.", label=f"for its curve ({nats(on_curve)})")
        label = f"ceiling ({nats(verdict.ceiling)})"
        axes.plot(*ceilings, color=BLACK, linestyle=":", label=label, zorder=4)
        axes.set_ylim(0, top)
        axes.set(ylabel="certified ε (nats)")
        _set_games_axis(axes, replay)

    description = (
        f"Certified ε over the games: {nats(certified)} nats at the end, the claim {nats(claim)} nats, "
        f"the ceiling {nats(verdict.ceiling)} nats."
    )
    caption = (
        f"Every claim of an ε below the solid line is false with confidence {percent(verdict.confidence)}; "
        "the dotted line is the largest bound that any adversary could have reached in as many games"
    )
    caption += (
        f", and leaves the chart on its way to {nats(verdict.ceiling)}." if verdict.ceiling > top else "."
    )
    if on_curve is not None:
        caption += " The line of dots and dashes: the bound among privacy curves of the claim's shape."
    plain_words = (
        f"ε measures how much the output can reveal about one person, and 0 is nothing: the claim allows at "
        f"most {nats(claim)}, and these games prove "
        + (f"at least {nats(certified)}." if certified > 0 else "no leak at all.")
    )
    return RunChart("Certified ε", plain_words, _render_svg("bound", description, draw), caption)


def _draw_trade_off(replay: RunHistory) -> RunChart:
    title, curves = "Trade-off of the two errors", replay.estimates.trade_off
    plain_words = (
        "Whoever guesses which of the two data sets was used makes errors of two kinds, and privacy means "
        "that nobody can make both of them rare."
    )
    if curves is None or curves.allowed is None:
        (reason,) = [row.reason for row in replay.estimates.rows if row.method == "band"]
        return RunChart(title, plain_words, None, f"There is no trade-off curve: it {reason}.")
    allowed = curves.allowed
    below = bool((curves.upper < allowed).any())

    def draw(axes: Axes) -> None:
        axes.fill_between(curves.alpha, allowed, 1, color=ORANGE, alpha=0.12, linewidth=0)
        axes.plot(curves.alpha, allowed, color=ORANGE, linestyle="--", label="the claim allows")
        axes.fill_between(curves.alpha, curves.estimate, curves.upper, color=BLUE, alpha=0.25, linewidth=0)
        axes.plot(curves.alpha, curves.upper, color=BLUE, linewidth=2, label="certified")
        axes.plot(curves.alpha, curves.estimate, color=BLUE, linewidth=0.8, linestyle="-.", label="observed")
        axes.set(xlabel="type I error (probability)", ylabel="type II error (probability)")
        axes.set(xlim=(-0.01, 1), ylim=(-0.01, 1), aspect="equal")

    description = "Type II error against type I error: the certified curve " + (
        "falls below what the claim allows." if below else "stays where the claim allows it to be."
    )
    confidence = percent(replay.settings.confidence)
    caption = (
        "A guess of the world errs in world 0 (type I) or in world 1 (type II). The claim keeps every guess "
        f"inside the shaded region. With confidence {confidence} the best guess does at least as well as the "
        f"solid line, which {'leaves' if below else 'stays in'} that region."
    )
    return RunChart(title, plain_words, _render_svg("trade-off", description, draw, square=True), caption)


def _draw_blocks(axes: Axes, games: np.ndarray, values: np.ndarray, *, label: str) -> None:
    """The main curve of a chart. It is known after every block; lines join these points without jumps."""
    marker = "o" if len(games) <= _MARKED_POINTS else None
    style: Any = {"color": BLUE, "linewidth": 2, "marker": marker, "markersize": 3, "zorder": 3}
    axes.plot(games, values, label=label, **style)


def _set_games_axis(axes: Axes, replay: RunHistory) -> None:
    first, last = float(replay.games[1]), float(replay.games[-1])
    if last >= _LOG_RATIO * first:
        axes.set_xscale("log")
        axes.set(xlim=(0.8 * first, 1.1 * last), xlabel="games in each world (logarithmic)")
        axes.xaxis.set_minor_formatter("")
    else:
        axes.set(xlim=(0, 1.02 * last), xlabel="games in each world")
        axes.locator_params(axis="x", nbins=6)
    axes.xaxis.set_major_formatter("{x:,.0f}")


def _choose_points(points: int) -> np.ndarray:
    """Indices of the points to draw: all, or as many as can be told apart on a linear and on a log axis."""
    if points <= MAX_POINTS:
        return np.arange(points)
    linear = np.linspace(0, points - 1, MAX_POINTS // 2)
    logarithmic = np.geomspace(1, points - 1, MAX_POINTS // 2)
    return np.unique(np.concatenate([linear, logarithmic]).round().astype(int))


def _render_svg(name: str, description: str, draw: Any, *, square: bool = False) -> str:
    """What `draw` draws, as inline SVG in the colours of the page.

    description: for readers who cannot see the chart.
    """
    from matplotlib.figure import Figure  # an extra, and slow to import

    with chart_style(name, font_size=12):
        figure = Figure(figsize=(4.8, 4.8) if square else (5.6, 3.4), layout="constrained")
        draw(figure.subplots())
        spacing = {"borderaxespad": 0.0, "columnspacing": 0.8, "handlelength": 1.5}
        columns = 3 if len(figure.axes[0].get_legend_handles_labels()[0]) <= 3 else 2
        figure.legend(loc="outside upper left", ncols=columns, frameon=False, **spacing)
        file, metadata = io.StringIO(), dict.fromkeys(("Date", "Creator", "Format", "Type"))
        figure.savefig(file, format="svg", transparent=True, metadata=metadata)
    svg = file.getvalue()
    svg = svg[svg.index("<svg") :]
    for colour, variable in _THEME.items():
        svg = svg.replace(colour, variable)
    # Charts share a page, in which an id may occur only once.
    used = set(re.findall(r"#([\w.-]+)", svg))
    svg = re.sub(r' id="([^"]*)"', lambda match: match[0] if match[1] in used else "", svg)
    return svg.replace("<svg ", f'<svg role="img" aria-label="{escape(description)}" ', 1)
