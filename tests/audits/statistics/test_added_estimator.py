"""The estimator of docs/guides/add_an_estimator.md, which no package has, has its row in every report."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.command_line import Command
from support.paths import ROOT

from audits.statistics.estimators import ESTIMATORS

AUDIT = Command("audit", "laplace-count", "--against", "count-swap", "--games", "2000")


@pytest.fixture(autouse=True)
def added() -> Iterator[None]:
    page = (ROOT / "docs/guides/add_an_estimator.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    shipped = [*ESTIMATORS]
    exec(code, {})
    yield
    ESTIMATORS[:] = shipped


def test_its_row_is_in_the_text_and_certifies_something() -> None:
    (row,) = re.findall(r"^fixed event +ε ≥ ([\d.]+) nats$", AUDIT.text("--estimators"), re.MULTILINE)
    assert 0.2 < float(row) < 1


def test_its_row_is_in_the_json() -> None:
    rows = {row["method"]: row for row in AUDIT.json("--estimators")["estimates"]}
    assert rows["fixed event"]["certified"]
    assert rows["fixed event"]["value"] == pytest.approx(rows["band"]["value"], abs=0.4)


def test_its_row_is_on_the_page(tmp_path: Path) -> None:
    AUDIT.text("--html", tmp_path / "run.html")
    page = (tmp_path / "run.html").read_text(encoding="utf-8")
    assert re.search(r"<td>fixed event</td><td>ε ≥ [\d.]+ nats</td><td>a fixed number of games; one", page)


def test_a_run_that_stops_early_says_that_it_has_no_figure() -> None:
    text = AUDIT.text("--estimators", "--until-refuted", "--epsilon", "0.01", status=3)
    assert re.search(r"^fixed event +not available: ", text, re.MULTILINE)
