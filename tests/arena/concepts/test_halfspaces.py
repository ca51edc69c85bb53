"""Halfspaces with margin: points, concepts, and what agrees; what they shatter; other concepts as such."""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from arena.concepts import Halfspaces
from arena.concepts.halfspaces import (
    HalfspaceTarget,
    decision_list,
    disjunction,
    double_points,
    products,
    separator,
)
from arena.errors import InvalidArgument, Unsupported

CLASS = Halfspaces(3, 0.25)
POINTS = [[0, 1, 1], [1, -1, 0]]


@pytest.mark.parametrize(
    ("points", "message"),
    [
        ([0, 1], "a point must have shape (3,), got (2,)"),
        ([[0, 1, 1], [0, -1.5, 2]], "a point must lie in the cube [-1, 1]^d, got -1.5. Divide"),
        ([0, np.nan, 0], "points must be finite: no NaN, no infinity, got nan"),
    ],
)
def test_bad_points(points: Any, message: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        CLASS.check(points)
    assert str(caught.value).startswith(message)


def test_small_integers_stay_small() -> None:
    assert CLASS.check(np.array(POINTS, np.int8)).dtype == np.int8
    assert CLASS.check(np.array(POINTS) > 0).dtype == np.int8
    assert CLASS.check([[0.5, 1, 1]]).dtype == float


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([0.5, 0.5], "a concept must be a vector of 3 weights, got ('float64', (2,))"),
        (["a", "b", "c"], "a concept must be a vector of 3 weights, got ("),
        ([[1, 0, 0], [1, -1, 1]], "weights must be nonnegative, finite, and not all 0, got -1.0."),
        ([0, 0, 0], "weights must be nonnegative, finite, and not all 0, got 0.0."),
        ([1, np.inf, 0], "weights must be nonnegative, finite, and not all 0, got 0.0."),
        ([1, np.nan, 0], "weights must be nonnegative, finite, and not all 0, got nan."),
    ],
)
def test_bad_concepts(weights: Any, message: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        CLASS.check_concepts(weights)
    assert str(caught.value).startswith(message)


def test_a_tie_is_labelled_one() -> None:
    assert CLASS.label([[1, 1, 0], [1, 1, 0], [1, 2, 0]], [1, -1, 0]).tolist() == [True, True, False]
    assert CLASS.labels([[1, 1, 0], [0, 1, 0]], POINTS).tolist() == [[True, True], [True, False]]


@st.composite
def tables(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Weights of a few games, many of them 0; points, of small integers or not; labels."""
    games, d = draw(st.integers(1, 4)), draw(st.integers(1, 20))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    weights = rng.random((games, d)) * (rng.random((games, d)) < draw(st.sampled_from([0.05, 0.5, 1])))
    weights[np.arange(games), rng.integers(0, d, games)] += 0.1
    points = rng.integers(-1, 2, (games, d)).astype(np.int8)
    return (
        weights,
        points if draw(st.booleans()) else points * rng.random((games, d)),
        rng.integers(0, 2, games),
    )


@given(tables(), st.floats(0.01, 1))
def test_agreement_is_a_label_with_margin(
    table: tuple[np.ndarray, np.ndarray, np.ndarray], margin: float
) -> None:
    """However it is worked out, and for one point of all games too."""
    weights, points, y = table
    cls = Halfspaces(weights.shape[1], margin)
    for x in (points, points[0], np.broadcast_to(points[0], points.shape)):
        signed = [
            sum(v * a for v, a in zip(own, p, strict=True)) / sum(own) * (1 if label else -1)
            for own, p, label in zip(
                weights.tolist(), np.broadcast_to(x, points.shape).tolist(), y, strict=True
            )
        ]
        wanted = np.array(signed) >= margin - 1e-9
        clear = np.abs(np.array(signed) - margin + 1e-9) > 1e-12
        for found in (cls.agrees(weights, x, y), cls.agreement(weights)(x, y)):
            assert (found == wanted)[clear].all()


def test_products_keep_the_precision_of_the_weights() -> None:
    weights = np.full((2, 3), 1 / 3, np.float32)
    for points in (np.ones(3, np.int8), np.ones((2, 3), np.int8), np.broadcast_to(np.ones(3), (2, 3))):
        assert products(weights, points).dtype == np.float32
        np.testing.assert_allclose(products(weights, points), 1, rtol=1e-6)


def some_weights(points: np.ndarray, labels: np.ndarray) -> bool:
    """Whether some weights v >= 0, not all 0, have v·x >= 0 exactly where the label is 1: the largest t with
    v·x <= -t at the others, the sum of v being 1."""
    size, d = points.shape
    signed = np.where(labels[:, None], -points, points).astype(float)
    solved = linprog(
        np.append(np.zeros(d), -1.0),
        A_ub=np.column_stack([signed, ~labels]),
        b_ub=np.zeros(size),
        A_eq=np.append(np.ones(d), 0.0)[None],
        b_eq=[1.0],
        bounds=[(0, None)] * d + [(None, 1)],
    )
    return bool(solved.success and -solved.fun > 1e-9)


def shatters(points: np.ndarray) -> bool:
    return all(
        some_weights(points, np.array(labels)) for labels in product([False, True], repeat=len(points))
    )


@pytest.mark.parametrize("d", [2, 3, 4, 5])
def test_the_vc_dimension_is_reached(d: int) -> None:
    assert Halfspaces(d, 0.1).vc_dimension == d - 1
    assert shatters(np.eye(d)[:-1] - np.eye(d)[-1])


@pytest.mark.thorough
@pytest.mark.parametrize("d", [1, 2, 3])
def test_no_more_points_are_shattered(d: int) -> None:
    """All sets of d points with coordinates -1, 0, 1, and some with others."""
    grid = np.array(list(product([-1, 0, 1], repeat=d)))
    sets = [grid[list(chosen)] for chosen in combinations(range(len(grid)), d)]
    rng = np.random.default_rng(2)
    if len(sets) > 150:
        sets = [sets[i] for i in rng.choice(len(sets), 150, replace=False)]
    sets += [rng.uniform(-1, 1, (d, d)) for _ in range(30)]
    assert not any(shatters(points) for points in sets)


@pytest.mark.thorough
@given(st.integers(0, 2**32))
def test_dichotomies_are_those_that_a_search_finds(seed: int) -> None:
    """Against weights on a fine grid of the simplex, for margins that this cannot miss."""
    rng = np.random.default_rng(seed)
    points, margin = rng.integers(-1, 2, (3, 3)), 0.3
    found = Halfspaces(3, margin).dichotomies(points)
    ticks = np.arange(61) / 60
    grid = np.array([(a, b, 1 - a - b) for a in ticks for b in ticks if a + b <= 1 + 1e-12])
    values = grid @ points.T
    sure = {tuple((row > 0).tolist()) for row in values[(np.abs(values) >= margin + 1e-9).all(axis=1)]}
    close = {tuple((row > 0).tolist()) for row in values[(np.abs(values) >= margin - 0.06).all(axis=1)]}
    told = [tuple(row) for row in found.labels.tolist()]
    assert sure <= set(told) <= close
    assert told == sorted(told)
    assert len(set(told)) == len(told)
    for labels, concept in zip(found.labels, found.concepts, strict=True):
        assert Halfspaces(3, margin).agrees(np.tile(concept, (3, 1)), points, labels).all()


def test_too_many_dichotomies_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arena.concepts.halfspaces.MAX_DICHOTOMIES", 16)
    points = np.eye(6)[:-1] - np.eye(6)[-1]
    assert len(Halfspaces(6, 0.01).dichotomies(points[:4])) == 16
    with pytest.raises(Unsupported, match=r"has more than 16 labellings of 5 points\. Use fewer points\.$"):
        Halfspaces(6, 0.01).dichotomies(points)


@pytest.mark.thorough
def test_the_best_of_the_dichotomies_has_fewest_errors() -> None:
    cls, rng = Halfspaces(3, 0.2), np.random.default_rng(4)
    points = rng.integers(-1, 2, (20, 4, 3))
    for x, y, weight in zip(points, rng.integers(0, 2, (20, 4)), rng.integers(0, 3, (20, 4)), strict=True):
        if not len(cls.dichotomies(x)):
            with pytest.raises(Unsupported, match=r"^no concept of Halfspaces"):
                cls.erm(x, y)
            continue
        best = cls.erm(x, y, weight)
        errors = (cls.labels(best[None], x)[0] != y) @ weight
        assert errors == ((cls.dichotomies(x).labels != y) @ weight).min()


def test_a_separator_has_the_largest_margin() -> None:
    """(1, 0) above and (0.5, -1) below: v_1 = v_2 - v_1/2, so (0.4, 0.6), at 0.4."""
    points, y = np.array([[1, 0], [0.5, -1]]), np.array([1, 0])
    found = separator(points, y, 0.1)
    np.testing.assert_allclose(found, [0.4, 0.6])
    assert separator(points, y, 0.4) is not None
    assert separator(points, y, 0.4 + 1e-8) is None
    assert separator(np.ones((1, 2)), np.array([0]), 0.1) is None


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
    assert least(best, points, y) == pytest.approx(target.margin, abs=1e-9)


@pytest.mark.parametrize("variables", [1, 2, 3, 4])
def test_every_disjunction(variables: int) -> None:
    points = cube(variables)
    for size in range(1, variables + 1):
        for relevant in combinations(range(variables), size):
            target = disjunction(variables, relevant)
            assert target.margin == pytest.approx(1 / (2 * size + 1))
            check(target, append_constant(points), points[:, relevant].any(axis=1))


@pytest.mark.thorough
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
