"""Wrapped mechanisms whose claims are for other neighbours than replaced examples, and for users."""

from __future__ import annotations

from functools import partial
from typing import Any

import attrs
import numpy as np
import pytest
from hypothesis import given, settings
from support.foreign_mechanisms import Measurement, Mechanism

import audits
from adversaries.common.training_samples import change_example
from adversaries.release.point_swap import CountSwap, PointSwap
from arena import InvalidArgument, Release, Sample, play
from arena.claims import find_users
from audits.adversary_search.script_strategies import neighbours
from learners.foreign.diffprivlib import Diffprivlib
from learners.foreign.function import Function
from learners.foreign.opendp import OpenDP

USERS = "add or remove a user of at most 2"


def count_rows(points: Any, rng: np.random.Generator) -> float:
    return len(points) + rng.laplace()


def pair_up(points: np.ndarray) -> np.ndarray:
    return points[:, 1] // 2


def forget_one(points: np.ndarray) -> np.ndarray:
    return np.where(points[:, 1] == 3, np.nan, points[:, 1])


ROWS = Function(function=count_rows, receives="points", epsilon=1.0, neighbours="add or remove one")
OF_USERS = attrs.evolve(ROWS, neighbours=USERS, dimension=2, users=-1)


def test_a_function_claims_for_the_relation_that_the_user_names() -> None:
    assert str(ROWS.claim) == "(1, 0)-DP for a training example (add or remove one)"
    assert str(Function(function=count_rows).claim.neighbours) == "replace one"
    played = play(ROWS, PointSwap(learner=ROWS), Release(), games=4, seed=1, record=True)
    assert played.flag.all()


@pytest.mark.thorough
def test_data_of_unequal_length_are_legal_where_the_claim_says_so() -> None:
    data, neighbour = np.array([0.2, 0.5, 0.9]), np.array([0.2, 0.9])
    given: dict[str, Any] = {"data": data, "neighbour": neighbour, "epsilon": 1, "games": 2_000}
    report = audits.audit(count_rows, settings={"neighbours": "add or remove one"}, **given)
    assert not report.refuted
    assert report.epsilon_lower > 0.5
    with pytest.raises(InvalidArgument) as caught:
        audits.audit(count_rows, **given)
    assert str(caught.value) == (
        "neighbouring data have the same number of records and differ in one of them, got '3 records "
        "and 2 records'. Replace one record of the data, in its place, or set neighbours to 'add or remove "
        "one' if the claim is for that."
    )


def test_users_are_a_coordinate_or_a_function() -> None:
    points = np.array([[0.0, 4.0], [1.0, 5.0], [2.0, 6.0]])
    assert OF_USERS.users_of(points).tolist() == [4, 5, 6]
    assert OF_USERS.user_column == -1
    by_function = attrs.evolve(OF_USERS, users=pair_up)
    assert by_function.users_of(points).tolist() == [2, 2, 3]
    assert by_function.user_column is None
    assert "pair_up" in repr(by_function)
    assert by_function == attrs.evolve(OF_USERS, users=pair_up) != OF_USERS
    numbers = attrs.evolve(OF_USERS, dimension=None, users=0)
    assert numbers.users_of(np.array([3.0, 4.0])).tolist() == [3, 4]


@pytest.mark.thorough
@pytest.mark.parametrize("users", [-1, 0, pair_up])
def test_adversaries_and_the_search_add_users(users: Any) -> None:
    learner = attrs.evolve(OF_USERS, users=users)
    sample = Sample([[0.0, 0.0], [2.0, 2.0], [4.0, 4.0]], [0, 1, 0], [2, 3, 1])
    without, added = change_example(sample, 1, (0, 0), (np.array([9.0, 9.0]), 1), learner)
    assert added.size == without.size + 2
    for adversary in (CountSwap(sample=sample, learner=learner), PointSwap(sample=sample, learner=learner)):
        assert play(learner, adversary, Release(), games=4, seed=1).flag.all()

    @settings(max_examples=10)
    @given(neighbours(learner))
    def check(pair: tuple[Sample, Sample]) -> None:
        assert 0 <= learner.relation.count_changes(*pair, learner.users_of) <= 2

    check()


def test_users_may_lie_outside_the_domain_of_the_points() -> None:
    learner = attrs.evolve(OF_USERS, domain=(0.0, 1.0))
    sample = Sample([[0.0, 7.0], [1.0, 8.0]], [0, 1])
    play(learner, PointSwap(sample=sample, learner=learner), Release(), games=2, seed=1)
    learner = attrs.evolve(learner, users=0)
    with pytest.raises(InvalidArgument, match="must lie in its domain"):
        play(learner, PointSwap(sample=sample, learner=learner), Release(), games=2, seed=1)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"users": None},
            "neighbours of count_rows that add or remove a user of at most 2 need the setting users",
        ),
        ({"users": 2}, "users must be a coordinate of the points, or a function of them, got 2"),
        ({"users": -3}, "users must be a coordinate of the points"),
        ({"users": 0.5}, "users must be an integer"),
        ({"neighbours": "a user"}, "neighbours must be a known relation"),
    ],
)
def test_refused_settings(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        attrs.evolve(OF_USERS, **changes)


def test_missing_users_are_refused() -> None:
    points = np.array([[0.0, 1.0], [0.0, 3.0]])
    with pytest.raises(InvalidArgument) as caught:
        find_users(forget_one, points)
    assert str(caught.value) == (
        "every example must have a user, and a value is missing, got nan. Remove such examples, or give each "
        "of them a user of its own."
    )
    for wrong in (lambda points: points, lambda points: points[:1, 0], lambda points: [None, None]):
        with pytest.raises(InvalidArgument, match="one number or text for each point"):
            find_users(wrong, points)
    assert find_users(lambda points: ["Ada", "bob"], points).tolist() == ["Ada", "bob"]  # type: ignore[arg-type, return-value]
    learner = attrs.evolve(OF_USERS, users=forget_one)
    sample = Sample(points, [0, 1])
    with pytest.raises(InvalidArgument, match="a value is missing"):
        play(learner, CountSwap(sample=sample, learner=learner), Release(), games=2, seed=1)


def test_blank_examples_count_as_no_ones() -> None:
    received: list[int] = []

    def note(ones: int, rng: np.random.Generator) -> float:
        received.append(ones)
        return 0.0

    learner = Function(function=note, receives="ones", epsilon=1.0, neighbours="zero out one")
    play(learner, CountSwap(learner=learner), Release(), games=8, seed=1)
    assert set(received) == {0, 1}


@pytest.mark.parametrize(
    ("about", "d_in", "neighbours", "least"),
    [
        ({"metric": "SymmetricDistance()"}, 1, "add or remove one", 1),
        ({"metric": "SymmetricDistance()"}, 4, "replace a group of 2", 4),
        ({"metric": "HammingDistance()"}, 2, "replace a group of 2", 2),
        ({"metric": "SymmetricDistance()"}, 3, "add or remove a user of at most 3", 3),
    ],
)
def test_the_distance_of_a_measurement_covers_its_neighbours(
    about: dict[str, Any], d_in: int, neighbours: str, least: int
) -> None:
    learner = OpenDP(
        make=partial(Measurement, **about), d_in=d_in, receives="points", neighbours=neighbours, users=0
    )
    assert str(learner.claim.neighbours) == neighbours
    with pytest.raises(InvalidArgument, match=f"d_in must be at least {least}"):
        attrs.evolve(learner, d_in=least - 0.5).claim
    if not learner.relation.adds_or_removes:
        return
    bounded = attrs.evolve(learner, make=partial(Measurement, metric="HammingDistance()"))
    with pytest.raises(InvalidArgument, match="no d_in covers neighbours that add or remove"):
        bounded.claim


def test_the_sensitivity_of_a_mechanism_covers_its_neighbours() -> None:
    learner = Diffprivlib(
        make=partial(Mechanism, epsilon=1.0, sensitivity=2), neighbours="replace a group of 2"
    )
    assert str(learner.claim.neighbours) == "replace a group of 2"
    with pytest.raises(InvalidArgument, match="neighbours change a count by 3, which is more than"):
        attrs.evolve(learner, neighbours="replace a group of 3").claim
