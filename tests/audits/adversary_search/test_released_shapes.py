"""Searches of functions whose releases have another shape in every game."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from arena import NothingTested, UnknownRelease
from audits.adversary_search import search
from audits.adversary_search.score import Score, simple_scores
from audits.distinguishers.view_features import ViewCounts, ViewFeatures
from learners.foreign.function import Function

DELTA = 1e-3


def _count_cells(points: np.ndarray) -> dict[str, int]:
    return dict(sorted(Counter(f"cell {4 * point // 1:g}" for point in points.tolist()).items()))


def select_partitions(points: np.ndarray, rng: np.random.Generator) -> dict[str, float]:
    """(1, 10^-3)-DP: noisy counts above a threshold that a single record passes with probability δ."""
    noisy = {cell: count + rng.laplace(scale=2.0) for cell, count in _count_cells(points).items()}
    return {cell: count for cell, count in noisy.items() if count >= 1 + 2 * math.log(1 / DELTA)}


def select_exactly(points: np.ndarray, rng: np.random.Generator) -> dict[str, float]:
    """Shows a cell if and only if two records or more are in it."""
    return {
        cell: count + rng.laplace(scale=2.0) for cell, count in _count_cells(points).items() if count >= 2
    }


def list_groups(points: np.ndarray, rng: np.random.Generator) -> list[float]:
    """As many entries as there are cells with records."""
    return [count + rng.laplace(scale=2.0) for count in _count_cells(points).values()]


def list_nested(points: np.ndarray, rng: np.random.Generator) -> Any:
    return [[cell, [1.0] * count] for cell, count in _count_cells(points).items()]


def empty_without_large(points: np.ndarray, rng: np.random.Generator) -> list[float]:
    return [float(rng.laplace())] if (points > 0.5).any() else []


def select_set(points: np.ndarray, rng: np.random.Generator) -> set[str]:
    return {cell for cell, count in _count_cells(points).items() if count >= 2}


def raise_without_large(points: np.ndarray, rng: np.random.Generator) -> float:
    if not (points > 0.5).any():
        raise ValueError("no large points")
    return float(rng.laplace())


def last_bit(points: np.ndarray, rng: np.random.Generator) -> int:
    return 2**60 + int((points > 0.5).any())


def release_model(points: np.ndarray, rng: np.random.Generator) -> Any:
    return Function(function=last_bit)


def learner(function: Callable[..., Any], delta: float = 0.0) -> Function:
    return Function(function=function, receives="points", epsilon=1.0, delta=delta, domain=(0.0, 1.0))


@pytest.mark.thorough
@pytest.mark.parametrize(
    "function",
    [
        *(
            pytest.param(function, marks=pytest.mark.slow)
            for function in (select_exactly, list_groups, list_nested, select_set)
        ),
        empty_without_large,
        raise_without_large,
        last_bit,
    ],
)
@pytest.mark.filterwarnings("ignore:function failed:arena.LearnerFails")
def test_a_leak_by_the_shape_of_a_release_is_found(function: Callable[..., Any]) -> None:
    found = search(learner(function), examples=200, pairs=64, seed=1)
    assert found.refuted


@pytest.mark.slow
def test_a_correct_partition_selection_is_not_refuted() -> None:
    """Refuted by chance with probability 5 %."""
    assert not search(learner(select_partitions, DELTA), examples=60, pairs=64, seed=1, error=0.05).refuted


def test_a_search_of_an_unknown_release_ends_at_once() -> None:
    with pytest.raises(
        (UnknownRelease, NothingTested), match="a release must be made of numbers, text and None"
    ):
        search(learner(release_model), examples=10, pairs=64, seed=1)


def _views(worlds: list[np.ndarray], *names: str) -> ViewCounts:
    return ViewCounts.of(*(ViewFeatures(world, names) for world in worlds))


def test_codes_of_text_are_only_compared(rng: np.random.Generator) -> None:
    codes = rng.choice([0.1, 0.7], size=(2, 200, 1))
    scores = simple_scores(_views([*codes], "value text"))
    assert {score.form for score in scores if score.feature == "value text"} == {"equal"}


def test_large_numbers_are_weighted_without_overflow(rng: np.random.Generator) -> None:
    """Squares of numbers near 1e200 overflow, which the tests turn into errors."""
    noise = rng.normal(size=(2, 200, 1)) * 1e200
    worlds = noise + rng.normal(size=(2, 200, 2)) * 1e198
    worlds[1, :, 1] += 1e200
    scores = simple_scores(_views([*worlds], "value[0]", "value[1]"))
    weights = next(score.weights for score in scores if score.form == "weighted")
    assert weights[0] == pytest.approx(-weights[1], rel=0.1)


def test_the_number_of_entries_is_a_score() -> None:
    absent = -3e300
    worlds = [np.array([[1.0, absent]] * 3), np.array([[1.0, 2.0]] * 3)]
    views = _views(worlds, "value[0]", "value[1]")
    score = next(score for score in simple_scores(views) if score.feature == "entries")
    assert score == Score("entries")
    assert score.column(views)[views.which].tolist() == [[1.0, 2.0]]
