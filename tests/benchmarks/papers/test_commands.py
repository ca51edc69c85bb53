"""`python -m benchmarks.papers`: what its commands print."""

from __future__ import annotations

import math
from pathlib import Path

import click
import numpy as np
import pytest
from click.testing import CliRunner

from benchmarks.papers.hypothesis import hypothesis
from benchmarks.papers.poison import poison
from benchmarks.papers.table4 import PAPER, format_mean, generate_texts, table4
from benchmarks.theorems import measurement


def run(command: click.Command, *words: str) -> list[list[str]]:
    """The words of the lines that the command prints."""
    result = CliRunner().invoke(command, words, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return [line.split() for line in result.stdout.splitlines()]


@pytest.fixture(autouse=True)
def keep_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measurement, "KEPT", tmp_path)


@pytest.mark.thorough
def test_the_papers_rows_stand_beside_mushrooms(tmp_path: Path) -> None:
    chart = tmp_path / "pate.svg"
    words = ("mushroom", "--splits", "2", "--jobs", "1", "--epsilon", "2", "--plot", str(chart))
    rows = [row for row in run(table4, *words) if row and row[0] in ("psq", "psq-np", "asq", "asq-np")]
    assert [row[0] for row in rows] == ["psq-np", "asq-np", "psq", "asq"]
    assert [row[-2] for row in rows] == ["0.9773", "0.9146", "0.8974", "0.8858"]
    assert "active, Table 4 of the paper" in chart.read_text()


@pytest.mark.thorough
def test_a_file_of_ones_own_is_measured_anew_when_it_changes(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"

    def measure(flipped: int) -> list[list[str]]:
        labels = [(i % 2) ^ (i < flipped) for i in range(700)]
        path.write_text("a,b,y\n" + "".join(f"{i % 2},{i % 3},{label}\n" for i, label in enumerate(labels)))
        return run(table4, str(path), "--y", "y", "--splits", "2", "--jobs", "1", "--epsilon", "1")

    rows = measure(0)
    assert rows == measure(0) != measure(300)


@pytest.mark.thorough
def test_texts_are_unit_vectors_with_both_labels() -> None:
    texts = generate_texts()
    assert texts.points.shape == (12_000, 300)
    np.testing.assert_allclose(np.linalg.norm(texts.points, axis=1), 1, rtol=1e-5)
    assert 0.4 < texts.labels.mean() < 0.6


def test_a_mean_has_196_standard_errors() -> None:
    assert format_mean(np.array([1.0, 2.0, 4.0, 5.0])) == f"3.0000 ± {1.96 * math.sqrt(10 / 3) / 2:.4f}"
    assert format_mean(np.array([163.0, 163.0]), 1) == "163"
    assert PAPER[8_124]["asq", 2.0] == 0.8858


def test_a_row_for_every_dose_and_round() -> None:
    sizes = ("teachers=15", "chunk=20", "noise=1", "rate=1", "training_rate=1", "answers=none")
    words = [word for size in sizes for word in ("--set", size)]
    rows = run(poison, "everlasting-v2", *words, "--rounds", "2", "--games", "4", "--fraction", "0.5")
    doses = [row[:4] for row in rows if row[:1] == ["everlasting-v2"]]
    assert doses == [
        ["everlasting-v2", aim, "0.5", str(number)]
        for aim in ("crowd", "repeat", "shift")
        for number in (1, 2)
    ]


def test_a_row_for_every_learner() -> None:
    words = ("--set", "concepts=thresholds:1..8", "--games", "40")
    rows = run(hypothesis, "static-erm", "noisy=noisy-votes", *words)
    assert [row[:3] for row in rows[2:]] == [["static-erm", "8", "34"], ["noisy", "8", "34"]]
