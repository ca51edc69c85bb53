"""Several results in one table and one chart."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

import attrs

from arena import InvalidArgument
from audits.reports.formatting import is_visibly_above, percent
from audits.reports.json_form import to_data
from audits.reports.plots import Picture
from audits.reports.report import Document, Part, Prose, Report, Table
from audits.reports.result_table import ResultRow

_HEADERS = ("mechanism", "by", "claimed ε", "δ", "certified ε", "confidence", "games", "ceiling", "verdict")


@attrs.frozen(kw_only=True, repr=False)
class Comparison(Report):
    """The rows of several results, in their order: what each claims, and what is certified of it."""

    kind: ClassVar[str] = "comparison"

    rows: tuple[ResultRow, ...]

    @property
    def headline(self) -> str:
        verdicts = [_name_verdict(row) for row in self.rows]
        undecided = verdicts.count("undecided")
        end = f", {undecided:,} undecided" if undecided else ""
        return f"{len(self.rows):,} results, {verdicts.count('refuted'):,} of them refuted{end}"

    def document(self) -> Document:
        known = [*map(_format_row, self.rows)]
        shown = [place for place in range(len(_HEADERS)) if any(row[place] for row in known)]
        table = Table(
            [_HEADERS[place] for place in shown], [[row[place] for place in shown] for row in known]
        )
        picture = Picture.of_bounds(
            [row.bounds for row in self.rows],
            "Certified and claimed ε",
            "Bars that refute their claims have a colour of their own. On the right, both figures",
        )
        parts: list[Part] = [table, Prose(_explain(self.rows))]
        return Document(parts=parts, picture=picture)

    def list_rows(self) -> list[ResultRow]:
        return list(self.rows)

    def _describe(self) -> dict[str, Any]:
        return {"rows": to_data(self.rows)}


def compare(results: Iterable[Report] | Mapping[str, Report]) -> Comparison:
    """Several results in one table and one chart: audits, searches, exact losses, solved games, certificates.

    results: in the order of the rows; a mapping names the mechanisms. The comparison has `to_frame`,
    `to_latex`, `write_csv` and `plot`. Each bound holds with its own confidence, not all of them together.

    Raises: InvalidArgument if there are none; Unsupported for a result without a claim, such as a race.

    >>> import audits
    >>> both = {name: audits.exact(name, settings={"epsilon": 0.1}) for name in ("laplace-count", "svt-1")}
    >>> [round(row.epsilon_lower, 3) for row in audits.compare(both).rows]
    [0.1, 0.02]
    """
    if not isinstance(results, Iterable):
        raise InvalidArgument(
            "compare takes several results of audits",
            value=results,
            remedy="Write compare([verdict, report]).",
        )
    named = [*results.items()] if isinstance(results, Mapping) else [(None, result) for result in results]
    for _, result in named:
        if not isinstance(result, Report):
            raise InvalidArgument(
                "compare takes results of audits", value=result, remedy="Write compare([verdict, report])."
            )
    if not named:
        raise InvalidArgument("there are no results to compare", remedy="Give two, as compare([a, b]).")
    return Comparison(
        rows=tuple(
            row if name is None else attrs.evolve(row, mechanism=str(name))
            for name, result in named
            for row in result.list_rows()
        )
    )


def _format_row(row: ResultRow) -> list[str]:
    lower, upper = (None if x is None else f"{x:.4g}" for x in (row.epsilon_lower, row.epsilon_upper))
    is_above = row.claim_epsilon is None or is_visibly_above(row.epsilon_lower or 0.0, row.claim_epsilon)
    sign = (
        "≥" if is_above or not row.refuted or (row.epsilon_lower or 0.0) < (row.claim_epsilon or 0.0) else ">"
    )
    bound = f"{sign} {lower}" if upper is None else lower if lower == upper else f"{lower} to {upper}"
    return [
        row.mechanism,
        row.method,
        "" if row.claim_epsilon is None else f"{row.claim_epsilon:.4g}",
        "" if row.delta is None else f"{row.delta:.3g}",
        bound or "",
        "exact" if row.confidence is None else percent(row.confidence),
        "" if row.games is None else f"{row.games:,}",
        "" if row.ceiling is None else f"{row.ceiling:.4g}",
        _name_verdict(row),
    ]


def _name_verdict(row: ResultRow) -> str:
    if row.refuted is None:
        return ""
    return "refuted" if row.refuted else "undecided" if row.undecided else "not refuted"


def _explain(rows: Iterable[ResultRow]) -> str:
    text = "ε is in nats. Each bound holds with its own confidence, not all of them together."
    if any(row.ceiling is not None for row in rows):
        text += " The ceiling is the most that so many games could have certified."
    return text
