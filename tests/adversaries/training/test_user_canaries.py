"""Attacks on training runs with claims about users: the example that differs has a user of its own."""

from __future__ import annotations

import attrs
import numpy as np
import pytest

from adversaries.common.training_samples import assign_new_user, change_example, choose_feature
from adversaries.training.gradient_canary import OTHERS, GradientCanaryAttack, ModelLowBits
from adversaries.training.input_canary import KINDS, InputCanary, UpdateScale
from arena import Adversary, InvalidArgument, Sample, TrainingRun, play
from learners.training.dp_fedavg import DPFedAvg
from learners.training.dp_sgd import DPSGD

LEARNER = DPFedAvg(features=2, size=4, batch=4, steps=2, noise=0.1, local_steps=2)
ATTACKS: list[Adversary] = [
    *(GradientCanaryAttack(others=others) for others in OTHERS),
    *(InputCanary(kind=kind) for kind in KINDS),
    UpdateScale(),
    ModelLowBits(),
]


@pytest.mark.parametrize("column", [-1, 0, 1, -3])
@pytest.mark.parametrize("attack", ATTACKS, ids=str)
def test_the_worlds_differ_in_a_user(attack: Adversary, column: int) -> None:
    learner = attrs.evolve(LEARNER, user_column=column)
    played = play(learner, attrs.evolve(attack, learner=learner), TrainingRun(), games=200, seed=1)  # type: ignore[call-arg]
    assert played.flag.all()
    if isinstance(attack, GradientCanaryAttack | InputCanary):  # hardly any noise
        assert played.score is not None
        scores = [played.score[played.worlds == world].mean() for world in (0, 1)]
        assert scores[0] < scores[1]


def test_a_new_user_has_the_next_number() -> None:
    sample = Sample([[0.0, 1.0, 4.5], [1.0, 1.0, 2.0]], [0, 1])
    assert assign_new_user(np.array([3.0, 3.0, 3.0]), sample, LEARNER).tolist() == [3, 3, 5]
    assert assign_new_user(7.0, sample, DPSGD(noise=1.0)) == 7
    assert [choose_feature(attrs.evolve(LEARNER, user_column=c)) for c in (0, 1, -1, -3)] == [1, 0, 0, 1]


def test_data_without_a_column_of_users_are_refused() -> None:
    with pytest.raises(InvalidArgument) as caught:
        change_example(Sample([[0.0, 1.0]], [0]), 0, (0, 0), (np.zeros(3), 1), LEARNER)
    assert str(caught.value) == (
        "the points of dp-fedavg must have the shape (3,), got (2,). Give as many columns of numbers and one "
        "of users (--user), or change the learner's settings."
    )
