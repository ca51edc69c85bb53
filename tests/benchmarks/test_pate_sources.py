"""Sources with Tsybakov noise: their closed forms, and teachers that are drawn at once."""

from __future__ import annotations

import numpy as np
import pytest

from arena import Sample
from arena.concepts import Thresholds
from benchmarks.theorems.pate.setup.sources import LineSource, Plateau, Tsybakov, TwoBest
from benchmarks.theorems.pate.setup.students import ThresholdVotes, draw_teachers, gaussian, start
from learners.pate.teacher import Minimiser

GRID = (np.arange(200_000) + 0.5) / 200_000
SOURCES = [Tsybakov(1.0), Tsybakov(1.0, 0.2), Tsybakov(0.5), Tsybakov(1 / 3, 0.3), Plateau(), TwoBest()]


def risk(source: LineSource, t: float) -> float:
    ones = source.regression(GRID)
    return float(np.where(t <= GRID, 1 - ones, ones).mean())


@pytest.mark.thorough
@pytest.mark.parametrize("source", SOURCES, ids=str)
def test_the_risk_of_thresholds(source: LineSource) -> None:
    thresholds = np.linspace(0, 1, 41)
    risks = np.array([risk(source, t) for t in thresholds])
    assert risk(source, source.best) == pytest.approx(source.best_error, abs=1e-4)
    np.testing.assert_allclose(source.excess(thresholds), risks - source.best_error, atol=1e-4)
    assert source.excess(np.array([np.inf])) == pytest.approx(source.excess(np.array([1.0])))


@pytest.mark.parametrize(("tau", "scale"), [(0.5, 0.5), (1 / 3, 0.3), (0.8, 0.4)])
def test_the_tsybakov_condition(tau: float, scale: float) -> None:
    """Definition 8 and Lemma 9, with equality."""
    source = Tsybakov(tau, scale)
    margins = np.abs(source.regression(GRID) - 0.5)
    for u in np.array([0.01, 0.1, 0.5]) * scale:
        assert (margins <= u).mean() == pytest.approx((u / scale) ** (tau / (1 - tau)), abs=1e-4)
    t = np.linspace(0.05, 0.95, 19)
    np.testing.assert_allclose(source.disagreement(t), source.eta * source.excess(t) ** tau, atol=1e-12)
    assert ((source.regression(GRID) > 0.5) == (source.best <= GRID)).all()


def test_draws_have_the_regression_function() -> None:
    points, labels = Tsybakov(0.5).draw((400, 500), np.random.default_rng(0))
    right = points > 0.75
    # E[r] = 1/2 + E[|2x − 1|]/2 = 7/8 there; 50,000 labels, six standard errors.
    assert labels[right].mean() == pytest.approx(7 / 8, abs=0.009)


def test_teachers_are_those_of_the_ensemble() -> None:
    source, rng = Tsybakov(0.5), np.random.default_rng(1)
    points, labels = source.draw((5, 30), np.random.default_rng(1))
    drawn = draw_teachers(source, 5, 30, rng)
    asked = np.linspace(0, 1, 101)
    teachers = [Minimiser(Thresholds()).train(Sample(x, y)) for x, y in zip(points, labels, strict=True)]
    ones = np.sum([teacher(asked) for teacher in teachers], axis=0)
    np.testing.assert_array_equal(ThresholdVotes(drawn).ones(asked), ones)


def test_realizable_teachers_have_the_distribution_of_the_minimiser() -> None:
    source, rng = Tsybakov(1.0), np.random.default_rng(2)
    short = draw_teachers(source, 20_000, 3, rng)
    points, labels = source.draw((20_000, 3), rng)
    erm = Thresholds().erm(points, labels)
    for t in (0.55, 0.7, 0.9, 2.0):  # 20,000 of each: standard errors below 0.0051
        assert (short <= t).mean() == pytest.approx((erm <= t).mean(), abs=0.025)


def test_a_service_answers_by_the_votes() -> None:
    thresholds = np.full(401, 0.5)
    service = start(gaussian(2, 1.0, 401), thresholds, np.random.default_rng(3))
    assert [int(service.predict(np.array([x]))[0]) for x in (0.4, 0.6)] == [0, 1]
    assert service.halted.all()
