"""What attacks on training runs must know of the learner, and how they score what its steps show."""

from __future__ import annotations

from typing import Any

import numpy as np

from arena import Adversary, InvalidArgument, Learner, Sample
from arena.capabilities import TrainsByNoisySteps
from arena.neighbours import REPLACING
from arena.players import read_relation_of


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


def find_rare_coordinate(sample: Sample | None) -> int:
    """The coordinate in which the points of a sample are shortest; the first one if there is no sample.

    Other examples then move the parameter of that coordinate least, if the model is linear.
    """
    if sample is None:
        return 0
    squares = sample.points.reshape(len(sample.points), -1) ** 2
    return int((sample.counts @ squares).argmin())


def compute_log_ratio(moved: np.ndarray, learner: Any, shift: float = 1.0) -> np.ndarray:
    """(n,): ln of the density of the moves (n, T) of a parameter, in clips, in world 1 over that in world 0.

    The moves are those of noise, and of `shift` in addition where the canary is in the batch. If neighbours
    replace an example, the canary of world 0 has the opposite gradient.
    """

    def compare(sign: float) -> np.ndarray:
        exponents = (sign * shift * moved - shift**2 / 2) / learner.noise_run**2
        missing = np.log1p(-learner.rate) if learner.rate < 1 else -np.inf
        return np.logaddexp(missing, np.log(learner.rate) + exponents)

    ratio = compare(1.0)
    if read_relation_of(learner).kind in REPLACING:
        ratio = ratio - compare(-1.0)
    return ratio.sum(axis=1)
