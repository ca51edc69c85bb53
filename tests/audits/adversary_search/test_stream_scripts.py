"""Searches of streams: what they draw, what they find of users' classes, and what they leave alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.flawed.streams import CASES, StreamCase

import audits
from arena import REFEREES, Arrive, Learner, NothingTested, Published, play
from arena.records import BLANK_RECORD, Records
from arena.released.encoding import LEAST, encode_values
from audits.adversary_search.protocols.clipped_sum import list_clipped_sums
from audits.adversary_search.protocols.stream_scripts import make_kit
from audits.adversary_search.protocols.stream_steps import (
    Arrivals,
    Differ,
    React,
    SteeredScript,
    SwapScore,
    read_number,
)
from audits.adversary_search.script import SPACES, Script
from audits.adversary_search.script_strategies import adversaries
from audits.api.user_data import read_data
from audits.distinguishers.view_features import ViewCounts, ViewFeatures
from audits.registry.players import configure_learner
from learners.streams.linear import LinearStream

USERS = st.tuples(st.integers(1, 3), st.integers(0, 1))


class Listing:
    """Publishes every record, without noise."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng

    def update(self, record: Any) -> Any:
        return record


class Short(Listing):
    """Raises from the fifth round on."""

    rounds = 0

    def update(self, record: Any) -> float:
        self.rounds += 1
        return [0.0, 1.0, 2.0, 3.0][self.rounds - 1]


class Lottery(Listing):
    """Announces one round before which records it publishes: at δ = 0.1 it is private for fixed streams,
    and for no others."""

    def __init__(self, rng: np.random.Generator) -> None:
        super().__init__(rng)
        self.next = rng.random() < 0.1

    def update(self, record: int) -> tuple[int, bool]:
        now, self.next = self.next, self.rng.random() < 0.1
        return (record if now else -1), self.next


def configure(make: Any, data: Any, **given: Any) -> Learner:
    asked = read_data(audits.stream(make), data, None, {"learner": given, "adversary": {}})[1]
    return configure_learner(audits.stream(make), asked["learner"])


LEARNERS = [
    configure(Listing, st.integers(0, 5)),
    configure(Listing, st.integers(0, 5), neighbours="replace a group of 3"),
    configure(Listing, audits.records(st.integers(0, 5), blank=0), neighbours="zero out one"),
    configure(
        Listing, audits.records(st.integers(0, 5), blank=0, max_size=4), neighbours="add or remove one"
    ),
    configure(
        Listing, audits.records(USERS, blank=(0, 0), user=0), neighbours="add or remove a user of at most 2"
    ),
    LinearStream(rounds=6),
    LinearStream(rounds=6, neighbours="zero out one"),
    LinearStream(rounds=6, neighbours="replace a group of 2"),
]


@pytest.mark.thorough
@pytest.mark.parametrize("protocol", ["Stream", "FixedStream"])
@pytest.mark.parametrize("learner", LEARNERS, ids=str)
def test_what_is_drawn_is_legal_and_the_worlds_differ(learner: Learner, protocol: str) -> None:
    @settings(
        max_examples=60,
        derandomize=True,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(adversaries(learner, protocol))
    def check(script: Script) -> None:
        played = play(learner, script, REFEREES[protocol](), games=4, seed=1)
        assert played.flag.any()
        assert script.protocol == protocol

    check()
    for script in SPACES[protocol].obvious(learner, protocol):
        assert play(learner, script, REFEREES[protocol](), games=2, seed=1).flag.all()


def test_obvious_streams_differ_at_several_places() -> None:
    scripts = list(SPACES["Stream"].obvious(LEARNERS[0], "Stream"))
    assert 12 <= len(scripts) <= 24
    assert {script.rounds for script in scripts} >= {2, 8}


def test_a_learner_that_raises_after_some_rounds_gets_shorter_streams() -> None:
    assert make_kit(configure(Short, st.integers(0, 1)), 20).usual == 4
    assert make_kit(LEARNERS[0], 20).usual == 20


def test_simpler_streams_are_shorter_and_differ_in_the_same_records() -> None:
    pair = Records([0, 0, 1, 0, 0, 0]), Records([0, 0, 5, 0, 0, 0])
    simpler = list(
        SPACES["Stream"].simplify(LEARNERS[0], Script(protocol="Stream", steps=(Arrivals(*pair),)))
    )
    assert simpler[0].steps[0].world_1.rows() == [0, 0, 5]  # type: ignore[attr-defined]
    assert all(script.rounds < 6 for script in simpler)


def test_records_and_the_difference_follow_what_was_published() -> None:
    learner = configure(Listing, st.integers(0, 5))
    steps = (
        Arrivals(Records([3])),
        React(Records([5]), Records([1]), cut=2.0),
        Differ(Records([0]), Records([4]), times=3, cut=2.0),
    )
    script = SteeredScript(protocol="Stream", steps=steps, score=SwapScore())
    played = play(learner, script, REFEREES["Stream"](), games=4, seed=1, record=True)
    releases = [release.tolist() for reply in played.replies for release in reply.releases]
    assert releases[:2] == [[3.0] * 4, [5.0] * 4]
    assert releases[2] == (4.0 * played.worlds).tolist()  # the first round after a release above 2
    assert releases[3:] == [[0.0] * 4, [0.0] * 4]
    assert played.score is not None
    assert played.score.tolist() == (4.0 * played.worlds).tolist()


def test_blank_rounds_are_drawn_for_a_user_who_is_missing() -> None:
    learner = LEARNERS[4]
    found: list[Records] = []

    @settings(
        max_examples=20,
        derandomize=True,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(adversaries(learner, "FixedStream"))
    def collect(script: Script) -> None:
        step = script.steps[0]
        assert isinstance(step, Arrivals)
        found.extend([step.world_0, step.world_1])  # type: ignore[list-item]

    collect()
    assert any(BLANK_RECORD in records.rows() for records in found)
    assert isinstance(Arrive(found[0]).records, Records)


def test_a_clipped_sum_of_independent_laplace_noise_is_about_the_likelihood_ratio() -> None:
    rng = np.random.default_rng(0)
    noise = rng.laplace(size=(4_000, 3))
    shift = np.array([1.0, 0.0, 0.5])
    names = tuple(f"value[{t}]" for t in range(3))
    views = ViewCounts.of(ViewFeatures(noise, names), ViewFeatures(noise + shift, names))
    best = [score for score in list_clipped_sums(views) if not score.differences][-1]
    assert best.rounds == (0, 2)
    ratio = (np.abs(views.rows) - np.abs(views.rows - shift)).sum(axis=1)
    assert np.corrcoef(best.column(views), ratio)[0, 1] > 0.99


def test_a_class_that_cannot_be_made_is_a_failure_of_the_learner() -> None:
    class Broken(Listing):
        def __init__(self, rng: np.random.Generator) -> None:
            raise RuntimeError("no counter")

    with pytest.raises(NothingTested, match="learner Broken raised RuntimeError: no counter"):
        audits.search(audits.stream(Broken), data=st.integers(0, 1), epsilon=1.0)


@pytest.mark.parametrize("others", [[], [[1.0, 2.0, 3.0], None], [[]]])
def test_a_number_of_a_release_is_the_same_whatever_other_games_release(others: list[Any]) -> None:
    released = [[], [4.0], [5.0, 6.0], ["yes"], 7.0]

    def read(place: int) -> list[float]:
        values = encode_values([*released, *others])
        return read_number(Published((values,)), place).tolist()[: len(released)]

    large = pytest.approx(LEAST)
    assert read(-1) == [0.0, 4.0, 6.0, large, 7.0]
    assert read(0) == [0.0, 4.0, 5.0, large, 7.0]
    assert read_number(Published((encode_values([[], []]),)), -1).tolist() == [0.0, 0.0]


LONG_SEARCHES = ("Popular", "Levels")


def search(make: Any, case: StreamCase, **settings: Any) -> Any:
    claim = {"epsilon": case.epsilon, "neighbours": case.neighbours}
    return audits.search(audits.stream(make), data=case.records, **claim, **settings)


@pytest.mark.parametrize(
    ("name", "seed"),
    [
        pytest.param(
            name, seed, marks=pytest.mark.slow if seed or name in LONG_SEARCHES else pytest.mark.thorough
        )
        for seed in range(3)
        for name in CASES
    ],
)
def test_flawed_streams_of_users_are_refuted(name: str, seed: int) -> None:
    found = search(CASES[name].flawed, CASES[name], seed=seed)
    assert found.refuted
    assert "Arrivals" in found.source


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_their_twins_are_not(name: str) -> None:
    assert not search(CASES[name].twin, CASES[name], examples=60).refuted


@pytest.mark.thorough
def test_a_class_that_is_private_for_fixed_streams_only_is_refuted_by_steering() -> None:
    claim: dict[str, Any] = {"data": st.integers(0, 1), "epsilon": 0.1, "delta": 0.11}
    assert audits.search(audits.stream(Lottery), **claim).refuted
    fixed = audits.search(audits.stream(Lottery, fixed=True), **claim, examples=100)
    assert not fixed.refuted
