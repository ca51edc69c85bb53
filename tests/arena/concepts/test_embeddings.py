"""Every margin that is told is exact, and no weights have a larger one."""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

import numpy as np
import pytest

from arena import InvalidArgument
from arena.concepts.halfspaces import (
    HalfspaceTarget,
    decision_list,
    disjunction,
    double_points,
    separator,
)

Terms = list[tuple[int, int]]


def cube(variables: int) -> np.ndarray:
    """(2^variables, variables): {0, 1}^variables."""
    return np.array(list(product([0, 1], repeat=variables)), np.int8).reshape(2**variables, variables)


def append_constant(points: np.ndarray) -> np.ndarray:
    """(x, -1) for points x."""
    return np.insert(points, points.shape[1], -1, axis=1)


def answer_of_list(terms: Terms, default: int, x: np.ndarray) -> int:
    """What a decision list says of a point."""
    return next((label for i, label in terms if x[i]), default)


def least(weights: np.ndarray, points: np.ndarray, y: np.ndarray) -> float:
    """The margin: the least y'(v·x)."""
    return float(np.where(y == 1, points @ weights, -(points @ weights)).min())


def check(target: HalfspaceTarget, points: np.ndarray, y: np.ndarray) -> None:
    """It classifies the points so, with the margin that it tells, and no other weights do with a larger."""
    assert not target.weights.flags.writeable
    assert target.weights.min() >= 0
    assert target.weights.sum() == pytest.approx(1, abs=1e-12)
    assert least(target.weights, points, y) == pytest.approx(target.margin, abs=1e-12)
    best = separator(points, y, target.margin)
    assert best is not None
    assert least(best, points, y) == pytest.approx(target.margin, abs=1e-9)


@pytest.mark.parametrize("variables", [1, 2, 3, 4])
def test_every_disjunction(variables: int) -> None:
    points = cube(variables)
    for size in range(1, variables + 1):
        for relevant in combinations(range(variables), size):
            target = disjunction(variables, relevant)
            assert target.margin == pytest.approx(1 / (2 * size + 1))
            check(target, append_constant(points), points[:, relevant].any(axis=1))


@pytest.mark.parametrize("variables", [1, 2, 3, 4])
@pytest.mark.parametrize("default", [0, 1])
def test_every_decision_list(variables: int, default: int) -> None:
    """Up to the order of the variables. That no weights do better is found by linear programmes."""
    points = cube(variables)
    for length in range(variables + 1):
        for labels in product([0, 1], repeat=length):
            terms = list(enumerate(labels))[::-1]
            y = np.array([answer_of_list(terms, default, x) for x in points])
            check(decision_list(variables, terms, default), double_points(append_constant(points)), y)


@pytest.mark.parametrize(
    ("labels", "default", "least_sum"),
    [
        ((), 0, 1),
        ((0, 0), 0, 1),  # terms that say what the default says weigh nothing
        ((1, 1), 0, 5),  # a disjunction
        ((1, 0), 1, 5),
        ((0, 1, 0), 1, 9),
        ((1, 1, 0, 0), 1, 1 + 2 * 2 + 2 * 4),
        ((0, 1, 0, 1, 0), 1, 1 + 2 + 2 + 4 + 6 + 10),
    ],
)
def test_margins_of_lists_by_hand(labels: tuple[int, ...], default: int, least_sum: int) -> None:
    assert 1 / decision_list(6, list(enumerate(labels)), default).margin == pytest.approx(least_sum)


def test_a_long_list_with_many_changes_has_its_documented_margin() -> None:
    """2,000 points of a list of 12 terms of 30 variables, most of which fire late."""
    rng = np.random.default_rng(1)
    variables = rng.permutation(30)[:12]
    terms = [(int(i), int(b)) for i, b in zip(variables, rng.integers(0, 2, 12), strict=True)]
    points = (rng.random((2_000, 30)) < 0.15).astype(np.int8)
    y = np.array([answer_of_list(terms, 1, x) for x in points])
    target = decision_list(30, terms, 1)
    assert least(target.weights, double_points(append_constant(points)), y) >= target.margin - 1e-12


@pytest.mark.parametrize(
    ("make", "given", "message"),
    [
        (disjunction, (3, [3]), "a disjunction needs one or more relevant variables from 0 to 2, got [3]"),
        (disjunction, (3, []), "a disjunction needs one or more relevant variables from 0 to 2, got []"),
        (
            decision_list,
            (3, [(0, 1), (0, 0)], 1),
            "the terms of a list must be different variables from 0 to 2, got [0, 0]",
        ),
        (
            decision_list,
            (1, [(1, 1)], 1),
            "the terms of a list must be different variables from 0 to 0, got [1]",
        ),
        (decision_list, (2, [(1, -1)], 1), "the labels of a list must be 0 or 1, got [-1, 1]"),
    ],
)
def test_refusals(make: Any, given: tuple[Any, ...], message: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        make(*given)
    assert str(caught.value) == message
