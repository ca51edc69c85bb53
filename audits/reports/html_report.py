"""The report on an audit's run as one HTML file that loads nothing from the network."""

from __future__ import annotations

import os
import re
import textwrap
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from audits.data.output_files import check_output_file, write_atomically
from audits.data.terminal_text import escape_controls
from audits.registry.settings_text import format_value
from audits.reports.formatting import percent
from audits.reports.page_policy import make_policy
from audits.reports.verdict_text import (
    describe_ceiling,
    describe_certificate,
    describe_curve_bound,
    describe_seed,
    describe_theorem,
    explain_outcome,
    name_outcome,
)
from audits.runs.plan import LEARNED, LIKELIHOOD, OWN_COINS, SCORE

if TYPE_CHECKING:
    from audits.runs.run_history import RunHistory

_TRANSCRIPT_WIDTH = 90  # characters
_DISTINGUISHERS = {
    SCORE: "the adversary's score",
    LEARNED: "learned from earlier blocks of games",
    LIKELIHOOD: "the likelihood ratio of the released value",
}
_FIXED = "a fixed number of games"
_METHODS = {  # the name of each estimator for newcomers, and its assumptions
    "betting": ("betting", "nothing: it holds at any time"),
    "one event": ("held-out Clopper-Pearson", f"{_FIXED}; one event"),
    "band": ("simultaneous band", f"{_FIXED}; all thresholds at once"),
    "GDP, one event": ("μ-GDP, one event", f"{_FIXED}; one event"),
    "GDP, band": ("μ-GDP, band", f"{_FIXED}; all thresholds at once"),
}
_REGION = ("region of (ε, δ)", f"{_FIXED}; the same band, read at the claim's ε")


def check_html(path: str | os.PathLike[str], ledger: str | os.PathLike[str] | None = None) -> None:
    """Refuse, before any game is played, an HTML report on `ledger`; raises as `check_output_file` does."""
    check_output_file("HTML report", path, packages=("jinja2", "matplotlib"), ledger=ledger)


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
    from audits.runs.run_history import read_history  # only a report needs it, and not every audit

    page = render_html(read_history(ledger, watch))
    with write_atomically("HTML report", path) as unfinished:
        unfinished.write_text(page, encoding="utf-8")


def render_html(run: RunHistory) -> str:
    """The HTML page on a run."""
    from audits.reports.run_charts import draw_run  # with matplotlib

    verdict, notes = run.verdict, run.notes
    return render_template(
        "audits.reports",
        "html_report.html.j2",
        title=f"{verdict.learner} against {verdict.adversary}",
        outcome=name_outcome(verdict),
        refuted=verdict.refuted,
        explanation=explain_outcome(verdict),
        meaning=_explain_meaning(run),
        figures=_list_figures(run),
        charts=draw_run(run),
        confidence=percent(verdict.confidence),
        estimates=list(_list_estimates(run)),
        transcript=_wrap_transcript(notes.transcript),
        settings=list(_list_settings(run)),
        command=notes.command,
    )


def render_template(package: str, name: str, **values: object) -> str:
    """The page that a template in the folder of a package makes of values. All texts are escaped."""
    from importlib import resources

    from jinja2 import Environment  # an extra, and slow to import

    template = resources.files(package).joinpath(name).read_text(encoding="utf-8")
    environment = Environment(autoescape=True, finalize=_escape, trim_blocks=True, lstrip_blocks=True)
    environment.filters["policy"] = make_policy
    return environment.from_string(template).render(values)


def _escape(value: object) -> object:
    """Text from the ledger without characters that would reorder the page; charts, of type Markup, as is."""
    return escape_controls(value) if type(value) is str else value


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
    source = describe_theorem(notes.theorem)
    rows = [
        ("claim under test", f"{claim}, the learner's own{source}" if claim == own_claim else claim),
        ("learner's own claim", f"{own_claim}{source}" if own_claim and claim != own_claim else ""),
        ("certified", describe_certificate(verdict)),
        ("for its curve", describe_curve_bound(verdict)),
        ("ceiling", describe_ceiling(verdict)),
        ("games", _describe_games(run)),
    ]
    return [row for row in rows if row[1]]


def _list_estimates(run: RunHistory) -> Iterator[dict[str, str]]:
    for row in run.estimates.rows:
        if row.certified:
            method, assumes = _METHODS.get(row.method, _REGION)
            yield {"method": method, "result": str(row), "assumes": assumes}


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
