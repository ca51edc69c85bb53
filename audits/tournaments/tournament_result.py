"""The result of a tournament: how it is played, its verdicts, its ranking, and the reports on it."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Callable
from contextlib import closing, nullcontext
from functools import partial
from typing import Any, ClassVar

import attrs

from audits.reports.formatting import percent
from audits.reports.json_form import to_data
from audits.reports.plots import Picture, draw_bars
from audits.reports.report import Document, Facts, Prose, Report, Table
from audits.runs.workers import Workers, map_missing
from audits.tournaments.cells import (
    AUDITED,
    FAILED,
    NOT_INSTALLED,
    RACED,
    REFERENCE_EPSILON,
    CellResult,
    TournamentLedger,
    play_cell,
)
from audits.tournaments.tournament_page import render_page
from audits.tournaments.tournament_plan import Tournament
from audits.tournaments.tournament_rows import TournamentRow

# The columns of tables, by their headers.
_PLAYERS = {"learner": "learner", "adversary": "adversary"}
_CLAIM = {"claim: ε": "claim_epsilon", "δ": "claim_delta"}
_FIGURES = {"certified ε": "epsilon_lower", "of claim": "share", "exact ε": "exact", "δ*": "delta_star"}
_RACE = {"counted": "quantity", "mean": "mean"}
_END = {"games": "games", "seconds": "seconds", "verdict": "verdict"}
_TEXT_COLUMNS = {
    AUDITED: {**_PLAYERS, **_CLAIM, **_FIGURES, **_END},
    RACED: {**_PLAYERS, "protocol": "protocol", **_RACE, **_END},
}
_PAGE_COLUMNS = {"protocol": "protocol", **_PLAYERS, "claim": "claim", **_FIGURES, **_RACE}
_RANKING = ("protocol", "rank", "adversary", "mean of claim", "refuted", "best", "learners")
_VERDICTS = ("refuted", "not refuted", "undecided", "no claim", "raced", "bound violated", FAILED)
_SET_ASIDE = {"not played": "the players cannot meet", NOT_INSTALLED: "a player needs another package"}
_BARS = 20  # of the chart


@attrs.frozen(kw_only=True)
class AdversaryRank:
    """The place of an adversary among those of its protocol, by the `learners` with a claim that it audited.

    score: mean of certified ε / the claim's ε, at most 1. best: for how many no other certifies more.
    """

    protocol: str
    rank: int
    adversary: str
    score: float
    refuted: int
    best: int
    learners: int

    def format(self) -> list[str]:
        """The row of a table, under _RANKING."""
        return [f"{value:.3f}" if isinstance(value, float) else str(value) for value in attrs.astuple(self)]


@attrs.frozen(kw_only=True, eq=False, repr=False)
class TournamentResult(Report):
    """The results of the cells in their order; None for cells that an interruption left."""

    kind: ClassVar[str] = "tournament"

    tournament: Tournament
    results: tuple[CellResult | None, ...]
    interrupted: bool = False

    @property
    def rows(self) -> list[TournamentRow]:
        """The played cells by protocol, those of two worlds first, and learner; best adversaries first."""
        pairs = zip(self.tournament.cells, self.results, strict=True)
        rows = [TournamentRow(cell=cell, result=result) for cell, result in pairs if result is not None]
        rows.sort(key=lambda row: row.sort_key)
        shares: defaultdict[tuple[str, str], list[float]] = defaultdict(list)
        for row in rows:
            if row.share is not None:
                shares[row.cell.protocol, row.cell.learner].append(row.share)
        for number, row in enumerate(rows):
            if row.share is not None:
                others = shares[row.cell.protocol, row.cell.learner]
                rows[number] = attrs.evolve(row, rank=1 + sum(share > row.share for share in others))
        return rows

    @property
    def refuted(self) -> list[TournamentRow]:
        """The cells in which a learner's own claim is refuted, or a promised bound is violated."""
        return [row for row in self.rows if row.refuted]

    @property
    def ranking(self) -> list[AdversaryRank]:
        """The adversaries of each protocol of two worlds, the best first."""
        by_adversary: defaultdict[tuple[str, str], list[TournamentRow]] = defaultdict(list)
        for row in self.rows:
            if row.share is not None:
                by_adversary[row.cell.protocol, row.cell.adversary].append(row)
        places = [
            AdversaryRank(
                protocol=protocol,
                rank=0,
                adversary=adversary,
                score=sum(min(1.0, row.share or 0.0) for row in rows) / len(rows),
                refuted=sum(row.refuted for row in rows),
                best=sum(row.rank == 1 and row.share != 0 for row in rows),
                learners=len(rows),
            )
            for (protocol, adversary), rows in by_adversary.items()
        ]
        places.sort(key=lambda place: (place.protocol, -place.score, -place.refuted, place.adversary))
        protocols = [place.protocol for place in places]
        return [
            attrs.evolve(place, rank=1 + number - protocols.index(place.protocol))
            for number, place in enumerate(places)
        ]

    @property
    def headline(self) -> str:
        played = sum(result is not None for result in self.results)
        end = ", interrupted" if self.interrupted else ""
        return f"{played} of {len(self.results)} pairs, {len(self.refuted)} refuted{end}"

    def document(self) -> Document:
        rows, places = self.rows, self.ranking
        tables = [
            Table(tuple(columns), [row.format(columns) for row in rows if row.result.outcome == outcome])
            for outcome, columns in _TEXT_COLUMNS.items()
        ]
        tables.append(Table(_RANKING, [place.format() for place in places], "Adversaries by protocol:"))
        unplayed: dict[tuple[str, str], list[str]] = {}
        for row in rows:
            if not row.finished:
                unplayed.setdefault((row.verdict.capitalize(), row.result.reason), []).append(str(row.cell))
        reasons = [f"{verdict}: {', '.join(pairs)}: {why}" for (verdict, why), pairs in unplayed.items()]
        prose = map(Prose, [*reasons, *self._explain()])
        bars = [(place.adversary, place.score) for place in sorted(places, key=lambda place: -place.score)]
        draw = partial(draw_bars, rows=bars[:_BARS], label="mean of certified ε / ε of the claim, at most 1")
        picture = Picture(draw=draw, title="The best adversaries", rows=len(bars[:_BARS]))
        return Document(
            parts=[Facts(self._describe_plan()), *(table for table in tables if table.rows), *prose],
            picture=picture if bars else None,  # without audits of claims, no adversary is ranked
        )

    def _list_records(self) -> list[dict[str, Any]]:
        """One row for each cell."""
        return [row.describe() for row in self.rows]

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
        return render_page(
            self.tournament,
            self.rows,
            facts=self._describe_plan(),
            notes=self._explain(),
            ranking_headers=_RANKING,
            ranking=[place.format() for place in self.ranking],
            columns=_PAGE_COLUMNS,
        )

    def _describe_plan(self) -> list[tuple[str, str]]:
        """What was played, as names and values."""
        plan, rows = self.tournament, self.rows
        learners, adversaries = ({getattr(c, role) for c in plan.cells} for role in ("learner", "adversary"))
        verdicts = Counter(row.verdict for row in rows if not row.set_aside)
        aside = Counter(row.verdict for row in rows if row.set_aside)
        counts = ", ".join(f"{verdicts[name]:,} {name}" for name in _VERDICTS if verdicts[name])
        aside_counts = [f"{aside[name]:,} {name} ({why})" for name, why in _SET_ASIDE.items() if aside[name]]
        end = f" (interrupted after {len(rows):,} of {len(plan.cells):,})" if self.interrupted else ""
        return [
            ("players", f"{len(learners)} learners, {len(adversaries)} adversaries"),
            ("pairs", f"{verdicts.total():,} played: {counts}{end}"),
            ("set aside", ", ".join(aside_counts)),
            ("not paired", f"{len(plan.unmatched):,} pairs, whose players have no protocol in common"),
            ("confidence", f"{percent(plan.confidence)} for each pair by itself"),
            ("seed", str(plan.seed)),
        ]

    def _explain(self) -> list[str]:
        """How to read the figures, in paragraphs."""
        plan, claims = self.tournament, sum(row.share is not None for row in self.rows)
        unloadable = [entry for entry in plan.unmatched if not (entry[0] and entry[1])]
        return [
            "ε is in nats. The certified ε of a pair is a lower bound on the learner's privacy loss, which "
            f"holds with confidence {percent(plan.confidence)} by itself: if all {claims:,} claims that were "
            f"tested were true, {claims * (1 - plan.confidence):.2g} of them at most would be refuted on "
            "average. A claim that is not refuted is not thereby proved; it is undecided if so few games "
            "could not have refuted it. A learner without a claim is tested "
            f"against ε = {REFERENCE_EPSILON:g} at δ = 0, and counts in no ranking.",
            "Adversaries are ranked by the mean of certified ε / ε of the claim over the learners that they "
            "can meet, a refuted claim counting as 1. Their learners differ, and few games certify little of "
            "a large ε: the ceiling of a pair is what an adversary that always tells the worlds apart would "
            "certify.",
            *(f"{learner or adversary}: {reason}" for learner, adversary, reason in unloadable),
        ]


def run_tournament(
    tournament: Tournament,
    *,
    jobs: int | Workers = 1,
    ledger: str | os.PathLike[str] | None = None,
    watch: Callable[[int], None] | None = None,
    command: str = "",
) -> TournamentResult:
    """Play the cells, or those that a ledger does not hold yet. What the players raise ends their cell only.

    Cells of which a package is not installed are in no ledger, so that they are tried again.

    watch: called with the cells so far. Other arguments, interrupts and errors: as in `audits.runs.run.run`.
    """
    cells = range(len(tournament.cells))
    book: Any = nullcontext()
    if ledger is not None:
        notes = {"command": command}
        book = closing(TournamentLedger.open(ledger, tournament.describe(), notes=lambda: notes))
    with book as store:

        def keep(index: int, result: CellResult) -> None:
            if (
                result.outcome != NOT_INSTALLED
            ):  # the package may be installed before the same plan is resumed
                store.add(index, result)

        results, interrupted = map_missing(
            lambda index: play_cell(tournament.cells[index], tournament.confidence),
            # Cells of few games are long, and come first, so that at the end no worker is left with one.
            sorted(cells, key=lambda index: tournament.cells[index].games),
            {} if store is None else dict(store.blocks()),
            jobs,
            keep=None if store is None else keep,
            watch=watch,
            unit="cell",
        )
    ordered = tuple(results.get(index) for index in cells)
    return TournamentResult(tournament=tournament, results=ordered, interrupted=interrupted)
