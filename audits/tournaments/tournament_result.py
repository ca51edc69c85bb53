"""The result of a tournament, and how it is played."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable
from contextlib import closing, nullcontext
from typing import TYPE_CHECKING, Any, ClassVar

import attrs

from arena import InvalidArgument
from audits.data.output_files import check_extra, write_atomically
from audits.reports.formatting import compose_text
from audits.reports.html_report import render_template
from audits.reports.json_form import to_data
from audits.reports.report import Report, make_chart
from audits.runs.workers import Workers, map_missing
from audits.tournaments import tournament_report as report
from audits.tournaments.cells import CellResult, TournamentLedger, play_cell
from audits.tournaments.tournament_plan import Tournament

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from audits.reports.figure import ReportFigure

_BARS = 20  # of the chart


@attrs.frozen(kw_only=True, eq=False, repr=False)
class TournamentResult(Report):
    """The results of the cells in their order; None for cells that an interruption left."""

    kind: ClassVar[str] = "tournament"

    tournament: Tournament
    results: tuple[CellResult | None, ...]
    interrupted: bool = False

    @property
    def rows(self) -> list[report.TournamentRow]:
        """The played cells by protocol, those of two worlds first, and learner; best adversaries first."""
        return report.list_rows(self.tournament, self.results)

    @property
    def refuted(self) -> list[report.TournamentRow]:
        """The cells in which a learner's own claim is refuted, or a promised bound is violated."""
        return [row for row in self.rows if row.refuted]

    @property
    def ranking(self) -> list[report.AdversaryRank]:
        """The adversaries of each protocol of two worlds, the best first."""
        return report.rank_adversaries(self.rows)

    @property
    def played(self) -> int:
        """The number of cells that were played."""
        return sum(result is not None for result in self.results)

    @property
    def headline(self) -> str:
        end = ", interrupted" if self.interrupted else ""
        return f"{self.played} of {len(self.results)} pairs, {len(self.refuted)} refuted{end}"

    def summary(self) -> str:
        plan, rows = self.tournament, self.rows
        head = report.describe_plan(plan, rows, self.interrupted)
        tables = report.list_tables(rows, self.ranking)
        return compose_text([head], tables, report.list_unplayed(rows) + report.explain_figures(plan, rows))

    def plot(self) -> ReportFigure:
        """The best adversaries. Raises: InvalidArgument without matplotlib, or if no claim was audited."""
        places = sorted(self.ranking, key=lambda place: -place.score)[:_BARS]
        if not places:
            raise InvalidArgument("no claim was audited, so no adversary is ranked", remedy="Show rows.")

        def draw(axes: Axes) -> None:
            from audits.reports.figure import draw_bars  # with matplotlib

            bars = [(place.adversary, place.score) for place in places]
            label, title = "mean of certified ε / ε of the claim, at most 1", "The best adversaries"
            draw_bars(axes, bars, label=label, title=title)

        return make_chart(draw, of="tournament")

    def write_csv(self, path: str | os.PathLike[str]) -> None:
        """Write one row for each cell. Empty: unknown. Raises: InvalidArgument if it cannot be written."""
        with (
            write_atomically("CSV file", path) as unfinished,
            unfinished.open("w", newline="", encoding="utf-8") as file,
        ):
            table = csv.DictWriter(file, report.COLUMNS)
            table.writeheader()
            table.writerows(row.describe() for row in self.rows)

    def _describe(self) -> dict[str, Any]:
        plan, names = self.tournament, ("learner", "adversary", "reason")
        return {
            "seed": plan.seed,
            "confidence": plan.confidence,
            "interrupted": self.interrupted,
            "cells": [to_data(row.describe()) for row in self.rows],
            "cells_planned": len(plan.cells),
            "ranking": to_data(self.ranking),
            "unmatched": [dict(zip(names, entry, strict=True)) for entry in plan.unmatched],
        }

    def _render_page(self) -> str:
        """Heat maps, the ranking and all pairs: the same bytes for the same figures, without durations."""
        check_extra("the page", "jinja2")
        plan, rows = self.tournament, self.rows
        numbered = dict(enumerate(rows, 1))
        by_protocol: dict[str, dict[int, report.TournamentRow]] = {}
        for number, row in numbered.items():
            by_protocol.setdefault(row.cell.protocol, {})[number] = row
        return render_template(
            "audits.tournaments",
            "tournament.html.j2",
            title="Every learner against every adversary",
            facts=report.describe_plan(plan, rows, self.interrupted),
            notes=report.explain_figures(plan, rows),
            maps={protocol: report.draw_map(own) for protocol, own in by_protocol.items()},
            ranking_headers=report.RANKING,
            ranking=[place.format() for place in self.ranking],
            columns=report.PAGE_COLUMNS,
            rows=numbered,
        )


def run_tournament(
    tournament: Tournament,
    *,
    jobs: int | Workers = 1,
    ledger: str | os.PathLike[str] | None = None,
    watch: Callable[[int], None] | None = None,
    command: str = "",
) -> TournamentResult:
    """Play the cells, or those that a ledger does not hold yet.

    jobs, ledger, interrupts: as in `audits.runs.run.run`. watch: called with the cells so far. command: the
    command line, for the notes of a new ledger.

    Raises: InvalidArgument and `LedgerFailed` of the ledger; WorkersFailed. What the players raise ends their
    cell only.
    """
    cells = range(len(tournament.cells))
    book: Any = nullcontext()
    if ledger is not None:
        notes = {"command": command}
        book = closing(TournamentLedger.open(ledger, tournament.describe(), notes=lambda: notes))
    with book as store:
        results, interrupted = map_missing(
            lambda index: play_cell(tournament.cells[index], tournament.confidence),
            # Cells of few games are long, and come first, so that at the end no worker is left with one.
            sorted(cells, key=lambda index: tournament.cells[index].games),
            {} if store is None else dict(store.blocks()),
            jobs,
            keep=None if store is None else store.add,
            watch=watch,
            unit="cell",
        )
    ordered = tuple(results.get(index) for index in cells)
    return TournamentResult(tournament=tournament, results=ordered, interrupted=interrupted)
