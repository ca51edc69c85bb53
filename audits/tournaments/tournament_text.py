"""The report on a tournament: text for a terminal, JSON, and CSV."""

from __future__ import annotations

import csv
import os
from collections.abc import Mapping, Sequence
from typing import Any

from audits.data.output_files import write_atomically
from audits.reports.formatting import column_table, name_table, nats, percent, wrap
from audits.reports.json_form import to_data, to_json
from audits.tournaments.cell_result import AUDITED, RACED
from audits.tournaments.tournament_plan import REFERENCE_EPSILON
from audits.tournaments.tournament_result import TournamentResult, TournamentRow

_AUDIT = ("learner", "adversary", "claim: ε", "δ", "certified ε", "of claim", "exact ε", "δ*")
_RACE = ("learner", "adversary", "protocol", "counted", "mean")
_END = ("games", "seconds", "verdict")
_CSV = (
    *("protocol", "learner", "adversary", "claim", "claim_epsilon", "claim_delta", "epsilon_lower", "share"),
    *("rank", "ceiling", "exact", "exact_reason", "delta_star", "delta_star_reason", "quantity", "mean"),
    *("games", "seed", "seconds", "verdict", "reason", "command"),
)


def describe_tournament(result: TournamentResult) -> dict[str, Any]:
    """The entries of a tournament's JSON object; None stands for what is unknown or not finite."""
    plan = result.tournament
    return {
        "seed": plan.seed,
        "confidence": plan.confidence,
        "interrupted": result.interrupted,
        "cells": [to_data(describe_row(row)) for row in result.rows],
        "cells_planned": len(plan.cells),
        "ranking": to_data(result.ranking),
        "unmatched": [
            {"learner": learner, "adversary": adversary, "reason": reason}
            for learner, adversary, reason in plan.unmatched
        ],
    }


def tournament_json(result: TournamentResult, header: Mapping[str, Any] | None = None) -> str:
    """One JSON object on one line."""
    return to_json(describe_tournament(result), header)


def write_tournament_csv(result: TournamentResult, path: str | os.PathLike[str]) -> None:
    """Write one row for each cell. Empty: unknown. Raises: InvalidArgument if the file cannot be written."""
    with (
        write_atomically("CSV file", path) as unfinished,
        unfinished.open("w", newline="", encoding="utf-8") as file,
    ):
        table = csv.DictWriter(file, _CSV)
        table.writeheader()
        table.writerows(describe_row(row) for row in result.rows)


def describe_row(row: TournamentRow) -> dict[str, Any]:
    """A cell as one flat record, with the columns of the CSV file."""
    cell, figures = row.cell, row.result
    own = {name: getattr(cell, name) for name in ("protocol", "learner", "adversary", "claim")}
    own |= {name: getattr(cell, name) for name in ("quantity", "games", "seed", "command")}
    own |= {name: getattr(figures, name) for name in _CSV if hasattr(figures, name)}
    own |= {name: getattr(row, name) for name in ("share", "rank", "verdict")}
    own["claim_epsilon"] = cell.epsilon if cell.has_claim else None
    own["claim_delta"] = cell.delta if cell.has_claim else None
    return {name: own[name] for name in _CSV}


def tournament_text(result: TournamentResult) -> str:
    """The report for a terminal. There must be a cell."""
    rows = result.rows
    audits = [row for row in rows if row.result.outcome == AUDITED]
    races = [row for row in rows if row.result.outcome == RACED]
    parts = [name_table(summarize(result))]
    table: list[tuple[str, ...]]
    if audits:
        solved = any(row.result.delta_star is not None for row in audits)
        headers = _AUDIT if solved else _AUDIT[:-1]
        table = [(*_list_audit(row)[: len(headers)], *_list_end(row)) for row in audits]
        parts.append(column_table(table, (*headers, *_END)))
    if races:
        table = [(*_list_race(row), *_list_end(row)) for row in races]
        parts.append(column_table(table, (*_RACE, *_END)))
    if result.ranking:
        parts.append("Adversaries by protocol:")
        parts.append(column_table(list_ranking(result), RANKING))
    parts += [f"{title}:\n{lines}" for title, lines in _list_unplayed(rows)]
    parts += map(wrap, explain_figures(result))
    return "\n\n".join(parts)


RANKING = ("protocol", "rank", "adversary", "mean of claim", "refuted", "best", "learners")


def list_ranking(result: TournamentResult) -> list[tuple[str, ...]]:
    """The rows of the ranking, under RANKING."""
    return [
        (
            *(place.protocol, str(place.rank), place.adversary, f"{place.score:.3f}"),
            *map(str, (place.refuted, place.best, place.learners)),
        )
        for place in result.ranking
    ]


def summarize(result: TournamentResult) -> list[tuple[str, str]]:
    """What was played, as names and values."""
    plan, rows = result.tournament, result.rows
    learners, adversaries = ({getattr(c, role) for c in plan.cells} for role in ("learner", "adversary"))
    counts = [(name, sum(row.verdict == name for row in rows)) for name in _VERDICTS]
    return [
        ("players", f"{len(learners)} learners, {len(adversaries)} adversaries"),
        (
            "pairs",
            f"{len(rows):,} of {len(plan.cells):,}{' (interrupted)' if result.interrupted else ''}: "
            + ", ".join(f"{count} {name}" for name, count in counts if count),
        ),
        ("not paired", f"{len(plan.unmatched):,} pairs, whose players have no protocol in common"),
        ("confidence", f"{percent(plan.confidence)} for each pair by itself"),
        ("seed", str(plan.seed)),
    ]


_VERDICTS = ("refuted", "not refuted", "no claim", "raced", "bound violated", "not played", "failed")


def _list_unplayed(rows: Sequence[TournamentRow]) -> list[tuple[str, str]]:
    """Titles and lines of the pairs without figures: those that cannot be played, and those that failed."""
    groups = []
    for verdict, title in (("failed", "Failed"), ("not played", "Cannot be played")):
        by_reason: dict[str, list[str]] = {}
        for row in rows:
            if row.verdict == verdict:
                by_reason.setdefault(row.result.reason, []).append(str(row.cell))
        lines = [f"  {', '.join(pairs)}: {reason}" for reason, pairs in by_reason.items()]
        if lines:
            groups.append((title, "\n".join(lines)))
    return groups


def explain_figures(result: TournamentResult) -> list[str]:
    """How to read the figures, in paragraphs."""
    plan = result.tournament
    claims = sum(row.share is not None for row in result.rows)
    notes = [
        "ε is in nats. The certified ε of a pair is a lower bound on the learner's privacy loss, which holds "
        f"with confidence {percent(plan.confidence)} by itself: if all {claims:,} claims that were tested "
        f"were true, {claims * (1 - plan.confidence):.2g} of them at most would be refuted on average. A "
        "claim that is not refuted is not thereby proved. A learner without a claim is tested against "
        f"ε = {REFERENCE_EPSILON:g} at δ = 0, and counts in no ranking.",
        "Adversaries are ranked by the mean of certified ε / ε of the claim over the learners that they can "
        "meet, a refuted claim counting as 1. Their learners differ, and few games certify little of a large "
        "ε: the ceiling of a pair is what an adversary that always tells the worlds apart would certify.",
    ]
    unloadable = [entry for entry in plan.unmatched if not (entry[0] and entry[1])]
    return notes + [f"{learner or adversary}: {reason}" for learner, adversary, reason in unloadable]


def _list_audit(row: TournamentRow) -> tuple[str, ...]:
    cell, figures = row.cell, row.result
    claim = (nats(cell.epsilon), f"{cell.delta:.3g}") if cell.has_claim else ("none", "")
    share = "" if row.share is None else f"{row.share:.3f}"
    exact = "" if figures.exact is None else nats(figures.exact)
    delta_star = "" if figures.delta_star is None else f"{figures.delta_star:.3g}"
    bound = nats(figures.epsilon_lower or 0.0)
    return cell.learner, cell.adversary, *claim, bound, share, exact, delta_star


def _list_race(row: TournamentRow) -> tuple[str, ...]:
    cell = row.cell
    return cell.learner, cell.adversary, cell.protocol, cell.quantity, f"{row.result.mean or 0.0:,.4g}"


def _list_end(row: TournamentRow) -> tuple[str, ...]:
    """The last cells of a row: games, seconds, and verdict."""
    return f"{row.cell.games:,}", f"{row.result.seconds:.1f}", row.verdict
