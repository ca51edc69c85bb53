"""Littlestone dimensions against the definition, and against what is known; shattered trees."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from support.laws.concept_laws import concepts_of, dimension, is_shattered, matrices

from arena import Unsupported
from arena.concepts import FiniteClass, Intervals, Points, Rectangles, Thresholds
from arena.littlestone import (
    build_shattered_tree,
    dual_littlestone_dimension,
    dual_vc_dimension,
    littlestone_dimension,
)

CLASSES = arrays.arrays(bool, st.tuples(st.integers(1, 12), st.integers(1, 5)))


def test_the_reference_is_the_definition() -> None:
    for matrix in matrices(3, 3) + matrices(4, 3):
        depth = dimension(concepts_of(matrix))
        assert is_shattered(concepts_of(matrix), depth, 3)
        assert not is_shattered(concepts_of(matrix), depth + 1, 3)


@given(CLASSES)
def test_any_class_has_the_dimension_of_the_definition(matrix: np.ndarray) -> None:
    assert littlestone_dimension(FiniteClass(matrix)) == dimension(concepts_of(matrix))
    assert dual_littlestone_dimension(FiniteClass(matrix)) == dimension(concepts_of(matrix.T))
    assert dual_vc_dimension(FiniteClass(matrix)) == FiniteClass(matrix.T).vc_dimension


@pytest.mark.parametrize("points", [1, 2, 3, 7, 8, 100, 1_000])
def test_thresholds_have_the_depth_of_binary_search(points: int) -> None:
    assert littlestone_dimension(Thresholds(range(points))) == (points + 1).bit_length() - 1


@pytest.mark.parametrize(
    ("concept_class", "dimension"),
    [
        (Points(range(1)), 0),
        (Points(range(2)), 1),
        (Points(range(500)), 1),
        (Intervals(range(1)), 1),
        (Intervals(range(8)), 4),
        (Rectangles((4,)), 3),
        (Rectangles((3, 3)), 4),
        (FiniteClass(np.ones((3, 2))), 0),
    ],
)
def test_known_dimensions(concept_class, dimension: int) -> None:
    assert littlestone_dimension(concept_class) == dimension


def test_an_infinite_class_is_refused() -> None:
    with pytest.raises(Unsupported, match="no finite domain, and its Littlestone dimension is infinite"):
        littlestone_dimension(Thresholds())


def test_too_many_labels_are_refused_with_their_number() -> None:
    with pytest.raises(
        Unsupported, match=r"has 25,005,000 labels \(concepts × points\), more than 16,777,216"
    ):
        littlestone_dimension(Thresholds(range(5_000)))


@given(arrays.arrays(bool, st.tuples(st.integers(1, 12), st.integers(1, 5))))
def test_every_way_is_taken_by_a_concept(matrix: np.ndarray) -> None:
    concept_class = FiniteClass(matrix)
    tree = build_shattered_tree(concept_class)
    depth = littlestone_dimension(concept_class)
    labellings = concept_class.dichotomies(np.arange(matrix.shape[1])).labels
    leaves = set(product((0, 1), repeat=depth))
    assert {node for node in tree if "concept" in tree.nodes[node]} == leaves
    for leaf in leaves:
        concept = labellings[tree.nodes[leaf]["concept"]]
        for t, label in enumerate(leaf):
            assert concept[tree.nodes[leaf[:t]]["column"]] == label
            assert tree.edges[leaf[:t], leaf[: t + 1]]["label"] == label
    assert len(tree) == 2 ** (depth + 1) - 1


def test_nodes_name_points_of_the_domain() -> None:
    assert build_shattered_tree(Thresholds((0.5, 1, 2))).nodes[()]["point"] == 1
    assert len(build_shattered_tree(Rectangles((2, 2))).nodes[()]["point"]) == 2
