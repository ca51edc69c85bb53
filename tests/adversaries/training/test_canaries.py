"""Canaries of training runs: where they are put among real data, and what their scores are."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import pytest

import audits
from adversaries.common.training_samples import choose_feature
from adversaries.training.gradient_canary import GradientCanaryAttack
from adversaries.training.input_canary import BLANK, FAR, MISLABELLED, MOVES, InputCanary
from arena import Advance, InvalidArgument, Sample, Train
from arena.replies import Models
from arena.step_scores import RATIO, StepScore
from learners.training.dp_sgd import DPSGD

# Three coordinates, of which the second is rarest, and an outlier in the third run.
PEOPLE = Sample([[1, 0, 0], [1, 0, 1], [0, 1, 1], [1, 0, 1]], [0, 1, 0, 1], [40, 30, 1, 29])
WEAK = DPSGD(features=3, size=100, batch=100, steps=20, learning_rate=0.1, epsilon=8.0)


def record_moves(adversary: Any) -> list[Any]:
    moves = adversary.play(4, np.random.default_rng(0))
    first = next(moves)
    return [first, moves.send(None)]


def test_a_far_canary_lies_along_the_rarest_coordinate() -> None:
    assert choose_feature(WEAK, PEOPLE) == 1
    assert choose_feature(WEAK) == 0
    train, advance = record_moves(InputCanary(kind=FAR, sample=PEOPLE, learner=WEAK))
    assert isinstance(train, Train)
    assert isinstance(advance, Advance)
    assert train.sample.size == 99
    assert train.other.points[-1].tolist() == [0, 10, 0]


def test_a_mislabelled_canary_is_a_copy_of_an_outlier() -> None:
    train, _ = record_moves(InputCanary(kind=MISLABELLED, sample=PEOPLE, learner=WEAK))
    assert train.other.points[-1].tolist() == [0, 1, 1]
    assert train.other.labels[-1] == 1


def test_a_blank_canary_has_the_length_that_is_set() -> None:
    train, _ = record_moves(InputCanary(kind=BLANK, length=3.0, sample=PEOPLE, learner=WEAK))
    assert train.other.points[-1] == pytest.approx([3 / np.sqrt(3)] * 3)


def test_a_gradient_canary_is_no_example_of_the_data() -> None:
    train, advance = record_moves(GradientCanaryAttack(sample=PEOPLE, learner=WEAK))
    canary = advance.canaries[0]
    assert not (PEOPLE.points == canary.x).all(axis=1).any()
    assert (train.other.points[-1] == canary.x).all()
    assert np.flatnonzero(canary.gradient).tolist() == [1]


@pytest.mark.parametrize("loss", ["logistic", "squared"])
def test_moves_of_the_margin_are_those_of_the_weight(loss: str) -> None:
    learner = DPSGD(size=20, batch=10, steps=3, noise=1.5, clip=2.0, loss=loss)
    moved = np.array([[0.3, -1.0, 2.0], [0.0, 1.0, 0.5]])  # in clips
    models = np.cumsum(moved, axis=1)[:, :, None] * learner.step_size * learner.clip
    moves = InputCanary(kind=FAR, score=MOVES, learner=learner).play(2, np.random.default_rng(0))
    next(moves)
    moves.send(None)
    with pytest.raises(StopIteration) as end:
        moves.send(Models(models))
    assert end.value.value == pytest.approx(StepScore.for_canary(RATIO, learner).of(-models))


def test_moves_need_every_model() -> None:
    with pytest.raises(InvalidArgument, match="Set every=1"):
        record_moves(InputCanary(score=MOVES, every=0, learner=WEAK))


@pytest.mark.thorough
@pytest.mark.parametrize("every", [0, 1])
@pytest.mark.parametrize(
    "name", ["gradient-canary", *(f"input-canary {kind}" for kind in (FAR, MISLABELLED, BLANK))]
)
def test_each_certifies_a_loss_among_real_examples(name: str, every: int) -> None:
    """With settings as a command gives them."""
    adversary, _, kind = name.partition(" ")
    settings = {"adversary.every": every} | ({"adversary.kind": kind} if kind else {})
    report = audits.audit(
        attrs.evolve(WEAK, noise=WEAK.noise_run),
        adversary,
        data=PEOPLE.rows(),
        games=1_000,
        settings=settings,
    )
    assert 0 < report.epsilon_lower <= report.claim.epsilon
