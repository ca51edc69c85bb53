"""The verdicts on the cells of a tournament, the ranking of the adversaries, and how reports show them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

import attrs

from arena import REFEREES
from audits.reports.formatting import Table, nats, percent
from audits.tournaments.cells import AUDITED, RACED, REFERENCE_EPSILON, REFUSED, Cell, CellResult
from audits.tournaments.tournament_plan import Tournament

# The columns of a row, as JSON and the CSV file have them, and how text formats them.
COLUMNS = {
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
TEXT_COLUMNS = {
    AUDITED: {**_PLAYERS, **_CLAIM, **_FIGURES, **_END},
    RACED: {**_PLAYERS, "protocol": "protocol", **_RACE, **_END},
}
PAGE_COLUMNS = {"protocol": "protocol", **_PLAYERS, "claim": "claim", **_FIGURES, **_RACE}
RANKING = ("protocol", "rank", "adversary", "mean of claim", "refuted", "best", "learners")
_VERDICTS = ("refuted", "not refuted", "no claim", "raced", "bound violated", "not played", "failed")
_SHADES = 8  # of a heat map


@attrs.frozen(kw_only=True, eq=False)
class TournamentRow:
    """A cell that was played, as reports show it.

    rank: of the adversary among those that the learner's claim was audited against, from 1; None if the cell
    is no audit of a claim.
    """

    cell: Cell
    result: CellResult
    rank: int | None = None

    @property
    def share(self) -> float | None:
        """The certified ε as a multiple of the claim's ε; None if the cell is no audit of a claim."""
        epsilon = self.result.epsilon_lower
        return epsilon / self.cell.epsilon if self.cell.has_claim and epsilon is not None else None

    @property
    def verdict(self) -> str:
        if self.result.outcome == AUDITED:
            return "no claim" if not self.cell.has_claim else "refuted" if self.refuted else "not refuted"
        if self.result.outcome == RACED:
            return "bound violated" if self.result.refuted else "raced"
        return "not played" if self.result.outcome == REFUSED else "failed"

    @property
    def refuted(self) -> bool:
        """Whether the learner's own claim is refuted, or a promised bound is violated."""
        return self.result.refuted and (self.cell.has_claim or self.result.outcome == RACED)

    def describe(self) -> dict[str, Any]:
        """A flat record, by COLUMNS."""
        parts = (self, self.result, self.cell)
        return {name: next(getattr(x, name) for x in parts if hasattr(x, name)) for name in COLUMNS}

    def format(self, columns: dict[str, str]) -> list[str]:
        """The texts of some columns; empty for what is unknown."""
        values = self.describe()
        return ["" if values[c] is None else format(values[c], COLUMNS[c]) for c in columns.values()]

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
    """The place of an adversary among those of its protocol.

    score: mean over the learners with a claim that it audited of certified ε / the claim's ε, counted as 1
    where the claim is refuted. learners: their number. refuted: how many of their claims it refutes. best:
    for how many of them no other adversary certifies more.
    """

    protocol: str
    rank: int
    adversary: str
    score: float
    refuted: int
    best: int
    learners: int

    def format(self) -> list[str]:
        """The row of a table, under RANKING."""
        return [f"{value:.3f}" if isinstance(value, float) else str(value) for value in attrs.astuple(self)]


def list_rows(tournament: Tournament, results: Sequence[CellResult | None]) -> list[TournamentRow]:
    """The played cells by protocol, those of two worlds first, and learner; best adversaries first."""
    pairs = zip(tournament.cells, results, strict=True)
    rows = [TournamentRow(cell=cell, result=result) for cell, result in pairs if result is not None]
    rows.sort(key=_sort_key)
    shares: defaultdict[tuple[str, str], list[float]] = defaultdict(list)
    for row in rows:
        if row.share is not None:
            shares[row.cell.protocol, row.cell.learner].append(row.share)
    for number, row in enumerate(rows):
        if row.share is not None:
            better = [share for share in shares[row.cell.protocol, row.cell.learner] if share > row.share]
            rows[number] = attrs.evolve(row, rank=1 + len(better))
    return rows


def _sort_key(row: TournamentRow) -> tuple[object, ...]:
    cell, bound = row.cell, row.result.epsilon_lower
    one_world = not REFEREES[cell.protocol].two_worlds
    return (one_world, cell.protocol, cell.learner, bound is None, -(bound or 0.0), cell.adversary)


def rank_adversaries(rows: Iterable[TournamentRow]) -> list[AdversaryRank]:
    """The adversaries of each protocol of two worlds, the best first."""
    by_adversary: defaultdict[tuple[str, str], list[TournamentRow]] = defaultdict(list)
    for row in rows:
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


def describe_plan(
    plan: Tournament, rows: Sequence[TournamentRow], interrupted: bool
) -> list[tuple[str, str]]:
    """What was played, as names and values."""
    learners, adversaries = ({getattr(c, role) for c in plan.cells} for role in ("learner", "adversary"))
    counts = [(name, sum(row.verdict == name for row in rows)) for name in _VERDICTS]
    return [
        ("players", f"{len(learners)} learners, {len(adversaries)} adversaries"),
        (
            "pairs",
            f"{len(rows):,} of {len(plan.cells):,}{' (interrupted)' if interrupted else ''}: "
            + ", ".join(f"{count} {name}" for name, count in counts if count),
        ),
        ("not paired", f"{len(plan.unmatched):,} pairs, whose players have no protocol in common"),
        ("confidence", f"{percent(plan.confidence)} for each pair by itself"),
        ("seed", str(plan.seed)),
    ]


def explain_figures(plan: Tournament, rows: Sequence[TournamentRow]) -> list[str]:
    """How to read the figures, in paragraphs."""
    claims = sum(row.share is not None for row in rows)
    unloadable = [entry for entry in plan.unmatched if not (entry[0] and entry[1])]
    return [
        "ε is in nats. The certified ε of a pair is a lower bound on the learner's privacy loss, which holds "
        f"with confidence {percent(plan.confidence)} by itself: if all {claims:,} claims that were tested "
        f"were true, {claims * (1 - plan.confidence):.2g} of them at most would be refuted on average. A "
        "claim that is not refuted is not thereby proved. A learner without a claim is tested against "
        f"ε = {REFERENCE_EPSILON:g} at δ = 0, and counts in no ranking.",
        "Adversaries are ranked by the mean of certified ε / ε of the claim over the learners that they can "
        "meet, a refuted claim counting as 1. Their learners differ, and few games certify little of a large "
        "ε: the ceiling of a pair is what an adversary that always tells the worlds apart would certify.",
        *(f"{learner or adversary}: {reason}" for learner, adversary, reason in unloadable),
    ]


def list_tables(rows: Sequence[TournamentRow], ranking: Sequence[AdversaryRank]) -> list[Table]:
    """The audits, the races, and the ranking."""
    tables: list[Table] = [
        ("", tuple(columns), [row.format(columns) for row in rows if row.result.outcome == outcome])
        for outcome, columns in TEXT_COLUMNS.items()
    ]
    tables.append(("Adversaries by protocol:", RANKING, [place.format() for place in ranking]))
    return [table for table in tables if table[2]]


def list_unplayed(rows: Sequence[TournamentRow]) -> list[str]:
    """The pairs without figures, with the reasons: those that failed, and those that cannot be played."""
    groups: dict[tuple[str, str], list[str]] = {}
    for verdict, title in (("failed", "Failed"), ("not played", "Cannot be played")):
        for row in rows:
            if row.verdict == verdict:
                groups.setdefault((title, row.result.reason), []).append(str(row.cell))
    return [f"{title}: {', '.join(pairs)}: {reason}" for (title, reason), pairs in groups.items()]


def draw_map(rows: dict[int, TournamentRow]) -> dict[str, Any]:
    """The heat map of a protocol, as its page's template takes it. rows: by their number on the page."""
    adversaries = sorted({row.cell.adversary for row in rows.values()})
    cells: dict[str, dict[str, dict[str, Any]]] = defaultdict(dict)
    for number, row in rows.items():
        text, style = row.shade()
        cells[row.cell.learner][row.cell.adversary] = {"text": text, "style": style, "number": number}
    lines = [(name, [cells[name].get(adversary) for adversary in adversaries]) for name in sorted(cells)]
    raced = any(row.result.outcome == RACED for row in rows.values())
    return {"adversaries": adversaries, "lines": lines, "raced": raced}
