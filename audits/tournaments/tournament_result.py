"""The result of a tournament: its cells with their verdicts, and the ranking of the adversaries."""

from __future__ import annotations

from collections import defaultdict
from typing import ClassVar

import attrs

from arena import REFEREES
from audits.tournaments.cell_result import AUDITED, RACED, CellResult
from audits.tournaments.tournament_plan import Cell, Tournament


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
        return "not played" if self.result.outcome == "refused" else "failed"

    @property
    def refuted(self) -> bool:
        """Whether the learner's own claim is refuted, or a promised bound is violated."""
        return self.result.refuted and (self.cell.has_claim or self.result.outcome == RACED)


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


@attrs.frozen(kw_only=True, eq=False)
class TournamentResult:
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
        rows.sort(key=_sort_key)
        places: defaultdict[tuple[str, str], list[float]] = defaultdict(list)
        for row in rows:
            if row.share is not None:
                places[row.cell.protocol, row.cell.learner].append(row.share)
        return [
            row
            if row.share is None
            else attrs.evolve(row, rank=1 + sum(share > row.share for share in places[_game_of(row)]))
            for row in rows
        ]

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


def _game_of(row: TournamentRow) -> tuple[str, str]:
    return row.cell.protocol, row.cell.learner


def _sort_key(row: TournamentRow) -> tuple[object, ...]:
    bound = row.result.epsilon_lower
    one_world = not REFEREES[row.cell.protocol].two_worlds
    return (one_world, *_game_of(row), bound is None, -(bound or 0.0), row.cell.adversary)
