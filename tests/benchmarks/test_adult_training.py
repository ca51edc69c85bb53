"""The figures of dp-sgd on Adult, on a hundred people and a few steps."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from benchmarks.by_learner import adult_training, charts
from benchmarks.theorems.measurement import Mean

PEOPLE, STEPS = 100, 3


@pytest.fixture(autouse=True)
def forget_people() -> Iterator[None]:
    yield
    adult_training.load_people.cache_clear()


@pytest.mark.thorough
def test_the_points_are_one_hot_with_an_intercept() -> None:
    people = adult_training.load_people()
    assert (people.points.sum(axis=1) == 15).all()
    assert (people.points[:, -1] == 1).all()
    sample, held_out = people.split(PEOPLE, 50, seed=0)
    assert (sample.size, len(held_out.labels)) == (PEOPLE, 50)


@pytest.mark.slow
def test_every_figure_can_be_measured() -> None:
    (accuracy,) = adult_training.measure_accuracy(0, PEOPLE, 4.0, STEPS)
    plain, majority = adult_training.measure_without_privacy(0, PEOPLE)
    assert 0.2 < accuracy < 1
    assert 0.7 < majority < plain + 0.1
    for attack in range(len(adult_training.ATTACKS)):
        bounds = adult_training.measure_certified(0, PEOPLE, 8.0, attack, games=20, steps=STEPS)
        assert min(bounds) >= 0
        assert max(bounds) <= 8


@pytest.mark.thorough
def test_the_picture_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(charts, "DOCS", tmp_path)
    certified = np.ones((len(adult_training.ATTACKS), len(adult_training.EPSILONS), 2))
    means = [Mean(0.8, 0.7, 0.9)] * (len(adult_training.EPSILONS) + 1)
    path = adult_training.draw(certified, dict.fromkeys(adult_training.BATCHES, means))
    assert path == tmp_path / "adult_training.svg"
    assert path.stat().st_size > 10_000
