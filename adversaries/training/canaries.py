"""Attacks on training runs: canaries whose gradients the adversary chooses, or that are those of the loss."""

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
from arena import Adversary, InvalidArgument, Learner, Moves, PrivacyUnit, Sample, Unsupported
from arena.capabilities import TrainsByNoisySteps
from arena.messages import Advance, GradientCanary, Train, TrainWithCanaries
from arena.settings import count_setting, more_than, one_of, setting
from arena.step_scores import LAST_BITS, LENGTH, RATIO, SPREAD, SUM, StepScore


def read_steps(adversary: Adversary, learner: Learner | None) -> Any:
    """The learner's configuration, which says how its steps are made. Raises: InvalidArgument if it does
    not."""
    if not isinstance(learner, TrainsByNoisySteps):
        raise InvalidArgument(
            f"{adversary.name} must know the learner's parameters, rate, clip and noise",
            remedy="Declare them on the learner: see arena.capabilities.TrainsByNoisySteps.",
        )
    return learner


def _surround(point: np.ndarray, others: int, label: int = 1) -> Sample:
    return build_sample(np.stack([0 * point, point]), np.array([0, label]), np.array([others, 1]))


def _train(sample: Sample, first: tuple[Any, int], second: tuple[Any, int], learner: Learner | None) -> Train:
    return Train(*change_example(sample, len(sample.counts) - 1, first, second, learner))


NO_GRADIENT, OPPOSITE = OTHERS = ("none", "opposite")


@attrs.frozen
class GradientCanaryAttack(Adversary):
    """One example has a chosen gradient (Dirac's canary), and all others have none, since their points are 0.

    Nasr and others (2023). The gradient is so long that it is clipped; where neighbours replace an example,
    world 0 has the opposite one. If `sample` is given, the others have the gradients of the loss, and the
    canary moves the parameter of a linear model that they move least. With others="opposite" they have the
    opposite gradient in both worlds, so that a canary in the place of another example counts twice (Chua and
    others, 2024).

    The score is the log likelihood ratio of the steps along the gradient, or how far the model has moved
    along it if not all are shown; "spread": the largest step less the smallest, which shows equal noise in
    all steps.
    """

    name = "gradient-canary"
    protocols = ("TrainingRun",)
    returns_score = True
    usual_for = (PrivacyUnit.TRAINING_EXAMPLE,)

    length: float = setting(1e6, help="the length of the gradient before clipping", check=more_than(0))
    others: str = setting(NO_GRADIENT, help="the others' gradients: none or opposite", check=one_of(*OTHERS))
    score: str = setting(RATIO, help="what is scored: ratio or spread", check=one_of(RATIO, SPREAD))
    every: int = count_setting(1, help="the adversary sees every k-th model; 0: the last one only", least=0)
    sample: Sample | None = setting(None, help="the others, the last in the canary's place; default: at 0")
    learner: Learner | None = setting(None, help="the configuration of the learner it plays against")

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        learner = read_steps(self, self.learner)
        point = np.zeros(learner.point_shape)
        point.flat[choose_feature(learner)] = 1.0 + (
            0.0 if self.sample is None else abs(self.sample.points).max()  # no other example's
        )
        sample = self.sample or _surround(point, self._count_others())
        point = assign_new_user(point, sample, learner)
        yield _train(sample, (point, 0), (point, 1), learner)

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

    def _count_others(self) -> int:
        """The examples besides the canary; where users are added or removed, one of one other user."""
        return 1 if claims_for_users(self.learner) else choose_sample_size(self.learner) - 1


@attrs.frozen
class ModelLowBits(Adversary):
    """The canary has the gradient of the clip in its first coordinate, and all other gradients are 0.

    Floating-point noise added to 0 has more last bits than if added to the canary's gradient: see `low-bits`.
    The score is the place of the last bit of the model after the first step.
    """

    name = "model-low-bits"
    protocols = ("TrainingRun",)
    returns_score = True

    learner: Learner | None = setting(None, help="the configuration of the learner it plays against")

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        learner = read_steps(self, self.learner)
        point = np.zeros(learner.point_shape)
        point.flat[choose_feature(learner)] = 1.0
        sample = _surround(point, choose_sample_size(learner) - 1)
        point = assign_new_user(point, sample, learner)
        yield _train(sample, (point, 0), (point, 1), learner)
        gradient = np.zeros(learner.parameters)
        gradient[0] = learner.clip
        reply = yield Advance(1, [GradientCanary(point, 1, gradient)])
        return StepScore(LAST_BITS).of(reply.parameters)


LOSS, MOVES = SCORES = ("loss", "moves")
FAR, MISLABELLED, BLANK = KINDS = ("far", "mislabelled", "blank")


@attrs.frozen
class InputCanary(Adversary):
    """One example that the adversary chooses, with the gradient of the learner's loss, is added or replaced.

    Nasr and others (2021). kind "far": its point lies along the coordinate in which the other examples are
    shortest; "mislabelled": it is the example of the largest leverage with the opposite label; "blank": it
    has one number in all coordinates. The others are the data; by default they are at 0, or for "mislabelled"
    at its point.

    The score is the negative loss of the canary, averaged over the models shown (every=0: the last); "moves":
    the log likelihood ratio of the moves of its margin, for linear models that others do not move.
    """

    name = "input-canary"
    protocols = ("TrainingRun",)
    returns_score = True

    kind: str = setting(FAR, help="what the canary is: far, mislabelled or blank", check=one_of(*KINDS))
    length: float = setting(
        10.0, unit="point", help="the length of the point of a far or blank canary", check=more_than(0)
    )
    score: str = setting(LOSS, help="loss, or moves if all models are shown", check=one_of(*SCORES))
    every: int = count_setting(1, help="the adversary sees every k-th model; 0: the last one only", least=0)
    sample: Sample | None = setting(None, help="the data, of which the last example is the canary's place")
    learner: Learner | None = setting(None, help="the configuration of the learner it plays against")

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        learner = read_steps(self, self.learner)
        if self.score == MOVES and self.every != 1:
            raise InvalidArgument(
                "moves can be scored only if every model is shown",
                value=f"every={self.every}",
                remedy="Set every=1, or score=loss.",
            )
        point, label, sample = self._choose_canary(learner.point_shape)
        yield _train(sample, (point, 1 - label), (point, label), learner)
        reply = yield Advance()
        models = [np.zeros((games, learner.parameters)), *np.swapaxes(reply.parameters, 0, 1)]
        points, labels = np.stack([point, point]), np.array([label, 1 - label])
        losses = np.stack([learner.losses(model, points, labels) for model in models], axis=1)
        if self.score == LOSS:
            return -losses[:, 1:, 0].mean(axis=1)
        margins = losses[:, :, 1] - losses[:, :, 0]
        places = (margins[:, :1] - margins[:, 1:]) / np.linalg.norm(point)  # along the canary's gradient
        return StepScore.for_canary(RATIO, learner).of(places[:, :, None])

    def _choose_canary(self, shape: tuple[int, ...]) -> tuple[np.ndarray, int, Sample]:
        point = np.zeros(shape)
        others = choose_sample_size(self.learner) - 1
        if self.kind == MISLABELLED:
            sample = self.sample
            if sample is None:
                point.flat[choose_feature(self.learner)] = 1.0
                sample = build_sample(np.stack([point, point]), np.zeros(2, int), np.array([others, 1]))
            run = _find_outlier(sample)
            return sample.points[run], 1 - int(sample.labels[run]), sample
        if self.kind == FAR:
            point.flat[choose_feature(self.learner, self.sample)] = self.length
        else:
            point += self.length / np.sqrt(point.size)
        return point, 1, self.sample or _surround(point, others, label=0)


def _find_outlier(sample: Sample) -> int:
    points = sample.points.reshape(len(sample.points), -1)
    inverse = np.linalg.pinv((points.T * sample.counts) @ points, hermitian=True)
    return int(((points @ inverse) * points).sum(axis=1).argmax())


@attrs.frozen
class PlantedCanaries(Adversary):
    """The canaries of a linear model lie along the features beyond those of the data.

    Those that share a feature hide each other a little. The score of a canary is the log likelihood ratio of
    the steps along its feature, or, if not every model is shown, how far the model has moved along it.
    """

    name = "planted-canaries"
    protocols = ("OneRun",)
    returns_score = True

    sample: Sample | None = setting(None, help="the data, with fewer features than the learner")
    length: float = setting(
        4.0,
        unit="clip",
        help="the length of a canary's point; slopes of a loss start at ½",
        check=more_than(0),
    )
    every: int = count_setting(1, help="the adversary sees every k-th model; 0: the last one only", least=0)
    learner: Learner | None = setting(None, help="the configuration of the learner it plays against")

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        learner, sample = read_steps(self, self.learner), self.sample
        if sample is None:
            raise InvalidArgument(f"{self.name} needs data", remedy="Give data=, or --data FILE.")
        known = sample.points.reshape(len(sample.points), -1)
        features, used = learner.parameters, known.shape[1]
        if learner.point_shape != (features,):
            raise Unsupported("canaries are planted in linear models only", remedy="Leave out hidden units.")
        if features <= used:
            raise InvalidArgument(
                "the learner needs features for the canaries, beside those of the data",
                value=f"{features} features, and {used} coordinates of the data",
                remedy=f"Set features={used + games}, or fewer so that canaries share some.",
            )
        places = used + np.arange(games) % (features - used)
        points = np.zeros((games, features))
        points[np.arange(games), places] = self.length * learner.clip
        padded = np.pad(known, ((0, 0), (0, features - used)))
        data = Sample(padded, sample.labels, sample.counts)
        yield TrainWithCanaries(data, Sample(points, np.zeros(games, int)))
        reply = yield Advance()
        score = StepScore.for_canary(RATIO if self.every == 1 else SUM, learner)
        return score.of(reply.parameters[0].T[:, :, None])[places]


@attrs.frozen
class UpdateScale(Adversary):
    """The empty-gradient game: all points are 0, so that no example has a gradient, and one is added.

    A learner that divides by the real number of examples, or chooses noise by it, shows that number in the
    length of its steps, as Opacus does (https://github.com/pytorch/opacus/issues/571). The score is minus ln
    of the sum of their squares.
    """

    name = "update-scale"
    protocols = ("TrainingRun",)
    returns_score = True

    sample: Sample | None = setting(None, help="the data; the empty example takes the last one's place")
    learner: Learner | None = setting(None, help="the configuration of the learner it plays against")

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        empty = np.zeros(() if self.learner is None else self.learner.point_shape)
        sample = self.sample or _surround(empty, choose_sample_size(self.learner) - 1)
        yield _train(sample, (empty, 0), (empty, 1), self.learner)
        reply = yield Advance()
        return StepScore(LENGTH, sign=-1).of(reply.parameters)
