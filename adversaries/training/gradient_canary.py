"""gradient-canary: all gradients are zero, but for that of one example, which is as long as it may be."""

from __future__ import annotations

import attrs
import numpy as np

from adversaries.common.training_samples import build_sample, change_example, choose_sample_size
from arena import Advance, Adversary, GradientCanary, InvalidArgument, Learner, Moves, Sample, Train, setting
from arena.capabilities import TrainsByNoisySteps
from arena.neighbours import REPLACING
from arena.players import read_relation_of
from arena.settings import at_least, more_than, whole


@attrs.frozen
class GradientCanaryAttack(Adversary):
    """One example has a chosen gradient (Dirac's canary), and all others have none, since their points are 0.

    Nasr and others, Tight Auditing of Differentially Private Machine Learning (2023). The gradient is so long
    that it is clipped. Where neighbours replace an example, that of world 0 has the opposite gradient.

    The score is the log likelihood ratio of the steps along the gradient, with the learner's own rate and
    noise; if the models between are not shown, how far the model has moved along it.
    """

    name = "gradient-canary"
    protocols = ("TrainingRun",)
    returns_score = True

    length: float = setting(1e6, help="the length of the gradient before clipping", check=more_than(0))
    every: int = setting(
        1, help="the adversary sees every k-th model; 0: the last one only", check=[whole, at_least(0)]
    )
    sample: Sample | None = setting(
        None, help="the other examples, of which the last is the canary's place; default: points 0"
    )
    learner: Learner | None = setting(None, help="the configuration of the learner it plays against")

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        learner = self.learner
        if not isinstance(learner, TrainsByNoisySteps):
            raise InvalidArgument(
                f"{self.name} must know the learner's parameters, rate, clip and noise",
                remedy="Declare them on the learner: see arena.capabilities.TrainsByNoisySteps.",
            )
        point = np.zeros(learner.point_shape)
        point.flat[0] = 1.0
        sample = self.sample or self._build_sample(point)
        yield Train(*change_example(sample, len(sample.counts) - 1, (point, 0), (point, 1), learner))

        gradient = np.zeros(learner.parameters)
        gradient[0] = self.length
        canaries = GradientCanary(point, 1, gradient), GradientCanary(point, 0, -gradient)
        reply = yield Advance(canaries=canaries)
        places = reply.parameters[:, :, 0]
        if self.every != 1:
            return -places[:, -1]
        moved = -np.diff(places, axis=1, prepend=0.0) / (learner.step_size * learner.clip)
        return self._log_ratio(moved, learner.rate, learner.noise_run)

    def _build_sample(self, point: np.ndarray) -> Sample:
        others = choose_sample_size(self.learner) - 1
        return build_sample(np.stack([0 * point, point]), np.array([0, 1]), np.array([others, 1]))

    def _log_ratio(self, moved: np.ndarray, rate: float, noise: float) -> np.ndarray:
        """(n,): ln of the density of the moves (n, T), in clips, in world 1 over that in world 0."""

        def shifted(sign: float) -> np.ndarray:
            exponents = (sign * moved - 0.5) / noise**2
            return np.logaddexp(np.log1p(-rate) if rate < 1 else -np.inf, np.log(rate) + exponents)

        ratio = shifted(1.0)
        if read_relation_of(self.learner).kind in REPLACING:
            ratio = ratio - shifted(-1.0)
        return ratio.sum(axis=1)
