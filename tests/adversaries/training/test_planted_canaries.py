"""planted-canaries: where its canaries lie, and what their scores show."""

from __future__ import annotations

import attrs
import numpy as np
import pytest

from adversaries.training.input_canary import PlantedCanaries
from arena import InvalidArgument, OneRun, Played, Sample, Unsupported, play
from arena.testing import check_adversary
from learners.training.dp_sgd import DPSGD

PEOPLE = Sample(np.eye(2), [0, 1], [50, 50])
LEARNER = DPSGD(features=102, size=100, batch=100, steps=10, noise=4.0)


def run(learner: DPSGD = LEARNER, every: int = 1, canaries: int = 200) -> Played:
    adversary = PlantedCanaries(sample=PEOPLE, learner=learner, every=every)
    return play(learner, adversary, OneRun(every), games=canaries, seed=1, record=True)


def test_canaries_lie_along_the_features_that_the_data_do_not_have() -> None:
    moves = PlantedCanaries(sample=PEOPLE, learner=LEARNER).play(200, np.random.default_rng(0))
    move = next(moves)
    canaries = move.canaries.points  # type: ignore[attr-defined]
    assert (np.count_nonzero(canaries, axis=0) == [0, 0, *[2] * 100]).all()
    assert (canaries.sum(axis=1) == 4.0).all()


@pytest.mark.parametrize("every", [0, 1])
def test_canaries_that_are_included_have_higher_scores(every: int) -> None:
    played = run(attrs.evolve(LEARNER, batch=50, noise=1.0), every)
    assert played.score is not None
    difference = played.score[played.worlds].mean() - played.score[~played.worlds].mean()
    assert difference > played.score.std() / 2


def test_it_conforms() -> None:
    check_adversary(PlantedCanaries(sample=PEOPLE, learner=LEARNER), LEARNER, OneRun())


def test_learners_that_it_cannot_plant_canaries_in_are_refused() -> None:
    with pytest.raises(InvalidArgument, match=r"needs features for the canaries.*Set features=202"):
        run(attrs.evolve(LEARNER, features=2))
    with pytest.raises(Unsupported, match="in linear models only"):
        run(attrs.evolve(LEARNER, hidden=2))
    with pytest.raises(InvalidArgument, match="must know the learner's parameters"):
        play(LEARNER, PlantedCanaries(sample=PEOPLE), OneRun(), games=10, seed=1)
