"""The page on an audit's run, with its charts, all estimators, one pair of games and every setting."""

from __future__ import annotations

import os
import re
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import attrs

from audits.data.output_files import check_output_file, write_atomically
from audits.registry.settings_text import format_value
from audits.reports.formatting import percent
from audits.reports.report import (
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
from audits.runs.run_history import RunHistory, read_history
from audits.runs.verdict import describe_seed

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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

    The ledger is only read, and the players need not be installed. The file appears whole or not at all.

    watch: called with the number of blocks that are read, and of all blocks.

    Raises: InvalidArgument if a package is missing, the ledger cannot be read or holds no games yet, or the
    file cannot be written.
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
        from audits.runs.run_charts import draw_progress  # slow to import

        draw_progress(axes, self.read())

    def render_page(self) -> str:
        return render_run(self.read())


def render_run(run: RunHistory) -> str:
    """The HTML page on a run."""
    verdict, title = run.verdict, f"{run.verdict.learner} against {run.verdict.adversary}"
    return render_page(f"{title}: {verdict.outcome.lower()}", title, _list_parts(run))


def _list_parts(run: RunHistory) -> Iterator[Part]:
    from audits.runs.run_charts import draw_run  # with matplotlib

    verdict, transcript, command = run.verdict, _wrap_transcript(run.notes.transcript), run.notes.command
    yield Conclusion(verdict.outcome, verdict.explain_outcome(), _explain_meaning(run), verdict.refuted)
    yield Facts(_list_figures(run))
    yield from draw_run(run)
    yield Heading("Estimators side by side")
    certified = [row for row in verdict.estimates or () if row.certified]
    headers = ("method", f"certified with confidence {percent(verdict.confidence)}", "assumes")
    yield Table(headers, [(row.title, str(row), row.assumes) for row in certified])
    yield Prose(
        "Each row holds with this confidence by itself: choose the one to quote before the games. The "
        "verdict rests on the first.",
        role="note",
    )
    yield Heading("One pair of games")
    if transcript:
        yield Listing(transcript)
        yield Prose(
            "What the learner received and answered, and what the adversary saw. This is no random pair: of "
            "the first pairs of games, it is the first whose score is higher in world 1 or, without scores, "
            "whose views differ; if there is none, it is the first of all. Consecutive equal rounds share a "
            "line.",
            role="note",
        )
    else:
        yield Prose("No pair of games was recorded.", role="note")
    yield Heading("Settings")
    yield Facts(list(_list_settings(run)))
    yield Heading("Run it again")
    yield (
        CommandLine(command)
        if command
        else Prose(
            "The run was not started from the command line; it depends only on the settings above.",
            role="note",
        )
    )


def _explain_meaning(run: RunHistory) -> str:
    verdict = run.verdict
    meaning = (
        "The adversary tells the two worlds apart better than the claim allows. An audit refutes a true "
        f"claim with a probability of at most {percent(1 - verdict.confidence)}, whenever it is stopped."
        if verdict.refuted
        else "This is no proof of privacy: more games, or another adversary, may refute the claim."
    )
    if verdict.interrupted:
        meaning += f" The run is not finished ({_describe_games(run)}); the games played so far count."
    return meaning


def _describe_games(run: RunHistory) -> str:
    numbers, games = run.settings, run.verdict.games
    if games == numbers.games:
        return f"{games:,} in each world"
    return f"{games:,} of {'at most ' if numbers.until_refuted else ''}{numbers.games:,} in each world"


def _list_figures(run: RunHistory) -> list[tuple[str, str]]:
    verdict, notes = run.verdict, run.notes
    claim, own_claim = str(verdict.claim), notes.claim
    source = _describe_theorem(notes.theorem)
    return [
        ("claim under test", f"{claim}, the learner's own{source}" if claim == own_claim else claim),
        ("learner's own claim", f"{own_claim}{source}" if own_claim and claim != own_claim else ""),
        ("certified", verdict.describe_bound()),
        ("for its curve", verdict.describe_curve_bound()),
        ("ceiling", verdict.describe_ceiling()),
        ("games", _describe_games(run)),
    ]


def _describe_theorem(theorem: str) -> str:
    """Where a claim comes from, to follow it in a sentence; empty if nobody says so."""
    reason = theorem.removeprefix("none: ")
    if reason != theorem:
        return f"; no theorem: {reason}"
    return f", by {theorem}" if theorem else ""


def _list_settings(run: RunHistory) -> Iterator[tuple[str, str]]:
    plan, notes, numbers = run.plan, run.notes, run.settings
    players = (("learner", notes.learner), ("adversary", notes.adversary), ("referee", notes.protocol))
    for role, name in players:
        spec = plan.get(role)
        if isinstance(spec, dict):
            yield "protocol" if role == "referee" else role, _describe_spec(name, spec, plan.get("learner"))
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


def _describe_spec(name: str, spec: dict[str, Any], learner: object) -> str:
    """A player with all its settings; of an adversary, the opponent is not repeated."""
    parts = []
    for field, value in spec.items():
        if field in ("name", "class"):
            continue
        if isinstance(value, dict):
            value = (
                "the one above"
                if value == learner
                else value.get("name") or value.get("class", "").rpartition(":")[2]
            )
        parts.append(f"{field} = {format_value(value)}")
    return f"{name}: {', '.join(parts)}" if parts else name


def _wrap_transcript(transcript: str) -> str:
    """The transcript with the long lines wrapped that hold training sets."""
    return "\n".join(
        _wrap_examples(line) if line.startswith("training") else line.rstrip()
        for line in transcript.splitlines()
    )


def _wrap_examples(line: str) -> str:
    unbroken = re.sub(r"\([^()]*\)", lambda example: example[0].replace(" ", "\xa0"), line)
    return textwrap.fill(unbroken, _TRANSCRIPT_WIDTH, subsequent_indent="  ").replace("\xa0", " ")
