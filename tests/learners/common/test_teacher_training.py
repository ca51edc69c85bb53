"""The training step: both routes against the exact law, by enumeration of small samples."""

from __future__ import annotations

from collections import Counter
from itertools import permutations

import numpy as np
import pytest
from support.statistical import check_counts, expect_rejection, statistical

from arena import Sample, Training
from arena.concepts import Thresholds
from learners.common import teacher_training as module
from learners.common.teacher_training import train_teachers
from learners.common.teacher_votes import TeacherEnsembles

RATE = 1e-8
GAMES = 200_000
ROUTES = ("compositions", "rows")

# Three distinct examples, six of eight used: the draws are far from independent.
SAMPLE = Sample([0.0, 1.0, 1.0], [0, 0, 1], [2, 3, 3])


def one_sample(sample: Sample, games: int) -> Training:
    return Training.of((sample,), np.zeros(games, np.intp))


def exact_law(sample: Sample, teachers: int, chunk: int) -> tuple[list[tuple[int, ...]], list[float]]:
    """Votes at 0.5 and at 1, and how often S_1 holds each example: every outcome with its probability."""
    points, labels = sample.rows()
    which = np.repeat(np.arange(len(sample.counts)), sample.counts)
    seen: Counter[tuple[int, ...]] = Counter()
    for order in permutations(range(sample.size), teachers * chunk):
        rows = np.array(order).reshape(teachers, chunk)
        held = [naive_erm(points[r], labels[r]) for r in rows]
        votes = [sum(x >= t for t in held) for x in (0.5, 1.0)]
        totals = np.bincount(which[list(order)], minlength=len(sample.counts))
        seen[(*votes, *totals.tolist())] += 1
    outcomes = sorted(seen)
    return outcomes, [seen[o] / seen.total() for o in outcomes]


def naive_erm(points: np.ndarray, labels: np.ndarray) -> float:
    """The smallest best threshold among the points and infinity."""
    return min([*sorted(points), np.inf], key=lambda t: (((points >= t) != labels).sum(), t))


def sample_outcomes(
    route: str, sample: Sample, teachers: int, chunk: int, rng: np.random.Generator
) -> Counter:
    training, sizes = one_sample(sample, GAMES), {"teachers": teachers, "chunk": chunk}
    trained = train_teachers(training, Thresholds(), **sizes, rng=rng, route=route)
    votes = [trained.teachers.votes(np.broadcast_to(x, (GAMES,))) * teachers for x in (0.5, 1.0)]
    rows = np.column_stack([*votes, trained.counts]).round().astype(int)
    return Counter(map(tuple, rows.tolist()))


@pytest.mark.thorough
@statistical(rate=2 * RATE)
@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize(("teachers", "chunk"), [(2, 3), (3, 2), (6, 1), (4, 2)])
def test_both_routes_have_the_exact_law(
    route: str, teachers: int, chunk: int, rng: np.random.Generator
) -> None:
    outcomes, law = exact_law(SAMPLE, teachers, chunk)
    seen = sample_outcomes(route, SAMPLE, teachers, chunk, rng)
    assert set(seen) <= set(outcomes)
    check_counts([seen[o] for o in outcomes], law, rate=RATE, effect=0.015, power=1 - 1e-8)


@pytest.mark.thorough
@statistical(rate=2 * RATE)
def test_draws_with_replacement_would_be_noticed(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcomes, law = exact_law(SAMPLE, 2, 3)
    no_weights = lambda available, size: ((np.zeros(size + 2),) * 3, 0.0)  # noqa: E731
    monkeypatch.setattr(module, "_acceptance_weights", no_weights)
    module._make_plan.cache_clear()
    seen = sample_outcomes("compositions", SAMPLE, 2, 3, rng)
    module._make_plan.cache_clear()
    with expect_rejection():
        check_counts([seen[o] for o in outcomes], law, rate=RATE, effect=0.015, power=1 - 1e-8)


@pytest.mark.parametrize("route", ROUTES)
def test_the_whole_sample_may_be_used(route: str, rng: np.random.Generator) -> None:
    trained = train_teachers(one_sample(SAMPLE, 50), Thresholds(), teachers=4, chunk=2, rng=rng, route=route)
    assert (trained.counts == SAMPLE.counts).all()


@pytest.mark.parametrize("route", ROUTES)
def test_two_worlds_keep_their_own_samples(route: str, rng: np.random.Generator) -> None:
    ones, zeros = Sample([1.0], [1], [50]), Sample([2.0], [0], [50])
    which = rng.integers(0, 2, 40)
    training = Training.of((ones, zeros), which)
    trained = train_teachers(training, Thresholds(), teachers=5, chunk=3, rng=rng, route=route)
    assert trained.teachers.votes(np.full(40, 5.0)).tolist() == (which == 0).astype(float).tolist()
    assert trained.counts.sum(axis=1).tolist() == [15] * 40
    assert trained.points.tolist() == [[2.0, 1.0]] or trained.points.tolist() == [[1.0, 2.0]]


def test_worlds_of_different_routes_are_joined(rng: np.random.Generator) -> None:
    few = Sample([0.0, 1.0], [0, 1], [5_000, 5_000])
    many = Sample(np.arange(10_000.0), np.arange(10_000) >= 5_000)
    which = rng.integers(0, 2, 30)
    trained = train_teachers(Training.of((few, many), which), Thresholds(), teachers=9, chunk=5, rng=rng)
    votes = trained.teachers.votes(np.full(30, 1e9))
    assert (votes > 0.5).all()
    assert trained.counts.sum(axis=1).tolist() == [45] * 30


@pytest.mark.parametrize("counted", [True, False])
def test_votes_are_the_mean_of_the_teachers(counted: bool, rng: np.random.Generator) -> None:
    games, size = 11, 6
    held = rng.choice([0.0, 1.0, 2.0, np.inf], (games, size))
    concepts = np.array([0.0, 1.0, 2.0, np.inf])
    counts = (held[:, :, None] == concepts).sum(axis=1).astype(float)
    stored = (concepts, counts) if counted else (held, None)
    teachers = TeacherEnsembles(Thresholds(), *stored, size)
    few = rng.choice([0.5, 1.5], games)
    many = np.linspace(-1, 3, games)
    crowd = np.repeat(np.linspace(-1, 3, games), 1)
    for x in (few, many, crowd, np.broadcast_to(1.0, (games,))):
        assert np.allclose(teachers.votes(x), (x[:, None] >= held).mean(axis=1))


def test_votes_at_more_points_than_are_kept(rng: np.random.Generator) -> None:
    games = 100
    held = rng.random((games, 4))
    x = rng.random(games)
    counts = np.eye(games).repeat(4, axis=1)[:, np.argsort(held.ravel())]
    for stored in ((held, None), (np.sort(held.ravel()), counts)):
        teachers = TeacherEnsembles(Thresholds(), *stored, 4)
        assert np.allclose(teachers.votes(x), (x[:, None] >= held).mean(axis=1))
        for point in np.linspace(0, 1, 80):
            assert np.allclose(teachers.votes(np.full(games, point)), (point >= held).mean(axis=1))


@pytest.mark.parametrize(
    ("first", "second"), [(np.int64(1), np.float64(5e-324)), (np.int8(-1), np.uint8(255))]
)
def test_votes_are_kept_by_what_bytes_mean(first: np.generic, second: np.generic) -> None:
    """The bytes of a whole number are those of a tiny float, and of another whole number without a sign."""
    assert first.tobytes() == second.tobytes()
    teachers = TeacherEnsembles(Thresholds(), np.array([[0.5, 1.0, 2.0]]), None, 3)
    for x in (first, second):
        expected = np.mean(float(x) >= np.array([0.5, 1.0, 2.0]))
        assert teachers.votes(np.broadcast_to(x, (1,))) == pytest.approx(expected)


@pytest.mark.parametrize("many", [False, True])
def test_games_with_samples_of_their_own_are_trained_from_these(many: bool, rng: np.random.Generator) -> None:
    """Whatever stands in a row or apart: each S_1 is of the game's own sample, and so are the votes."""
    games = 12 if many else 3
    samples = [Sample(rng.random(20 + g % 3) + 10 * g, np.arange(20 + g % 3) % 2) for g in range(games)]
    training = Training.of(samples, np.arange(games)[::-1].copy())
    trained = train_teachers(training, Thresholds(), teachers=4, chunk=5, rng=rng)
    points = np.broadcast_to(trained.points, trained.counts.shape)
    for game in range(games):
        own = samples[games - 1 - game]
        there = trained.counts[game] > 0
        assert trained.counts[game].sum() == 20
        labels = dict(zip(own.points.tolist(), own.labels.tolist(), strict=True))
        pairs = zip(points[game, there].tolist(), trained.labels[game, there].tolist(), strict=True)
        assert all(labels[x] == y for x, y in pairs)
    assert (trained.points.shape[0] == games) == many
    x = np.arange(games)[::-1] * 10.0  # below all points of the own sample, above those of lower ones
    assert (trained.teachers.votes(x) == 0).all()
