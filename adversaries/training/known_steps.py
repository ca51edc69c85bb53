"""What attacks on training runs must know of the learner, and how they score what its steps show."""

from __future__ import annotations

from typing import Any

from arena import Adversary, InvalidArgument, Learner
from arena.capabilities import TrainsByNoisySteps


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
