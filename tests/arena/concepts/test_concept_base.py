"""What every concept class owes its callers: shapes, refusals, exact weights, random points and targets."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.laws.concept_laws import NAIVE_CLASSES

from arena.concepts import (
    Boxes,
    ConceptClass,
    EncryptedThresholds,
    FiniteClass,
    Halfplanes,
    Halfspaces,
    Intervals,
    Points,
    RealIntervals,
    RealPoints,
    Rectangles,
    Stumps,
    Thresholds,
    base,
    parse_concept_class,
)
from arena.concepts.base import integer_weights
from arena.errors import InvalidArgument, Unsupported

exhaustive = settings(derandomize=True, max_examples=200)
LINE = Thresholds()
MATRIX = FiniteClass([[0, 0, 1], [0, 1, 1], [1, 1, 0]])


class TestShapes:
    @pytest.mark.parametrize("spec", [LINE, MATRIX])
    @pytest.mark.parametrize("lead", [(), (1,), (0,), (4,), (2, 3), (0, 3), (2, 0)])
    def test_leading_axes_are_kept(self, spec: ConceptClass, lead: tuple[int, ...]) -> None:
        found = spec.erm(np.zeros((*lead, 2)), np.ones((*lead, 2)))
        assert found.shape == lead
        assert found.dtype == spec.erm([0, 0], [1, 1]).dtype

    @pytest.mark.parametrize("spec", [LINE, MATRIX])
    def test_one_of_many_broadcasts(self, spec: ConceptClass) -> None:
        rng = np.random.default_rng(1)
        points, labels = rng.integers(0, 3, (4, 5, 6)), rng.integers(0, 2, (4, 5, 6))
        weights = rng.integers(0, 4, (4, 5, 6))
        shared = spec.erm(points[0, 0], labels[1, 1], weights)
        full = spec.erm(
            *(np.broadcast_to(a, weights.shape).copy() for a in (points[0, 0], labels[1, 1])), weights
        )
        assert shared.tolist() == full.tolist()
        crossed = spec.erm(points[:, :1], labels[:1], weights[0, 0])
        assert crossed.shape == (4, 5)
        assert crossed[2, 3] == spec.erm(points[2, 0], labels[0, 3], weights[0, 0])

    @pytest.mark.parametrize("spec", [LINE, MATRIX])
    @pytest.mark.parametrize("size", [1, 3, 7, 40])
    def test_slabs_leave_no_trace(
        self, spec: ConceptClass, size: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        rng = np.random.default_rng(2)
        points, labels = rng.integers(0, 3, (2, 50, size)), rng.integers(0, 2, (2, 50, size))
        weights = rng.random((2, 50, size)) * rng.integers(0, 2, (2, 50, size))
        plain, weighted = spec.erm(points, labels), spec.erm(points, labels, weights)
        monkeypatch.setattr(base, "SLAB_SAMPLES", 7)
        assert (spec.erm(points, labels) == plain).all()
        assert (spec.erm(points, labels, weights) == weighted).all()
        monkeypatch.setattr(base, "SLAB_NUMBERS", 1)
        assert (spec.erm(points, labels) == plain).all()

    def test_inputs_are_left_alone(self) -> None:
        points, labels, weights = np.array([[2.0, 1.0]]), np.array([[1, 0]]), np.array([[1.0, 0.0]])
        for array in (points, labels, weights):
            array.setflags(write=False)
        LINE.erm(points, labels, weights)
        MATRIX.erm(points, labels, weights)
        LINE.check(points)
        assert points.tolist() == [[2.0, 1.0]]


class TestRefusals:
    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ((1.0, 1), r"samples must have an axis of examples, got \[\(\), \(\)\]"),
            (([1.0, 2.0], [1]), r"points, labels and weights must be equally many, got \[\(2,\), \(1,\)\]"),
            (([1.0], [1], 2), r"samples must have an axis of examples, got \[\(1,\), \(1,\), \(\)\]"),
            ((np.zeros((2, 1)), np.zeros((3, 1))), "points, labels and weights must broadcast"),
            (([1.0], [2]), r"labels must be 0 or 1, got \[2\]"),
            (([np.nan], [1]), "points must be finite: no NaN, no infinity, got nan"),
            ((["a"], [1]), "points must be numbers"),
            (([1.0], [1], [-0.5]), r"weights must be finite and ≥ 0, got -0\.5"),
            (([1.0], [1], [np.inf]), "weights must be finite and ≥ 0, got inf"),
            (([1.0], [1], [np.nan]), "weights must be finite and ≥ 0, got nan"),
            (([1.0], [1], ["a"]), "weights must be numbers"),
        ],
    )
    def test_erm(self, arguments: tuple[Any, ...], message: str) -> None:
        with pytest.raises(InvalidArgument, match=message):
            LINE.erm(*arguments)

    @pytest.mark.parametrize(
        ("method", "arguments", "message"),
        [
            ("label", ([1.0, 2.0, 3.0], [1.0, 2.0]), "3 games need one common point or one point each"),
            ("label", ([1.0, 2.0, 3.0], [[1.0], [2.0], [3.0]]), "3 games need one common point"),
            ("label", (1.0, 2.0), r"concepts must have an axis of games, got 1\.0"),
            ("labels", (1.0, [2.0]), r"a list of concepts must have one more axis than a concept, got 1\.0"),
            ("labels", ([1.0], 2.0), r"a list of points must have one more axis than a point, got \(\)"),
            ("dichotomies", ([[2.0]],), r"must have one more axis than a point, got \(1, 1\)"),
        ],
    )
    def test_shapes(self, method: str, arguments: tuple[Any, ...], message: str) -> None:
        with pytest.raises(InvalidArgument, match=message):
            getattr(LINE, method)(*arguments)

    def test_a_bad_value_in_the_last_slab_is_found(self) -> None:
        points = np.zeros((2**14 + 5, 2))
        points[-1, -1] = np.inf
        with pytest.raises(InvalidArgument, match="got inf"):
            LINE.erm(points, np.zeros(2))


def in_proportion(whole: np.ndarray, weights: np.ndarray) -> bool:
    """Whether two rows of numbers are exactly proportional, in fractions."""
    left = [Fraction(int(v)) for v in whole]
    right = [Fraction(w) for w in weights.tolist()]
    factors = {a / b for a, b in zip(left, right, strict=True) if b}
    return len(factors) <= 1 and all(a == 0 for a, b in zip(left, right, strict=True) if b == 0)


class TestWholeWeights:
    @pytest.mark.thorough
    @exhaustive
    @given(st.lists(st.floats(min_value=0, allow_infinity=False), max_size=6))
    def test_floats_keep_their_proportions(self, weights: list[float]) -> None:
        array = np.array(weights, np.float64)
        whole = integer_weights(array)
        assert in_proportion(whole, array)
        assert sum(int(v) for v in whole) == whole.sum(initial=0)

    @exhaustive
    @given(st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=6))
    def test_integers_stay(self, weights: list[int]) -> None:
        assert integer_weights(np.array(weights, np.uint64)).tolist() == weights

    @pytest.mark.parametrize("kind", [np.float16, np.float32, np.int8, bool])
    def test_other_types(self, kind: type) -> None:
        array = np.array([0, 1, 1], kind)
        assert integer_weights(array).tolist() == [0, 1, 1]
        assert integer_weights(array).dtype == np.int64

    def test_narrow_ranges_are_machine_integers(self) -> None:
        assert integer_weights(np.array([0.5, 0.75, 3.0])).tolist() == [2, 3, 12]
        assert integer_weights(np.array([0.1, 1 / 3])).dtype == np.int64
        assert integer_weights(np.array([1e-300, 1e300, 5e-324])).dtype == object
        assert integer_weights(np.array([2**62], np.uint64)).dtype == object


FAIR: list[tuple[ConceptClass, float, float]] = [
    (Thresholds(), 0.25, 0.75),
    (Thresholds(range(1, 9)), 0.25, 0.75),
    (Thresholds([3]), 0, 1),
    (RealPoints(), 0.5, 0.5),
    (Points(range(8)), 1 / 8, 1 / 8),
    (RealIntervals(), 0.25, 0.75),
    (Intervals(range(8)), 0.25, 0.75),
    (Rectangles((4, 4)), 0.25, 0.75),
    (Boxes(1), 0.25, 0.75),
    (Boxes(3), 0.25, 0.75),
    (Stumps(4), 0.25, 0.75),
    (Halfplanes(), 1 / 8, 7 / 8),
    (EncryptedThresholds(16, 3), 0.25, 0.75),
    (NAIVE_CLASSES["lists"].spec, 0.25, 0.75),
    (parse_concept_class("lists:6"), 0.3, 0.7),
    (parse_concept_class("lists:4:literals"), 0.25, 0.75),
]


class TestAtRandom:
    @pytest.mark.parametrize(("spec", "low", "high"), FAIR, ids=lambda value: str(value))
    def test_concepts_label_a_fair_part_of_points(
        self, spec: ConceptClass, low: float, high: float, rng: np.random.Generator
    ) -> None:
        points = spec.draw_points(rng, 4_000)
        assert points.shape == (4_000, *spec.point_shape)
        for _ in range(30):
            concept = spec.draw_concept(rng)
            assert concept.ndim == spec.concept_ndim
            share = spec.labels(concept[None], points).mean()
            assert low - 0.05 < share < high + 0.05  # six deviations of 4,000 points

    def test_halfspaces_with_a_margin_have_no_such_law(self, rng: np.random.Generator) -> None:
        with pytest.raises(Unsupported, match=r"would not keep the margin"):
            Halfspaces(3, 0.2).draw_points(rng, 4)
        with pytest.raises(Unsupported, match=r"would not have the margin of .*\. Use a target of arena"):
            Halfspaces(3, 0.2).draw_concept(rng)
