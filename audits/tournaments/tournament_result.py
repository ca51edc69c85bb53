"""The result of a tournament: how it is played, its verdicts, its ranking, and the reports on it."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable
from contextlib import closing, nullcontext
from functools import partial
from importlib import resources
from typing import Any, ClassVar

import attrs

from arena import REFEREES
from audits.data.output_files import check_extra
from audits.reports.formatting import escape_controls, nats, percent
from audits.reports.json_form import to_data
from audits.reports.plots import Picture, draw_bars
from audits.reports.report import Document, Facts, Prose, Report, Table, make_policy
from audits.runs.workers import Workers, map_missing
from audits.tournaments.cells import (
    AUDITED,
    RACED,
    REFERENCE_EPSILON,
    REFUSED,
    Cell,
    CellResult,
    TournamentLedger,
    play_cell,
)
from audits.tournaments.tournament_plan import Tournament

# The columns of a row, as JSON and the CSV file have them, and how text formats them.
_COLUMNS = {
    **dict.fromkeys(("protocol", "learner", "adversary", "claim"), ""),
    **{"claim_epsilon": ".4g", "claim_delta": ".3g", "epsilon_lower": ".4g", "share": ".3f", "rank": ""},
    **{"ceiling": ".4g", "exact": ".4g", "exact_reason": "", "delta_star": ".3g", "delta_star_reason": ""},
    **{"quantity": "", "mean": ",.4g", "games": ",", "seed": "", "seconds": ".1f"},
    **dict.fromkeys(("verdict", "reason", "command"), ""),
}
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
_VERDICTS = ("refuted", "not refuted", "no claim", "raced", "bound violated", "not played", "failed")
_SHADES = 8  # of a heat map
_BARS = 20  # of the chart


@attrs.frozen(kw_only=True, eq=False)
class TournamentRow:
    """A cell that was played. rank: of the adversary, from 1, if the cell is an audit of a claim."""

    cell: Cell
    result: CellResult
    rank: int | None = None

    @property
    def share(self) -> float | None:
        """The certified ε as a multiple of the claim's ε; None if the cell is no audit of a claim."""
        own, certified = self.cell.claim_epsilon, self.result.epsilon_lower
        return None if own is None or certified is None else certified / own

    @property
    def verdict(self) -> str:
        if self.result.outcome == AUDITED:
            tested = "refuted" if self.refuted else "not refuted"
            return "no claim" if self.cell.claim_epsilon is None else tested
        if self.result.outcome == RACED:
            return "bound violated" if self.result.refuted else "raced"
        return "not played" if self.result.outcome == REFUSED else "failed"

    @property
    def refuted(self) -> bool:
        """Whether the learner's own claim is refuted, or a promised bound is violated."""
        return self.result.refuted and (self.cell.claim_epsilon is not None or self.result.outcome == RACED)

    @property
    def sort_key(self) -> tuple[object, ...]:
        cell, bound = self.cell, self.result.epsilon_lower
        one_world = not REFEREES[cell.protocol].two_worlds
        return (one_world, cell.protocol, cell.learner, bound is None, -(bound or 0.0), cell.adversary)

    def describe(self) -> dict[str, Any]:
        """A flat record, by _COLUMNS."""
        parts = (self, self.result, self.cell)
        return {name: next(getattr(x, name) for x in parts if hasattr(x, name)) for name in _COLUMNS}

    def format(self, columns: dict[str, str]) -> list[str]:
        """The texts of some columns; empty for what is unknown."""
        values = self.describe()
        return ["" if values[c] is None else format(values[c], _COLUMNS[c]) for c in columns.values()]

    def shade(self) -> tuple[str, str]:
        """The text and the style of the row's cell in a heat map."""
        figures, share = self.result, self.share
        if share is None and figures.epsilon_lower is not None:
            return nats(round(figures.epsilon_lower, 2)), "n"
        if share is None and figures.mean is None:
            return ("failed", "f") if self.verdict == "failed" else ("–", "n")
        if share is not None:
            text = f"{share:.2f}" if share < 10 else f"{share:.0f}"
        else:
            text, share = f"{figures.mean:.3g}", (figures.mean or 0.0) / getattr(self.cell.game, "rounds", 1)
        return text, "x" if self.refuted else f"h{min(_SHADES - 1, int(_SHADES * max(0.0, share)))}"


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
            if row.verdict in ("failed", "not played"):
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
        """Heat maps, the ranking and all pairs: the same bytes for the same figures, without durations."""
        check_extra("the page", "jinja2")
        from jinja2 import Environment  # an extra, and slow to import

        rows = dict(enumerate(self.rows, 1))
        maps: dict[str, dict[tuple[str, str], int]] = {}
        for number, row in rows.items():
            maps.setdefault(row.cell.protocol, {})[row.cell.learner, row.cell.adversary] = number
        template = resources.files("audits.tournaments").joinpath("tournament.html.j2")
        environment = Environment(
            autoescape=True,
            finalize=lambda value: escape_controls(value) if type(value) is str else value,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        environment.filters["policy"] = make_policy
        return environment.from_string(template.read_text(encoding="utf-8")).render(
            title="Every learner against every adversary",
            facts=self._describe_plan(),
            notes=self._explain(),
            maps=maps,
            races=[name for name in maps if not REFEREES[name].two_worlds],
            ranking_headers=_RANKING,
            ranking=[place.format() for place in self.ranking],
            columns=_PAGE_COLUMNS,
            rows=rows,
        )

    def _describe_plan(self) -> list[tuple[str, str]]:
        """What was played, as names and values."""
        plan, verdicts = self.tournament, [row.verdict for row in self.rows]
        learners, adversaries = ({getattr(c, role) for c in plan.cells} for role in ("learner", "adversary"))
        counts = ", ".join(f"{verdicts.count(name)} {name}" for name in _VERDICTS if name in verdicts)
        played = f"{len(verdicts):,} of {len(plan.cells):,}{' (interrupted)' if self.interrupted else ''}"
        return [
            ("players", f"{len(learners)} learners, {len(adversaries)} adversaries"),
            ("pairs", f"{played}: {counts}"),
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
            "average. A claim that is not refuted is not thereby proved. A learner without a claim is tested "
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

    watch: called with the cells so far. Other arguments, interrupts and errors: as in `audits.runs.run.run`.
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
