"""Claims about vectors at a distance: in which directions neighbours differ, and known pairs of vectors."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import audits
from arena import InvalidArgument
from arena.claims import read_relation
from arena.records import Records
from arena.schemas.schema import Schema
from arena.schemas.vectors import correct_rounding, measure_distance, shift_vector
from audits.adversary_search.records.record_strategies import neighbouring_records
from audits.adversary_search.records.vector_pairs import list_vector_pairs
from audits.data.drawn_values import draw_values
from audits.data.schemas import find_schema


def scaled_to_l2(answers: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return answers + rng.laplace(scale=1.0, size=len(answers))


def scaled_to_l1(answers: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return answers + rng.laplace(scale=np.sqrt(len(answers)), size=len(answers))


def list_changes(schema: Schema, *, drawn: bool = True) -> list[np.ndarray]:
    relation = schema.relation
    assert relation is not None
    pairs = list(list_vector_pairs(schema, relation))
    if drawn:
        pairs += draw_values(neighbouring_records(schema, relation), "pairs", 60, key=repr)
    return [np.subtract(b.records[0], a.records[0]) for a, b in pairs]


@pytest.mark.parametrize("distance", [1, 0.25])
@pytest.mark.parametrize("metric", ["l1", "l2", "linf"])
@pytest.mark.parametrize("drawn", [False, pytest.param(True, marks=pytest.mark.thorough)])
def test_neighbours_differ_in_many_directions(metric: str, distance: float, drawn: bool) -> None:
    changes = list_changes(find_schema(audits.vector(5, metric=metric, distance=distance)), drawn=drawn)
    numbers = {int(np.count_nonzero(change)) for change in changes}
    assert numbers >= {1, 2, 5}
    alone = {
        (int(np.argmax(np.abs(c))), float(np.sign(c.sum()))) for c in changes if np.count_nonzero(c) == 1
    }
    assert alone >= {(place, 1.0) for place in range(5)}
    uneven = [change for change in changes if len(set(np.round(np.abs(change), 6))) > 2]
    assert len(uneven) >= 4
    norm = {"l1": 1, "l2": 2, "linf": np.inf}[metric]
    assert all(np.linalg.norm(change, norm) <= distance * (1 + 1e-9) for change in changes)


def test_all_patterns_of_signs_are_tried() -> None:
    schema = find_schema(audits.vector(3, metric="linf", distance=2.0))
    assert schema.relation is not None
    pairs = list_vector_pairs(schema, schema.relation)
    changes = {tuple(np.subtract(b.records[0], a.records[0]).tolist()) for a, b in pairs}
    assert changes >= set(product((2.0, -2.0), repeat=3))


@pytest.mark.thorough
def test_whole_values_have_whole_neighbours() -> None:
    schema = find_schema(audits.vector(3, metric="l2", distance=3, values=st.integers(-9, 9)))
    changes = list_changes(schema)
    assert all((change == np.trunc(change)).all() for change in changes)
    assert {int(np.count_nonzero(change)) for change in changes} == {1, 2, 3}
    assert max(np.abs(change).sum() for change in changes) == 5  # (2, 2, 1), whose norm is 3


def test_neighbours_of_values_in_a_range_stay_in_it() -> None:
    schema = find_schema(audits.vector(4, metric="l2", values=st.floats(-3, 3)))
    assert schema.relation is not None
    pairs = list(list_vector_pairs(schema, schema.relation))
    assert all(max(map(abs, world.records[0])) <= 3 for pair in pairs for world in pair)
    assert len({tuple(np.sign(np.subtract(b.records[0], a.records[0]))) for a, b in pairs}) > 12


@given(
    st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=6), st.sampled_from(["L1", "L2", "Linf"]), st.data()
)
@settings(max_examples=60, deadline=None, derandomize=True)
def test_a_vector_is_moved_by_the_distance_and_no_more(base: list[float], kind: str, data: Any) -> None:
    relation = read_relation(f"at {kind} distance at most {data.draw(st.sampled_from([0.3, 1.0, 7.0]))}")
    direction = np.array(
        data.draw(st.lists(st.integers(-3, 3), min_size=len(base), max_size=len(base))), float
    )
    moved = shift_vector(relation, np.array(base), direction)
    if moved is not None:
        worlds = Records([tuple(base)]), Records([moved])
        assert relation.count_changes(*worlds, len) == 1
        assert measure_distance(relation, *worlds) == pytest.approx(relation.distance, rel=1e-6, abs=1e-8)


def test_rounding_at_exactly_the_distance_is_corrected_and_no_more() -> None:
    relation = read_relation("at L2 distance at most 1")
    for length in range(1, 40):
        first, second = (0.0,) * length, (length**-0.5,) * length
        corrected = correct_rounding(relation, first, second)
        assert relation.count_changes(Records([first]), Records([corrected]), len) == 1
        assert np.allclose(corrected, second, rtol=1e-15)
    far = (1.0 + 1e-9, 0.0)
    assert correct_rounding(relation, (0.0, 0.0), far) == far


@pytest.mark.thorough
@pytest.mark.parametrize("length", [2, 5])
def test_noise_that_is_scaled_to_the_l2_distance_is_refuted(length: int) -> None:
    data = audits.vector(length, metric="l2", distance=1)
    assert audits.search(scaled_to_l2, data=data, epsilon=1.0, max_calls=60_000).refuted


@pytest.mark.thorough
def test_noise_that_is_scaled_to_the_l1_distance_is_not_refuted() -> None:
    data = audits.vector(5, metric="l2", distance=1)
    assert not audits.search(scaled_to_l1, data=data, epsilon=1.0, max_calls=20_000).refuted


L2 = "at L2 distance at most 1"


@pytest.mark.thorough
def test_a_known_pair_of_vectors_is_audited() -> None:
    pair: dict[str, Any] = {"data": np.zeros(5), "neighbours": L2, "epsilon": 1.0, "games": 5_000}
    verdict = audits.audit(scaled_to_l2, neighbour=np.full(5, 5**-0.5), **pair)
    assert verdict.refuted
    assert audits.audit(scaled_to_l2, **pair).refuted  # all entries larger
    assert not audits.audit(scaled_to_l1, neighbour=np.full(5, 5**-0.5), **pair).refuted


def test_a_pair_of_vectors_that_are_no_neighbours_is_refused_with_the_distance() -> None:
    def audit(data: Any, neighbour: Any) -> None:
        audits.audit(scaled_to_l2, data=data, neighbour=neighbour, neighbours=L2, epsilon=1.0, games=100)

    with pytest.raises(InvalidArgument, match=r"at L2 distance 1\.1180339887498949"):
        audit(np.zeros(5), np.full(5, 0.5))
    with pytest.raises(InvalidArgument, match="equal vectors"):
        audit(np.zeros(5), np.zeros(5))
    with pytest.raises(InvalidArgument, match="vector of 5 numbers"):
        audit(np.zeros(5), np.zeros(4))
    with pytest.raises(InvalidArgument, match="an array of shape"):
        audit(np.zeros((5, 2)), np.zeros((5, 2)))
    with pytest.raises(InvalidArgument, match="got 'list'"):
        audit([0.0] * 5, [0.1] * 5)
