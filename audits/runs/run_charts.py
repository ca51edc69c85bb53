"""The charts of an audit's HTML report, as SVG: the same bytes for the same figures."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from audits.reports.formatting import nats, percent
from audits.reports.plots import BLACK, BLUE, LONGEST, ORANGE, set_title
from audits.reports.report import Chart, Heading, Part, Prose
from audits.runs.run_history import MAX_POINTS, RunHistory
from audits.runs.verdict import Verdict
from audits.statistics.estimates import TRADE_OFF

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MARKED_POINTS = 40  # curves with more points have no markers
_LOG_RATIO = 50  # the axis of games is logarithmic if the last figure has so many times the first one's games
_MOST_THRESHOLDS = 4  # with evidence of more of them, the axis above the threshold is logarithmic


def draw_run(replay: RunHistory) -> Iterator[Part]:
    """All charts of a run, each with a heading and a sentence for readers who know no statistics.

    Raises: ImportError without matplotlib.
    """
    yield from _draw_evidence(replay)
    yield from _draw_certified_bound(replay)
    yield from _draw_trade_off(replay)


def draw_progress(axes: Axes, replay: RunHistory) -> None:
    """The certified bound over the games, with a title."""
    verdict = replay.verdict
    draw_bound(axes, replay, find_top(verdict))
    subject = f"{verdict.learner} against {verdict.adversary}: {verdict.outcome.lower()}"
    set_title(axes, subject, f"Every ε below the line is false with confidence {percent(verdict.confidence)}")


def _draw_evidence(replay: RunHistory) -> list[Part]:
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
    return _show_chart("Evidence against the claim", plain_words, svg, caption)


def find_top(verdict: Verdict) -> float:
    """The end of the axis of the bound: a ceiling far above would make its curve a flat line."""
    drawn, on_curve = min(verdict.claim.epsilon, LONGEST), verdict.curve_epsilon_lower or 0.0
    return 1.1 * max(min(max(verdict.ceiling, drawn), 3 * max(verdict.epsilon_lower, drawn)), on_curve)


def draw_bound(axes: Axes, replay: RunHistory, top: float) -> None:
    """Draw the certified bound over the games, the claim and the ceiling."""
    verdict, shown = replay.verdict, _choose_points(len(replay.games))
    claim, certified, on_curve = verdict.claim.epsilon, verdict.epsilon_lower, verdict.curve_epsilon_lower
    games, bounds = replay.games[shown], replay.epsilon_lower[shown]
    _draw_blocks(axes, games, bounds, label=f"certified ({nats(certified)})")
    axes.axhline(min(claim, LONGEST), color=ORANGE, linestyle="--", label=f"claim ({nats(claim)})")
    if on_curve is not None:
        axes.axhline(on_curve, color=BLUE, linestyle="-.", label=f"for its curve ({nats(on_curve)})")
    ceilings = np.array(replay.ceilings).T  # no ceiling is known before the first block
    label = f"ceiling ({nats(verdict.ceiling)})"
    axes.plot(*ceilings, color=BLACK, linestyle=":", label=label, zorder=4)
    axes.set_ylim(0, top)
    axes.set(ylabel="certified ε (nats)")
    _set_games_axis(axes, replay)


def _draw_certified_bound(replay: RunHistory) -> list[Part]:
    verdict = replay.verdict
    claim, certified, top = verdict.claim.epsilon, verdict.epsilon_lower, find_top(verdict)
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
    if verdict.curve_epsilon_lower is not None:
        caption += " The line of dots and dashes: the bound among privacy curves of the claim's shape."
    plain_words = (
        f"ε measures how much the output can reveal about one person, and 0 is nothing: the claim allows at "
        f"most {nats(claim)}, and these games prove "
        + (f"at least {nats(certified)}." if certified > 0 else "no leak at all.")
    )
    svg = _render_svg("bound", description, lambda axes: draw_bound(axes, replay, top))
    return _show_chart("Certified ε", plain_words, svg, caption)


def _draw_trade_off(replay: RunHistory) -> list[Part]:
    """The trade-off curve of the first estimator that has one."""
    rows = [row for row in replay.verdict.estimates or () if TRADE_OFF in row.details]
    if not rows:
        return []
    title, curves = "Trade-off of the two errors", rows[0].details[TRADE_OFF]
    plain_words = (
        "Whoever guesses which of the two data sets was used makes errors of two kinds, and privacy means "
        "that nobody can make both of them rare."
    )
    if curves is None or curves.allowed is None:
        return _show_chart(title, plain_words, "", f"There is no trade-off curve: it {rows[0].reason}.")
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
    svg = _render_svg("trade-off", description, draw, square=True)
    return _show_chart(title, plain_words, svg, caption)


def _show_chart(title: str, plain_words: str, svg: str, caption: str) -> list[Part]:
    return [Heading(title), Prose(plain_words, role="plain"), Chart(svg, caption)]


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


def _render_svg(name: str, description: str, draw: Callable[[Axes], None], *, square: bool = False) -> str:
    """What `draw` draws, as inline SVG in the colours of the page.

    description: for readers who cannot see the chart.
    """
    from audits.reports.figure import make_figure  # an extra, and slow to import

    def draw_with_legend(axes: Axes) -> None:
        draw(axes)
        columns = 3 if len(axes.get_legend_handles_labels()[0]) <= 3 else 2
        spacing = {"borderaxespad": 0.0, "columnspacing": 0.8, "handlelength": 1.5}
        axes.figure.legend(loc="outside upper left", ncols=columns, frameon=False, **spacing)

    size = (4.8, 4.8) if square else (5.6, 3.4)
    return make_figure(draw_with_legend, of=name, size=size, font_size=12).to_svg(
        of=name, description=description
    )
