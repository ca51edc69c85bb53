"""Finite classes against references that look at one sample, one concept, one set of points at a time."""

import copy
import pickle
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from arena.concepts import FiniteClass, Thresholds
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

    def test_ties_pick_the_lowest_row(self) -> None:
        spec = FiniteClass([[1, 0], [0, 1], [0, 1]])
        assert spec.erm([1], [1]) == 1
        assert spec.erm([0, 1], [1, 1]) == 0
        assert spec.erm([], []) == 0
        assert spec.erm([0, 1], [0, 1], [0, 0]) == 0

    def test_agrees_with_thresholds(self) -> None:
        domain = np.arange(6)
        thresholds = Thresholds(domain)
        dichotomies = thresholds.dichotomies(domain)
        rng = np.random.default_rng(5)
        points, labels = rng.integers(0, 6, (500, 4)), rng.integers(0, 2, (500, 4))
        rows = FiniteClass(dichotomies.labels).erm(points, labels)
        own = thresholds.labels(thresholds.erm(points, labels), domain)
        picked = dichotomies.labels[rows]
        here = np.arange(500)[:, None]
        assert ((own[here, points] != labels).sum(1) == (picked[here, points] != labels).sum(1)).all()


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

    def test_unions_of_intervals(self) -> None:
        def unions(count: int, points: int) -> list[list[int]]:
            rows = (row for row in product((0, 1), repeat=points))
            return [list(r) for r in rows if sum(a < b for a, b in zip((0, *r), r, strict=False)) <= count]

        assert [FiniteClass(unions(k, 9)).vc_dimension for k in (1, 2, 3)] == [2, 4, 6]

    def test_a_large_class_is_no_trouble(self) -> None:
        assert FiniteClass(np.tri(300)).vc_dimension == 1


class TestLabels:
    @pytest.mark.thorough
    @exhaustive
    @given(matrices, st.lists(st.tuples(st.integers(0, 8), st.integers(0, 4)), min_size=1, max_size=6))
    def test_against_the_matrix(self, matrix: np.ndarray, games: list[tuple[int, int]]) -> None:
        rows, columns = matrix.shape
        concepts, points = [c % rows for c, _ in games], [x % columns for _, x in games]
        spec = FiniteClass(matrix)
        assert spec.label(concepts, points).tolist() == [
            matrix[c, x] for c, x in zip(concepts, points, strict=True)
        ]
        assert spec.label(concepts, points[0]).tolist() == [matrix[c, points[0]] for c in concepts]
        assert spec.labels(concepts, points).tolist() == [[matrix[c, x] for x in points] for c in concepts]

    def test_no_games(self) -> None:
        assert FiniteClass([[1]]).label(np.zeros(0), 0).shape == (0,)


class TestChecks:
    SPEC = FiniteClass([[0, 0, 1], [0, 1, 1]])

    @pytest.mark.parametrize("kind", ["f4", "f8", "i1", "i8", "u8"])
    def test_columns_of_any_type(self, kind: str) -> None:
        assert self.SPEC.check(np.array([0, 2], kind)).tolist() == [0, 2]

    @pytest.mark.parametrize(
        ("x", "odd"), [(3, 3), ([0, -1], -1), (1.5, 1.5), (1e300, 1e300), (2**64 - 1, 2**64 - 1)]
    )
    def test_other_points(self, x: Any, odd: Any) -> None:
        with pytest.raises(
            InvalidArgument, match="a point must be the index of a column, 0 to 2, got"
        ) as error:
            self.SPEC.check(x)
        assert error.value.value == odd

    @pytest.mark.parametrize("x", [np.nan, "a", None])
    def test_no_number_no_point(self, x: Any) -> None:
        with pytest.raises(InvalidArgument, match="points must be"):
            self.SPEC.check(x)

    @pytest.mark.parametrize(
        ("concepts", "message"),
        [
            ([2], "a concept must be the index of a row, 0 to 1, got 2"),
            ([-1], "got -1"),
            ([np.nan], "got nan"),
            (["a"], "concepts must be row indices"),
        ],
    )
    def test_concepts(self, concepts: Any, message: str) -> None:
        with pytest.raises(InvalidArgument, match=message):
            self.SPEC.label(concepts, 0)

    @pytest.mark.parametrize(
        ("matrix", "message"),
        [
            ([], r"at least one row \(a concept\) and one column \(a point\), got \(0,\)"),
            (np.zeros((0, 3)), "at least one row"),
            (np.zeros((3, 0)), "one column"),
            ([0, 1], r"got \(2,\)"),
            ([[0, 2]], r"labels must be 0 or 1, got \[0, 2\]"),
            ([[0, np.nan]], "labels must be 0 or 1"),
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

    def test_prints_shortly(self) -> None:
        assert repr(FiniteClass(np.zeros((5, 7)))) == "FiniteClass(5 concepts x 7 points)"
        assert repr(FiniteClass([[1]])) == "FiniteClass(1 concept x 1 point)"
        assert FiniteClass([[1]]).name == "matrix"
        assert FiniteClass([[1]]).point_shape == ()


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
            ("\n\n", "is empty, and must hold a matrix"),
            ("a,b\n0,1\n", r"line 1, column 1: a label must be 0 or 1, got 'a'\. Write one concept a line"),
            ("0,1\n\n0,2\n", "line 3, column 2: a label must be 0 or 1, got '2'"),
            ("0,1\n1,\n", "line 2, column 2: a label must be 0 or 1, got ''"),
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
        with pytest.raises(InvalidArgument, match=r"the matrix .*none\.csv cannot be read \(No such file"):
            FiniteClass.from_csv(tmp_path / "none.csv")
        with pytest.raises(InvalidArgument, match=r"cannot be read \(Is a directory\)\. Name a file in it\."):
            FiniteClass.from_csv(tmp_path)
        binary = tmp_path / "binary.csv"
        binary.write_bytes(b"\xff\xfe0\x00")
        with pytest.raises(
            InvalidArgument, match=r"binary\.csv, line 1: not text in UTF-8, got b'.xff'\. Save it"
        ):
            FiniteClass.from_csv(binary)
