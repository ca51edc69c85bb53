"""Ensembles: how samples are divided, what neighbours share, how often teachers are trained, their votes."""

from __future__ import annotations

from collections.abc import Iterator

import attrs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adversaries.voting.repeated_queries import SmallMargin
from arena import Sample, Training, Unsupported, Voting, play
from arena.concepts import Thresholds
from audits.runs.plan import Plan
from audits.runs.run import run
from learners.pate.independent_answers import PateGaussian
from learners.pate.teacher import Minimiser, Teacher, TrainedTeacher
from learners.pate.voters import Ensemble, _train, divide_sample, train_ensemble


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


@given(samples(), st.integers(1, 8), st.integers(0, 3))
def test_parts_equal_a_plain_division(sample: Sample, size: int, split: int) -> None:
    size = min(size, sample.size)
    parts = divide_sample(sample, size, split)
    assert [rows_of(part) for part in parts] == plain_parts(sample, size, split)


@given(samples(), st.integers(1, 8))
def test_parts_are_even_disjoint_and_cover_the_sample(sample: Sample, size: int) -> None:
    size = min(size, sample.size)
    parts = divide_sample(sample, size, 0)
    assert max(part.size for part in parts) - min(part.size for part in parts) <= 1
    assert sorted(row for part in parts for row in rows_of(part)) == sorted(rows_of(sample))
    assert all(part.distinct()._merge_runs()[2].tolist() == part.counts.tolist() for part in parts)


@given(samples(), st.integers(1, 8), st.data())
def test_neighbours_share_all_parts_but_one(sample: Sample, size: int, data: st.DataObject) -> None:
    size = min(size, sample.size)
    run = data.draw(st.integers(0, len(sample.counts) - 1))
    other = sample.replace_one(run, data.draw(st.integers(0, 3)), data.draw(st.integers(0, 1)))
    pairs = zip(divide_sample(sample, size, 1), divide_sample(other, size, 1), strict=True)
    assert sum(one != two for one, two in pairs) == (sample != other)


def test_the_division_depends_only_on_the_size_and_the_seed() -> None:
    """Positions go to the same teachers for all samples; another seed or size divides them differently."""

    def divide_plainly(labels: np.ndarray, split: int) -> list[list[float]]:
        sample = Sample(np.arange(len(labels), dtype=float), labels)
        return [part.points.tolist() for part in divide_sample(sample, 5, split)]

    zeros, coins = np.zeros(20, int), np.arange(20) % 2
    assert divide_plainly(zeros, 0) == divide_plainly(coins, 0)
    assert divide_plainly(zeros, 0) != divide_plainly(zeros, 1)
    assert divide_plainly(zeros, 0) != divide_plainly(np.zeros(21, int), 0)


def test_equal_parts_are_one_object() -> None:
    parts = divide_sample(Sample([0.0, 1.0], [0, 1], [50, 50]), 100, 0)
    assert len({id(part) for part in parts}) == 2


# --- training ---------------------------------------------------------------------------------------------


@attrs.frozen
class CountingTeacher(Teacher):
    """Records the samples on which it is trained."""

    seen: list[Sample] = attrs.field(factory=list, eq=False, repr=False)
    number: int = 0

    @property
    def point_shape(self) -> tuple[int, ...]:
        return ()

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
    run(
        Plan(
            learner=learner,
            adversary=SmallMargin(learner=learner, sample=DISTINCT),
            referee=Voting(),
            epsilon=1.0,
            delta=1e-5,
            games=20_000,
        )
    )
    assert len(counting.seen) == found


def test_fewer_examples_than_teachers_are_refused() -> None:
    message = (
        r"3 teachers need at least as many examples, got 2\. Set teachers to 2 or less, or give more data\."
    )
    with pytest.raises(Unsupported, match=message):
        train_ensemble(Minimiser(Thresholds()), Sample([0.0, 1.0], [0, 1]), 3, 0)
    assert len(train_ensemble(Minimiser(Thresholds()), Sample([0.0, 1.0], [0, 1]), 2, 0).teachers) == 2


# --- votes ------------------------------------------------------------------------------------------------


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


def test_teachers_that_are_one_object_vote_several_times() -> None:
    def yes(points: np.ndarray) -> np.ndarray:
        return np.ones(len(points), bool)

    def no(points: np.ndarray) -> np.ndarray:
        return np.zeros(len(points), bool)

    assert Ensemble((yes, no, yes, yes)).ones(np.zeros(2)).tolist() == [3, 3]
