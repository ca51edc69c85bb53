"""A learner whose output distribution is not that of its games."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import pytest
from support.simple_players import script

from adversaries.figure1.swaps import TrainingSwap
from adversaries.release.point_swap import CountSwap
from arena import (
    Adversary,
    Figure1,
    InvalidArgument,
    Learner,
    NotConforming,
    NothingTested,
    Referee,
    Release,
    Sample,
    Train,
)
from audits.exact_loss import exact
from audits.runs.plan import LIKELIHOOD, Plan
from audits.runs.run import run
from learners.predictors.vote_predictors import NoisyVotes
from learners.releases.choices import RandomisedResponse
from learners.releases.counts import LaplaceCount


@attrs.frozen
class WithoutNoise(LaplaceCount):
    """Inherits the law of a noisy count, and adds no noise."""

    name = "without-noise"

    def release(self, training: Any, rng: np.random.Generator) -> np.ndarray:
        return np.round(super().release(training, rng))


@attrs.frozen
class WithoutFlips(RandomisedResponse):
    name = "without-flips"

    def release(self, training: Any, rng: np.random.Generator) -> np.ndarray:
        labels = [training.samples[which].rows()[1] for which in training.which]
        return np.array(labels)


@attrs.frozen
class ExactVotes(NoisyVotes):
    """Inherits the law of noisy votes, and answers with the majority."""

    name = "exact-votes"

    def start(self, games: int, rng: np.random.Generator) -> Any:
        state = super().start(games, rng)

        class State:
            def __init__(self) -> None:
                self.halted = np.zeros(games, bool)

            def train(self, training: Any) -> None:
                self.training = training

            def predict(self, x: np.ndarray) -> np.ndarray:
                samples = [self.training.samples[which] for which in self.training.which]
                return np.array([sample.labels @ sample.counts * 2 > sample.size for sample in samples])

        return State() if state is not None else state


BROKEN: list[tuple[Learner, Adversary, Referee]] = [
    (WithoutNoise(), CountSwap(), Release()),
    (WithoutFlips(size=10), CountSwap(), Release()),
    (ExactVotes(), TrainingSwap(learner=NoisyVotes(), queries=2), Figure1()),
]


@pytest.mark.thorough
@pytest.mark.parametrize(("learner", "adversary", "referee"), BROKEN, ids=lambda player: player.name)
def test_an_inherited_law_is_compared_with_games(
    learner: Learner, adversary: Adversary, referee: Referee
) -> None:
    players: dict[str, Any] = {"learner": learner, "adversary": adversary, "referee": referee}
    with pytest.raises(NotConforming, match="the output distribution that it declares"):
        exact(**players)
    with pytest.raises(NotConforming, match="the output distribution that it declares"):
        run(Plan(**players, epsilon=1.0, delta=0.0, games=100, distinguisher=LIKELIHOOD))


def test_a_law_that_raises_is_the_learners_fault() -> None:
    @attrs.frozen
    class Faulty(LaplaceCount):
        name = "faulty"

        def law(self, sample: Any) -> Any:
            return 1 / 0

    with pytest.raises(InvalidArgument, match=r"faulty raised ZeroDivision.*test_declared_law\.py, line "):
        exact(Faulty(), CountSwap(), Release())


def test_worlds_must_differ() -> None:
    with pytest.raises(NothingTested, match="hands noisy-votes the same in both worlds"):
        exact(NoisyVotes(), script(Train(Sample([0.0], [0], [NoisyVotes().size]))), Figure1())
