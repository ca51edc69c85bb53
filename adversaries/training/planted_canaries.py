"""planted-canaries: many canaries in one run, each along a feature that the data do not have."""

from __future__ import annotations

import attrs
import numpy as np

from adversaries.training.known_steps import read_steps
from arena import (
    Advance,
    Adversary,
    InvalidArgument,
    Learner,
    Moves,
    Sample,
    TrainWithCanaries,
    Unsupported,
    count_setting,
    setting,
)
from arena.settings import more_than
from arena.step_scores import RATIO, SUM, StepScore


@attrs.frozen
class PlantedCanaries(Adversary):
    """The canaries of a linear model lie along the features beyond those of the data.

    There, no example of the data moves the model. Canaries are spread evenly over these features, and those
    that share one hide each other a little. The score of a canary is the log likelihood ratio of the steps
    along its feature; if not every model is shown, how far the model has moved along it.
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
