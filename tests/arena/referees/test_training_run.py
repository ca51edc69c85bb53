"""TrainingRun: which moves are legal, and which models the adversary sees."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import pytest
from support.simple_players import script

from arena import (
    Advance,
    Claim,
    GradientCanary,
    Learner,
    PrivacyUnit,
    ProtocolViolation,
    Query,
    Sample,
    Train,
    TrainingRun,
    play,
)

SAMPLE = Sample([0.0, 1.0], [0, 1], [3, 1])
TRAIN = Train(SAMPLE)


class CountingState:
    """A model is the number of steps so far, and the sum of all canaries' gradients."""

    def __init__(self, learner: Counting, games: int) -> None:
        self._learner, self._models = learner, np.zeros((games, 2))
        self.steps = learner.steps

    def train(self, training: Any) -> None:
        assert training.games == len(self._models)

    def advance(self, steps: int, canaries: tuple[GradientCanary, ...]) -> Any:
        self._models[:, 0] += steps
        for canary in canaries:
            assert canary.x.shape == (len(self._models),)
            self._models[:, 1] += steps * canary.gradient[:, 0]
        return self._learner.distort(self._models)


@attrs.frozen
class Counting(Learner):
    name = "counting"
    protocols = ("TrainingRun",)

    steps: Any = 7
    distort: Any = lambda models: models

    @property
    def claim(self) -> Claim:
        return Claim(epsilon=1, delta=0, protects=(PrivacyUnit.TRAINING_EXAMPLE,))

    def start(self, games: int, rng: np.random.Generator) -> CountingState:
        return CountingState(self, games)


def shown(every: int, *moves: Advance, learner: Learner = Counting()) -> list[list[float]]:
    played = play(learner, script(TRAIN, *moves), TrainingRun(every=every), games=2, seed=1, record=True)
    return [reply.parameters[0, :, 0].tolist() for reply in played.replies[1:]]


def test_models_are_shown_after_every_step_some_or_the_last() -> None:
    parts = (Advance(2), Advance(3), Advance())
    assert shown(1, *parts) == [[1, 2], [3, 4, 5], [6, 7]]
    assert shown(3, *parts) == [[], [3], [6, 7]]
    assert shown(0, *parts) == [[], [], [7]]
    assert shown(10, Advance(), Advance()) == [[7], []]


def test_canaries_reach_the_learner() -> None:
    canary = GradientCanary(1.0, 1, np.array([0.5]))
    each = GradientCanary(1.0, 1, np.array([[1.0], [2.0]]))
    moves = (Advance(2, [canary]), Advance(1, [canary, each]), Advance())
    played = play(Counting(), script(TRAIN, *moves), TrainingRun(every=0), games=2, seed=1, record=True)
    assert played.replies[-1].parameters[:, 0, 1].tolist() == [2.5, 3.5]
    assert played.rounds == 7


@pytest.mark.parametrize(
    ("moves", "rule"),
    [
        ((Advance(),), "TrainingRun begins with Train, which is made once"),
        ((TRAIN, TRAIN), "TrainingRun begins with Train, which is made once"),
        ((TRAIN, Advance(8)), "the steps asked for are at least one and at most those left"),
        ((TRAIN, Advance(0)), "the steps asked for are at least one and at most those left"),
        ((TRAIN, Advance(1.5)), "the steps asked for are at least one and at most those left"),
        ((TRAIN, Advance(), Advance(1)), "the steps asked for are at least one and at most those left"),
        ((TRAIN, Advance(1, 3)), "canaries are given as a list"),
        ((TRAIN, Advance(1, [3])), "a canary is a GradientCanary"),
        ((TRAIN, Advance(1, [GradientCanary(0.0, 2, [1.0])])), "labels must be 0 or 1"),
        ((TRAIN, Advance(1, [GradientCanary(0.0, 1, [np.nan])])), "points must be finite"),
        ((TRAIN, Advance(1, [GradientCanary(0.0, 1, np.ones((3, 1)))])), "a canary's gradient is given once"),
        ((TRAIN, Query(0.0)), "TrainingRun knows the moves Train and Advance"),
    ],
)
def test_illegal_moves_are_refused(moves: tuple, rule: str) -> None:
    with pytest.raises(ProtocolViolation) as caught:
        play(Counting(), script(*moves), TrainingRun(), games=2, seed=1)
    assert caught.value.rule.startswith(rule)
    assert caught.value.player == "adversary scripted"


@pytest.mark.parametrize(
    ("learner", "rule"),
    [
        (Counting(steps=0), "steps is a whole number"),
        (Counting(steps=None), "steps is a whole number"),
        (Counting(distort=lambda models: models[:1]), "advance returns one model a game"),
        (Counting(distort=lambda models: models[:, 0]), "advance returns one model a game"),
        (Counting(distort=lambda models: models.astype(int)), "models are floating-point numbers"),
        (Counting(distort=lambda models: None), "advance returns one model a game"),
    ],
)
def test_a_learner_that_breaks_the_protocol_is_refused(learner: Learner, rule: str) -> None:
    with pytest.raises(ProtocolViolation) as caught:
        play(learner, script(TRAIN, Advance()), TrainingRun(), games=2, seed=1)
    assert caught.value.rule.startswith(rule)
    assert caught.value.player == "learner counting"
