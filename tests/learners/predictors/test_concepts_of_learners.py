"""Learners of votes whose concepts are vectors."""

from __future__ import annotations

import numpy as np
import pytest
from support.simple_players import script

from arena import Figure1, Learner, Queries, Sample, Train, Training, play
from arena.concepts import Boxes, ConceptClass, DecisionLists, Variables
from learners.everlasting.everlasting_v2 import EverlastingV2
from learners.predictors.static_erm import StaticErm
from learners.predictors.vote_predictors import BetweenThresholdsPredictor, NoisyVotes

SAMPLE = Sample([(0, 0), (0, 1), (1, 1)], [0, 1, 1], [300, 400, 300])
CLASSES = [DecisionLists(Variables(2)), Boxes(2)]


@pytest.mark.parametrize("concepts", CLASSES, ids=lambda concepts: concepts.name)
def test_votes_are_those_of_teachers_of_one_example(concepts: ConceptClass, rng: np.random.Generator) -> None:
    points, labels = SAMPLE.rows()
    held = np.array([concepts.erm(x[None], y[None]) for x, y in zip(points, labels, strict=True)])
    for learner in (NoisyVotes(concepts=concepts), BetweenThresholdsPredictor(concepts=concepts)):
        state = learner.start(2, rng)
        state.train(Training.of((SAMPLE,), np.zeros(2, np.intp)))
        for x in ((0.0, 0.0), (0.0, 1.0), (1.0, 1.0)):
            votes = state._teachers.votes(np.broadcast_to(x, (2, 2)))
            assert votes == pytest.approx(concepts.label(held, np.array(x)).mean())


@pytest.mark.parametrize("concepts", CLASSES, ids=lambda concepts: concepts.name)
def test_predictors_by_votes_play(concepts: ConceptClass) -> None:
    asked = script(Train(SAMPLE, SAMPLE.replace_one(0, (0, 0), 1)), Queries([(1, 1), (0, 0)]))
    learners: list[Learner] = [
        EverlastingV2(concepts=concepts, teachers=101, chunk=3, training_rate=0.5, rounds=1),
        NoisyVotes(concepts=concepts),
        BetweenThresholdsPredictor(concepts=concepts),
    ]
    for learner in learners:
        assert play(learner, asked, Figure1(), games=20, seed=1).rounds == 2


@pytest.mark.parametrize("concepts", CLASSES, ids=lambda concepts: concepts.name)
def test_the_law_of_votes_is_told_of_vectors(concepts: ConceptClass) -> None:
    law = NoisyVotes(concepts=concepts, size=1_000, epsilon=0.01).law(SAMPLE)
    stepped = law.step(law.start()[None], np.array([[1.0, 1.0]]))
    assert stepped.sum() == pytest.approx(1)


def test_the_law_of_static_erm_is_told_for_lists() -> None:
    law = StaticErm(concepts=DecisionLists(Variables(2))).law(Sample([(0, 1), (1, 1)], [0, 1], [3, 4]))
    chances = [law.step(law.start(), np.array([point]))[1].item() for point in ((1, 0), (0, 1))]
    assert chances == [1.0, 0.0]
