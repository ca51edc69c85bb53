"""A pair of a tournament with its figures, as tables and pages show it."""

from __future__ import annotations

from typing import Any

import attrs

from arena import REFEREES
from audits.reports.formatting import nats
from audits.tournaments.cells import AUDITED, NOT_INSTALLED, RACED, REFUSED, Cell, CellResult

# The columns of a row, as JSON and the CSV file have them, and how text formats them.
COLUMNS = {
    **dict.fromkeys(("protocol", "family", "learner", "adversary", "claim"), ""),
    **{"claim_epsilon": ".4g", "claim_delta": ".3g", "epsilon_lower": ".4g", "share": ".3f", "rank": ""},
    **{"ceiling": ".4g", "exact": ".4g", "exact_reason": "", "delta_star": ".3g", "delta_star_reason": ""},
    **{"quantity": "", "mean": ",.4g", "games": ",", "seed": "", "seconds": ".1f"},
    **dict.fromkeys(("verdict", "reason", "command"), ""),
}
_SHADES = 8  # of a heat map


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
            tested = "refuted" if self.refuted else "undecided" if self.undecided else "not refuted"
            return "no claim" if self.cell.claim_epsilon is None else tested
        if self.result.outcome == RACED:
            return "bound violated" if self.result.refuted else "raced"
        return "not played" if self.result.outcome == REFUSED else self.result.outcome

    @property
    def finished(self) -> bool:
        return self.result.outcome in (AUDITED, RACED)

    @property
    def set_aside(self) -> bool:
        """Whether the players cannot meet, or one needs a package that is not installed."""
        return self.result.outcome in (REFUSED, NOT_INSTALLED)

    @property
    def one_world(self) -> bool:
        return not REFEREES[self.cell.protocol].two_worlds

    @property
    def figure(self) -> float:
        """The certified ε, or the mean of a race, by which adversaries of a learner are compared."""
        return (self.result.mean if self.one_world else self.result.epsilon_lower) or 0.0

    @property
    def refuted(self) -> bool:
        """Whether the learner's own claim is refuted, or a promised bound is violated."""
        return self.result.refuted and (self.cell.claim_epsilon is not None or self.result.outcome == RACED)

    @property
    def undecided(self) -> bool:
        """Whether a claim is not refuted, and so few games could not have refuted it."""
        claimed, ceiling = self.cell.claim_epsilon, self.result.ceiling
        return not self.refuted and claimed is not None and ceiling is not None and ceiling < claimed

    @property
    def sort_key(self) -> tuple[object, ...]:
        cell, bound = self.cell, self.result.epsilon_lower
        return (self.one_world, cell.protocol, cell.learner, bound is None, -(bound or 0.0), cell.adversary)

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
            return self.verdict, "f"
        if share is not None:
            text = f"{share:.2f}" if share < 10 else f"{share:.0f}"
        else:
            text, share = f"{figures.mean:.3g}", (figures.mean or 0.0) / getattr(self.cell.game, "rounds", 1)
        return text, "x" if self.refuted else f"h{min(_SHADES - 1, int(_SHADES * max(0.0, share)))}"
