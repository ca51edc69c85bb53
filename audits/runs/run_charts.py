"""The charts of an audit's run, each with words for readers who know no statistics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from audits.reports.formatting import nats, percent
from audits.reports.plots import BEYOND, LONGEST, Picture, choose_colour, draw_beyond
from audits.runs.run_history import MAX_POINTS, RunHistory
from audits.statistics.estimates import TRADE_OFF

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MARKED_POINTS = 40  # curves with more points have no markers
_LOG_RATIO = 50  # the axis of games is logarithmic if the last figure has so many times the first one's games
_MOST_THRESHOLDS = 4  # with evidence of more of them, the axis above the threshold is logarithmic


@attrs.frozen(kw_only=True)
class RunChart:
    """A chart of a run. plain_words: its statement for everybody. caption: how to read it. description: for
    readers who cannot see it; empty if there is nothing to draw. square: whether both axes are alike."""

    heading: str
    picture: Picture
    plain_words: str
    caption: str
    description: str = ""
    square: bool = False


def draw_evidence(run: RunHistory) -> RunChart:
    """The wealth of the bets against the claim, over the games."""
    shown = _choose_points(len(run.games))
    wealth, evidence, threshold = run.log_wealth, run.log_evidence, run.threshold
    final, error = float(evidence[-1]), 1 - run.settings.confidence
    tests = 1 if run.settings.curve is None else 2
    odds = f"{tests / error:,.6g}"
    top = 1.12 * max(final, threshold)
    # Evidence far above the threshold would press the line that decides against the axis of games.
    logarithmic = final > _MOST_THRESHOLDS * threshold

    def draw(axes: Axes) -> None:
        games, blue, orange = run.games[shown], choose_colour(0), choose_colour(1)
        axes.plot(games, wealth[shown], color=blue, linewidth=1, alpha=0.8, label="now")
        _draw_blocks(axes, games, evidence[shown], label="highest so far")
        axes.axhline(threshold, color=orange, linestyle="--", label=f"claim refuted (ln {odds})", zorder=4)
        if logarithmic:
            axes.set_yscale("symlog", linthresh=threshold)
            axes.minorticks_off()
            ticks = [0.0, threshold, *(10.0**n for n in range(10) if 1.5 * threshold < 10**n < top)]
            axes.set_yticks(ticks, [nats(tick) if tick == threshold else f"{tick:,.0f}" for tick in ticks])
        scale = threshold if logarithmic else top
        axes.set_ylim(min(-0.1 * scale, 1.1 * max(float(wealth.min()), -scale)), top)
        axes.set(ylabel="log wealth of the bets (nats)")
        _set_games_axis(axes, run)

    scale = " (above the dashed line the axis, too, is logarithmic)" if logarithmic else ""
    caption = (
        f"Bets against the claim start with a wealth of 1, whose logarithm is 0{scale}. If the claim is "
        f"true, they ever reach {odds}, whose logarithm is {nats(threshold)}, with a probability of at most "
        f"{percent(error)}; once they reach the dashed line, the claim is refuted for good."
    )
    if tests == 2:
        caption += " Some bet against (ε, δ), others against the privacy curve; the larger wealth is shown."
    heading = "Evidence against the claim"
    outcome = "grew beyond" if final >= threshold else "stayed within"
    return RunChart(
        heading=heading,
        picture=Picture(draw=draw, title=heading),
        plain_words="Somebody who does not believe the promise of privacy bets against it in every "
        f"game: here the winnings {outcome} what luck can explain.",
        caption=caption,
        description=f"Evidence against the claim over the games: the wealth has a logarithm of {nats(final)} "
        f"at the end; the claim is refuted at {odds}.",
    )


def draw_bound(run: RunHistory) -> RunChart:
    """The certified bound over the games, beside the claim."""
    verdict, top = run.verdict, _find_top(run)
    claim, certified, ceiling = (
        nats(figure) for figure in (verdict.claim.epsilon, verdict.epsilon_lower, verdict.ceiling)
    )

    def draw(axes: Axes) -> None:
        shown, on_curve = _choose_points(len(run.games)), verdict.curve_epsilon_lower
        _draw_blocks(axes, run.games[shown], run.epsilon_lower[shown], label=f"certified ({certified})")
        limit = min(verdict.claim.epsilon, LONGEST)
        axes.axhline(limit, color=choose_colour(1), linestyle="--", label=f"claim ({claim})")
        if on_curve is not None:
            label = f"for its curve ({nats(on_curve)})"
            axes.axhline(on_curve, color=choose_colour(0), linestyle="-.", label=label)
        # No ceiling is known before the first block, in whose games nothing could be certified.
        games, ceilings = np.array([(0.0, 0.0), *run.ceilings]).T
        draw_beyond(axes, games, ceilings, top, f"{BEYOND} (ceiling {ceiling})")
        axes.set_ylim(0, top)
        axes.set(ylabel="certified ε (nats)")
        _set_games_axis(axes, run)

    caption = (
        f"Every claim of an ε below the solid line is false with confidence {percent(verdict.confidence)}. "
        "Shaded: bounds that no adversary could have reached in as many games, not even one that always "
        f"tells the worlds apart; at the end that is {ceiling}."
    )
    if verdict.curve_epsilon_lower is not None:
        caption += " The line of dots and dashes: the bound among privacy curves of the claim's shape."
    proved = f"at least {certified}" if verdict.epsilon_lower > 0 else "no leak at all"
    return RunChart(
        heading="Certified ε",
        picture=Picture(draw=draw, title=verdict.title, reading=verdict.reading),
        plain_words="ε measures how much the output can reveal about one person, and 0 is nothing: the claim "
        f"allows at most {claim}, and these games prove {proved}.",
        caption=caption,
        description=f"Certified ε over the games: {certified} nats at the end, the claim {claim} nats, "
        f"the ceiling {ceiling} nats.",
    )


def _find_top(run: RunHistory) -> float:
    """The end of the axis of the bound: a ceiling far above would make its curve a flat line."""
    verdict = run.verdict
    drawn, on_curve = min(verdict.claim.epsilon, LONGEST), verdict.curve_epsilon_lower or 0.0
    return 1.1 * max(min(max(verdict.ceiling, drawn), 2 * max(verdict.epsilon_lower, drawn)), on_curve)


def draw_trade_off(run: RunHistory) -> RunChart | None:
    """The trade-off curve of the first estimator that has one, if any."""
    rows = [row for row in run.verdict.estimates or () if TRADE_OFF in row.details]
    if not rows:
        return None
    heading, curves = "Trade-off of the two errors", rows[0].details[TRADE_OFF]
    plain_words = (
        "Whoever guesses which of the two data sets was used makes errors of two kinds, and privacy means "
        "that nobody can make both of them rare."
    )
    if curves is None or curves.allowed is None:
        return RunChart(
            heading=heading,
            picture=Picture(draw=lambda axes: None, title=heading),
            plain_words=plain_words,
            caption=f"There is no trade-off curve: it {rows[0].reason}.",
        )
    allowed = curves.allowed
    below = bool((curves.upper < allowed).any())

    def draw(axes: Axes) -> None:
        blue, orange = choose_colour(0), choose_colour(1)
        axes.fill_between(curves.alpha, allowed, 1, color=orange, alpha=0.12, linewidth=0)
        axes.plot(curves.alpha, allowed, color=orange, linestyle="--", label="the claim allows")
        axes.fill_between(curves.alpha, curves.estimate, curves.upper, color=blue, alpha=0.25, linewidth=0)
        axes.plot(curves.alpha, curves.upper, color=blue, linewidth=2, label="certified")
        axes.plot(curves.alpha, curves.estimate, color=blue, linewidth=0.8, linestyle="-.", label="observed")
        axes.set(xlabel="type I error (probability)", ylabel="type II error (probability)")
        axes.set(xlim=(-0.01, 1), ylim=(-0.01, 1), aspect="equal")

    caption = (
        "A guess of the world errs in world 0 (type I) or in world 1 (type II). The claim keeps every guess "
        f"inside the shaded region. With confidence {percent(run.settings.confidence)} the best guess does "
        f"at least as well as the solid line, which {'leaves' if below else 'stays in'} that region."
    )
    place = "falls below what the claim allows" if below else "stays where the claim allows it to be"
    return RunChart(
        heading=heading,
        picture=Picture(draw=draw, title=heading),
        plain_words=plain_words,
        caption=caption,
        description=f"Type II error against type I error: the certified curve {place}.",
        square=True,
    )


def _draw_blocks(axes: Axes, games: np.ndarray, values: np.ndarray, *, label: str) -> None:
    """The main curve of a chart. It is known after every block; lines join these points without jumps."""
    marker = "o" if len(games) <= _MARKED_POINTS else None
    style: Any = {"color": choose_colour(0), "linewidth": 2, "marker": marker, "markersize": 3, "zorder": 3}
    axes.plot(games, values, label=label, **style)


def _set_games_axis(axes: Axes, run: RunHistory) -> None:
    first, last = float(run.games[1]), float(run.games[-1])
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
