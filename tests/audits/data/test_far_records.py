"""Records with numbers beyond the range of an example."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import audits
from adversaries.release.point_swap import PointSwap
from audits.data.schemas import find_schema, infer_schema
from learners.foreign.function import Function

FAR = 10**6


@pytest.mark.parametrize(
    ("example", "first", "last"),
    [
        ([1, 2], -FAR, FAR),
        ((1.5, 2.0), -1e6, 1e6),
        ([(20, "a"), (30, "b")], (-FAR, "a"), (FAR, "a")),
        ([{"age": 20, "name": "a"}], {"age": -FAR, "name": "a"}, {"age": FAR, "name": "a"}),
        ([5_000_000], -(10**10), 10**10),
        (np.array([1, 2]), -FAR, FAR),
        (np.array([1, 2], np.int8), -127, 127),
        (np.array([1, 2], np.uint8), 0, 255),
        (np.array([[1.0, 2.0]]), (-1e6, -1e6), (1e6, 1e6)),
        ((np.array([[1.0, 2.0]]), np.array([1])), ((-1e6, -1e6), 1), ((1e6, 1e6), 1)),
        ((np.array([[1.0]]), np.array([0.5])), ((-1e6,), -1e6), ((1e6,), 1e6)),
    ],
)
def test_numbers_beyond_an_example(example: Any, first: Any, last: Any) -> None:
    schema = infer_schema(example)
    assert (schema.beyond[0], schema.beyond[-1]) == (first, last)
    kept = find_schema(audits.table_like(example))
    assert kept.beyond == ()
    assert kept.examples == schema.examples


@pytest.mark.parametrize("example", [["a", "b"], [0, 1, 1], [True, False], np.array([0, 1]), [None], []])
def test_text_and_labels_stay_as_they_are(example: Any) -> None:
    assert infer_schema(example).beyond == ()


def test_columns_of_a_frame() -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(
        {
            "age": [20, 30],
            "income": [1.5, None],
            "smokes": [0, 1],
            "city": ["a", "b"],
            "grade": pd.Categorical([1, 2]),
            "since": pd.date_range("2020", periods=2),
        }
    )
    schema = infer_schema(frame)
    low, high = schema.beyond[0], schema.beyond[-1]
    assert low[:2] == (-FAR, -1e6)
    assert high[:2] == (FAR, 1e6)
    assert {record[2:] for record in schema.beyond} == {schema.form.unpack(frame)[0][2:]}
    tables = infer_schema({"people": frame[["age"]], "others": frame[["city", "income"]]})
    assert set(tables.beyond) == {
        (name, record)
        for name, records in {"people": [(-FAR,), (FAR,)], "others": [("a", -1e6), ("a", 1e6)]}.items()
        for record in records
    }
    indexed = infer_schema(frame[["age"]].set_index(pd.Index([7, 8])))
    assert indexed.beyond == ((7, -FAR), (7, FAR))


def test_an_audit_of_an_example_changes_a_record_beyond_its_range() -> None:
    example = [1, 2, 3]
    learner = Function(function=sum, schema=infer_schema(example))
    sample, other = PointSwap(learner=learner).samples
    assert FAR in other.rows()
    assert FAR not in sample.rows()


@pytest.mark.thorough
@pytest.mark.parametrize(
    "example",
    [
        [20, 30, 40],
        (20.0, 30.0),
        np.array([20, 30]),
        np.array([20.0, 30.0]),
    ],
)
def test_a_missing_clip_is_found_whatever_holds_the_example(example: Any) -> None:
    def release_mean(values: Any, rng: np.random.Generator) -> float:
        return sum(values) / max(len(values), 1) + rng.laplace(scale=100 / max(len(values), 1))

    claim: Any = {"epsilon": 1.0, "neighbours": "replace one", "max_calls": 3_000}
    found = audits.search(release_mean, data=example, **claim)
    assert found.refuted
    assert "beyond its range" in found.summary()
    kept = audits.search(release_mean, data=audits.table_like(example), **claim)
    assert not kept.refuted
    assert "beyond its range" not in kept.summary()
