"""The race for games: who goes on, how long a search lasts, and what it is told first."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import pytest
from hypothesis import strategies as st
from support.simple_players import HalfTheNoise

import audits
from arena import Claim, PrivacyUnit, Sample
from arena.claims import Neighbours, Relation, read_relation
from arena.records import Records
from audits.adversary_search import Script, SearchTarget
from audits.adversary_search.evidence import Evidence
from audits.adversary_search.race import Race
from audits.adversary_search.records.obvious_records import list_obvious
from audits.adversary_search.records.size_boundaries import find_boundaries
from audits.adversary_search.records.vector_pairs import list_vector_pairs
from audits.data.schemas import find_schema
from audits.runs.limits import Limits
from learners.releases.counts import LaplaceCount

CLAIM = Claim(epsilon=1, delta=0, protects=(PrivacyUnit.TRAINING_EXAMPLE,))


def count_of(size: int) -> Script:
    sample = Sample([0.0], [0], [size])
    return Script(protocol="Release", world_0=sample, world_1=sample.replace_one(0, 0.0, 1))


def evidence_of(z: float) -> Evidence:
    return Evidence(nats=0.0, z=z, score=None, games=32, faults=False)


def race_of(learner: Any, **changes: Any) -> Race:
    return Race(SearchTarget(learner=learner, claim=CLAIM, pairs=64, seed=0), Limits(), **changes)


def test_the_best_of_a_level_goes_on_and_a_clear_leak_wins() -> None:
    race = race_of(HalfTheNoise())
    race.enter({count_of(size): evidence_of(z=size / 10) for size in range(2, 12)})
    race.run(100_000)
    assert race.winner is not None
    script, evidence = race.winner
    assert script == count_of(11)
    assert evidence.nats >= 6
    assert race.games >= evidence.games


def test_a_race_without_a_leak_ends_when_nobody_may_go_on() -> None:
    race = race_of(LaplaceCount())
    race.enter({count_of(size): evidence_of(z=1.0) for size in range(2, 12)})
    race.run(10_000_000)
    assert race.winner is None
    assert 0 < race.games < 10_000_000
    assert [rung.adversaries for rung in race.rungs] == sorted(
        (rung.adversaries for rung in race.rungs), reverse=True
    )


def test_favourites_go_on_whatever_they_have_shown() -> None:
    race = race_of(LaplaceCount())
    scripts = [count_of(size) for size in range(2, 6)]
    race.enter({script: evidence_of(z=-1.0) for script in scripts}, favourites=scripts[:3])
    race.run(100_000)
    assert race.rungs[0].adversaries == 3


def test_a_favourite_plays_many_games_once_a_search_is_long() -> None:
    race = race_of(LaplaceCount())
    explored = {count_of(size): attrs.evolve(evidence_of(z=-1.0), games=5_000) for size in range(2, 6)}
    race.enter(explored, favourites=[count_of(2), count_of(3)])
    race.run(100_000)
    assert race.rungs[-1].pairs >= 1_024
    assert race.rungs[-1].adversaries == 1


@pytest.mark.slow
def test_a_learning_rate_that_falls_with_the_true_loss_is_refuted() -> None:
    def descend(data: list[float], rng: np.random.Generator) -> list[float]:
        x = np.clip(np.asarray(data, float), -1, 1)
        weight, rate, least, weights = 0.0, 0.5, np.inf, []
        for _ in range(20):
            gradient = float(np.sum(np.clip(weight - x, -1, 1)))
            weight -= rate * (gradient + rng.laplace(scale=20))
            weights.append(weight)
            loss = float(np.sum((weight - x) ** 2))
            rate /= 2 if loss >= least else 1
            least = min(least, loss)
        return weights

    data = audits.records(st.floats(-1, 1))
    given: dict[str, Any] = {"data": data, "epsilon": 1.0, "neighbours": "add or remove one"}
    assert audits.search(descend, max_calls=60_000, **given).refuted


def test_anyone_goes_on_while_the_race_has_cost_less_than_the_games_before_it() -> None:
    race = race_of(LaplaceCount())
    race.enter({count_of(size): evidence_of(z=-1.0) for size in range(2, 26)})
    race.run(100_000)
    assert 24 * 32 <= race.games < 100_000


@pytest.mark.parametrize(("max_calls", "games"), [(1_000, 0), (3_000, 256), (100_000, 1_024)])
def test_an_effect_is_confirmed_while_the_calls_suffice(max_calls: int, games: int) -> None:
    claim = attrs.evolve(CLAIM, epsilon=0.6)
    with Limits(max_calls) as limits:
        race = Race(SearchTarget(learner=LaplaceCount(), claim=claim, pairs=64, seed=2), limits)
        race.enter({count_of(2): evidence_of(z=1.0)})
        race.run(100_000)
    assert (race.winner[1].games if race.winner else 0) == games


@pytest.mark.thorough
def test_a_search_with_a_limit_goes_on_until_it() -> None:
    def noisy_sum(points: np.ndarray, rng: np.random.Generator) -> float:
        return float(points.clip(0, 1).sum() + rng.laplace())

    data = audits.records(st.floats(0, 1), pack=np.array)
    result = audits.search(noisy_sum, data=data, neighbours="add or remove one", epsilon=1.0, max_calls=6_000)
    assert not result.refuted
    assert result.stopped == "max_calls"
    assert result.detectable is not None


@pytest.mark.thorough
@pytest.mark.parametrize("metric", ["l1", "l2", "linf"])
def test_patterns_change_vectors_by_the_whole_distance(metric: str) -> None:
    schema = find_schema(audits.vector(5, metric=metric))
    assert schema.relation is not None
    pairs = list(list_vector_pairs(schema, schema.relation))
    norms = {"l1": 1, "l2": 2, "linf": np.inf}
    changes = {tuple(np.sign(np.subtract(b.records[0], a.records[0]))) for a, b in pairs}
    assert {(1,) * 5, (1, 0, 0, 0, 0), (1, -1, -1, -1, -1), (-1, -1, 1, 1, 1)} <= changes
    for first, second in pairs:
        change = np.subtract(second.records[0], first.records[0])
        assert np.linalg.norm(change, norms[metric]) == pytest.approx(1.0)
        assert schema.relation.count_changes(first, second, len) == 1


def test_entries_of_vectors_are_values_of_the_schema() -> None:
    schema = find_schema(audits.vector(3, metric="l1", values=st.integers(0, 40_000)))
    assert schema.relation is not None
    vectors = {world.records[0] for pair in list_vector_pairs(schema, schema.relation) for world in pair}
    assert all(entry == int(entry) and 0 <= entry <= 40_000 for vector in vectors for entry in vector)
    assert (1.0, 40_000.0, 0.0) in vectors


def test_users_are_many_and_one_has_all_that_it_may() -> None:
    schema = find_schema(audits.table(x=st.floats(0, 1), user=st.integers(0, 99)))
    relation = read_relation("add or remove a user of at most 5")
    pairs = [sorted(two, key=lambda world: world.size) for two in list_obvious(schema, relation)]
    assert {longer.size - shorter.size for shorter, longer in pairs} == {5}
    others = [len(set(schema.users_of(shorter.rows()).tolist())) for shorter, _ in pairs if shorter.size]
    assert max(others) >= 12
    assert min(others) == 1


def test_the_size_at_which_a_mechanism_fails_is_found() -> None:
    schema = find_schema(audits.records(st.integers(0, 9), pack=list))
    relation = Relation(Neighbours.ADD_OR_REMOVE_ONE)
    pairs = list(find_boundaries(schema, relation, lambda records: (records.size > 1_491, {})))
    assert {(first.size, second.size) for first, second in pairs} >= {(1_491, 1_492)}


def test_the_size_is_found_at_which_a_number_jumps() -> None:
    schema = find_schema(audits.records(st.integers(0, 9), pack=list))
    numbers = {"sum": lambda size: float(size), "rounded": lambda size: 150.0 * round(size / 150)}

    def find_release(records: Records) -> tuple[str, dict[str, np.ndarray]]:
        return "", {name: np.full(2, compute(records.size)) for name, compute in numbers.items()}

    pairs = list(find_boundaries(schema, Relation(Neighbours.ADD_OR_REMOVE_ONE), find_release))
    assert {(first.size, second.size) for first, second in pairs} >= {(75, 76)}
    del numbers["rounded"]
    assert not list(find_boundaries(schema, Relation(Neighbours.ADD_OR_REMOVE_ONE), find_release))


def test_the_size_is_found_at_which_a_counter_wraps_around() -> None:
    schema = find_schema(audits.records(st.integers(0, 9), pack=list))

    def find_release(records: Records) -> tuple[str, dict[str, np.ndarray]]:
        return "", {"count": np.full(2, float(records.size % 256))}

    pairs = list(find_boundaries(schema, Relation(Neighbours.ADD_OR_REMOVE_ONE), find_release))
    assert {(first.size, second.size) for first, second in pairs} >= {(255, 256)}


def test_a_release_with_an_entry_for_each_record_has_no_boundaries() -> None:
    schema = find_schema(audits.records(st.integers(0, 9), pack=list))
    looked: list[int] = []

    def find_release(records: Records) -> tuple[int, dict[str, np.ndarray]]:
        looked.append(records.size)
        return records.size, {}

    assert not list(find_boundaries(schema, Relation(Neighbours.ADD_OR_REMOVE_ONE), find_release))
    assert max(looked) <= 16


@pytest.mark.thorough
def test_vectors_at_which_a_type_overflows_are_found() -> None:
    def add_small_numbers(answers: np.ndarray, rng: np.random.Generator) -> list[float]:
        total = (int(answers.sum()) + 2**15) % 2**16 - 2**15
        return [answers[0] + rng.laplace(scale=2), total + rng.laplace(scale=2)]

    data = audits.vector(2, metric="l1", values=st.integers(0, 40_000))
    assert audits.search(add_small_numbers, data=data, epsilon=1.0, max_calls=20_000).refuted


@pytest.mark.thorough
@pytest.mark.parametrize("bits", [False, pytest.param(True, marks=pytest.mark.thorough)])
def test_floating_point_counts_if_it_is_asked_for(bits: bool) -> None:
    def noisy_sum(points: np.ndarray, rng: np.random.Generator) -> float:
        return float(points.clip(0, 1).sum() + rng.laplace())

    data = audits.records(st.floats(0, 1), pack=np.array)
    given: dict[str, Any] = {"data": data, "neighbours": "add or remove one", "epsilon": 1.0, "bits": bits}
    result = audits.search(noisy_sum, max_calls=20_000 if bits else 3_000, **given)
    assert result.refuted == bits
    if bits:
        assert "the last bit of the number" in result.summary()
