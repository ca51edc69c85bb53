"""What a search draws: legal games only, within their limits; and conditions on the answers in them."""

from __future__ import annotations

import attrs
import numpy as np
import pytest
from hypothesis import HealthCheck, find, given, settings
from hypothesis import strategies as st
from support.simple_players import Copying, OnePoint

from arena import BudgetExceeded, Figure1, InvalidArgument, Learner, Sample, play
from arena.concepts import Thresholds
from arena.referees.transcript import QueryEntry
from arena.testing import check_adversary
from audits.adversary_search import Ask, Challenge, Memory, Script, Show, Special, search
from audits.adversary_search.point_strategies import counts_of, far_points_of, points_of, round_limit
from audits.adversary_search.protocols.query_scripts import queries
from audits.adversary_search.protocols.round_scripts import MAX_EXAMPLES, streams
from audits.adversary_search.script import AnswerHistory, memories_of
from audits.adversary_search.script_strategies import MAX_QUERIES, adversaries, neighbours, samples
from learners.everlasting.paper_versions import EverlastingFresh, EverlastingV1, EverlastingV2
from learners.foreign.function import Function
from learners.online.noisy_majority import NoisyMajority
from learners.pate.independent_answers import PateGaussian
from learners.pate.teacher import Teacher
from learners.predictors.vote_predictors import BetweenThresholdsPredictor, NoisyVotes, StaticErm
from learners.releases.counts import LaplaceCount
from learners.training.dp_sgd import DPSGD

SMALL_V1 = EverlastingV1(teachers=21, chunk=1, training_rate=0.5, rounds=1, answers=300)
SMALL_SGD = DPSGD(size=5, batch=2, steps=3, features=2, noise=2.0)
CASES = [
    (SMALL_V1, "Figure1"),
    (BetweenThresholdsPredictor(size=40), "Figure1"),
    (OnePoint(), "Figure1"),
    (PateGaussian(), "Voting"),
    (PateGaussian(teacher=Teacher.from_text("points:1..4"), teachers=5), "Voting"),
    (PateGaussian(teacher=Teacher.from_text("GaussianNB:3"), teachers=5), "Voting"),
    (LaplaceCount(), "Release"),
    (NoisyMajority(), "SpecialRound"),
    (Copying(), "SpecialRound"),
    (SMALL_SGD, "TrainingRun"),
    (attrs.evolve(SMALL_SGD, sampling="fixed"), "TrainingRun"),
]
few = settings(max_examples=40, derandomize=True, database=None, suppress_health_check=list(HealthCheck))


@pytest.mark.thorough
@pytest.mark.parametrize(("learner", "protocol"), CASES, ids=lambda case: getattr(case, "name", case))
@few
@given(data=st.data())
def test_adversaries_are_legal(learner: Learner, protocol: str, data: st.DataObject) -> None:
    script = data.draw(adversaries(learner, protocol))
    check_adversary(script, learner, script.referee)
    played = play(learner, script, script.referee, games=6, seed=0)
    assert played.flag.all()
    assert played.challenges <= set(learner.claim.protects)
    usual = MAX_EXAMPLES if protocol == "SpecialRound" else MAX_QUERIES
    assert script.rounds <= round_limit(learner, usual)


@pytest.mark.thorough
@pytest.mark.parametrize("learner", [SMALL_V1, LaplaceCount(), OnePoint()], ids=lambda one: one.name)
@few
@given(data=st.data())
def test_neighbours_differ_in_exactly_one_place(learner: Learner, data: st.DataObject) -> None:
    one, other = data.draw(neighbours(learner))
    assert one.differences(other) == 1


@pytest.mark.thorough
@pytest.mark.parametrize(
    "learner", [SMALL_SGD, Function(function=len, receives="points", epsilon=1.0, dimension=2, coins="own")]
)
def test_examples_of_the_data_occur_in_samples_of_the_right_size(learner: Learner) -> None:
    data = Sample([[4444.5, 2.0], [-3.0, 5.0]], [1, 0])
    sample = find(samples(learner, data), lambda sample: 4444.5 in sample.points, settings=few)
    assert learner.sample_size in (None, sample.size)
    worlds = find(neighbours(learner, data), lambda worlds: 4444.5 in worlds[1].points, settings=few)
    assert abs(worlds[0].size - worlds[1].size) <= 1


def test_data_have_points_of_the_learner() -> None:
    shape = "the points of the data must have the shape of those of laplace-count"
    with pytest.raises(InvalidArgument, match=shape):
        search(LaplaceCount(), data=Sample([[1.0, 2.0]], [0]))


@pytest.mark.thorough
@few
@given(st.data())
def test_samples_have_the_size_that_the_learner_needs(data: st.DataObject) -> None:
    assert data.draw(samples(SMALL_V1)).size == SMALL_V1.sample_size
    assert data.draw(samples(BetweenThresholdsPredictor(size=3))).size == 3
    assert isinstance(data.draw(samples(LaplaceCount())), Sample)


@pytest.mark.thorough
@few
@given(st.data())
def test_a_challenge_is_made_once(data: st.DataObject) -> None:
    assert [type(s) for s in data.draw(queries(SMALL_V1, challenge=True))].count(Challenge) == 1
    assert not any(isinstance(step, Challenge) for step in data.draw(queries(SMALL_V1)))
    stream = data.draw(streams(NoisyMajority(rounds=7)))
    assert [type(step) for step in stream].count(Special) == 1
    assert sum(step.rounds for step in stream) <= 7


@few
@given(adversaries(SMALL_V1, "Figure1", max_rounds=9))
def test_games_are_as_short_as_wished(script: Script) -> None:
    assert 1 <= script.rounds <= 9


def test_counts_are_those_of_the_program() -> None:
    counts = counts_of(SMALL_V1, 250)
    assert {7, 8, 9, 20, 21, 22} <= set(counts)
    assert max(counts) == 22  # 300 answers are too many


def test_points_lie_where_some_points_do_and_between() -> None:
    assert points_of(LaplaceCount()) == (0.0, 0.5, 1.0, 0.25, 0.75)
    assert points_of(OnePoint())[0] == (0.0, 0.0)


def total(points: np.ndarray, rng: np.random.Generator) -> float:
    return float(points.sum() + rng.laplace(scale=1.0))


def test_far_points_have_sizes_on_a_logarithmic_grid_within_the_domain() -> None:
    far = far_points_of(Function(function=total, receives="points", epsilon=1.0))
    assert {1e6, -1e6, 1e-6, 10.0, -100.0} <= set(far)
    bounded = Function(function=total, receives="points", epsilon=1.0, domain=(0.0, 100.0))
    assert set(far_points_of(bounded)) == {10.0, 1.0, 0.1, 0.001, 1e-06, np.finfo(float).tiny}
    assert set(points_of(bounded)) == {0.0, 25.0, 50.0, 75.0, 100.0}
    assert (1.0, 0.0) not in far_points_of(OnePoint())  # one of the usual ones
    assert (1e3, 1e3) in far_points_of(OnePoint())


def test_points_of_a_concept_class_stay_in_it() -> None:
    learner = StaticErm(concepts=Thresholds(range(64)))
    assert {*points_of(learner), *far_points_of(learner)} <= set(map(float, range(64)))
    assert len(far_points_of(learner)) > 20


def test_games_are_as_long_as_a_setting() -> None:
    assert round_limit(SMALL_V1, MAX_QUERIES) == 300
    assert round_limit(attrs.evolve(SMALL_V1, answers=30), MAX_QUERIES) == MAX_QUERIES
    assert round_limit(attrs.evolve(SMALL_V1, answers=10**9), MAX_QUERIES) == MAX_QUERIES


@pytest.mark.thorough
def test_samples_have_runs_and_many_points() -> None:
    runs, points = set(), set()

    @settings(few, max_examples=300)
    @given(samples(BetweenThresholdsPredictor(size=30)))
    def look(sample: Sample) -> None:
        assert sample.size == 30
        runs.add(len(sample.counts))
        points.add(len(np.unique(sample.points)))

    look()
    assert max(runs) >= 8
    assert max(points) == 30


def test_a_learner_that_protects_nothing_there_is_refused() -> None:
    with pytest.raises(
        InvalidArgument, match="protects nothing that can differ between the worlds of Release"
    ):
        adversaries(NoisyMajority(), "Release")


def test_a_learner_may_run_out_of_rounds() -> None:
    script = Script(protocol="SpecialRound", steps=(Special((0.0, 0), (0.0, 1)), Show(0.0, times=2)))
    with pytest.raises(BudgetExceeded):
        play(NoisyMajority(rounds=2), script, script.referee, games=2, seed=0)


@pytest.mark.thorough
def test_nature_asks_near_the_example_that_differs_and_as_often_as_settings_say() -> None:
    learner = PateGaussian(teachers=30, queries=7)
    near, times = [], set()

    @settings(few, max_examples=200)
    @given(adversaries(learner, "Voting"))
    def look(script: Script) -> None:
        worlds = [world for world in (script.world_0, script.world_1) if world is not None]
        one, other = (set(zip(*map(tuple, world.rows()), strict=True)) for world in worlds)
        where = {point for point, _ in one ^ other or one}
        asked = {getattr(step, name, None) for step in script.steps for name in ("point", "one")}
        near.append(bool(asked & where))
        times.update(step.rounds for step in script.steps)

    look()
    assert np.mean(near) > 0.6
    assert {6, 7, 8, 29, 30, 31} <= times


FRESH = EverlastingFresh(
    teachers=4, chunk=1, training_rate=0.1, rate=0.2, answers=2, noise=0.5, pool=10, rounds=2
)


@pytest.mark.thorough
@settings(max_examples=40)
@given(st.data())
def test_what_is_drawn_keeps_the_protocol(data: st.DataObject) -> None:
    script = data.draw(adversaries(FRESH, "Figure1", max_rounds=20))
    try:
        found = play(FRESH, script, Figure1(), games=2, seed=1)
    except BudgetExceeded:
        return  # so few points were handed over
    assert len(found.challenges) <= 1


@pytest.mark.thorough
def test_unlabelled_points_differ_in_some_and_never_before_other_learners() -> None:
    drawn: list[Script] = []

    @settings(max_examples=60, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(adversaries(FRESH, "Figure1"), adversaries(EverlastingV2(), "Figure1"))
    def collect(script: Script, other: Script) -> None:
        drawn.append(script)
        assert not other.handed

    collect()
    assert any(hand.other is not None for script in drawn for hand in script.handed)
    assert any(script.world_1 is not None and script.handed for script in drawn)


@pytest.mark.thorough
def test_a_small_search_refutes_nothing() -> None:
    assert not search(FRESH, protocol="Figure1", seed=1, error=1e-6, examples=20, pairs=32).refuted


# --- conditions on answers ----------------------------------------------------------------------------------

MEMORIES = [
    Memory("ends", "1"),
    Memory("ends", "011"),
    Memory("seen", "101"),
    Memory("seen", "0"),
    Memory("odd"),
]


def holds(memory: Memory, answers: str) -> bool:
    if memory.kind == "odd":
        return answers.count("1") % 2 == 1
    return answers.endswith(memory.pattern) if memory.kind == "ends" else memory.pattern in answers


@pytest.mark.parametrize("memory", MEMORIES, ids=lambda memory: f"{memory.kind}-{memory.pattern}")
def test_conditions_are_those_of_their_words(memory: Memory) -> None:
    answers = np.random.default_rng(np.random.SFC64(1)).random((50, 9)) < 0.5
    history = AnswerHistory(50, [memory])
    for round in range(10):
        words = ["".join("01"[int(bit)] for bit in game[:round]) for game in answers]
        assert history.holds(memory).tolist() == [holds(memory, word) for word in words]
        if round < 9:
            history.add(answers[:, round])


def test_every_game_is_challenged_once_where_its_answers_say() -> None:
    when = Memory("ends", "11")
    sample = Sample([0.0], [1], [NoisyVotes().sample_size or 3])
    steps = Challenge(0.0, 0.5, times=6, when=when), Ask(0.0, 2)
    script = Script(protocol="Figure1", world_0=sample, steps=steps)
    assert memories_of(script.steps) == [when]
    played = play(NoisyVotes(), script, script.referee, games=40, seed=0, record=True)
    assert played.flag.all()
    assert played.transcript is not None
    entries = [entry for entry in played.transcript.entries if isinstance(entry, QueryEntry)]
    withheld = np.stack(
        [np.broadcast_to(False if e.withheld is None else e.withheld, 40) for e in entries], axis=1
    )
    assert (withheld.sum(axis=1) == 1).all()
    labels = np.stack([entry.label for entry in entries], axis=1)
    for place, answers in zip(withheld.argmax(axis=1), labels, strict=True):
        before = "".join("1" if label == 1 else "0" for label in answers[:place])
        assert before.endswith("11") or place == 5
        assert "11" not in before[:-1]


def test_points_may_be_vectors() -> None:
    sample = Sample([[0.0, 1.0]], [1])
    challenge = Challenge((0.0, 1.0), (1.0, 1.0), times=2, when=Memory("seen", "1"))
    script = Script(protocol="Figure1", world_0=sample, steps=(challenge, Ask((0.0, 1.0))))
    assert play(OnePoint(), script, script.referee, games=4, seed=0).flag.all()


def test_unknown_conditions_are_refused() -> None:
    with pytest.raises(InvalidArgument, match="kind must be one of ends, seen, odd"):
        Memory("begins", "1")
