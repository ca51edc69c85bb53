"""Points, intervals, rectangles and functions on finite domains, against definitions of their concepts."""

from __future__ import annotations

from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.concepts import (
    ConceptClass,
    FiniteClass,
    Functions,
    Intervals,
    Points,
    Rectangles,
    Thresholds,
    parse_concept_class,
)
from arena.errors import InvalidArgument, Unsupported

DOMAINS = [(3.0,), (0.0, 1.0, 2.0, 3.0), (-1.5, 0.0, 0.25, 7.0, 9.0), tuple(map(float, range(-3, 70)))]


def naive_points(domain: tuple[float, ...]) -> list[list[bool]]:
    return [[x == z for x in domain] for z in domain]


def naive_intervals(domain: tuple[float, ...]) -> list[list[bool]]:
    pairs = combinations_with_replacement(domain, 2)
    return [[False] * len(domain), *([a <= x <= b for x in domain] for a, b in pairs)]


def naive_rectangles(sides: tuple[int, ...]) -> list[list[bool]]:
    grid = list(product(*(range(side) for side in sides)))
    boxes = product(*(combinations_with_replacement(range(side), 2) for side in sides))
    inside = [
        [all(a <= x <= b for x, (a, b) in zip(point, box, strict=True)) for point in grid] for box in boxes
    ]
    return [[False] * len(grid), *inside]


class TestConcepts:
    @pytest.mark.parametrize("domain", DOMAINS)
    def test_of_points_and_intervals(self, domain: tuple[float, ...]) -> None:
        assert Points(domain).matrix.tolist() == naive_points(domain)
        assert Intervals(domain).matrix.tolist() == naive_intervals(domain)

    @pytest.mark.parametrize("sides", [(1,), (4,), (2, 3), (3, 3), (2, 2, 2), (1, 4, 2)])
    def test_of_rectangles(self, sides: tuple[int, ...]) -> None:
        assert Rectangles(sides).matrix.tolist() == naive_rectangles(sides)

    def test_ends_are_those_of_the_interval(self) -> None:
        spec = Intervals((1, 2, 4, 8))
        for concept, (low, high) in enumerate(spec.ends):
            assert spec.matrix[concept].tolist() == [low <= x <= high for x in spec.domain]


FINITE: list[ConceptClass] = [
    Points(DOMAINS[2]),
    Intervals(DOMAINS[1]),
    Intervals(DOMAINS[2]),
    Rectangles((2, 3)),
    Functions(Thresholds(DOMAINS[2]), np.eye(5)[:3]),
    Functions(Rectangles((2, 2)), np.eye(4)),
]


@pytest.mark.parametrize("spec", FINITE, ids=str)
class TestAsAMatrix:
    """Every answer is that of the matrix, with points for columns."""

    def test_places(self, spec: Any) -> None:
        points = spec.check(np.array(spec.domain))
        assert spec.domain_indices(points).tolist() == list(range(len(spec.domain)))
        assert spec.domain_indices(points[None]).tolist() == [list(range(len(spec.domain)))]

    @given(data=st.data())
    def test_labels_and_erm(self, spec: Any, data: st.DataObject) -> None:
        matrix, domain = FiniteClass(spec.matrix), np.array(spec.domain)
        size = data.draw(st.integers(0, 2 * len(domain) + 2))
        columns = np.array(
            data.draw(st.lists(st.integers(0, len(domain) - 1), min_size=size, max_size=size)), int
        )
        labels = data.draw(st.lists(st.integers(0, 1), min_size=size, max_size=size))
        weights = data.draw(st.lists(st.integers(0, 3), min_size=size, max_size=size))
        assert spec.erm(domain[columns], labels) == matrix.erm(columns, labels)
        assert spec.erm(domain[columns], labels, weights) == matrix.erm(columns, labels, weights)
        assert spec.erm(domain[columns][None], [labels]).tolist() == [matrix.erm(columns, labels)]
        found, expected = spec.dichotomies(domain[columns]), matrix.dichotomies(columns)
        assert (found.labels == expected.labels).all()
        assert (found.concepts == expected.concepts).all()
        concepts = np.arange(len(spec.matrix))
        assert (spec.labels(concepts, domain) == spec.matrix).all()
        here = domain[np.arange(len(concepts)) % len(domain)]
        assert (
            spec.label(concepts, here) == matrix.label(concepts, np.arange(len(concepts)) % len(domain))
        ).all()
        assert (spec.label(concepts, domain[0]) == spec.matrix[:, 0]).all()

    def test_vc_dimension(self, spec: Any) -> None:
        assert spec.vc_dimension == FiniteClass(spec.matrix).vc_dimension


class TestDimensions:
    def test_of_the_textbook(self) -> None:
        assert Points(range(9)).vc_dimension == 1
        assert Intervals(range(9)).vc_dimension == 2
        assert Rectangles((5, 5)).vc_dimension == 4
        assert Rectangles((3, 3, 3)).vc_dimension == 6


class TestPlacesOfThresholds:
    def test_a_finite_domain(self) -> None:
        assert Thresholds((1, 2, 4)).domain_indices(np.array([4.0, 1.0])).tolist() == [2, 0]

    def test_the_line(self) -> None:
        with pytest.raises(Unsupported, match=r"Thresholds\(\) has no finite domain"):
            Thresholds().domain_indices(np.array([4.0]))
        assert Thresholds().domain is None


class TestText:
    @pytest.mark.parametrize(
        ("text", "spec"),
        [
            ("points:1..4", Points((1, 2, 3, 4))),
            ("points:0.5,2", Points((0.5, 2))),
            ("intervals:0..3", Intervals((0, 1, 2, 3))),
            ("rectangles:3x4", Rectangles((3, 4))),
            ("rectangles: 2 x 2 x 2", Rectangles((2, 2, 2))),
        ],
    )
    def test_good(self, text: str, spec: ConceptClass) -> None:
        assert parse_concept_class(text) == spec

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("rectangles", "there is no such concept class"),
            ("rectangles:4", None),
            ("rectangles:4xfour", "dimensions and the sides of a grid must be integers"),
            ("rectangles:-1x4", "dimensions and the sides of a grid must be integers"),
            ("rectangles:0x4", "a side of a grid must be"),
            (
                "rectangles:100x100",
                "25,502,501 concepts on 10,000 points make a matrix of more",
            ),
            (
                "points:1..10000",
                "10,000 concepts on 10,000 points make a matrix of more than",
            ),
            ("intervals:1..600", "180,301 concepts on 600 points make a matrix of more than"),
            ("points:4..1", "LOW..HIGH must have LOW <= HIGH"),
        ],
    )
    def test_bad(self, text: str, message: str | None) -> None:
        if message is None:
            assert parse_concept_class(text) == Rectangles((4,))
            return
        with pytest.raises(InvalidArgument, match=message.replace(".", r"\.")):
            parse_concept_class(text)


class TestRefusals:
    @pytest.mark.parametrize("spec", [Points(range(3)), Intervals(range(3))], ids=str)
    @pytest.mark.parametrize("x", [3, 0.5, -1])
    def test_points_outside_a_line(self, spec: ConceptClass, x: float) -> None:
        with pytest.raises(
            InvalidArgument, match="a point must be one of the 3 points of the domain from 0 to 2"
        ):
            spec.check([x])

    @pytest.mark.parametrize("x", [[0, 3], [0.5, 0], [-1, 0]])
    def test_points_off_the_grid(self, x: list[float]) -> None:
        with pytest.raises(
            InvalidArgument, match="a point must lie on the grid of 2 x 3 points, from 0 on each"
        ):
            Rectangles((2, 3)).check([x])

    def test_points_of_another_shape(self) -> None:
        with pytest.raises(InvalidArgument, match=r"a point must have shape \(2,\)"):
            Rectangles((2, 3)).check([1, 2, 3])

    @pytest.mark.parametrize("sides", [(), (0,), (2.5,), (True,), 4, "ab"])
    def test_grids(self, sides: Any) -> None:
        with pytest.raises(
            InvalidArgument, match=r"a side of a grid|a grid must have|sides of a grid must be"
        ):
            Rectangles(sides)

    @pytest.mark.parametrize("domain", [(), (1, 1), (2, 1), (np.nan,), None])
    def test_domains(self, domain: Any) -> None:
        with pytest.raises(InvalidArgument):
            Points(domain)

    def test_concepts(self) -> None:
        with pytest.raises(InvalidArgument, match="a concept must be the index of a row, 0 to 6"):
            Intervals(range(3)).label([7], 1)
