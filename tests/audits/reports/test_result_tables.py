"""Results as tables: DataFrames, CSV files and LaTeX, of one result and of several."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import audits
from arena import InvalidArgument, Unsupported
from audits.reports.comparison import Comparison
from audits.reports.result_table import ResultRow, format_latex, make_frame, write_records

SCORES = np.random.default_rng(0).normal(size=200)
ROW = ResultRow(
    mechanism=r"a_b & 5% #1 {x} \y ~z^2 $",
    method="audit",
    relation="replace one",
    claim_epsilon=0.5,
    claim_delta=1e-5,
    epsilon_lower=0.25,
    delta=1e-5,
    confidence=0.95,
    games=4_000,
    ceiling=6.7,
    refuted=False,
)


def table_cells(text: str) -> list[list[str]]:
    lines = [line for line in text.splitlines() if line.endswith(r"\\")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)&", line.removesuffix(r"\\"))] for line in lines]


def test_latex_escapes_what_its_fonts_and_its_syntax_do_not_take() -> None:
    text = format_latex([vars_of(ROW), vars_of(ROW) | {"mechanism": "ε₁", "epsilon_lower": float("inf")}])
    head, first, second, below = table_cells(text)
    assert first[0] == r"a\_b \& 5\% \#1 \{x\} \textbackslash{}y \textasciitilde{}z\^{}2 \$"
    assert second[0] == r"$\varepsilon$$_{1}$"
    columns = dict(zip(head, zip(first, second, strict=True), strict=True))
    assert columns[r"$\varepsilon$ $\geq$"] == ("0.25", r"$\infty$")
    # What is the same in all rows is said below them, in their width.
    assert below[0].startswith(rf"\multicolumn{{{len(head)}}}{{l}}")
    for said in (r"$\delta$: $10^{-5}$;", r"confidence: 95 \%;", "games: 4,000;", "relation: replace one;"):
        assert said in below[0]
    assert [line for line in text.splitlines() if "rule" in line] == [
        r"\toprule",
        r"\midrule",
        r"\bottomrule",
    ]
    assert text.isascii()


def vars_of(row: ResultRow) -> dict[str, Any]:
    import attrs

    return attrs.asdict(row)


def test_columns_are_chosen_and_empty_ones_left_out() -> None:
    (head, _) = table_cells(format_latex([vars_of(ROW)]))
    assert "adversary" not in head
    assert "detectable" not in head
    assert table_cells(format_latex([vars_of(ROW)], ["games", "mechanism"]))[0] == ["games", "mechanism"]
    with pytest.raises(InvalidArgument, match="no column of that name, got 'gmaes'"):
        format_latex([vars_of(ROW)], ["gmaes"])


@pytest.mark.thorough
def test_a_frame_and_a_csv_file_have_the_same_columns(tmp_path: Path) -> None:
    comparison = Comparison(rows=(ROW, ROW))
    frame = comparison.to_frame()
    comparison.write_csv(tmp_path / "rows.csv")
    with (tmp_path / "rows.csv").open(encoding="utf-8", newline="") as file:
        read = list(csv.DictReader(file))
    assert [*read[0]] == [*frame.columns]
    assert {"claim_epsilon", "relation", "epsilon_lower", "delta", "confidence", "games"} <= {*frame.columns}
    assert read[1]["mechanism"] == frame.mechanism[1] == ROW.mechanism
    assert float(read[0]["epsilon_lower"]) == frame.epsilon_lower[0] == 0.25
    assert read[0]["detectable"] == ""


def test_without_pandas_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(InvalidArgument, match=r"needs pandas. Run pip install 'dp-arena\[pandas\]'"):
        make_frame([vars_of(ROW)])


def test_a_table_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="CSV file"):
        write_records([vars_of(ROW)], tmp_path / "none" / "rows.csv")


def test_results_are_compared_by_their_own_or_given_names() -> None:
    exact = audits.exact("laplace-count", "count-swap")
    scores = audits.certify(SCORES, SCORES + 2, epsilon=0.1)
    compared = audits.compare({"count": exact, "attack_1": scores})
    assert [row.mechanism for row in compared.rows] == ["count", "attack_1"]
    assert compared.rows[0].epsilon_upper == pytest.approx(1.0)
    assert [row.refuted for row in compared.rows] == [False, True]
    assert audits.compare([compared, exact]).rows == (*compared.rows, *exact.list_rows())
    text = compared.summary()
    assert "count" in text
    assert "1 of them refuted" in compared.headline
    assert compared.to_dict()["rows"][1]["games"] == 200


@pytest.mark.parametrize(
    ("results", "error", "message"),
    [([], InvalidArgument, "no results"), ([5], InvalidArgument, "results of audits, got 5")],
)
def test_what_cannot_be_compared_is_refused(results: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        audits.compare(results)


@pytest.mark.thorough
def test_each_result_has_the_rows_that_belong_to_it() -> None:
    def noisy_mean(points: Any, rng: np.random.Generator) -> float:
        return float(points.mean() + rng.laplace())

    verdict = audits.audit(noisy_mean, data=SCORES[:4], epsilon=1.0, games=200)
    (row,) = verdict.list_rows()
    assert (row.mechanism, row.games, row.claim_epsilon) == ("noisy_mean", 200, 1.0)
    assert "noisy_mean" in verdict.headline
    assert "function" not in verdict.summary() + verdict.headline + verdict.to_latex()
    search = audits.search("laplace-count", examples=2, games=64)
    assert search.list_rows()[0].refuted is False
    race = audits.race(["soa", "halving"], "shattered-tree", rounds=6, games=4)
    assert [record["learner"] for record in race._list_records()] == ["soa", "halving"]
    with pytest.raises(Unsupported, match="a result of the kind race tests no claim"):
        audits.compare([race])
    solution = audits.solve("noisy-votes", rounds=1, settings={"size": 5, "answers": 1})
    assert len(solution.to_frame()) == len(solution.curve)
    assert solution.list_rows()[0].refuted is False
