"""Results as tables, with one row for each claim: a DataFrame, a CSV file, a table in LaTeX."""

from __future__ import annotations

import csv
import math
import os
import re
from collections.abc import Mapping, Sequence
from typing import Any

import attrs
from tabulate import tabulate

from arena import Claim, InvalidArgument
from audits.data.output_files import check_extra, write_atomically
from audits.reports.formatting import escape_controls, percent
from audits.reports.plots import BoundRow

Record = Mapping[str, Any]

# The headers of columns in LaTeX; others are their names.
_HEADERS = {
    "method": "by",
    "claim_epsilon": "claimed ε",
    "claim_delta": "claimed δ",
    "epsilon_lower": "ε ≥",
    "epsilon_upper": "ε ≤",
    "delta": "δ",
    "bound_beta": "bound β",
}
_SYMBOLS = {
    **{"ε": r"\varepsilon", "δ": r"\delta", "ρ": r"\rho", "μ": r"\mu", "α": r"\alpha", "β": r"\beta"},
    **{"≥": r"\geq", "≤": r"\leq", "∞": r"\infty", "±": r"\pm", "×": r"\times", "→": r"\to", "√": r"\surd"},
    **{"σ": r"\sigma", "λ": r"\lambda", "γ": r"\gamma", "·": r"\cdot", "−": "-", "⊤": r"\top", "⊥": r"\bot"},
}
_SYMBOL = re.compile("|".join(_SYMBOLS))
_POWER = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)e([+-]\d+)(?![\w.])")
_SUBSCRIPTS = str.maketrans("₀₁₂₃₄₅₆₇₈₉", "0123456789")


@attrs.frozen(kw_only=True)
class ResultRow:
    """What one result says about one claim. None: not known, or not applicable.

    mechanism, adversary: their names. method: the verb. relation: how neighbouring data differ.
    claim_epsilon, claim_delta: the claim under test. epsilon_lower, epsilon_upper: bounds on ε in nats at
    `delta`, with this confidence, or computed if it is None. games: in each world.
    ceiling, detectable: the power of the games: the most that they could have certified, and the loss that
    would have been found with probability 90 %. undecided: why the claim is neither refuted nor not refuted.
    """

    mechanism: str
    adversary: str = ""
    method: str
    relation: str = ""
    claim_epsilon: float | None = None
    claim_delta: float | None = None
    epsilon_lower: float | None = None
    epsilon_upper: float | None = None
    delta: float | None = None
    confidence: float | None = None
    games: int | None = None
    ceiling: float | None = None
    detectable: float | None = None
    refuted: bool | None = None
    undecided: str = ""

    @staticmethod
    def describe_claim(claim: Claim) -> dict[str, Any]:
        """The entries of a row that follow from a claim under test."""
        if claim.empty:
            return {"relation": str(claim.neighbours)}
        return {
            "relation": str(claim.neighbours),
            "claim_epsilon": claim.epsilon,
            "claim_delta": claim.delta,
        }

    @property
    def bounds(self) -> BoundRow:
        """The row of a chart."""
        return BoundRow(
            name=self.mechanism,
            certified=self.epsilon_lower or 0.0,
            claimed=self.claim_epsilon,
            ceiling=self.ceiling,
            detectable=self.detectable,
            refuted=self.refuted is True,
        )


def make_frame(records: Sequence[Record]) -> Any:
    """The records as a DataFrame of pandas. Raises: InvalidArgument, which names the extra, without it."""
    check_extra("a DataFrame", "pandas", extra="pandas")
    import pandas as pd  # an extra, and slow to import

    return pd.DataFrame([dict(record) for record in records])


def write_records(records: Sequence[Record], path: str | os.PathLike[str]) -> None:
    """Write a CSV file; what is unknown is empty. Raises: InvalidArgument if it cannot be written."""
    with (
        write_atomically("CSV file", path) as unfinished,
        unfinished.open("w", newline="", encoding="utf-8") as file,
    ):
        writer = csv.DictWriter(file, [*records[0]] if records else [])
        writer.writeheader()
        writer.writerows(records)


def format_latex(records: Sequence[Record], columns: Sequence[str] | None = None) -> str:
    """The records as a table in LaTeX, of the package booktabs. columns: by name, in this order; default: all
    that say something, where what is the same in all of several rows is said once, below them. Raises:
    InvalidArgument for a column that is none."""
    names = [*records[0]] if records else []
    for name in columns or ():
        if name not in names:
            raise InvalidArgument("there is no column of that name", value=name, remedy=f"There are {names}.")
    shown = columns or [
        name for name in names if not _is_left_out(name, records) and any(_is_known(r[name]) for r in records)
    ]
    shared = [
        name
        for name in ([] if columns or len(records) == 1 else shown[1:])
        if name != "refuted" and all(record[name] == records[0][name] for record in records)
    ]
    shown = [name for name in shown if name not in shared]
    cells = [[_format_cell(name, record[name]) for name in shown] for record in records]
    headers = [_name_column(name) for name in shown]
    numeric = [all(isinstance(record[name], int | float | None) for record in records) for name in shown]
    table = tabulate(
        cells,
        headers,
        tablefmt="latex_booktabs",
        disable_numparse=True,
        colalign=["right" if number else "left" for number in numeric],
    )
    if shared:
        values = "; ".join(f"{_name_column(name)}: {_format_cell(name, records[0][name])}" for name in shared)
        note = rf"\multicolumn{{{len(shown)}}}{{l}}{{\footnotesize In all rows, {_escape(values)}.}} \\"
        table = table.replace("\\bottomrule", f"\\bottomrule\n{note}")
    table = re.sub(" {2,}", " ", str(table))
    # The fonts of LaTeX have no letters of other alphabets, but signs of mathematics.
    table = re.sub("[₀-₉]+", lambda found: f"$_{{{found[0].translate(_SUBSCRIPTS)}}}$", table)
    table = _SYMBOL.sub(lambda found: f"${_SYMBOLS[found[0]]}$", table)
    table = _POWER.sub(_format_power, table)
    return "% needs \\usepackage{booktabs}\n" + table


def _name_column(name: str) -> str:
    return _HEADERS.get(name, name.replace("_", " "))


def _escape(text: str) -> str:
    """The text with the escapes that a cell has."""
    row = tabulate([[text]], tablefmt="latex_booktabs", disable_numparse=True).splitlines()[2]
    return row.strip().removesuffix(r"\\").strip()


def _format_power(found: re.Match[str]) -> str:
    factor = "" if found[1] == "1" else found[1] + r" \cdot "
    return f"${factor}10^{{{int(found[2])}}}$"


def _is_left_out(name: str, records: Sequence[Record]) -> bool:
    """Whether a column says what another one does: the δ of a claim, if bounds are at the same."""
    return name == "claim_delta" and all(r[name] in (None, r.get("delta")) for r in records)


def _is_known(value: Any) -> bool:
    return value is not None and value != ""


def _format_cell(name: str, value: Any) -> str:
    if not _is_known(value):
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if name == "confidence":
        return percent(value)
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.4g}" if math.isfinite(value) else "∞" if value > 0 else "–"
    return escape_controls(str(value), one_line=True)
