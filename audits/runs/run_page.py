"""The page on an audit's run, with its charts, all estimators, one pair of games and every setting."""

from __future__ import annotations

import os
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from audits.data.output_files import check_output_file, write_atomically
from audits.registry.settings_text import format_value
from audits.reports.data_pair import DataPair
from audits.reports.formatting import nats, percent
from audits.reports.plots import BLACK, BLUE, LONGEST, ORANGE, set_title
from audits.reports.report import (
    Chart,
    CommandLine,
    Conclusion,
    Facts,
    Heading,
    Listing,
    Part,
    Prose,
    Table,
    render_page,
)
from audits.runs.plan import LEARNED, LIKELIHOOD, OWN_COINS, SCORE
from audits.runs.run_history import MAX_POINTS, RunHistory, read_history
from audits.runs.verdict import describe_seed
from audits.statistics.estimates import TRADE_OFF

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_TRANSCRIPT_WIDTH = 90  # characters
_MARKED_POINTS = 40  # curves with more points have no markers
_LOG_RATIO = 50  # the axis of games is logarithmic if the last figure has so many times the first one's games
_MOST_THRESHOLDS = 4  # with evidence of more of them, the axis above the threshold is logarithmic
_DISTINGUISHERS = {
    SCORE: "the adversary's score",
    LEARNED: "learned from earlier blocks of games",
    LIKELIHOOD: "the likelihood ratio of the released value",
}


def check_html(path: str | os.PathLike[str], ledger: str | os.PathLike[str] | None = None) -> None:
    """Refuse, before any game is played, an HTML report on `ledger`; raises as `check_output_file` does."""
    check_output_file("HTML report", path, packages=("matplotlib",), ledger=ledger)


def write_html(
    ledger: str | os.PathLike[str],
    path: str | os.PathLike[str],
    watch: Callable[[int, int], object] | None = None,
) -> None:
    """Write the report on the run in `ledger` to `path`: one file, the same bytes for the same run.

    watch: called with the number of blocks that are read, and of all. Raises: InvalidArgument.
    """
    check_html(path, ledger)
    page = render_run(read_history(ledger, watch))
    with write_atomically("HTML report", path) as unfinished:
        unfinished.write_text(page, encoding="utf-8")


@attrs.frozen
class RecordedRun:
    """The content of the ledger of a run, from which its charts are drawn; see `RunRecord`."""

    content: bytes = attrs.field(repr=False)

    def read(self) -> RunHistory:
        """The run, as `read_history` reads it."""
        with TemporaryDirectory() as folder:
            path = Path(folder, "run.ledger")
            path.write_bytes(self.content)
            return read_history(path)

    def draw(self, axes: Axes) -> None:
        run = self.read()
        verdict = run.verdict
        _draw_bound(axes, run, _find_top(run))
        subject = f"{verdict.learner} against {verdict.adversary}: {verdict.outcome.lower()}"
        reading = f"Every ε below the line is false with confidence {percent(verdict.confidence)}"
        set_title(axes, subject, reading)

    def render_page(self) -> str:
        return render_run(self.read())


def render_run(run: RunHistory) -> str:
    """The HTML page on a run."""
    verdict, title = run.verdict, f"{run.verdict.learner} against {run.verdict.adversary}"
    return render_page(f"{title}: {verdict.outcome.lower()}", title, _list_parts(run))


def _list_parts(run: RunHistory) -> Iterator[Part]:
    verdict, transcript, command = run.verdict, _wrap_transcript(run.notes.transcript), run.notes.command
    yield Conclusion(verdict.outcome, verdict.explain_outcome(), _explain_meaning(run), verdict.refuted)
    yield Facts(_list_figures(run))
    yield from _chart_evidence(run)
    yield from _chart_bound(run)
    yield from _chart_trade_off(run)
    yield Heading("Estimators side by side")
    certified = [row for row in verdict.estimates or () if row.certified]
    headers = ("method", f"certified with confidence {percent(verdict.confidence)}", "assumes")
    yield Table(headers, [(row.title, str(row), row.assumes) for row in certified])
    yield Prose(
        "Each row holds with this confidence by itself: choose the one to quote before the games. The "
        "verdict rests on the first.",
        role="note",
    )
    if run.notes.data:
        yield Heading("How the data differ")
        yield DataPair(run.notes.data)
    yield Heading("One pair of games")
    yield Listing(transcript)
    about_transcript = (
        "What the learner received and answered, and what the adversary saw. This is no random pair: of "
        "the first pairs of games, it is the first whose score is higher in world 1 or, without scores, "
        "whose views differ; if there is none, it is the first of all. Consecutive equal rounds share a "
        "line."
    )
    yield Prose(about_transcript if transcript else "No pair of games was recorded.", role="note")
    yield Heading("Settings")
    yield Facts(list(_list_settings(run)))
    yield Heading("Run it again")
    unknown = "The run was not started from the command line; it depends only on the settings above."
    yield CommandLine(command) if command else Prose(unknown, role="note")


def _explain_meaning(run: RunHistory) -> str:
    verdict = run.verdict
    when = "after all of its games" if verdict.fixed_games else "whenever it is stopped"
    counts = "" if verdict.fixed_games else "; the games played so far count"
    meaning = (
        "The adversary tells the two worlds apart better than the claim allows. An audit refutes a true "
        f"claim with a probability of at most {percent(1 - verdict.confidence)}, {when}."
        if verdict.refuted
        else "This is no proof of privacy: more games, or another adversary, may refute the claim."
    )
    return meaning + f" The run is not finished ({_describe_games(run)}){counts}." * verdict.interrupted


def _describe_games(run: RunHistory) -> str:
    numbers, games = run.settings, run.verdict.games
    if games == numbers.games:
        return f"{games:,} in each world"
    return f"{games:,} of {'at most ' if numbers.until_refuted else ''}{numbers.games:,} in each world"


def _list_figures(run: RunHistory) -> list[tuple[str, str]]:
    verdict, own_claim, theorem = run.verdict, run.notes.claim, run.notes.theorem
    claim, reason = str(verdict.claim), theorem.removeprefix("none: ")
    source = f", by {theorem}" if theorem else ""
    if reason != theorem:
        source = f"; no theorem: {reason}"
    return [
        ("claim under test", f"{claim}, the learner's own{source}" if claim == own_claim else claim),
        ("learner's own claim", f"{own_claim}{source}" if own_claim and claim != own_claim else ""),
        ("certified", verdict.describe_bound()),
        ("for its curve", verdict.describe_curve_bound()),
        ("ceiling", verdict.describe_ceiling()),
        ("games", _describe_games(run)),
    ]


def _list_settings(run: RunHistory) -> Iterator[tuple[str, str]]:
    plan, notes, numbers = run.plan, run.notes, run.settings
    players = (("learner", notes.learner), ("adversary", notes.adversary), ("referee", notes.protocol))
    for role, name in players:
        spec = plan.get(role)
        if isinstance(spec, dict):
            known = notes.settings.get(role, {})
            text = _describe_spec(name, spec, plan.get("learner"), known)
            yield "protocol" if role == "referee" else role, text
    distinguisher = plan.get("distinguisher", "")
    yield "distinguisher", _DISTINGUISHERS.get(distinguisher, str(distinguisher))
    limit = "at most, until the claim is refuted, " if numbers.until_refuted else ""
    yield (
        "games",
        f"{limit}{numbers.games:,} in each world, in blocks of at most {plan.get('block', 0):,} pairs",
    )
    yield "confidence", percent(numbers.confidence)
    yield "failures", "shown to the adversary" if plan.get("faults") else "end the audit"
    yield "seed", describe_seed(plan.get("seed"), plan.get(OWN_COINS))
    versions = plan.get("versions")
    if isinstance(versions, dict):
        yield "versions", ", ".join(f"{name} {version}" for name, version in versions.items())


def _describe_spec(name: str, spec: dict[str, Any], learner: object, known: Mapping[str, str]) -> str:
    """A player with all its settings; of an adversary, the opponent is not repeated. known: some as texts."""
    parts = []
    for field, value in spec.items():
        if isinstance(value, dict):
            own_name = value.get("name") or value.get("class", "").rpartition(":")[2]
            value = "the one above" if value == learner else known.get(field, own_name)
        if field not in ("name", "class"):
            parts.append(f"{field} = {format_value(value)}")
    return f"{name}: {', '.join(parts)}" if parts else name


def _wrap_transcript(transcript: str) -> str:
    """The transcript with the long lines wrapped, between examples, that hold training sets."""
    lines = [line.rstrip() for line in transcript.splitlines()]
    for number, line in enumerate(lines):
        if line.startswith("training"):
            unbroken = re.sub(r"\([^()]*\)", lambda example: example[0].replace(" ", "\xa0"), line)
            wrapped = textwrap.fill(unbroken, _TRANSCRIPT_WIDTH, subsequent_indent="  ")
            lines[number] = wrapped.replace("\xa0", " ")
    return "\n".join(lines)


# --- charts, each with a sentence for readers who know no statistics ----------------------------------------


def _chart_evidence(run: RunHistory) -> list[Part]:
    shown = _choose_points(len(run.games))
    wealth, evidence, threshold = run.log_wealth, run.log_evidence, run.threshold
    final, error = float(evidence[-1]), 1 - run.settings.confidence
    tests = 1 if run.settings.curve is None else 2
    odds = f"{tests / error:,.6g}"
    top = 1.12 * max(final, threshold)
    # Evidence far above the threshold would press the line that decides against the axis of games.
    logarithmic = final > _MOST_THRESHOLDS * threshold

    def draw(axes: Axes) -> None:
        games = run.games[shown]
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
        _set_games_axis(axes, run)

    scale = " (above the dashed line the axis, too, is logarithmic)" if logarithmic else ""
    caption = (
        f"Bets against the claim start with a wealth of 1, whose logarithm is 0{scale}. If the claim is "
        f"true, they ever reach {odds}, whose logarithm is {nats(threshold)}, with a probability of at most "
        f"{percent(error)}; once they reach the dashed line, the claim is refuted for good."
    )
    if tests == 2:
        caption += " Some bet against (ε, δ), others against the privacy curve; the larger wealth is shown."
    return _show_chart(
        "Evidence against the claim",
        "Somebody who does not believe the promise of privacy bets against it in every game: here the "
        f"winnings {'grew beyond' if final >= threshold else 'stayed within'} what luck can explain.",
        caption,
        f"Evidence against the claim over the games: the wealth has a logarithm of {nats(final)} at the end; "
        f"the claim is refuted at {odds}.",
        draw,
    )


def _find_top(run: RunHistory) -> float:
    """The end of the axis of the bound: a ceiling far above would make its curve a flat line."""
    verdict = run.verdict
    drawn, on_curve = min(verdict.claim.epsilon, LONGEST), verdict.curve_epsilon_lower or 0.0
    return 1.1 * max(min(max(verdict.ceiling, drawn), 3 * max(verdict.epsilon_lower, drawn)), on_curve)


def _draw_bound(axes: Axes, run: RunHistory, top: float) -> None:
    """Draw the certified bound over the games, the claim and the ceiling."""
    verdict, shown = run.verdict, _choose_points(len(run.games))
    claim, certified, on_curve = verdict.claim.epsilon, verdict.epsilon_lower, verdict.curve_epsilon_lower
    _draw_blocks(axes, run.games[shown], run.epsilon_lower[shown], label=f"certified ({nats(certified)})")
    axes.axhline(min(claim, LONGEST), color=ORANGE, linestyle="--", label=f"claim ({nats(claim)})")
    if on_curve is not None:
        axes.axhline(on_curve, color=BLUE, linestyle="-.", label=f"for its curve ({nats(on_curve)})")
    ceilings = np.array(run.ceilings).T  # no ceiling is known before the first block
    label = f"ceiling ({nats(verdict.ceiling)})"
    axes.plot(*ceilings, color=BLACK, linestyle=":", label=label, zorder=4)
    axes.set_ylim(0, top)
    axes.set(ylabel="certified ε (nats)")
    _set_games_axis(axes, run)


def _chart_bound(run: RunHistory) -> list[Part]:
    verdict, top = run.verdict, _find_top(run)
    claim, certified, ceiling = (
        nats(figure) for figure in (verdict.claim.epsilon, verdict.epsilon_lower, verdict.ceiling)
    )
    beyond = f", and leaves the chart on its way to {ceiling}" if verdict.ceiling > top else ""
    caption = (
        f"Every claim of an ε below the solid line is false with confidence {percent(verdict.confidence)}; "
        "the dotted line is the largest bound that any adversary could have reached in as many "
        f"games{beyond}."
    )
    if verdict.curve_epsilon_lower is not None:
        caption += " The line of dots and dashes: the bound among privacy curves of the claim's shape."
    proved = f"at least {certified}" if verdict.epsilon_lower > 0 else "no leak at all"
    return _show_chart(
        "Certified ε",
        "ε measures how much the output can reveal about one person, and 0 is nothing: the claim allows at "
        f"most {claim}, and these games prove {proved}.",
        caption,
        f"Certified ε over the games: {certified} nats at the end, the claim {claim} nats, "
        f"the ceiling {ceiling} nats.",
        lambda axes: _draw_bound(axes, run, top),
    )


def _chart_trade_off(run: RunHistory) -> list[Part]:
    """The trade-off curve of the first estimator that has one."""
    rows = [row for row in run.verdict.estimates or () if TRADE_OFF in row.details]
    if not rows:
        return []
    title, curves = "Trade-off of the two errors", rows[0].details[TRADE_OFF]
    plain_words = (
        "Whoever guesses which of the two data sets was used makes errors of two kinds, and privacy means "
        "that nobody can make both of them rare."
    )
    if curves is None or curves.allowed is None:
        return _show_chart(title, plain_words, f"There is no trade-off curve: it {rows[0].reason}.")
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

    caption = (
        "A guess of the world errs in world 0 (type I) or in world 1 (type II). The claim keeps every guess "
        f"inside the shaded region. With confidence {percent(run.settings.confidence)} the best guess does "
        f"at least as well as the solid line, which {'leaves' if below else 'stays in'} that region."
    )
    place = "falls below what the claim allows" if below else "stays where the claim allows it to be"
    description = f"Type II error against type I error: the certified curve {place}."
    return _show_chart(title, plain_words, caption, description, draw, size=(4.8, 4.8))


def _show_chart(
    title: str,
    plain_words: str,
    caption: str,
    description: str = "",
    draw: Callable[[Axes], None] | None = None,
    size: tuple[float, float] = (5.6, 3.4),
) -> list[Part]:
    """A chart as inline SVG in the colours of the page. description: for readers who cannot see it."""
    svg = ""
    if draw is not None:
        from audits.reports.figure import make_figure  # an extra, and slow to import

        def draw_with_legend(axes: Axes) -> None:
            draw(axes)
            columns = 3 if len(axes.get_legend_handles_labels()[0]) <= 3 else 2
            spacing = {"borderaxespad": 0.0, "columnspacing": 0.8, "handlelength": 1.5}
            axes.figure.legend(loc="outside upper left", ncols=columns, frameon=False, **spacing)

        figure = make_figure(draw_with_legend, of=title, size=size, font_size=12)
        svg = figure.to_svg(of=title, description=description)
    return [Heading(title), Prose(plain_words, role="plain"), Chart(svg, caption)]


def _draw_blocks(axes: Axes, games: np.ndarray, values: np.ndarray, *, label: str) -> None:
    """The main curve of a chart. It is known after every block; lines join these points without jumps."""
    marker = "o" if len(games) <= _MARKED_POINTS else None
    style: Any = {"color": BLUE, "linewidth": 2, "marker": marker, "markersize": 3, "zorder": 3}
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
