"""What attacks on training runs must know of the learner, and how they score what its steps show."""

from __future__ import annotations

from typing import Any

from arena import Adversary, InvalidArgument, Learner
from arena.capabilities import TrainsByNoisySteps
from arena.laws.step_scores import StepScore
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


def make_step_score(kind: str, learner: Any, *, coordinate: int = 0, opposite: int = 0) -> StepScore:
    """The score of the learner's steps against the gradient of a canary.

    opposite: the number of examples that pull against the canary in both worlds.
    """
    return StepScore(
        kind,
        coordinate,
        clip=learner.step_size * learner.clip,
        rate=learner.rate,
        noise=learner.noise_run,
        shift=2.0 if opposite else 1.0,
        centre=0.0 - learner.rate * opposite,  # on average
        replaced=read_relation_of(learner).kind in REPLACING,
    )
