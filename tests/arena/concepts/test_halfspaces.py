"""Halfspaces with margin: what is a point, a concept, and agrees; and what they shatter."""

from __future__ import annotations

import pickle
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from arena.concepts import Halfspaces, parse_concept_class
from arena.concepts.halfspaces import products, separator
from arena.errors import InvalidArgument, Unsupported

CLASS = Halfspaces(3, 0.25)
POINTS = [[0, 1, 1], [1, -1, 0]]


def test_what_it_says_of_itself() -> None:
    assert repr(CLASS) == "Halfspaces(3 dimensions, margin 0.25)"
    assert parse_concept_class("halfspaces:3,0.25") == CLASS
    assert (CLASS.point_shape, CLASS.domain, CLASS.concept_ndim) == ((3,), None, 1)
    assert pickle.loads(pickle.dumps(CLASS)) == CLASS


@pytest.mark.parametrize(
    ("dimension", "margin", "message"),
    [
        (0, 0.2, "dimension must be at least 1, got 0"),
        (2.5, 0.2, "dimension must be an integer, got 2.5"),
        (3, 1.5, "margin must be at most 1, got 1.5"),
        (3, float("nan"), "margin must be more than 0, got nan"),
    ],
)
def test_bad_classes(dimension: Any, margin: float, message: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        Halfspaces(dimension, margin)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("points", "message"),
    [
        ([0, 1], "a point must have shape (3,), got (2,)"),
        (
            [[0, 1, 1], [0, -1.5, 2]],
            "a point must lie in the cube [-1, 1]^d, got -1.5. "
            "Divide each coordinate by the largest absolute value that it can take.",
        ),
        ([0, np.nan, 0], "points must be finite: no NaN, no infinity, got nan"),
        (["a", "b", "c"], "points must be numbers, got 'str96'"),
    ],
)
def test_bad_points(points: Any, message: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        CLASS.check(points)
    assert str(caught.value).startswith(message.replace("str96", str(np.array(["a"]).dtype.name)))


def test_small_integers_stay_small() -> None:
    assert CLASS.check(np.array(POINTS, np.int8)).dtype == np.int8
    assert CLASS.check(np.array(POINTS) > 0).dtype == np.int8
    assert CLASS.check([[0.5, 1, 1]]).dtype == float


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([0.5, 0.5], "a concept must be a vector of 3 weights, got ('float64', (2,))"),
        (["a", "b", "c"], "a concept must be a vector of 3 weights, got ("),
        (
            [[1, 0, 0], [1, -1, 1]],
            "weights must be nonnegative, finite, and not all 0, got -1.0. "
            "For weights of both signs, use arena.concepts.halfspaces.double_points.",
        ),
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


def test_labels_need_a_concept_and_a_point_a_game() -> None:
    with pytest.raises(InvalidArgument, match=r"^2 games need one common point or one point each"):
        CLASS.label([[1, 1, 0]] * 2, POINTS * 2)
    with pytest.raises(InvalidArgument, match=r"^concepts must have an axis of games"):
        CLASS.label([1, 1, 0], [1, -1, 0])


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


# --- what it shatters ------------------------------------------------------------------------------------


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
    assert found is not None
    np.testing.assert_allclose(found, [0.4, 0.6])
    assert separator(points, y, 0.4) is not None
    assert separator(points, y, 0.4 + 1e-8) is None
    assert separator(np.ones((1, 2)), np.array([0]), 0.1) is None
