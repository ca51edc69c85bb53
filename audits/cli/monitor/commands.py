"""`arena monitor play`, `report` and `merge`."""

from __future__ import annotations

import os
from pathlib import Path

import click

from arena.errors import count_things
from audits.cli import INTERRUPTED, INVALID_USAGE, REFUTED, UNDECIDED
from audits.cli.options import SeedOption, argument, file_option, option, option_groups, option_record
from audits.cli.output import Output
from audits.data.output_files import check_output_file
from audits.monitors.monitor import ERROR, MINUTES, monitor
from audits.monitors.monitor_report import ClaimStatus, MonitorReport
from audits.monitors.store import Store

_STORE = "privacy-monitor"


@option_record
class StoreOption:
    store: str = option(
        "--store",
        metavar="FOLDER",
        default=_STORE,
        help="The folder that holds the evidence, in JSON files.",
    )


@option_record
class BadgeOption:
    badge: str | None = file_option(
        "--badge", "Also write a badge, an SVG picture that says how many claims are refuted.", "badge"
    )

    def write(self, report: MonitorReport) -> None:
        """Write the badge, if it is asked for."""
        if self.badge is not None:
            report.write_badge(self.badge)


@option_record
class NightOptions(SeedOption, StoreOption, BadgeOption):
    claims: str = argument(metavar="CLAIMS")
    minutes: float | None = option(
        "--minutes",
        metavar="M",
        help=f"Length of the night, which the claims share. Default: {MINUTES:g}, without --games.",
    )
    games: int | None = option(
        "--games",
        metavar="N",
        help="Games in each world to bet on for each claim, at most; the search plays as many again.",
    )
    error: float = option(
        "--error",
        metavar="A",
        default=ERROR,
        help="The probability, at most, that a true claim is ever reported false, over all claims, nights "
        "and versions. The store keeps it.",
    )
    part: str = option(
        "--part",
        metavar="K/M",
        default="1/1",
        help="This store is number K of M that report, each of which spends an equal share of the error.",
    )
    jobs: int = option("--jobs", "-j", metavar="N", default=1, help="Number of claims to play at a time.")


@click.command("play")
@option_groups
def play(asked: NightOptions, output: Output) -> int:
    """Play one night against the claims in the file CLAIMS, and add its evidence to the store.

    CLAIMS is a file of Python that states each claim by audits.claim(NAME, MECHANISM, epsilon=...). Every
    night plays new games, and what it finds multiplies with what was found on the same version of the code. A
    change of the code starts anew. A killed night is lost and nothing else. In GitHub Actions, refuted claims
    are marked in the files of their mechanisms. Exit status: 0 none refuted, 3 refuted, 2 a claim could not
    be played, or invalid usage, 4 too few games so far to show any loss, 130 interrupted.

    \b
    Examples:
      arena monitor play claims.py --minutes 30
      arena monitor play claims.py --jobs 2 --badge privacy.svg
      arena monitor play claims.py --store second --part 2/2
    """
    with output.progress_bar("claims") as bar:

        def update(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)

        result = monitor(
            asked.claims,
            store=asked.store,
            minutes=asked.minutes,
            games=asked.games,
            error=asked.error,
            part=asked.part,
            seed=asked.seed,
            jobs=asked.jobs,
            progress=update,
        )
    asked.write(result)
    output.print_result(result)
    if os.environ.get("GITHUB_ACTIONS"):
        for claim in result.claims:
            if claim.refuted or claim.failure or claim.undecided:
                click.echo(format_annotation(claim), err=True)
    return get_status(result)


def get_status(result: MonitorReport) -> int:
    """The exit status of a night."""
    if result.refuted:
        return REFUTED
    if result.interrupted:
        return INTERRUPTED
    return INVALID_USAGE if result.failed else UNDECIDED if result.undecided else 0


def format_annotation(claim: ClaimStatus) -> str:
    """The line by which GitHub marks a claim in the file of its mechanism, or in the one that states it."""
    place = ""
    if claim.file:
        try:
            file = Path(claim.file).relative_to(Path.cwd())
        except ValueError:
            file = Path(claim.file)
        place = f"file={_escape(file.as_posix(), ':,')},line={claim.line},"
    if claim.failure:
        kind, title, said = "error", "privacy claim not played", f"could not be played: {claim.failure}"
    elif claim.refuted:
        kind, title, said = "error", "privacy claim refuted", f"{claim.statement} is refuted"
    else:
        kind, title = "warning", "privacy claim undecided"
        said = f"so few games would have shown no violation of {claim.statement}"
    return f"::{kind} {place}title={title}::{_escape(f'{claim.name}: {said}')}"


def _escape(text: str, more: str = "") -> str:
    """Text as GitHub reads it in a command: the signs that end its parts by their codes."""
    for sign in "%\r\n" + more:
        text = text.replace(sign, f"%{ord(sign):02X}")
    return text


@option_record
class ReportOptions(StoreOption, BadgeOption):
    page: str | None = option(
        "--output", "-o", metavar="FILE", help="Where to write it. Default: the store's name with .html."
    )


@click.command("report")
@option_groups
def report(asked: ReportOptions, output: Output) -> None:
    """Write one HTML page on a store: claims, what the games so far would have shown, nights and versions.

    The store is only read, and no code of the project is run.

    \b
    Examples:
      arena monitor report
      arena monitor report --store privacy-monitor -o report.html --badge privacy.svg
    """
    page = asked.page or f"{Path(asked.store)}.html"
    check_output_file("HTML report", page)
    result = MonitorReport.of(Store.read(asked.store))
    result.to_html(page)
    asked.write(result)
    output.print_result({"report": page}, lambda printed: f"The report is in {printed['report']}.")


@option_record
class MergeOptions(StoreOption):
    others: tuple[str, ...] = argument(metavar="STORE...", nargs=-1, required=True)


@click.command("merge")
@option_groups
def merge(asked: MergeOptions, output: Output) -> int:
    """Add the nights of every STORE to the one of --store, which reports them from now on.

    A night that both have counts once. Stores that report by themselves, too, are made with --part. Exit
    status: 3 if a claim is refuted, otherwise 0.

    \b
    Example:
      arena monitor merge second --store privacy-monitor
    """
    others = [Store.read(folder) for folder in asked.others]
    book = Store.read(asked.store)
    with book.lock():
        book = Store.read(asked.store)
        added = sum(book.merge(other) for other in others)
    result = MonitorReport.of(book)
    merged = {"store": asked.store, "nights": added, "refuted": [claim.name for claim in result.refuted]}
    output.print_result(merged, lambda _: f"{count_things(added, 'night')} added. {result.headline}.")
    return REFUTED if result.refuted else 0
