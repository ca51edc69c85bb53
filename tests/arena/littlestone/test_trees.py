"""Trees are complete, and shattered by the class they come from."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from arena.concepts import FiniteClass, Points, Rectangles, Thresholds
from arena.littlestone import build_shattered_tree, format_tree, littlestone_dimension


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


@pytest.mark.parametrize("points", [1, 4])
def test_the_text_has_a_line_a_node(points: int) -> None:
    tree = build_shattered_tree(Points(range(points)))
    assert len(format_tree(tree).splitlines()) == len(tree)
