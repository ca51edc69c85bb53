"""Canaries of training runs: examples, users, and many at once."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import pytest

import audits
from adversaries.common.training_samples import assign_new_user, change_example, choose_feature
from adversaries.training.canaries import (
    BLANK,
    FAR,
    KINDS,
    MISLABELLED,
    MOVES,
    OTHERS,
    GradientCanaryAttack,
    InputCanary,
    ModelLowBits,
    PlantedCanaries,
    UpdateScale,
)
from arena import Adversary, InvalidArgument, OneRun, Played, Sample, TrainingRun, Unsupported, play
from arena.messages import Advance, Models, Train
from arena.step_scores import RATIO, StepScore
from arena.testing import check_adversary
from learners.training.dp_fedavg import DPFedAvg
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
@pytest.mark.parametrize("name", ["gradient-canary", *(f"input-canary {kind}" for kind in KINDS)])
def test_each_certifies_a_loss_among_real_examples(name: str, every: int) -> None:
    """With settings as a command gives them."""
    adversary, _, kind = name.partition(" ")
    settings = {"adversary.every": every} | ({"adversary.kind": kind} if kind else {})
    weak = attrs.evolve(WEAK, noise=WEAK.noise_run)
    report = audits.audit(weak, adversary, data=PEOPLE.rows(), games=1_000, settings=settings)
    assert 0 < report.epsilon_lower <= report.claim.epsilon


TWO_PEOPLE = Sample(np.eye(2), [0, 1], [50, 50])
LEARNER = DPSGD(features=102, size=100, batch=100, steps=10, noise=4.0)


def run(learner: DPSGD = LEARNER, every: int = 1, canaries: int = 200) -> Played:
    adversary = PlantedCanaries(sample=TWO_PEOPLE, learner=learner, every=every)
    return play(learner, adversary, OneRun(every), games=canaries, seed=1, record=True)


def test_canaries_lie_along_the_features_that_the_data_do_not_have() -> None:
    attack = PlantedCanaries(sample=TWO_PEOPLE, learner=LEARNER)
    canaries = next(attack.play(200, np.random.default_rng(0))).canaries.points  # type: ignore[attr-defined]
    assert (np.count_nonzero(canaries, axis=0) == [0, 0, *[2] * 100]).all()
    assert (canaries.sum(axis=1) == 4.0).all()


@pytest.mark.parametrize("every", [0, 1])
def test_canaries_that_are_included_have_higher_scores(every: int) -> None:
    played = run(attrs.evolve(LEARNER, batch=50, noise=1.0), every)
    difference = played.score[played.worlds].mean() - played.score[~played.worlds].mean()
    assert difference > played.score.std() / 2


def test_it_conforms() -> None:
    check_adversary(PlantedCanaries(sample=TWO_PEOPLE, learner=LEARNER), LEARNER, OneRun())


def test_learners_that_it_cannot_plant_canaries_in_are_refused() -> None:
    with pytest.raises(InvalidArgument, match=r"needs features for the canaries.*Set features=202"):
        run(attrs.evolve(LEARNER, features=2))
    with pytest.raises(Unsupported, match="in linear models only"):
        run(attrs.evolve(LEARNER, hidden=2))
    with pytest.raises(InvalidArgument, match="must know the learner's parameters"):
        play(LEARNER, PlantedCanaries(sample=TWO_PEOPLE), OneRun(), games=10, seed=1)


OF_USERS = DPFedAvg(features=2, size=4, batch=4, steps=2, noise=0.1, local_steps=2)
ATTACKS: list[Adversary] = [
    *(GradientCanaryAttack(others=others) for others in OTHERS),
    *(InputCanary(kind=kind) for kind in KINDS),
    UpdateScale(),
    ModelLowBits(),
]


@pytest.mark.parametrize("column", [-1, 0, 1, -3])
@pytest.mark.parametrize("attack", ATTACKS, ids=str)
def test_the_worlds_differ_in_a_user(attack: Adversary, column: int) -> None:
    learner = attrs.evolve(OF_USERS, user_column=column)
    played = play(learner, attrs.evolve(attack, learner=learner), TrainingRun(), games=200, seed=1)  # type: ignore[call-arg]
    assert played.flag.all()
    if isinstance(attack, GradientCanaryAttack | InputCanary):  # hardly any noise
        scores = [played.score[played.worlds == world].mean() for world in (0, 1)]
        assert scores[0] < scores[1]


def test_a_new_user_has_the_next_number() -> None:
    sample = Sample([[0.0, 1.0, 4.5], [1.0, 1.0, 2.0]], [0, 1])
    assert assign_new_user(np.array([3.0, 3.0, 3.0]), sample, OF_USERS).tolist() == [3, 3, 5]
    assert assign_new_user(7.0, sample, DPSGD(noise=1.0)) == 7
    features = [choose_feature(attrs.evolve(OF_USERS, user_column=c)) for c in (0, 1, -1, -3)]
    assert features == [1, 0, 0, 1]


def test_data_without_a_column_of_users_are_refused() -> None:
    with pytest.raises(InvalidArgument, match=r"must have the shape \(3,\), got \(2,\)\. .*\(--user\)"):
        change_example(Sample([[0.0, 1.0]], [0]), 0, (0, 0), (np.zeros(3), 1), OF_USERS)
