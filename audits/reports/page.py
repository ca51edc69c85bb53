"""The report of a run as one HTML file that needs no network."""

from __future__ import annotations

import importlib.util
import os
import re
import textwrap
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import attrs

from arena.errors import InvalidArgument
from audits.data.output_files import check_output_file, write_atomically
from audits.registry.settings_text import format_value
from audits.reports.charts import charts
from audits.reports.text import ceiling, certified, finding, outcome, percent, seed
from audits.runs.plan import LEARNED, LIKELIHOOD, OWN_COINS, SCORE
from audits.runs.run_history import RunHistory, read_history

_NEEDED = ("jinja2", "matplotlib")
_WIDTH = 90
_DISTINGUISHERS = {
    SCORE: "the adversary's score",
    LEARNED: "learned from earlier blocks of games",
    LIKELIHOOD: "the likelihood ratio of what is released",
}


@attrs.frozen
class Row:
    """One estimator: its method, what it says, and on what that rests."""

    method: str
    said: str
    assumes: str


def check_html(path: str | os.PathLike[str], ledger: str | os.PathLike[str] | None = None) -> None:
    """Refuse, before any game is played, an HTML report on `ledger` that could not be written to `path`.

    Raises: InvalidArgument if a package is missing, or the path is a directory, lies in none, or is the
    ledger's.
    """
    missing = [name for name in _NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise InvalidArgument(
            f"the HTML report needs {' and '.join(missing)}", remedy="Run pip install dp-arena[report]."
        )
    check_output_file("HTML report", path)
    if ledger is not None and Path(path).resolve() == Path(ledger).resolve():
        raise InvalidArgument(
            f"the HTML report {path} would take the place of the ledger", remedy="Name another file."
        )


def html(ledger: str | os.PathLike[str], path: str | os.PathLike[str]) -> None:
    """Write the report on the run in `ledger` to `path`: one file, the same bytes for the same run.

    The ledger is only read, and the players need not be there. The file appears whole or not at all.

    Raises: InvalidArgument if a package is missing, the ledger cannot be read or holds no games yet, or the
    file cannot be written.
    """
    check_html(path, ledger)
    page = page_of(read_history(ledger))
    with write_atomically("HTML report", path) as unfinished:
        unfinished.write_text(page, encoding="utf-8")


def page_of(found: RunHistory) -> str:
    """The page on a run."""
    from jinja2 import Environment  # an extra, and slow to import

    template = resources.files("audits.reports").joinpath("page.html.j2").read_text(encoding="utf-8")
    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    verdict, notes = found.verdict, found.notes
    return environment.from_string(template).render(
        title=f"{verdict.learner} against {verdict.adversary}",
        outcome=outcome(verdict),
        refuted=verdict.refuted,
        finding=finding(verdict),
        meant=_meant(found),
        figures=_figures(found),
        charts=charts(found),
        confidence=percent(verdict.confidence),
        estimates=list(_estimates(found)),
        transcript=_wrapped(notes.transcript),
        settings=list(_settings(found)),
        command=notes.command,
    )


def _meant(found: RunHistory) -> str:
    verdict = found.verdict
    meant = (
        "The adversary tells the two worlds apart better than the claim allows. Of a true claim an audit "
        f"says so with a chance of at most {percent(1 - verdict.confidence)}, whenever it is stopped."
        if verdict.refuted
        else "That is no proof of privacy: more games, or another adversary, may find what this one did not."
    )
    if verdict.interrupted:
        meant += f" The run is not finished ({_played(found)}); what was played stands."
    return meant


def _played(found: RunHistory) -> str:
    numbers, games = found.settings, found.verdict.games
    if games == numbers.games:
        return f"{games:,} in each world"
    most = "at most " if numbers.until_refuted else ""
    return f"{games:,} of {most}{numbers.games:,} in each world"


def _figures(found: RunHistory) -> list[tuple[str, str]]:
    verdict, notes = found.verdict, found.notes
    claim, own = str(verdict.claim), notes.claim
    by = f", by {notes.theorem}" if notes.theorem else ""
    rows = [
        ("claim under test", f"{claim}, the learner's own{by}" if claim == own else claim),
        ("learner's own claim", f"{own}{by}" if own and claim != own else ""),
        ("certified", certified(verdict)),
        ("ceiling", ceiling(verdict)),
        ("games", _played(found)),
    ]
    return [row for row in rows if row[1]]


def _estimates(found: RunHistory) -> Iterator[Row]:
    """The certified figures of all estimators, in the words of a reader who does not know them."""
    fixed = "a fixed number of games"
    told = {
        "betting": ("betting", "nothing: it holds at any time"),
        "one event": ("held-out Clopper-Pearson", f"{fixed}; one event"),
        "band": ("simultaneous band", f"{fixed}; all thresholds at once"),
        "GDP, one event": ("μ-GDP, one event", f"{fixed}; one event"),
        "GDP, band": ("μ-GDP, band", f"{fixed}; all thresholds at once"),
    }
    region = ("region of (ε, δ)", f"{fixed}; the same band, read at the claim's ε")
    for row in found.estimates.rows:
        if row.certified:
            method, assumes = told.get(row.method, region)
            yield Row(method, str(row), assumes)


def _settings(found: RunHistory) -> Iterator[tuple[str, str]]:
    plan, notes = found.plan, found.notes
    for role, name in (
        ("learner", notes.learner),
        ("adversary", notes.adversary),
        ("referee", notes.protocol),
    ):
        spec = plan.get(role)
        if isinstance(spec, dict):
            yield "protocol" if role == "referee" else role, _spec(name, spec, plan.get("learner"))
    numbers = found.settings
    most = "at most, until the claim falls, " if numbers.until_refuted else ""
    yield (
        "told apart by",
        _DISTINGUISHERS.get(plan.get("distinguisher", ""), str(plan.get("distinguisher"))),
    )
    yield "games", f"{most}{numbers.games:,} in each world, in blocks of {plan.get('block', 0):,} pairs"
    yield "confidence", percent(numbers.confidence)
    yield "failures", "shown to the adversary" if plan.get("faults") else "end the audit"
    yield "seed", seed(plan.get("seed"), plan.get(OWN_COINS))
    versions = plan.get("versions")
    if isinstance(versions, dict):
        yield "versions", ", ".join(f"{name} {version}" for name, version in versions.items())


def _spec(name: str, spec: dict[str, Any], learner: object) -> str:
    """A player with all its settings; an adversary's opponent is not described again."""
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


def _wrapped(transcript: str) -> str:
    """The transcript with its long lines of prose, which hold the training sets, folded."""
    return "\n".join(
        _folded(line) if line.startswith("training") else line.rstrip() for line in transcript.splitlines()
    )


def _folded(line: str) -> str:
    whole = re.sub(r"\([^()]*\)", lambda example: example[0].replace(" ", "\xa0"), line)
    return textwrap.fill(whole, _WIDTH, subsequent_indent="  ").replace("\xa0", " ")
