"""gradient-canary and model-low-bits: one example whose gradient the adversary chooses."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

from adversaries.common.training_samples import (
    assign_new_user,
    build_sample,
    change_example,
    choose_feature,
    choose_sample_size,
    claims_for_users,
)
from arena import (
    Advance,
    Adversary,
    GradientCanary,
    InvalidArgument,
    Learner,
    Moves,
    PrivacyUnit,
    Sample,
    Train,
    count_setting,
    setting,
)
from arena.capabilities import TrainsByNoisySteps
from arena.settings import more_than, one_of
from arena.step_scores import LAST_BITS, RATIO, SPREAD, SUM, StepScore


def read_steps(adversary: Adversary, learner: Learner | None) -> Any:
    """The learner's configuration, which says how its steps are made.

    Raises: InvalidArgument if it does not.
    """
    if not isinstance(learner, TrainsByNoisySteps):
        raise InvalidArgument(
            f"{adversary.name} must know the learner's parameters, rate, clip and noise",
            remedy="Declare them on the learner: see arena.capabilities.TrainsByNoisySteps.",
        )
    return learner


NO_GRADIENT, OPPOSITE = OTHERS = ("none", "opposite")


@attrs.frozen
class GradientCanaryAttack(Adversary):
    """One example has a chosen gradient (Dirac's canary), and all others have none, since their points are 0.

    Nasr and others, Tight Auditing of Differentially Private Machine Learning (2023). The gradient is so long
    that it is clipped. Where neighbours replace an example, that of world 0 has the opposite gradient. If
    `sample` is given, the others have the gradients of the loss, and the canary moves the parameter of a
    linear model that they move least.

    With others="opposite" the other examples have the opposite gradient in both worlds, so that a canary that
    takes the place of another example in a batch counts twice: Chua and others, How Private are DP-SGD
    Implementations? (2024). A user who is added or removed has canaries only.

    The score is the log likelihood ratio of the steps along the gradient, with the learner's own rate and
    noise; if the models between are not shown, how far the model has moved along it. With score="spread" it
    is the largest step less the smallest, which shows noise that is the same in all steps.
    """

    name = "gradient-canary"
    protocols = ("TrainingRun",)
    returns_score = True
    usual_for = (PrivacyUnit.TRAINING_EXAMPLE,)

    length: float = setting(1e6, help="the length of the gradient before clipping", check=more_than(0))
    others: str = setting(
        NO_GRADIENT, help="the gradients of the other examples: none or opposite", check=one_of(*OTHERS)
    )
    score: str = setting(RATIO, help="what is scored: ratio or spread", check=one_of(RATIO, SPREAD))
    every: int = count_setting(1, help="the adversary sees every k-th model; 0: the last one only", least=0)
    sample: Sample | None = setting(
        None, help="the other examples, of which the last is the canary's place; default: points 0"
    )
    learner: Learner | None = setting(None, help="the configuration of the learner it plays against")

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        learner = read_steps(self, self.learner)
        point = np.zeros(learner.point_shape)
        point.flat[choose_feature(learner)] = 1.0 + (
            0.0 if self.sample is None else abs(self.sample.points).max()  # no other example's
        )
        sample = self.sample or self._build_sample(point)
        point = assign_new_user(point, sample, learner)
        yield Train(*change_example(sample, len(sample.counts) - 1, (point, 0), (point, 1), learner))

        is_linear = learner.parameters == point.size
        place = choose_feature(learner, self.sample) if is_linear else 0
        gradient = np.zeros(learner.parameters)
        gradient[place] = self.length
        canaries = [GradientCanary(point, 1, gradient), GradientCanary(point, 0, -gradient)]
        if self.others == OPPOSITE:
            canaries.append(GradientCanary(0 * point, 0, -gradient))
        reply = yield Advance(canaries=canaries)
        opposite = self._count_others() if self.others == OPPOSITE else 0
        score = StepScore.for_canary(
            self.score if self.every == 1 else SUM, learner, coordinates=(place,), opposite=opposite
        )
        return score.of(reply.parameters)

    def _build_sample(self, point: np.ndarray) -> Sample:
        others = self._count_others()
        return build_sample(np.stack([0 * point, point]), np.array([0, 1]), np.array([others, 1]))

    def _count_others(self) -> int:
        """The examples besides the canary; where users are added or removed, one other user has one."""
        return 1 if claims_for_users(self.learner) else choose_sample_size(self.learner) - 1


@attrs.frozen
class ModelLowBits(Adversary):
    """The canary has the gradient of the clip in its first coordinate, and all other gradients are 0.

    Where noise is added in floating point to 0, small sums have many last bits; added to the canary's
    gradient they have not. The score is the place of the last bit of the model after the first step: see
    `low-bits`. A learner that rounds its noisy sums shows nothing.
    """

    name = "model-low-bits"
    protocols = ("TrainingRun",)
    returns_score = True

    learner: Learner | None = setting(None, help="the configuration of the learner it plays against")

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        learner = read_steps(self, self.learner)
        point = np.zeros(learner.point_shape)
        point.flat[choose_feature(learner)] = 1.0
        others = choose_sample_size(self.learner) - 1
        sample = build_sample(np.stack([0 * point, point]), np.array([0, 1]), np.array([others, 1]))
        point = assign_new_user(point, sample, learner)
        yield Train(*change_example(sample, len(sample.counts) - 1, (point, 0), (point, 1), self.learner))
        gradient = np.zeros(learner.parameters)
        gradient[0] = learner.clip
        reply = yield Advance(1, [GradientCanary(point, 1, gradient)])
        return StepScore(LAST_BITS).of(reply.parameters)
