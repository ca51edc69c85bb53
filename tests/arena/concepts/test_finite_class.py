"""Classes on finite domains against references that look at one sample, concept and set of points."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations, combinations_with_replacement, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from arena.concepts import ConceptClass, FiniteClass, Functions, Intervals, Points, Rectangles, Thresholds
from arena.errors import InvalidArgument

exhaustive = settings(derandomize=True, max_examples=200)
matrices = npst.arrays(bool, st.tuples(st.integers(1, 9), st.integers(1, 5)))
masses = st.one_of(st.integers(0, 3).map(float), st.sampled_from([0.1, 0.2, 0.3, 1e-300, 1e300]))


def naive_erm(
    matrix: np.ndarray, points: Sequence[int], labels: Sequence[int], weights: Sequence[float] | None = None
) -> int:
    """The lowest row of least risk, one row and one example at a time, in fractions."""
    best, least = 0, None
    for row in range(len(matrix)):
        wrong = Fraction(0)
        for i in range(len(points)):
            if matrix[row][points[i]] != bool(labels[i]):
                wrong += 1 if weights is None else Fraction(weights[i])
        if least is None or wrong < least:
            best, least = row, wrong
    return best


def naive_vc_dimension(matrix: np.ndarray) -> int:
    """The size of the largest set of columns on which every labelling occurs, by trying all sets."""
    columns = matrix.shape[1]
    return max(
        size
        for size in range(columns + 1)
        for chosen in combinations(range(columns), size)
        if len({tuple(row) for row in matrix[:, chosen].tolist()}) == 2**size
    )


@st.composite
def problems(draw: st.DrawFn) -> tuple[np.ndarray, list[Any], list[Any], list[Any]]:
    """A matrix, and points, labels and weights of a few samples of one size."""
    matrix = draw(matrices)
    # Sizes on both sides of two a column, where the algorithm changes.
    count, size = draw(st.integers(1, 3)), draw(st.integers(0, 2 * matrix.shape[1] + 3))

    def draw_matrix(entries: st.SearchStrategy[Any]) -> list[list[Any]]:
        return draw(st.lists(st.lists(entries, min_size=size, max_size=size), min_size=count, max_size=count))

    return (
        matrix,
        draw_matrix(st.integers(0, matrix.shape[1] - 1)),
        draw_matrix(st.integers(0, 1)),
        draw_matrix(masses),
    )


class TestErm:
    @pytest.mark.thorough
    @exhaustive
    @given(problems())
    def test_against_the_reference(self, problem: tuple[np.ndarray, list[Any], list[Any], list[Any]]) -> None:
        matrix, points, labels, weights = problem
        spec = FiniteClass(matrix)
        expected = [naive_erm(matrix, p, y) for p, y in zip(points, labels, strict=True)]
        assert spec.erm(points, labels).tolist() == expected
        expected = [naive_erm(matrix, *row) for row in zip(points, labels, weights, strict=True)]
        assert spec.erm(points, labels, weights).tolist() == expected

    @pytest.mark.parametrize("size", [1, 126, 127, 128, 129, 300])
    @pytest.mark.parametrize("columns", [2, 200])
    def test_long_samples(self, size: int, columns: int) -> None:
        rng = np.random.default_rng(size)
        matrix = rng.random((6, columns)) < 0.5
        matrix[3], matrix[5] = True, False
        points, labels = rng.integers(0, columns, (4, size)), rng.integers(0, 2, (4, size))
        labels[0], labels[1] = 1, 0
        expected = [naive_erm(matrix, p, y) for p, y in zip(points.tolist(), labels.tolist(), strict=True)]
        assert FiniteClass(matrix).erm(points, labels).tolist() == expected
        assert FiniteClass(matrix).erm(points, labels, np.ones((4, size))).tolist() == expected


class TestDichotomies:
    @pytest.mark.thorough
    @exhaustive
    @given(matrices, st.lists(st.integers(0, 4), max_size=6))
    def test_against_every_row(self, matrix: np.ndarray, points: list[int]) -> None:
        points = [x % matrix.shape[1] for x in points]
        first: dict[tuple[bool, ...], int] = {}
        for row in range(len(matrix)):
            first.setdefault(tuple(bool(matrix[row, x]) for x in points), row)
        found = FiniteClass(matrix).dichotomies(points)
        assert [tuple(row) for row in found.labels.tolist()] == list(first)
        assert found.concepts.tolist() == list(first.values())
        assert found.labels.shape == (len(first), len(points))


class TestVcDimension:
    @pytest.mark.thorough
    @exhaustive
    @given(npst.arrays(bool, st.tuples(st.integers(1, 20), st.integers(1, 6))))
    def test_against_all_sets(self, matrix: np.ndarray) -> None:
        assert FiniteClass(matrix).vc_dimension == naive_vc_dimension(matrix)

    @pytest.mark.parametrize("points", [1, 3, 5])
    def test_known_classes(self, points: int) -> None:
        everything = np.array(list(product((0, 1), repeat=points)))
        assert FiniteClass(everything).vc_dimension == points
        assert FiniteClass(everything[1:]).vc_dimension == points - 1
        assert FiniteClass(np.eye(points + 1)).vc_dimension == 1
        assert FiniteClass(np.ones((4, points))).vc_dimension == 0


class TestChecks:
    SPEC = FiniteClass([[0, 0, 1], [0, 1, 1]])

    @pytest.mark.parametrize(
        ("matrix", "message"),
        [
            ([], r"at least one row \(a concept\) and one column \(a point\), got \(0,\)"),
            (np.zeros((3, 0)), "one column"),
            ([[0, 2]], r"labels must be 0 or 1, got \[0, 2\]"),
            ([["a"]], "labels must be 0 or 1"),
        ],
    )
    def test_matrices(self, matrix: Any, message: str) -> None:
        with pytest.raises(InvalidArgument, match=message):
            FiniteClass(matrix)


class TestSpec:
    def test_is_a_value(self) -> None:
        spec = FiniteClass([[0, 1], [1, 1]])
        assert spec == FiniteClass(np.array([[0.0, 1.0], [1.0, 1.0]]))
        assert hash(spec) == hash(FiniteClass(np.array([[False, True], [True, True]])))
        assert spec != FiniteClass([[0, 1], [1, 0]])
        assert FiniteClass([[0, 1, 1]]) != FiniteClass([[0], [1], [1]])
        assert spec.vc_dimension == 1  # fills its cache
        for twin in (pickle.loads(pickle.dumps(spec)), copy.deepcopy(spec)):
            assert twin == spec
            assert hash(twin) == hash(spec)
            assert not twin.matrix.flags.writeable

    def test_keeps_a_copy(self) -> None:
        matrix = np.zeros((2, 2), bool)
        spec = FiniteClass(matrix)
        matrix[0, 0] = True
        assert not spec.matrix.any()
        with pytest.raises(ValueError, match="read-only"):
            spec.matrix[0, 0] = True


class TestCsv:
    @pytest.mark.parametrize(
        "text", ["0,1\n1,1\n", "0,1\r\n1,1", " 0 , 1\n\n1,1\n\n", "\ufeff0,1\n1,1\n", '"0","1"\n1,1\n']
    )
    def test_reads(self, tmp_path: Path, text: str) -> None:
        path = tmp_path / "class.csv"
        path.write_text(text, encoding="utf-8")
        assert FiniteClass.from_csv(path) == FiniteClass([[0, 1], [1, 1]])
        assert FiniteClass.from_csv(str(path)) == FiniteClass.from_csv(path)

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("", r"class\.csv is empty, and must hold a matrix\. Write one concept a line"),
            ("a,b\n0,1\n", r"line 1, column 1: a label must be 0 or 1, got 'a'\. Write one concept a line"),
            ("0,1\n\n0,2\n", "line 3, column 2: a label must be 0 or 1, got '2'"),
            ("0,1\n1\n", "line 2: every line must have as many labels as the first, 2, got 1"),
            ("0\n1,1\n", "line 2: every line must have as many labels as the first, 1, got 2"),
        ],
    )
    def test_errors_name_the_place(self, tmp_path: Path, text: str, message: str) -> None:
        path = tmp_path / "class.csv"
        path.write_text(text)
        with pytest.raises(InvalidArgument, match=message):
            FiniteClass.from_csv(path)

    def test_unreadable_files(self, tmp_path: Path) -> None:
        binary = tmp_path / "binary.csv"
        binary.write_bytes(b"\xff\xfe0\x00")
        for path, message in (
            (tmp_path / "none.csv", r"the matrix .*none\.csv cannot be read \(No such file"),
            (tmp_path, r"cannot be read \(Is a directory\)\. Name a file in it\."),
            (binary, r"binary\.csv, line 1: not text in UTF-8, got b'.xff'\. Save it"),
        ):
            with pytest.raises(InvalidArgument, match=message):
                FiniteClass.from_csv(path)


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


FINITE: list[ConceptClass] = [
    FiniteClass([[0, 0, 1], [0, 1, 1]]),
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

    @pytest.mark.thorough
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


class TestRefusals:
    @pytest.mark.parametrize("sides", [(), (0,), (2.5,), (True,), 4, "ab"])
    def test_grids(self, sides: Any) -> None:
        with pytest.raises(
            InvalidArgument, match=r"a side of a grid|a grid must have|sides of a grid must be"
        ):
            Rectangles(sides)
