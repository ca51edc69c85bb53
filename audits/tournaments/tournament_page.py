"""The page on a tournament: heat maps, the ranking, and the line that plays each pair again."""

from __future__ import annotations

from importlib import resources
from typing import Any

from audits.data.terminal_text import escape_controls
from audits.reports.formatting import nats
from audits.reports.page_policy import make_policy
from audits.tournaments.cell_result import AUDITED, RACED
from audits.tournaments.tournament_result import TournamentResult, TournamentRow
from audits.tournaments.tournament_text import (
    RANKING,
    explain_figures,
    list_ranking,
    summarize,
)

_SHADES = 8  # of a heat map
_DIGITS = 2


def render_tournament(result: TournamentResult) -> str:
    """The page: the same bytes for the same figures, since it shows no durations."""
    rows = result.rows
    numbers = {id(row.cell): number for number, row in enumerate(rows, 1)}
    protocols = dict.fromkeys(row.cell.protocol for row in rows)
    return _render_template(
        title="Every learner against every adversary",
        facts=summarize(result),
        notes=explain_figures(result),
        maps=[
            _draw_map(protocol, [row for row in rows if row.cell.protocol == protocol], numbers)
            for protocol in protocols
        ],
        ranking_headers=RANKING,
        ranking=list_ranking(result),
        rows=[_list_cell(row, numbers[id(row.cell)]) for row in rows],
    )


def _render_template(**values: object) -> str:
    """The page that the template makes of values. All texts are escaped."""
    from jinja2 import Environment  # an extra, and slow to import

    template = (
        resources.files("audits.tournaments").joinpath("tournament.html.j2").read_text(encoding="utf-8")
    )
    environment = Environment(autoescape=True, finalize=_escape, trim_blocks=True, lstrip_blocks=True)
    environment.filters["policy"] = make_policy
    return environment.from_string(template).render(values)


def _escape(value: object) -> object:
    """Text without characters that would reorder the page."""
    return escape_controls(value) if type(value) is str else value


def _draw_map(protocol: str, rows: list[TournamentRow], numbers: dict[int, int]) -> dict[str, Any]:
    learners = sorted({row.cell.learner for row in rows})
    adversaries = sorted({row.cell.adversary for row in rows})
    by_pair = {(row.cell.learner, row.cell.adversary): row for row in rows}
    lines = []
    for learner in learners:
        line: list[dict[str, Any] | None] = []
        for adversary in adversaries:
            row = by_pair.get((learner, adversary))
            line.append(None if row is None else {**_shade(row), "number": numbers[id(row.cell)]})
        lines.append((learner, line))
    raced = any(row.result.outcome == RACED for row in rows)
    return {"protocol": protocol, "adversaries": adversaries, "lines": lines, "raced": raced}


def _shade(row: TournamentRow) -> dict[str, str]:
    """The text and the style of a cell of a heat map."""
    figures, cell = row.result, row.cell
    if figures.outcome == AUDITED and figures.epsilon_lower is not None:
        if row.share is None:
            return {"text": nats(round(figures.epsilon_lower, _DIGITS)), "style": "n"}
        text = f"{row.share:.{_DIGITS}f}" if row.share < 10 else f"{row.share:.0f}"
        return {"text": text, "style": "x" if row.refuted else _choose_shade(row.share)}
    if figures.outcome == RACED and figures.mean is not None:
        rounds = getattr(cell.game, "rounds", 1)
        style = "x" if row.refuted else _choose_shade(figures.mean / rounds)
        return {"text": f"{figures.mean:.3g}", "style": style}
    return {
        "text": "failed" if row.verdict == "failed" else "–",
        "style": "f" if row.verdict == "failed" else "n",
    }


def _choose_shade(share: float) -> str:
    return f"h{min(_SHADES - 1, int(_SHADES * max(0.0, share)))}"


def _list_cell(row: TournamentRow, number: int) -> dict[str, Any]:
    cell, figures = row.cell, row.result
    if figures.outcome == RACED:
        figure = f"{figures.mean or 0.0:.4g} {cell.quantity}"
    else:
        figure = "" if figures.epsilon_lower is None else nats(figures.epsilon_lower)
    return {
        "number": number,
        "texts": (cell.protocol, cell.learner, cell.adversary, cell.claim, figure),
        "share": "" if row.share is None else f"{row.share:.3f}",
        "exact": "" if figures.exact is None else nats(figures.exact),
        "delta_star": "" if figures.delta_star is None else f"{figures.delta_star:.3g}",
        "verdict": row.verdict,
        "refuted": row.refuted,
        "text": figures.reason or cell.command,
        "is_command": not figures.reason and bool(cell.command),
    }
