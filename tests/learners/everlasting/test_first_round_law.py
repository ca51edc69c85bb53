"""The distribution of the answers of everlasting predictors with one round, against play."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import pytest
from support.laws.learner_laws import view_law, views
from support.laws.voting_laws import check_views
from support.statistical import expect_rejection, statistical

from arena import Sample, Unsupported
from arena.concepts import Thresholds
from learners.everlasting.everlasting_counter import EverlastingCounter
from learners.everlasting.everlasting_gaussian import EverlastingGaussian
from learners.everlasting.everlasting_v1 import EverlastingV1
from learners.everlasting.everlasting_v2 import EverlastingFresh, EverlastingV2
from learners.everlasting.generic_bbl import GenericBBL
from learners.predictors.vote_predictors import NoisyVotes

RATE = 1e-8
SAMPLE = Sample([1.0, 2.0, 3.0, 1.0, 4.0, 2.0], [1, 0, 1, 0, 1, 1])
SMALL: dict[str, Any] = {
    "rounds": 1,
    "concepts": Thresholds(range(1, 5)),
    "teachers": 2,
    "chunk": 2,
    "answers": 5,
    "training_rate": 0.7,
    "noise": 0.9,
}
POINTS = [2.0, 2.0, 1.0]
COUNTER = EverlastingCounter(**SMALL, halts=3, counter_epsilon=10.0, gap=0.2)
GAUSSIAN = EverlastingGaussian(**SMALL, halts=2, counter_epsilon=80.0)


@pytest.mark.parametrize(
    "learner",
    [EverlastingV1(**SMALL, halts=2), EverlastingV2(**SMALL), EverlastingFresh(**SMALL), COUNTER, GAUSSIAN],
    ids=lambda learner: learner.name,
)
@pytest.mark.thorough
@statistical(rate=RATE)
def test_what_is_answered_follows_the_law(learner: GenericBBL) -> None:
    seen = views(learner, SAMPLE, POINTS, games=100_000)
    check_views(seen, view_law(learner.law(SAMPLE), POINTS), rate=RATE, effect=0.02)


@pytest.mark.thorough
@statistical(rate=2 * RATE)
def test_teachers_drawn_without_chunks_would_be_noticed() -> None:
    seen = views(EverlastingV2(**SMALL), SAMPLE, POINTS, games=100_000)
    with expect_rejection():
        law = EverlastingV2(**{**SMALL, "chunk": 1}).law(SAMPLE)
        check_views(seen, view_law(law, POINTS), rate=RATE, effect=0.02)


@pytest.mark.thorough
@statistical(rate=2 * RATE)
def test_a_count_that_lags_less_would_be_noticed() -> None:
    points = [2.0, 2.0, 2.0, 1.0]
    seen = views(COUNTER, SAMPLE, points, games=100_000)
    with expect_rejection():
        law = attrs.evolve(COUNTER, counter_epsilon=20.0).law(SAMPLE)
        check_views(seen, view_law(law, points), rate=RATE, effect=0.02)


def test_with_one_teacher_per_example_it_is_noisy_votes() -> None:
    settings = {**SMALL, "teachers": 6, "chunk": 1, "training_rate": 1.0}
    law = EverlastingV2(**settings).law(SAMPLE)
    expected = NoisyVotes(concepts=SMALL["concepts"], size=6, epsilon=0.9, answers=5).law(SAMPLE)
    x = np.array([1.0, 2.0, 3.0, 4.0])
    ones = np.ones((4, 1))
    assert law.start() == pytest.approx(1.0)
    assert law.step(ones, x) == pytest.approx(expected.step(ones, x))
    assert law.last == expected.last == 5


def test_other_settings_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    learner = EverlastingV2(**SMALL)
    for settings in ({"rounds": 2, "answers": 400, "rate": 1.0}, {"agnostic": True}):
        with pytest.raises(Unsupported, match="for its first round only"):
            attrs.evolve(learner, **settings).law(SAMPLE)
    with pytest.raises(Unsupported, match="binary counter"):
        attrs.evolve(COUNTER, counter="binary", counter_epsilon=500.0).law(SAMPLE)
    with pytest.raises(
        Unsupported, match="remembered for every point is listed for finite domains of at most 4 "
    ):
        attrs.evolve(GAUSSIAN, concepts=Thresholds()).law(SAMPLE)
    with pytest.raises(Unsupported, match="needs a sample of 6"):
        learner.law(Sample([1.0], [1]))
    monkeypatch.setattr("learners.everlasting.first_round_law._MOST_ELECTORATES", 3)
    with pytest.raises(Unsupported, match="drawn in more than 3 ways"):
        learner.law(SAMPLE)
