"""`audits.audit_one_run`: a learner is trained once on data with many canaries, whose presence is guessed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
import numpy as np

from arena import InvalidArgument, Learner, Sample, Unsupported
from arena.capabilities import TrainsByNoisySteps
from arena.neighbours import Neighbours
from arena.players import read_relation_of
from arena.randomness import generator
from arena.sample import BLANK, Training
from arena.settings import at_least, check_value, whole
from arena.step_scores import RATIO, StepScore
from audits.api.arguments import split_settings
from audits.api.one_run import OneRunCertificate, certify_one_run
from audits.registry.given_players import GivenLearner, configure_learner, read_sample
from audits.registry.suggestions import explain_arguments
from audits.statistics.one_run import MIN_CANARIES

# Of a canary's point, in clips: the slope of a loss is ½ or more at first, so that its gradient is clipped.
_LENGTH = 4.0


@explain_arguments
def audit_one_run(
    learner: GivenLearner,
    *,
    data: Any,
    canaries: int = 1_000,
    seed: int = 0,
    confidence: float = 0.95,
    settings: Mapping[str, Any] | None = None,
) -> OneRunCertificate:
    """Train a learner once, on data and about half of many canaries, and test its claim by guessing which.

    The learner is a linear model that is trained by noisy steps, as `dp-sgd` is, with more features than the
    data have: the canaries lie along the others, equally many along each, where no example of the data moves
    the model. The attack sees all models. One training run is one game, with a coin for each canary.

    data: points and labels, or a `Sample`. canaries: m. settings: of the learner. The result is that of
    `certify_one_run` for the learner's claim.

    Raises: InvalidArgument; Unsupported if the learner is of another kind, or its claim does not say what
    adding, removing or zeroing out an example costs.

    >>> import numpy as np
    >>> people = (np.eye(2)[[0, 1] * 50], [0, 1] * 50)
    >>> settings = {"features": 502, "size": 100, "batch": 100, "steps": 20, "noise": 1.0}
    >>> audit_one_run("dp-sgd", data=people, canaries=500, settings=settings).refuted
    False
    """
    check_value("canaries", canaries, whole, at_least(MIN_CANARIES))
    check_value("seed", seed, whole, at_least(0))
    trained = configure_learner(learner, split_settings(settings)["learner"])
    planted = PlantedCanaries.choose(trained, read_sample("data", data), canaries)
    rng = generator(np.random.SeedSequence(seed))
    included = rng.integers(2, size=canaries).astype(bool)
    scores = planted.score(planted.train(included, rng))
    claim = trained.claim
    return certify_one_run(
        scores,
        included,
        delta=claim.delta,
        confidence=confidence,
        epsilon=claim.epsilon if claim.curve is None else None,
        curve=claim.curve,
    )


@attrs.frozen(eq=False)
class PlantedCanaries:
    """m canaries beside the data of one training run.

    learner: trains by noisy steps. data: the other examples, with 0 in the coordinates of the canaries.
    places: (m,), the coordinate of each canary.
    """

    learner: Any
    data: Sample
    places: np.ndarray

    @classmethod
    def choose(cls, learner: Learner, data: Sample, canaries: int) -> PlantedCanaries:
        """Canaries along the features that the data do not have. Raises: InvalidArgument, Unsupported."""
        if not isinstance(learner, TrainsByNoisySteps) or len(learner.point_shape) != 1:
            raise Unsupported(
                f"{learner.name} is not trained by noisy steps on vectors",
                remedy="Score the canaries of your own run, and give the scores to certify_one_run.",
            )
        features, known = learner.point_shape[0], data.points.reshape(len(data.points), -1)
        if learner.parameters != features:
            raise Unsupported("canaries are planted in linear models only", remedy="Leave out hidden units.")
        if read_relation_of(learner).kind not in (Neighbours.ADD_OR_REMOVE_ONE, Neighbours.ZERO_OUT_ONE):
            raise Unsupported(
                f"the claim of {learner.name} is about other neighbours than those with and without a canary",
                value=str(read_relation_of(learner)),
                remedy='Set neighbours="zero out one", or "add or remove one".',
            )
        spare = features - known.shape[1]
        if spare < 1:
            raise InvalidArgument(
                "the learner needs features for the canaries, beside those of the data",
                value=f"{features} features, and {known.shape[1]} coordinates of the data",
                remedy=f"Set features={known.shape[1] + canaries}, or fewer so that canaries share some.",
            )
        padded = np.pad(known, ((0, 0), (0, spare)))
        places = known.shape[1] + np.arange(canaries) % spare
        return cls(learner, Sample(padded, data.labels, data.counts), places)

    def train(self, included: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """(T, P): the models of a run with the included canaries, (m,) bool."""
        is_zeroed = read_relation_of(self.learner).kind is Neighbours.ZERO_OUT_ONE
        points = np.zeros((len(self.places), self.data.points.shape[1]))
        points[np.arange(len(points)), self.places] = np.where(included, _LENGTH * self.learner.clip, 0.0)
        labels = np.where(included, 0, BLANK)
        kept = np.ones_like(included) if is_zeroed else included
        sample = Sample(
            np.concatenate([self.data.points, points[kept]]),
            np.concatenate([self.data.labels, labels[kept]]),
            np.concatenate([self.data.counts, np.ones(int(kept.sum()), np.int64)]),
        )
        state = self.learner.start(1, rng)
        state.train(Training.of([sample], np.zeros(1, np.intp)))
        return np.array([np.array(state.advance(1, ())[0]) for _ in range(self.learner.steps)])

    def score(self, models: np.ndarray) -> np.ndarray:
        """(m,): for each canary the log likelihood ratio of the steps along its coordinate."""
        steps = StepScore.for_canary(RATIO, self.learner)
        return steps.of(models.T[:, :, None])[self.places]
