"""Lists of records: equality, neighbours by every relation, and what a liar could hide in them."""

from __future__ import annotations

import datetime
import enum
from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena import InvalidArgument, Relation, Release, Sample, Train, play
from arena.claims import read_relation
from arena.dataset import INCOMPARABLE
from arena.errors import ProtocolViolation
from arena.players import Adversary, Moves
from arena.records import BLANK_RECORD, Records
from arena.schemas.differences import describe_difference
from arena.schemas.forms import ListForm
from arena.schemas.schema import Schema
from learners.foreign.function import Function


def first_field(records: Any) -> np.ndarray:
    return np.array([record[0] for record in records])


def count(first: list, second: list, relation: str, users: Callable[[Any], np.ndarray] = first_field) -> int:
    return read_relation(relation).count_changes(Records(first), Records(second), users)


NESTED = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.dates(),
    lambda part: (
        st.lists(part, max_size=3) | st.tuples(part, part) | st.dictionaries(st.text(), part, max_size=2)
    ),
    max_leaves=5,
)


@pytest.mark.thorough
@given(st.lists(NESTED, max_size=4), st.integers(1, 3))
def test_a_list_is_the_same_however_it_is_divided_into_runs(records: list, times: int) -> None:
    repeated = [record for record in records for _ in range(times)]
    runs = Records(records, np.full(len(records), times))
    assert runs == Records(repeated) == Records(repeated).own_copy()
    assert runs.digest == Records(repeated).digest
    assert repr(runs.rows()) == repr(repeated)
    assert runs.differences(Records(repeated)) == 0


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, 1.0),
        (1, True),
        (0.0, -0.0),
        ("1", 1),
        ((1, 2), [1, 2]),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        (np.float32(1), np.float64(1)),
        (np.arange(3), np.arange(3.0)),
        (datetime.date(2020, 1, 1), datetime.datetime(2020, 1, 1)),
        (None, float("nan")),
        (b"a", "a"),
    ],
    ids=str,
)
def test_what_a_mechanism_can_tell_apart_is_not_equal(one: Any, other: Any) -> None:
    assert Records([one]) == Records([one])
    assert Records([one]) != Records([other])


def test_missing_values_are_equal_to_themselves() -> None:
    assert Records([(float("nan"), "a")]) == Records([(float("nan"), "a")])


@pytest.mark.parametrize(
    ("first", "second", "relation", "changes"),
    [
        ([1, 2, 3], [1, 5, 3], "replace one", 1),
        ([1, 2, 3], [1, 5, 6], "replace a group of 2", 2),
        ([1, 2], [1], "replace one", INCOMPARABLE),
        ([1, 2, 3], [1, 3], "add or remove one", 1),
        ([], [7], "add or remove one", 1),
        ([], [], "add or remove one", 0),
        ([1, 2, 3], [3, 1], "add or remove one", INCOMPARABLE),
        ([1, 2], [BLANK_RECORD, 2], "zero out one", 1),
        ([1, 2], [3, 2], "zero out one", INCOMPARABLE),
        ([(1, "a"), (2, "b"), (1, "c")], [(2, "b")], "add or remove a user of at most 3", 2),
        ([(1, "a"), (1, "b")], [], "add or remove a user of at most 3", 2),
        ([(1, "a"), (2, "b")], [], "add or remove a user of at most 3", INCOMPARABLE),
        ([(1, "a"), (2, "b")], [(1, "b")], "add or remove a user of at most 3", INCOMPARABLE),
    ],
)
def test_changes_are_counted_in_the_way_of_the_relation(
    first: list, second: list, relation: str, changes: int
) -> None:
    assert count(first, second, relation) == count(second, first, relation) == changes


@pytest.mark.parametrize(
    ("relation", "second", "changes"),
    [
        ("at L1 distance at most 1", (1.0, 2.0, 4.0), 1),
        ("at L1 distance at most 1", (1.5, 2.5, 3.5), 2),
        ("at L2 distance at most 1", (1.5, 2.5, 3.5), 1),
        ("at L2 distance at most 1", (2.0, 3.0, 3.0), 2),
        ("at Linf distance at most 1", (2.0, 1.0, 4.0), 1),
        ("at Linf distance at most 1", (1.0, 2.0, np.nextafter(4.0, 5.0)), 2),
        ("at Linf distance at most 1", (1.0, 2.0, 3.0), 0),
        ("at Linf distance at most 1", (1.0, 2.0), INCOMPARABLE),
    ],
)
def test_distances_of_vectors_are_exact(relation: str, second: tuple, changes: int) -> None:
    assert count([(1.0, 2.0, 3.0)], [second], relation) == changes


@pytest.mark.parametrize("kind", ["at L1 distance", "at L2 distance", "at Linf distance"])
@pytest.mark.parametrize("distance", [1.0, 0.1, 1e-9, 2.5e20])
def test_a_relation_is_read_as_it_is_written(kind: str, distance: float) -> None:
    relation = read_relation(f"{kind} at most {distance!r}")
    assert relation.distance == distance
    assert read_relation(str(relation)) == relation


@pytest.mark.parametrize("text", ["at L1 distance", "at L1 distance at most 0", "at L1 distance at most -1"])
def test_a_distance_must_be_above_0(text: str) -> None:
    with pytest.raises(InvalidArgument):
        read_relation(text)


class Colour(enum.Enum):
    RED = 1


@attrs.frozen
class Person:
    name: str
    colour: Colour


def test_objects_of_classes_that_a_module_defines_are_records() -> None:
    assert Records([Person("Ann", Colour.RED)]) == Records([Person("Ann", Colour.RED)])
    assert Records([Person("Ann", Colour.RED)]) != Records([Person("Bob", Colour.RED)])


def make_local() -> Any:
    @attrs.frozen
    class Person:  # of the same name
        name: str

    return Person("Ann")


@pytest.mark.parametrize(
    "record",
    [object(), make_local(), lambda: 1, (1, iter([]))],
    ids=["object", "local class", "function", "iterator"],
)
def test_what_cannot_be_compared_is_refused(record: Any) -> None:
    with pytest.raises(InvalidArgument, match=r"records must be made of|types of records"):
        Records([record])


def test_a_difference_is_explained_with_every_relation_that_would_fit() -> None:
    data = Records([(1, "a"), (1, "b"), (2, "c")])
    text = describe_difference(data, data.select(np.array([2])), first_field)
    assert "3 records in world 0 and 1 in world 1" in text
    assert "only in world 0: (1, 'a'), (1, 'b')" in text
    assert text.endswith("neighbours that add or remove a user of at most 2")
    text = describe_difference(data, data.select(np.array([0, 1])), first_field)
    assert text.endswith("neighbours that add or remove one or add or remove a user of at most 1")


# --- a game -------------------------------------------------------------------------------------------------


@attrs.frozen(eq=False)
class Hands(Adversary):
    """Hands over these datasets."""

    first: Any
    second: Any
    name = "hands"
    protocols = ("Release",)

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        reply = yield Train(self.first, self.second)
        return np.array([float(value) for value in reply.value])


def total(data: list, rng: np.random.Generator) -> float:
    return float(sum(data))


LISTS = Function(
    function=total,
    schema=Schema(form=ListForm(), examples=(1, 2)),
    neighbours="add or remove one",
    epsilon=1.0,
)


def play_hands(first: Any, second: Any, learner: Function = LISTS) -> list[float]:
    return play(
        learner, Hands(first, second), Release(), games=2, seed=1, worlds=[False, True]
    ).score.tolist()


def test_each_world_receives_its_list() -> None:
    assert play_hands(Records([1, 2]), Records([1, 2, 4])) == [3.0, 7.0]
    assert play_hands(Records([]), Records([4])) == [0.0, 4.0]


def test_what_are_no_neighbours_is_refused_with_the_records_that_differ() -> None:
    with pytest.raises(ProtocolViolation, match=r"only in world 1: 4, 5; neighbours by no relation"):
        play_hands(Records([1]), Records([1, 4, 5]))


def test_samples_and_records_are_not_mixed_up() -> None:
    with pytest.raises(ProtocolViolation, match="given as Records; got Sample"):
        play_hands(Sample([0.0], [0]), Sample([0.0], [1]))
    plain = Function(function=total, epsilon=1.0, receives="points")
    with pytest.raises(ProtocolViolation, match="given as Sample; got Records"):
        play_hands(Records([1]), Records([2]), plain)


class Lying(Records):
    """Claims to be equal to whatever it is compared with."""

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 0

    def own_copy(self) -> Records:
        return Records([])

    def differ(self, runs: np.ndarray, other: Records, others: np.ndarray) -> np.ndarray:
        return np.zeros(len(runs), bool)


def test_a_subclass_cannot_lie_about_its_records() -> None:
    with pytest.raises(ProtocolViolation, match="neighbours by no relation"):
        play_hands(Lying([1]), Lying([4, 5, 6]))
    assert play_hands(Lying([1]), Lying([1, 6])) == [1.0, 7.0]


def test_changes_of_a_record_do_not_reach_the_games() -> None:
    record = [1]
    records = Records([record])
    record.append(2)
    assert records.rows() == [[1]]
    rows = records.rows()
    rows[0].append(3)
    assert records.rows() == [[1]]


def append_to_data(data: list, rng: np.random.Generator) -> float:
    data.append(1)
    data[0].append(1)
    return float(len(data) + len(data[0]))


def test_a_mechanism_that_changes_its_data_changes_them_for_one_game_only() -> None:
    learner = Function(
        function=append_to_data,
        schema=Schema(form=ListForm(), examples=([1],)),
        neighbours="replace one",
        epsilon=1.0,
    )
    played = play(learner, Hands(Records([[1]]), Records([[2]])), Release(), games=5, seed=1)
    assert played.score.tolist() == [4.0] * 5


def test_sizes_outside_the_claim_are_refused() -> None:
    schema = Schema(form=ListForm(), examples=(1, 2), min_size=1, max_size=2)
    learner = attrs.evolve(LISTS, schema=schema)
    for first, second in (([], [1]), ([1, 2], [1, 2, 3])):
        with pytest.raises(InvalidArgument, match="the claim is meant for at least 1 and at most 2 records"):
            play_hands(Records(first), Records(second), learner)


def test_a_blank_record_is_what_the_schema_says() -> None:
    blanked = attrs.evolve(LISTS, neighbours="zero out one")
    with pytest.raises(InvalidArgument, match="Give the schema `blank=`"):
        play_hands(Records([1, 2]), Records([1, BLANK_RECORD]), blanked)
    schema = Schema(form=ListForm(), examples=(1, 2), blank=100)
    assert play_hands(Records([1, 2]), Records([1, BLANK_RECORD]), attrs.evolve(blanked, schema=schema)) == [
        3.0,
        101.0,
    ]


def test_relations_without_a_distance_have_none() -> None:
    assert Relation.__name__ in repr(read_relation("replace one"))
    with pytest.raises(InvalidArgument, match="has no distance"):
        Relation(read_relation("replace one").kind, distance=1.0)


@given(st.lists(st.integers(0, 2), max_size=6), st.lists(st.integers(0, 2), max_size=6))
def test_what_one_list_lacks_completes_it(first: list, second: list) -> None:
    one, other = Records(first), Records(second)
    rest, others = one.subtract(other).rows(), other.subtract(one).rows()
    assert sorted(second + rest) == sorted(first + others)
    assert not set(rest) & set(others)


def test_a_transcript_says_what_each_world_lacks_and_releases() -> None:
    learner = attrs.evolve(LISTS, neighbours="replace a group of 9")
    hands = Hands(Records([1, 2, 2, 3]), Records([1, 2, 5, 5]))
    played = play(learner, hands, Release(), games=2, seed=1, worlds=[False, True], record=True)
    assert played.transcript is not None
    assert played.transcript.table(0, 1) == (
        "world 0 receives 4 records, of which world 1 lacks 1 x 2, 1 x 3\n"
        "world 1 receives 4 records, of which world 0 lacks 2 x 5\n\n"
        "world 0 releases 8\nworld 1 releases 13"
    )
