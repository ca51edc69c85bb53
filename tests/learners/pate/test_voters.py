"""Ensembles and the base of aggregators: division of samples, votes by point, halts, distributions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import attrs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.simple_players import run_audit

from adversaries.voting.repeated_queries import SmallMargin
from arena import AnswerLaw, Claim, PrivacyUnit, Sample, Training, Unsupported, Voting, play
from arena.concepts import Thresholds
from arena.testing import check_learner
from learners.pate import voters as module
from learners.pate.independent_answers import PateGaussian
from learners.pate.teacher import Minimiser, Teacher, TrainedTeacher
from learners.pate.voters import (
    VoteCounts,
    Voters,
    VotersState,
    VotingLaw,
    _train,
    divide_sample,
    train_ensemble,
)


@st.composite
def samples(draw: st.DrawFn) -> Sample:
    runs = draw(st.integers(1, 8))
    points = draw(st.lists(st.integers(0, 3), min_size=runs, max_size=runs))
    labels = draw(st.lists(st.integers(0, 1), min_size=runs, max_size=runs))
    return Sample(points, labels, draw(st.lists(st.integers(1, 9), min_size=runs, max_size=runs)))


def plain_parts(sample: Sample, size: int, split: int) -> list[list[tuple[float, int]]]:
    """The same division, one example after the other."""
    points, labels = sample.rows()
    order = np.random.default_rng([split, sample.size]).permutation(sample.size)
    parts: list[list[tuple[float, int]]] = [[] for _ in range(size)]
    for place, position in enumerate(order.tolist()):
        parts[place % size].append((float(points[position]), int(labels[position])))
    return [sorted(part) for part in parts]


def rows_of(sample: Sample) -> list[tuple[float, int]]:
    points, labels = sample.rows()
    return list(zip(points.astype(float).tolist(), labels.tolist(), strict=True))


@pytest.mark.thorough
@given(samples(), st.integers(1, 8), st.integers(0, 3))
def test_parts_equal_a_plain_division(sample: Sample, size: int, split: int) -> None:
    size = min(size, sample.size)
    parts = divide_sample(sample, size, split)
    assert [rows_of(part) for part in parts] == plain_parts(sample, size, split)


@pytest.mark.thorough
@given(samples(), st.integers(1, 8), st.data())
def test_neighbours_share_all_parts_but_one(sample: Sample, size: int, data: st.DataObject) -> None:
    size = min(size, sample.size)
    run = data.draw(st.integers(0, len(sample.counts) - 1))
    other = sample.replace_one(run, data.draw(st.integers(0, 3)), data.draw(st.integers(0, 1)))
    pairs = zip(divide_sample(sample, size, 1), divide_sample(other, size, 1), strict=True)
    assert sum(one != two for one, two in pairs) == (sample != other)


def test_equal_parts_are_one_object() -> None:
    parts = divide_sample(Sample([0.0, 1.0], [0, 1], [50, 50]), 100, 0)
    assert len({id(part) for part in parts}) == 2


# --- training ---------------------------------------------------------------------------------------------


@attrs.frozen
class CountingTeacher(Teacher):
    """Records the samples on which it is trained."""

    seen: list[Sample] = attrs.field(factory=list, eq=False, repr=False)
    number: int = 0

    point_shape = ()

    def train(self, sample: Sample) -> TrainedTeacher:
        self.seen.append(sample)
        return lambda points: np.asarray(points) >= sample.points[sample.labels == 1].min(initial=np.inf)


@pytest.fixture
def counting() -> Iterator[CountingTeacher]:
    train_ensemble.cache_clear()
    _train.cache_clear()
    yield CountingTeacher()
    train_ensemble.cache_clear()
    _train.cache_clear()


DISTINCT = Sample(np.arange(60.0), np.arange(60) % 2)


def test_two_worlds_need_one_more_teacher_than_one_world(counting: CountingTeacher) -> None:
    learner = PateGaussian(teacher=counting, teachers=10)
    two_worlds = DISTINCT, DISTINCT.replace_one(30, 5.5, 0)
    for games in (1, 2, 64):
        state = learner.start(games, np.random.default_rng(0))
        state.train(Training.of(two_worlds, np.arange(games) % 2))
        state.predict(np.full(games, 3.0))
    assert len(counting.seen) == 11


def test_an_audit_trains_each_teacher_once(counting: CountingTeacher) -> None:
    learner = PateGaussian(teacher=counting, teachers=6, queries=2)
    play(learner, SmallMargin(learner=learner, sample=DISTINCT), Voting(), games=2, seed=0)
    found = len(counting.seen)  # nature's own trials among them
    run_audit(learner, SmallMargin(sample=DISTINCT), Voting(), games=20_000)
    assert len(counting.seen) == found


def test_fewer_examples_than_teachers_are_refused() -> None:
    message = (
        r"3 teachers need at least as many examples, got 2\. Set teachers to 2 or less, or give more data\."
    )
    with pytest.raises(Unsupported, match=message):
        train_ensemble(Minimiser(Thresholds()), Sample([0.0, 1.0], [0, 1]), 3, 0)
    assert len(train_ensemble(Minimiser(Thresholds()), Sample([0.0, 1.0], [0, 1]), 2, 0).teachers) == 2


# --- votes ------------------------------------------------------------------------------------------------


@pytest.mark.thorough
@given(samples(), st.integers(1, 8))
def test_votes_are_those_of_each_teacher(sample: Sample, size: int) -> None:
    size = min(size, sample.size)
    ensemble = train_ensemble(Minimiser(Thresholds()), sample, size, 0)
    points = np.array([-1.0, 0.0, 1.5, 3.0])
    votes = ensemble.votes(points)
    assert votes.shape == (size, 4)
    for vote, part in zip(votes, divide_sample(sample, size, 0), strict=True):
        points_of, labels = part.rows()
        threshold = Thresholds().erm(points_of, labels)
        assert vote.tolist() == (points >= threshold).tolist()
    assert ensemble.ones(points).tolist() == votes.sum(axis=0).tolist()


class ShownState(VotersState):
    """Answers with the majority of the teachers, without noise."""

    def _answer(self, ones: np.ndarray) -> np.ndarray:
        return 2 * ones >= self._spec.teachers


class ShownLaw(VotingLaw):
    def _step_by_votes(self, measure: np.ndarray, ones: np.ndarray) -> np.ndarray:
        one = (2 * ones >= self._spec.teachers).astype(float)
        return np.stack([1 - one, one])[:, :, None] * measure


@attrs.frozen
class Shown(Voters):
    """The majority without noise, a minimal aggregator."""

    name = "shown"
    theorem = "none"
    common_random_numbers = True

    claim = Claim(epsilon=np.inf, delta=0, protects=(PrivacyUnit.TRAINING_EXAMPLE,))

    def law(self, sample: Sample) -> AnswerLaw:
        return ShownLaw(self, sample)

    def start(self, games: int, rng: np.random.Generator) -> ShownState:
        return ShownState(self, games)


PLANE = Teacher.from_text("rectangles:4x4")
LINE = Sample([0.0, 1.0, 2.0, 3.0], [1, 1, 1, 1], [3, 2, 2, 2])
OTHER = LINE.replace_one(0, 2.5, 1)


def running(games: int, spec: Voters | None = None, samples: tuple[Sample, ...] = (LINE, OTHER)) -> Any:
    state = (spec or Shown(teachers=9)).start(games, np.random.default_rng(0))
    state.train(Training.of(samples, np.arange(games) % len(samples)))
    return state


@pytest.mark.thorough
@pytest.mark.parametrize(
    "teacher", ["thresholds", "thresholds:1..8", "rectangles:4x4", "DecisionTreeClassifier:3"]
)
def test_an_aggregator_of_a_few_lines_conforms(teacher: str) -> None:
    check_learner(Shown(teacher=Teacher.from_text(teacher), teachers=5, queries=20), games=200)


# --- halts --------------------------------------------------------------------------------------------------


def test_all_games_halt_after_the_last_answer() -> None:
    state = running(4, Shown(teachers=9, queries=3))
    for number in range(3):
        assert not state.halted.any()
        assert state.predict(np.full(4, 3.0)).all(), number
    assert state.halted.all()
    assert not state.predict(np.full(4, 3.0)).any()


# --- votes --------------------------------------------------------------------------------------------------


def plain_ones(samples: Sequence[Sample], which: np.ndarray, x: np.ndarray) -> list[int]:
    """The votes in each game, one teacher after the other."""
    found = []
    for game, point in enumerate(x):
        ensemble = train_ensemble(Minimiser(Thresholds()), samples[which[game]], 9, 0)
        found.append(sum(bool(teacher(np.array([point]))[0]) for teacher in ensemble.teachers))
    return found


@pytest.mark.thorough
@settings(max_examples=50)
@given(
    st.lists(
        st.lists(st.sampled_from([-1.0, -0.0, 0.0, 1.0, 2.0, 2.5, 7.0]), min_size=6, max_size=6), max_size=5
    ),
    st.integers(1, 4),
)
def test_votes_are_those_of_the_games_own_point_and_sample(rounds: list[list[float]], most: int) -> None:
    """For all earlier queries, and all sizes of the cache."""
    which = np.arange(6) % 2
    training = Training.of((LINE, OTHER), which)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_CACHED_POINTS", most)
        state = running(6)
        for x in rounds:
            assert state.ones(np.array(x)).tolist() == plain_ones(
                training.samples, training.which, np.array(x)
            )
            one = np.broadcast_to(np.array(x[0]), (6,))
            assert state.ones(one).tolist() == plain_ones(training.samples, training.which, one)


def test_votes_of_vectors_are_those_of_their_points() -> None:
    sample = Sample([(0.0, 1.0), (2.0, 2.0), (1.0, 3.0), (3.0, 3.0)], [1, 0, 1, 1], [2] * 4)
    state = running(16, Shown(teacher=PLANE, teachers=4), (sample,))
    x = np.array([(a, b) for a in range(4) for b in range(4)], float)
    ensemble = train_ensemble(PLANE, sample, 4, 0)
    assert state.ones(x).tolist() == ensemble.ones(x).tolist()
    assert state.ones(x[::-1].copy()).tolist() == ensemble.ones(x)[::-1].tolist()
    assert (state.votes(x[3]) == ensemble.ones(x)[3] / 4).all()


def test_prepared_points_are_not_counted_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_CACHED_POINTS", 1)
    asked: list[int] = []

    class Watched:
        def ones(self, points: np.ndarray) -> np.ndarray:
            asked.append(len(points))
            return points.astype(int)

    counts = VoteCounts([Watched()])  # type: ignore[list-item]
    counts.prepare(np.arange(5.0))
    for point in (3.0, 0.0, 4.0, 9.0, 3.0):
        assert counts.ones(np.array([point]), 0).tolist() == [int(point)]
    assert asked == [5, 1]


# --- distributions ------------------------------------------------------------------------------------------


def test_a_distribution_steps_by_the_votes_at_each_game_s_point() -> None:
    law = Shown(teachers=9).law(LINE)
    assert law.last == 100
    x = np.array([3.0, -1.0, 3.0, 0.0])
    measure = np.array([[0.5], [1.0], [0.25], [1.0]])
    after = law.step(measure, x)
    ones = train_ensemble(Minimiser(Thresholds()), LINE, 9, 0).ones(x)
    assert after[1, :, 0].tolist() == np.where(2 * ones >= 9, measure[:, 0], 0).tolist()
    assert after.sum(axis=0).tolist() == measure.tolist()
    alike = law.step(measure, np.broadcast_to(np.array(3.0), (4,)))
    assert alike[1].tolist() == measure.tolist()
