"""Samples: runs, neighbours, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena import InvalidArgument, Sample, Training

examples = st.tuples(st.integers(0, 3), st.integers(0, 1), st.integers(1, 4))
samples = st.lists(examples, min_size=1, max_size=6).map(
    lambda runs: Sample(*(np.array(column) for column in zip(*runs, strict=True)))
)


def write_out(sample: Sample) -> list[tuple[float, int]]:
    return [
        (float(p), int(y))
        for p, y, c in zip(sample.points, sample.labels, sample.counts, strict=True)
        for _ in range(c)
    ]


@pytest.mark.thorough
@given(samples, samples)
def test_differences_are_counted_place_by_place(a: Sample, b: Sample) -> None:
    first, second = write_out(a), write_out(b)
    expected = -1 if len(first) != len(second) else sum(x != y for x, y in zip(first, second, strict=True))
    assert a.differences(b) == b.differences(a) == expected


@pytest.mark.thorough
@given(samples, st.data())
def test_a_replaced_example_is_one_place(sample: Sample, data: st.DataObject) -> None:
    run = data.draw(st.integers(0, len(sample.counts) - 1))
    point, label = data.draw(st.integers(0, 4)), data.draw(st.integers(0, 1))
    other = sample.replace_one(run, point, label)
    place = int(sample.counts[: run + 1].sum()) - 1
    expected = write_out(sample)
    expected[place] = (float(point), label)
    assert write_out(other) == expected


@pytest.mark.thorough
@given(samples)
def test_equality_is_of_lists_not_of_runs(sample: Sample) -> None:
    points, labels = sample.rows()
    assert Sample(points, labels) == sample
    assert hash(Sample(points, labels)) == hash(sample)
    assert Sample(points.astype(float), labels) == sample
    assert sample.replace_one(0, 7.0, 0) != sample


@given(samples)
def test_distinct_is_the_same_multiset(sample: Sample) -> None:
    distinct = sample.distinct()
    assert sorted(write_out(distinct)) == sorted(write_out(sample))
    pairs = list(zip(distinct.points.tolist(), distinct.labels.tolist(), strict=True))
    assert pairs == sorted(set(pairs))


@pytest.mark.thorough
@given(samples, st.data())
def test_divided_samples_are_the_same_list(sample: Sample, data: st.DataObject) -> None:
    runs = len(sample.divide().counts)
    pieces = data.draw(st.integers(1, 9) | st.lists(st.integers(1, 9), min_size=runs, max_size=runs))
    divided = sample.divide(pieces)
    assert divided == sample
    assert len(divided.counts) == np.minimum(sample.divide().counts, pieces).sum()
    assert sample.divide(sample.size).counts.max() == 1
    assert divided.divide().counts.tolist() == sample.divide().counts.tolist()


def test_vectors_are_points_too() -> None:
    a = Sample([[0.0, 1.0], [2.0, 3.0]], [0, 1], [2, 1])
    b = a.replace_one(1, [2.0, 4.0], 1)
    assert (a.differences(b), a.size, a.distinct().size) == (1, 3, 3)
    assert a.differences(Sample([0.0, 1.0], [0, 1], [2, 1])) == -1


@pytest.mark.parametrize(
    ("points", "labels", "counts", "message"),
    [
        ([], [], None, "at least one example"),
        ([np.nan], [0], None, "points must be finite"),
        (["a"], [0], None, "points must be numbers"),
        ([0.0], [2], None, "labels must be 0 or 1"),
        ([0.0], [0, 1], None, "needs as many labels"),
        ([0.0, 1.0], [0, 1], [1], "counts must be"),
        ([0.0, 1.0], [0, 1], [1, 0], "counts must be"),
        ([0.0, 1.0], [0, 1], [1.0, 2.0], "counts must be"),
    ],
)
def test_bad_samples_are_refused(points: list, labels: list, counts: list | None, message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        Sample(points, labels, counts)


def test_samples_are_read_only_and_own_their_data() -> None:
    points = np.array([0.0, 1.0])
    sample = Sample(points, [0, 1])
    points[0] = 5.0
    assert sample.points.tolist() == [0.0, 1.0]
    for array in (sample.points, sample.labels, sample.counts):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_training_groups_games_by_sample() -> None:
    a, b = Sample([0.0], [0]), Sample([1.0], [1])
    training = Training.of([a, b, a], np.array([0, 1, 2, 1]))
    assert len(training.samples) == 2
    assert {s.digest: games.tolist() for s, games in training.groups()} == {
        a.digest: [0, 2],
        b.digest: [1, 3],
    }


@pytest.mark.parametrize(
    ("points", "message"),
    [
        ([2**53 + 1, 0.5], "integers must lie within ±2^53, where float64 is exact, got 9007199254740993"),
        ([[2**53 + 1, 0], [0.5, 1]], "integers must lie within ±2^53, where float64 is exact"),
        (np.array([2**60, 1]), "integers must lie within ±2^53, where float64 is exact"),
        (np.array([2**64 - 1, 1], np.uint64), "integers must lie within ±2^53, where float64 is exact"),
        ([2**70, 1], "integers must lie within ±2^53, where float64 is exact"),
        (np.array([0.5, "a"], object), "points must be numbers, got 'str'"),
        (np.ma.array([0.5, 1.0], mask=[1, 0]), "points must be plain numbers, got 'a masked array'"),
    ],
)
def test_points_that_floats_do_not_hold_are_refused(points: Any, message: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        Sample(points, [0, 1])
    assert message in str(refused.value)
