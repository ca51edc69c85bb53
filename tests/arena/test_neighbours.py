"""Neighbouring relations: what the referee accepts, what adversaries draw, and what claims imply."""

from __future__ import annotations

from math import exp, inf

import attrs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.simple_players import script

from adversaries.common.training_samples import change_example
from adversaries.release.point_swap import CountSwap
from arena import (
    BLANK,
    Claim,
    InvalidArgument,
    Neighbours,
    PrivacyUnit,
    ProtocolViolation,
    Relation,
    Release,
    Sample,
    Train,
    Unsupported,
    play,
)
from arena.claims import choose_claim, read_relation
from arena.privacy_curves import GaussianCurve, PureCurve
from audits.adversary_search.script_strategies import neighbours
from learners.releases.counts import LaplaceCount

RELATIONS = [
    Relation(Neighbours.REPLACE_ONE),
    Relation(Neighbours.ADD_OR_REMOVE_ONE),
    Relation(Neighbours.ZERO_OUT_ONE),
    Relation(Neighbours.REPLACE_GROUP, 3),
    Relation(Neighbours.ADD_OR_REMOVE_USER, 2),
]
rows = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1)), min_size=1, max_size=6)


@attrs.frozen
class CountOfUsers(LaplaceCount):
    """laplace-count of data in which an example's point is the number of its user."""

    name = "count-of-users"

    def users_of(self, points: np.ndarray) -> np.ndarray:
        return points


def make_sample(examples: list[tuple[float, int]]) -> Sample:
    points, labels = zip(*examples, strict=True)
    return Sample(points, labels)


def users_of(points: np.ndarray) -> np.ndarray:
    return points


def is_without_one(longer: list, shorter: list) -> bool:
    return any(longer[:i] + longer[i + 1 :] == shorter for i in range(len(longer)))


def is_without_user(longer: list, shorter: list) -> bool:
    return any(
        [row for row in longer if row[0] != user] == shorter and sum(row[0] == user for row in longer) <= 2
        for user in {row[0] for row in longer}
    )


@pytest.mark.thorough
@given(first=rows, second=rows, data=st.data())
def test_neighbours_are_those_of_the_definitions(first: list, second: list, data: st.DataObject) -> None:
    """Against plain lists. Half of the pairs are made to be close."""
    if data.draw(st.booleans()):
        second = list(first)
        for _ in range(data.draw(st.integers(0, 2))):
            place = data.draw(st.integers(0, len(second) - 1))
            second[place : place + 1] = data.draw(st.lists(st.sampled_from([(0, 0), (1, 1)]), max_size=2))
            second = second or [(2, 1)]
    places = sum(a != b for a, b in zip(first, second, strict=False))
    even = len(first) == len(second)
    expected = {
        Neighbours.REPLACE_ONE: even and places == 1,
        Neighbours.ADD_OR_REMOVE_ONE: is_without_one(first, second) or is_without_one(second, first),
        Neighbours.ZERO_OUT_ONE: False,  # no example is blank
        Neighbours.REPLACE_GROUP: even and 1 <= places <= 3,
        Neighbours.ADD_OR_REMOVE_USER: is_without_user(first, second) or is_without_user(second, first),
    }
    a, b = make_sample(first), make_sample(second)
    for relation in RELATIONS:
        changes = relation.count_changes(a, b, users_of)
        assert (1 <= changes <= relation.size) == expected[relation.kind], relation
        assert (changes == 0) == (first == second)
        assert relation.count_changes(b, a, users_of) == changes


@pytest.mark.thorough
@pytest.mark.parametrize("relation", RELATIONS, ids=str)
def test_adversaries_and_the_search_draw_neighbours_of_the_claim(relation: Relation) -> None:
    learner = CountOfUsers(neighbours=str(relation))
    sample = Sample([0.0, 1.0, 2.0], [0, 1, 0], [4, 1, 2])
    for run in range(3):
        first, second = change_example(sample, run, (7.0, 0), (7.0, 1), learner)
        assert 1 <= relation.count_changes(first, second, users_of) <= relation.size
    played = play(learner, CountSwap(sample=sample, learner=learner), Release(), games=4, seed=1)
    assert played.flag.all()

    @given(neighbours(learner))
    def check(pair: tuple[Sample, Sample]) -> None:
        assert 0 <= relation.count_changes(*pair, users_of) <= relation.size

    check()


@pytest.mark.parametrize("relation", RELATIONS, ids=str)
def test_the_referee_refuses_other_samples(relation: Relation) -> None:
    learner = CountOfUsers(neighbours=str(relation))
    sample = Sample([0.0, 1.0, 2.0], [0, 1, 0], [4, 3, 4])
    with pytest.raises(ProtocolViolation) as caught:
        play(learner, script(Train(sample, Sample([5.0], [1], [6]))), Release(), games=2, seed=1)
    assert caught.value.player == "adversary scripted"


def test_blank_examples_are_for_games_that_zero_out_one() -> None:
    sample = Sample([0.0, 1.0], [0, 1], [4, 1])
    blank = sample.blank_one(1)
    assert blank.labels.tolist() == [0, BLANK]
    with pytest.raises(ProtocolViolation, match="blank examples only where neighbours zero out one"):
        play(LaplaceCount(), script(Train(blank)), Release(), games=2, seed=1)
    learner = LaplaceCount(neighbours="zero out one")
    assert play(learner, script(Train(sample, blank)), Release(), games=2, seed=1).flag.all()
    with pytest.raises(InvalidArgument, match="-1 marks a blank example"):
        Sample([1.0, 2.0], [-1, 1])


def test_relations_are_read_from_texts() -> None:
    for relation in RELATIONS:
        assert read_relation(str(relation)) == read_relation(str(relation).replace(" ", "-")) == relation
    for wrong in ("replace", "replace a group of 0", "replace a group of K", "", None, 3):
        with pytest.raises(InvalidArgument):
            read_relation(wrong)
    with pytest.raises(InvalidArgument, match="has no size"):
        Relation(Neighbours.REPLACE_ONE, 2)


def claim(epsilon: float, delta: float, neighbours: str) -> Claim:
    protects = (PrivacyUnit.TRAINING_EXAMPLE,)
    return Claim(epsilon=epsilon, delta=delta, protects=protects, neighbours=neighbours)


def test_claims_convert_by_group_privacy() -> None:
    added = claim(0.5, 1e-6, "add or remove one")
    replaced = added.convert("replace one")
    assert replaced.epsilon == 1
    assert replaced.delta == pytest.approx(1e-6 * (1 + exp(0.5)))
    assert added.convert("add or remove a user of at most 3").epsilon == 1.5
    assert claim(0.5, 0, "replace a group of 2").convert("replace a group of 5").epsilon == 1.5
    assert claim(0.5, 0, "replace a group of 2").convert("replace one").epsilon == 0.5
    assert added.convert("add or remove one") == added
    for source, target in (("replace one", "add or remove one"), ("zero out one", "add or remove one")):
        with pytest.raises(Unsupported, match="says nothing about"):
            claim(1, 0, source).convert(target)
    assert choose_claim([claim(1, 0, "replace one"), added], "replace one").epsilon == 1
    assert choose_claim([claim(0.4, 0, "replace one"), added], "replace one").epsilon == 0.4
    assert claim(800, 1e-300, "replace one").convert("replace a group of 9").delta == 1
    assert claim(0, 1e-6, "replace one").convert("replace a group of 3").delta == pytest.approx(3e-6)
    assert claim(1e-9, 0, "replace one").convert("replace a group of 999999999").epsilon < 1


def test_claims_with_a_curve_convert_at_their_delta() -> None:
    curve = GaussianCurve(0.5)
    added = attrs.evolve(claim(curve.epsilon(1e-6), 1e-6, "add or remove one"), curve=curve)
    replaced = added.convert("replace one")
    assert replaced.curve == GaussianCurve(1.0)
    assert (replaced.epsilon, replaced.delta) == (GaussianCurve(1.0).epsilon(1e-6), 1e-6)
    assert added.convert("replace one", 1e-3).epsilon == GaussianCurve(1.0).epsilon(1e-3)
    assert added.convert("add or remove one", 1e-3).epsilon == curve.epsilon(1e-3)
    pure = attrs.evolve(claim(0.5, 0, "replace one"), curve=PureCurve(0.5))
    assert pure.convert("replace a group of 4").epsilon == 2
    nothing = claim(inf, 1e-6, "add or remove one").convert("replace one")
    assert nothing.empty


def test_the_claim_for_the_relation_itself_is_chosen() -> None:
    """Even if another one implies a smaller ε, at a larger δ; conversions are compared at one δ."""
    own = claim(8.0, 1e-5, "replace one")
    added = attrs.evolve(claim(3.0, 1e-5, "add or remove one"), curve=GaussianCurve(0.6))
    assert choose_claim([added, own], "replace one") == own
    assert choose_claim([added, own], "replace one", 1e-5) == own
    group = choose_claim([claim(1.0, 1e-7, "replace one"), added], "replace a group of 2", 1e-5)
    assert (group.epsilon, group.delta) == (2, pytest.approx(1e-7 * (1 + exp(1))))
    assert choose_claim([own, added], "replace a group of 2").delta == 1e-5
    with pytest.raises(Unsupported, match="implies no ε for 'replace a group of 2' at so small a δ"):
        choose_claim([own], "replace a group of 2", 1e-5)


@pytest.mark.parametrize("relation", RELATIONS, ids=str)
def test_claims_of_counts_are_exact_for_each_relation(relation: Relation) -> None:
    """The group's examples change in label, and the user has two examples: the loss is the converted ε."""
    learner = CountOfUsers(epsilon=0.5, neighbours=str(relation))
    sample = Sample([0.0, 1.0], [0, 1], [4, 2])
    worlds = change_example(sample, 0, (7.0, 0), (7.0, 1), learner)
    assert learner.claim.epsilon == 0.5 * relation.size
    laws = [learner.law(world) for world in worlds]
    outputs = np.linspace(-30, 30, 601)
    assert np.abs(laws[0].log(outputs) - laws[1].log(outputs)).max() == pytest.approx(learner.claim.epsilon)
