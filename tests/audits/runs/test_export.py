"""Tables of a ledger: what is read back is what was stored, to the bit."""

from __future__ import annotations

import csv
import importlib.util
from pathlib import Path

import numpy as np
import pytest

from arena import InvalidArgument
from audits.distinguishers.view_features import ViewCounts, ViewFeatures
from audits.runs.ledger import Ledger
from audits.runs.run_history import CSV, PARQUET, export_blocks, export_figures, read_history
from audits.statistics.score_pairs import PairCounts

PLAN = {"epsilon": 1.0, "delta": 0.0, "confidence": 0.95, "games": 40, "until_refuted": False}
KINDS = [
    CSV,
    pytest.param(
        PARQUET,
        marks=[
            pytest.mark.thorough,
            pytest.mark.skipif(
                importlib.util.find_spec("pyarrow") is None, reason="the extra `parquet` is not installed"
            ),
        ],
    ),
]


def block(index: int) -> PairCounts:
    draw = np.random.default_rng(index)
    scores = draw.choice([0.1, 1 / 3, -np.inf, np.inf, 5e-324, -1e300, draw.normal()], size=(10, 2))
    return PairCounts.of(*scores.T)


def views(index: int) -> ViewCounts:
    draw = np.random.default_rng(index)
    names = ("answer 1", "halted") if index else ("answer 1",)
    worlds = (ViewFeatures(draw.integers(0, 2, (10, len(names))).astype(float), names) for _ in range(2))
    return ViewCounts.of(*worlds)


def ledger_of(path: Path, blocks: list[PairCounts] | list[ViewCounts]) -> Path:
    with Ledger.open(path, PLAN) as ledger:
        for index, counts in enumerate(blocks):
            ledger.add(index, counts)
    return path


def read(path: Path) -> dict[str, list[float]]:
    """The columns of a table."""
    if path.suffix == PARQUET:
        from pyarrow import parquet

        return parquet.read_table(path).to_pydict()
    with path.open(newline="", encoding="utf-8") as file:
        head, *rows = csv.reader(file)
    return {name: [float(row[place]) for row in rows] for place, name in enumerate(head)}


@pytest.mark.parametrize("kind", KINDS)
def test_scores_are_read_back_to_the_bit(tmp_path: Path, kind: str) -> None:
    ledger = ledger_of(tmp_path / "run.ledger", [block(index) for index in range(4)])
    path, seen = tmp_path / f"table{kind}", []
    rows = export_blocks(ledger, path, watch=lambda: seen.append(1))
    table = {name: np.array(column) for name, column in read(path).items()}
    assert list(table) == ["block", "count", "score_0", "score_1"]
    assert {len(column) for column in table.values()} == {rows}
    assert len(seen) == 4
    for index in range(4):
        of = table["block"] == index
        counts = PairCounts.of(table["score_0"][of], table["score_1"][of], table["count"][of].astype(int))
        assert counts.to_bytes() == block(index).to_bytes()


@pytest.mark.parametrize("kind", KINDS)
def test_views_are_read_back(tmp_path: Path, kind: str) -> None:
    ledger = ledger_of(tmp_path / "run.ledger", [views(index) for index in range(4)])
    path = tmp_path / f"table{kind}"
    export_blocks(ledger, path)
    table = {name: np.array(column) for name, column in read(path).items()}
    names = ("answer 1", "halted")
    assert list(table) == ["block", "count", *(f"{name}_{world}" for world in range(2) for name in names)]
    for index in range(4):
        of = table["block"] == index
        told = views(index)
        rows = told.columns(names)
        for world in range(2):
            for place, name in enumerate(names):
                expected = rows[told.which[:, world], place]
                assert (table[f"{name}_{world}"][of] == expected).all()
        assert (table["count"][of] == told.counts).all()


@pytest.mark.parametrize("kind", KINDS)
def test_figures_are_those_of_the_report(tmp_path: Path, kind: str) -> None:
    ledger = ledger_of(tmp_path / "run.ledger", [block(index) for index in range(4)])
    path = tmp_path / f"figures{kind}"
    assert export_figures(ledger, path) == 4
    table, found = read(path), read_history(ledger)
    assert table["block"] == [0, 1, 2, 3]
    assert table["games"] == [10, 20, 30, 40]
    assert table["epsilon_lower"] == found.epsilon_lower[1:].tolist()
    assert table["log_evidence"] == found.log_evidence[1:].tolist()


def refusal(ledger: Path, path: Path) -> str:
    with pytest.raises(InvalidArgument) as refused:
        export_blocks(ledger, path)
    return str(refused.value)


def test_what_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = ledger_of(tmp_path / "run.csv", [block(0)])
    before = ledger.read_bytes()
    assert refusal(ledger, tmp_path / "t.xls").startswith("the file of a table must end in .csv or .parquet")
    assert refusal(ledger, ledger).startswith(f"the table {ledger} would take the place of the ledger. ")
    assert "does not exist. Create it first." in refusal(ledger, tmp_path / "none" / "t.csv")
    assert ledger.read_bytes() == before
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert refusal(ledger, tmp_path / "t.parquet").startswith("a Parquet file needs pyarrow. Run pip install")


def test_a_ledger_without_games(tmp_path: Path) -> None:
    ledger = ledger_of(tmp_path / "run.ledger", [])
    assert refusal(ledger, tmp_path / "t.csv").startswith(f"the ledger {ledger} contains no games yet. Try")


def test_a_table_that_is_not_finished_is_not_there(tmp_path: Path) -> None:
    ledger = ledger_of(tmp_path / "run.ledger", [block(0), block(1)])

    def interrupt() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        export_blocks(ledger, tmp_path / "t.csv", watch=interrupt)
    assert [path.name for path in tmp_path.iterdir()] == ["run.ledger"]
