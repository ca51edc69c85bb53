"""The page of a tournament: learners by protocol and family, the best adversary of each, and all pairs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from importlib import resources
from typing import Any

import attrs

from arena import REFEREES
from audits.data.output_files import check_extra
from audits.registry.families import describe_family
from audits.reports.formatting import escape_controls, nats
from audits.reports.report import make_policy
from audits.tournaments.cells import NOT_INSTALLED, REFUSED
from audits.tournaments.tournament_plan import Tournament
from audits.tournaments.tournament_rows import TournamentRow


@attrs.frozen(kw_only=True)
class LearnerRow:
    """A learner in the table of its family. cells: its rows below and their numbers, by adversary.

    best: the row with the largest figure; None if a player failed in all. optimum: what that figure is
    compared with, and its kind, as of `find_optimum`.
    """

    learner: str
    cells: Mapping[str, tuple[int, TournamentRow]]
    best: TournamentRow | None
    optimum: tuple[float, str]

    @property
    def columns(self) -> list[str]:
        """The texts beside the name: of an audit claim, adversary, certified ε, optimum, share of it; of a
        race adversary, mean, share of the rounds."""
        if self.best is None:
            (_, row), *_ = self.cells.values()
            return ["", "", ""] if row.one_world else ["", "", "", "", ""]
        (limit, kind), own = self.optimum, self.best.cell.claim_epsilon
        share = f"{self.best.figure / limit:.0%}".replace("%", " %") if 0 < limit < math.inf else ""
        adversary = self.best.cell.adversary if self.best.figure > 0 else "none"
        if self.best.one_world:
            return [adversary, f"{self.best.figure:.3g} {self.best.cell.quantity}", share]
        claim = "none" if own is None else nats(own)
        return [claim, adversary, nats(self.best.figure), f"{nats(limit)} ({kind})", share]


@attrs.frozen(kw_only=True)
class FamilyTable:
    """The learners of one family that played a protocol. adversaries: that meet one of them, the columns."""

    family: str
    about: str
    adversaries: list[str]
    learners: list[LearnerRow]


def find_optimum(best: TournamentRow, rows: Iterable[TournamentRow]) -> tuple[float, str]:
    """What the largest certified ε of a learner can be at most, and where that is from.

    It is the largest exact loss of the adversaries' views if that of the best adversary is known, otherwise
    the claim; the ceiling of the games if that is less, or if the figure refutes the loss. Of a race it is
    the number of rounds.
    """
    if best.one_world:
        return float(getattr(best.cell.game, "rounds", 1)), "rounds"
    ceiling = best.result.ceiling or math.inf
    if best.result.exact is not None:
        loss, origin = max(row.result.exact or 0.0 for row in rows), "exact"
    else:
        loss, origin = best.cell.claim_epsilon or math.inf, "claim"
    return (loss, origin) if best.figure <= loss <= ceiling else (ceiling, "ceiling")


def list_families(rows: Mapping[int, TournamentRow]) -> dict[str, list[FamilyTable]]:
    """The tables of each protocol, of the pairs that can play."""
    groups: dict[tuple[str, str], dict[str, dict[str, tuple[int, TournamentRow]]]] = {}
    for number, row in rows.items():
        group = groups.setdefault((row.cell.protocol, row.cell.family), {})
        group.setdefault(row.cell.learner, {})[row.cell.adversary] = number, row
    tables: dict[str, list[FamilyTable]] = {}
    for (protocol, family), learners in sorted(groups.items(), key=lambda item: item[0][1]):
        (_, row), *_ = next(iter(learners.values())).values()
        table = FamilyTable(
            family=family,
            about=describe_family(row.cell.location),
            adversaries=sorted({adversary for cells in learners.values() for adversary in cells}),
            learners=[_compare(learner, cells) for learner, cells in learners.items()],
        )
        tables.setdefault(protocol, []).append(table)
    order = sorted(REFEREES, key=lambda name: not REFEREES[name].two_worlds)
    return {protocol: tables[protocol] for protocol in order if protocol in tables}


def _compare(learner: str, cells: Mapping[str, tuple[int, TournamentRow]]) -> LearnerRow:
    finished = [row for _, row in cells.values() if row.finished]
    best = max(finished, key=lambda row: row.figure, default=None)
    optimum = (math.inf, "") if best is None else find_optimum(best, finished)
    return LearnerRow(learner=learner, cells=cells, best=best, optimum=optimum)


def list_idle_players(
    tournament: Tournament, rows: Iterable[TournamentRow]
) -> dict[str, list[tuple[str, str]]]:
    """The players that met nobody, with the first reason, by what is the matter with them."""
    idle: dict[str, list[tuple[str, str]]] = {"Not installed": [], "Without an opponent": []}
    reasons: dict[str, tuple[str, str]] = {}
    met: set[str] = set()
    for row in rows:
        for name in (row.cell.learner, row.cell.adversary):
            if name not in reasons or row.result.outcome == NOT_INSTALLED:
                reasons[name] = (row.result.outcome, row.result.reason)
            met |= {name} if row.result.outcome not in (REFUSED, NOT_INSTALLED) else set()
    for learner, adversary, reason in tournament.unmatched:
        for name in filter(None, (learner, adversary)):
            alone = "it meets no player of this tournament" if learner and adversary else reason
            reasons.setdefault(name, (REFUSED, alone))
    for name, (outcome, reason) in sorted(reasons.items()):
        if name not in met:
            idle["Not installed" if outcome == NOT_INSTALLED else "Without an opponent"].append(
                (name, reason)
            )
    return {title: players for title, players in idle.items() if players}


def render_page(tournament: Tournament, rows: list[TournamentRow], **texts: Any) -> str:
    """The page: the same bytes for the same figures, without durations. texts: further variables of it."""
    check_extra("the page", "jinja2")
    from jinja2 import Environment  # an extra, and slow to import

    played = {number: row for number, row in enumerate(rows, 1) if not row.set_aside}
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
        protocols=list_families(played),
        referees=REFEREES,
        idle=list_idle_players(tournament, rows),
        rows=played,
        refused=[row for row in rows if row.result.outcome == REFUSED],
        **texts,
    )
