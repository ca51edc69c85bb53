"""The page on an audit's run, with its charts, all estimators, one pair of games and every setting."""

from __future__ import annotations

import os
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import attrs

from audits.data.output_files import check_extra, check_output_file, write_atomically
from audits.registry.settings_text import format_value
from audits.reports.data_pair import DataPair
from audits.reports.formatting import percent
from audits.reports.plots import Picture
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
from audits.runs.run_charts import RunChart, draw_bound, draw_evidence, draw_trade_off
from audits.runs.run_history import RunHistory, read_history
from audits.runs.verdict import describe_seed

_TRANSCRIPT_WIDTH = 90  # characters
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

    @property
    def picture(self) -> Picture:
        """The certified bound over the games."""
        return draw_bound(self.read()).picture

    def render_page(self) -> str:
        return render_run(self.read())


def render_run(run: RunHistory) -> str:
    """The HTML page on a run. Raises: InvalidArgument without matplotlib."""
    check_extra("the HTML report", "matplotlib")
    verdict, title = run.verdict, f"{run.verdict.learner} against {run.verdict.adversary}"
    return render_page(f"{title}: {verdict.outcome.lower()}", title, _list_parts(run))


def _list_parts(run: RunHistory) -> Iterator[Part]:
    verdict, transcript, command = run.verdict, _wrap_transcript(run.notes.transcript), run.notes.command
    yield Conclusion(verdict.outcome, verdict.explain_outcome(), _explain_meaning(run), verdict.refuted)
    yield Facts(_list_figures(run))
    for chart in (draw_evidence(run), draw_bound(run), draw_trade_off(run)):
        yield from [] if chart is None else _show_chart(chart)
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


def _show_chart(chart: RunChart) -> list[Part]:
    """A chart as inline SVG in the colours of the page, below words for readers who know no statistics."""
    from audits.reports.figure import make_figure  # an extra, and slow to import

    picture = chart.picture
    svg = ""
    if chart.description:
        size = (4.8, 4.8) if chart.square else (5.6, 3.4)
        figure = make_figure(picture, of=chart.heading, title="", page=True, size=size)
        svg = figure.to_svg(description=chart.description)
    return [Heading(chart.heading), Prose(chart.plain_words, role="plain"), Chart(svg, chart.caption)]


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
