"""Concept classes by their names on the command line, and values that are no class, point or concept."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from arena.concepts import (
    Boxes,
    ConceptClass,
    Conjunctions,
    DecisionLists,
    EncryptedThresholds,
    FiniteClass,
    Halfplanes,
    Halfspaces,
    Intervals,
    Literals,
    Points,
    RealIntervals,
    RealPoints,
    Rectangles,
    Stumps,
    Thresholds,
    Variables,
    parse_concept_class,
)
from arena.errors import InvalidArgument


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        (" thresholds ", Thresholds()),
        ("thresholds:1..4", Thresholds([1, 2, 3, 4])),
        ("thresholds:-2 .. +1", Thresholds([-2, -1, 0, 1])),
        ("thresholds:3..3", Thresholds([3])),
        ("thresholds:0.5,1,2e1", Thresholds([0.5, 1, 20])),
        ("points", RealPoints()),
        ("points:1..4", Points((1, 2, 3, 4))),
        ("points:0.5,2", Points((0.5, 2))),
        ("intervals", RealIntervals()),
        ("intervals:0..3", Intervals((0, 1, 2, 3))),
        ("rectangles:4", Rectangles((4,))),
        ("rectangles: 2 x 2 x 2", Rectangles((2, 2, 2))),
        ("boxes:2", Boxes(2)),
        ("stumps: 8", Stumps(8)),
        ("halfplanes", Halfplanes()),
        ("halfspaces:3,0.25", Halfspaces(3, 0.25)),
        ("encrypted:16, 7", EncryptedThresholds(16, 7)),
        ("lists:4", DecisionLists(Variables(4))),
        ("lists:4:variables", DecisionLists(Variables(4))),
        ("lists:4:literals", DecisionLists(Literals(4))),
        ("lists:4:conjunctions2", DecisionLists(Conjunctions(4, 2))),
    ],
)
def test_names_of_classes(text: str, spec: ConceptClass) -> None:
    found = parse_concept_class(text)
    assert found == spec
    assert hash(found) == hash(spec)
    assert pickle.loads(pickle.dumps(found)) == spec
    assert type(spec).__name__ in repr(spec)


def test_a_matrix_is_named_by_its_file(tmp_path: Path) -> None:
    path = tmp_path / "a:b.csv"
    path.write_text("0,1\n1,1\n")
    assert parse_concept_class(f"matrix:{path}") == FiniteClass([[0, 1], [1, 1]])


@pytest.mark.parametrize("text", ["", "matrix", "matrix:", "Thresholds", "halfplanes:2", "boxes"])
def test_an_unknown_name_lists_what_is_possible(text: str) -> None:
    with pytest.raises(InvalidArgument, match=f"there is no such concept class, got {text!r}. Possible are:"):
        parse_concept_class(text)


SIZES = "dimensions and the sides of a grid must be integers"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("thresholds:", "the points of a domain must be numbers, got ''"),
        ("thresholds:1.5..2", r"the points of a domain must be numbers, got '1\.5\.\.2'"),
        ("thresholds:4..1", r"LOW\.\.HIGH must have LOW <= HIGH and at most 1,000,000 points, got '4\.\.1'"),
        ("thresholds:1..1000001", "at most 1,000,000 points"),
        ("thresholds:2,1", r"a domain must be strictly increasing, got \(2\.0, 1\.0\)\. Sort it"),
        ("thresholds:1,nan", "points must be finite"),
        ("rectangles:4xfour", SIZES),
        ("rectangles:0x4", "a side of a grid must be"),
        ("rectangles:100x100", "25,502,501 concepts on 10,000 points make a matrix of more"),
        ("points:1..10000", "10,000 concepts on 10,000 points make a matrix of more than"),
        ("boxes:x", f"{SIZES}, got 'x'. Possible are"),
        ("boxes:0", "dimension must be at least 1, got 0"),
        ("encrypted:16", "encrypted must have 2 numbers, got '16'. Write encrypted:16,7."),
        ("halfspaces:8", "halfspaces must have 2 numbers, got '8'. Write halfspaces:64,0.2."),
        ("lists:x", r"there are no such decision lists, got .* Write lists:D"),
        ("lists:4:conjunctions", r"there are no such decision lists, got .* Write lists:D"),
    ],
)
def test_bad_parameters(text: str, message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        parse_concept_class(text)


ENDS = "low ends must not exceed high ends"


@pytest.mark.parametrize(
    ("spec", "concepts", "message"),
    [
        (Thresholds(), [np.nan], "a threshold must be a number or infinity, got nan"),
        (Thresholds(), ["a"], "thresholds must be numbers"),
        (RealPoints(), [np.nan], "a point function must be a number or .inf, got nan"),
        (RealPoints(), [-np.inf], "a point function must be a number or .inf, got -inf"),
        (RealIntervals(), [[2, 1]], rf"{ENDS}, got \[2.0, 1.0\]. Write the empty"),
        (RealIntervals(), [[1, 2, 3]], r"must have 1 low and 1 high ends, got \('int64', \(1, 3\)\)"),
        (Intervals(range(3)), [7], "a concept must be the index of a row, 0 to 6"),
        (FiniteClass([[0, 1], [1, 1]]), [np.nan], "0 to 1, got nan"),
        (FiniteClass([[0, 1], [1, 1]]), ["a"], "concepts must be row indices"),
        (Boxes(2), [[0, 0, 1, np.nan]], ENDS),
        (Boxes(2), [[np.inf, 0, -np.inf, 1]], ENDS),
        (Stumps(2), [[2, 0, 1]], "a stump must have a feature from 0 to 1, a number t and a sign"),
        (Stumps(2), [[0, 0, 2]], "a sign 1 or -1"),
        (Stumps(2), [[0, 0]], "a stump must be .feature, t, sign."),
        (Halfplanes(), [[0, np.inf, 0]], "the numbers of a halfplane must be finite, got inf"),
        (Halfplanes(), [1, 2], "a halfplane must be .a, b, c."),
        (EncryptedThresholds(4, 1), [5], "a ciphertext or the number after the last, 0 to 4, got 5"),
        (EncryptedThresholds(4, 1), ["a"], "concepts must be integers"),
        (DecisionLists(Variables(3)), [[0.5]], "a decision list must be a row of integers"),
        (DecisionLists(Variables(3)), [[8]], "a rule must be 2·feature \\+ label, 0 to 7, or -1"),
        (DecisionLists(Variables(3)), [[-1, 3]], r"a decision list must have no gaps, got \[-1, 3\]"),
    ],
    ids=str,
)
def test_bad_concepts(spec: ConceptClass, concepts: Any, message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        spec.check_concepts(concepts)


@pytest.mark.parametrize(
    "spec", [Thresholds(), RealPoints(), RealIntervals(), Boxes(2), Stumps(2), Halfplanes()], ids=str
)
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_points_are_finite(spec: ConceptClass, value: float) -> None:
    with pytest.raises(InvalidArgument, match="points must be finite"):
        spec.check(np.full((3, *spec.point_shape), value))


@pytest.mark.parametrize(
    ("spec", "x", "message"),
    [
        (Thresholds(), "a", "points must be numbers"),
        (Boxes(2), [1.0, 2.0, 3.0], r"a point must have shape \(2,\), got \(3,\)"),
        (EncryptedThresholds(4, 1), [4], "a point must be a ciphertext, 0 to 3, got 4"),
        (Halfplanes(), [0.0, 1e150], r"coordinates must lie within ±1e100, got 1e\+150"),
        (Points(range(3)), [0.5], "a point must be one of the 3 points of the domain from 0 to 2"),
        (Rectangles((2, 3)), [[0.5, 0]], "a point must lie on the grid of 2 x 3 points, from 0 on each"),
        (Rectangles((2, 3)), [1, 2, 3], r"a point must have shape \(2,\)"),
        (FiniteClass([[0, 0, 1]]), 1.5, r"a point must be the index of a column, 0 to 2, got 1\.5"),
        (FiniteClass([[0, 0, 1]]), [0, -1], "a point must be the index of a column, 0 to 2, got -1"),
        (FiniteClass([[0, 0, 1]]), 2**64 - 1, "got 18446744073709551615"),
    ],
    ids=str,
)
def test_bad_points(spec: ConceptClass, x: Any, message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        spec.check(x)
