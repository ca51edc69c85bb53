"""Other tools beside ours: what is measured is kept, and compared on equal scores only."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks import suite
from benchmarks.anchors import measure_estimators, printed_figures, tables
from benchmarks.anchors.measure_estimators import Tool, measure_tool, read_tool
from benchmarks.anchors.score_cases import OneRun, TwoWorlds

CASE = TwoWorlds("none", 0.0, 0.1, 4)
RUN = OneRun(1.0, 0.1, 4)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    scores = tmp_path / "scores.npz"
    included = np.tile([True, False], (3, 2))
    np.savez(
        scores,
        **{CASE.name: np.ones((3, 2, 4)), RUN.name: np.ones((3, 4)), f"{RUN.name}, included": included},
    )
    for name, value in {
        "FOLDER": tmp_path,
        "SCORES": scores,
        "TWO_WORLDS": [CASE],
        "ONE_RUN": [RUN],
        "NULL_AUDITS": 60,
        "NULL_SIZES": (4,),
        "_WORKERS": 1,
        "digest_scores": lambda: "digest",
    }.items():
        monkeypatch.setattr(measure_estimators, name, value)
    return tmp_path


def claim_one(scores: np.ndarray, others: np.ndarray, delta: float) -> float:
    with Path("calls").open("a") as file:
        print(delta, file=file)
    return 1.0


def test_what_was_measured_is_not_measured_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    for _ in range(2):
        measure_tool("tool", ["numpy"], {"one": claim_one}, {"run": claim_one}, complete=["one", "run"])
        assert len(Path("calls").read_text().split()) == 2 * (1 + 3) + 2 * 60
    tool = read_tool("tool")
    assert tool.bounds == {f"one | {CASE.name}": [1.0] * 3, f"run | {RUN.name}": [1.0] * 3}
    assert tool.nulls == {"one | 4": [1.0] * 60, "run | 4": [1.0] * 60}
    tool.path.write_text(tool.path.read_text()[:-5])
    assert read_tool("tool") is None


def test_tools_with_other_scores_are_not_compared(folder: Path) -> None:
    for name, scores in {"one": "a", "two": "a", "three": "b"}.items():
        Tool(name, {}, scores).write()
    assert [tool.name for tool in tables.read_tools(["one", "two"])] == ["one", "two"]
    for names in (["one", "three"], ["one", "four"]):
        with pytest.raises(SystemExit, match="bench-anchors"):
            tables.read_tools(names)


def test_the_limits_on_a_share_are_those_of_clopper_and_pearson() -> None:
    assert tables.share_limits(0, 10_000) == (0, pytest.approx(1 - 0.025 ** (1 / 10_000)))
    assert tables.share_limits(10, 10) == (pytest.approx(0.025**0.1), 1)


def test_the_zoo_is_that_of_the_suite() -> None:
    assert list(printed_figures.ZOO) == [row.learner for row in suite.ROWS]
