"""`arena survey`: audit every mechanism of a library that a catalogue knows, and compare two surveys."""

from __future__ import annotations

import attrs
import click

from audits.adversary_search.adversary_search import ERROR
from audits.cli import INTERRUPTED, REFUTED, UNDECIDED
from audits.cli.options import (
    REAL,
    LedgerOption,
    SeedOption,
    argument,
    file_option,
    option,
    option_groups,
    option_record,
)
from audits.cli.output import Output, format_command
from audits.surveys.survey import CALL_SECONDS, MAX_SECONDS
from audits.surveys.survey import survey as survey_library
from audits.surveys.survey_report import Survey


@option_record
class SurveyOptions(LedgerOption, SeedOption):
    library: str = argument(metavar="LIBRARY")
    catalogue: str | None = option(
        "--catalogue",
        metavar="FILE.py",
        help="A file that defines an audits.Catalogue. Default: the catalogue of LIBRARY that comes with "
        "dp-arena.",
    )
    only: tuple[str, ...] = option(
        "--only", metavar="NAME", help="Audit this entry; * and ? stand for any text. May be repeated."
    )
    against: str | None = option(
        "--against", metavar="OLD.json", help="Compare with this earlier survey, printed by --json."
    )
    max_seconds: float = option(
        "--max-time", metavar="SECONDS", type=REAL, default=MAX_SECONDS, help="Time of each entry."
    )
    max_calls: int | None = option(
        "--max-calls", metavar="N", help="Calls of each entry, checks included. Default: no limit."
    )
    call_seconds: float = option(
        "--call-time",
        metavar="SECONDS",
        type=REAL,
        default=CALL_SECONDS,
        help="After so long a call counts as one that never returns.",
    )
    confidence: float = option(
        "--confidence",
        default=1 - ERROR,
        help="The probability that a true claim is refuted is at most 1 minus this, for each entry.",
    )
    jobs: int = option("--jobs", "-j", metavar="N", default=1, help="Number of entries at a time.")
    html: str | None = file_option("--html", "Also write the page of the survey.", "HTML report")


@click.command("survey")
@option_groups
def survey(asked: SurveyOptions, output: Output) -> int:
    """Search all mechanisms of LIBRARY for violations of what they claim.

    Each entry of the catalogue is audited in a process of its own, which may hang or crash. Printed are the
    claims that are refuted, the others with the loss that would have been found, and what could not be
    audited and why. LIBRARY may be a file that --json has printed, too: that survey is shown again, and
    compared. Exit status: 0 nothing refuted, 3 refuted (with --against: and not before), otherwise 4 if a
    claim is undecided, 2 invalid usage or nothing could be audited, 130 interrupted.

    \b
    Examples:
      arena survey diffprivlib --jobs 2 --ledger survey.ledger --html survey.html
      arena survey diffprivlib --only 'models.*' --json > new.json
      arena survey mypackage --catalogue mine.py --against old.json
      arena survey new.json --against old.json --html changes.html
    """
    if asked.library.endswith(".json"):
        result = Survey.load(asked.library)
        if asked.against is not None:
            result = attrs.evolve(result, before=Survey.load(asked.against))
    else:
        with output.stage_progress() as show:
            result = survey_library(
                asked.library,
                catalogue=asked.catalogue,
                only=asked.only,
                against=asked.against,
                max_seconds=asked.max_seconds,
                max_calls=asked.max_calls,
                call_seconds=asked.call_seconds,
                error=round(1 - asked.confidence, 15),
                seed=asked.seed,
                jobs=asked.jobs,
                ledger=asked.ledger,
                command=format_command(),
                progress=lambda done, total: show("entries", done, total),
            )
    if asked.html is not None:
        result.to_html(asked.html)
    output.print_result(result)
    if result.alarming:
        return REFUTED
    return INTERRUPTED if result.interrupted else UNDECIDED if result.undecided else 0
