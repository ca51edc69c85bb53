"""Broken learners under Figure 1 that train teachers, and the correct ones behind them."""

from __future__ import annotations

import attrs
import numpy as np
from mutants.figure1.learners import Predictor, PredictorState
from mutants.releases.learners import for_each_game, laplace_noise
from support.simple_players import NamedByClass

from arena import Claim, Learner, Sample, Training, Unsupported
from learners.everlasting.paper_versions import EverlastingV2, V2State


class TeachersState(PredictorState):
    """Teachers of a batch of games. Each holds a threshold: the first point with label 1 in its chunk."""

    def train(self, training: Training) -> None:
        self.thresholds = for_each_game(training, self.spec.taught)

    def predict(self, x: np.ndarray) -> np.ndarray:
        self.halted = np.ones(self.games, bool)
        votes = (self.thresholds <= x[:, None]).sum(axis=1)
        return self.noisy(votes) >= self.spec.teachers / 2

    def noisy(self, votes: np.ndarray) -> np.ndarray:
        return votes + laplace_noise(self.rng, votes.shape, 1 / self.spec.epsilon)


@attrs.frozen
class Disjoint(Predictor):
    """One answer: 1 where the votes of teachers, each trained on two examples, + Lap(1/ε) reach one half."""

    State = TeachersState

    teachers: int = 4

    @property
    def sample_size(self) -> int:
        return 2 * self.teachers

    def chunks(self) -> np.ndarray:
        """(teachers, λ): the places of each teacher's examples."""
        return np.arange(self.sample_size).reshape(self.teachers, 2)

    def taught(self, sample: Sample) -> np.ndarray:
        """(teachers,): the thresholds learned from a sample."""
        if sample.size < self.sample_size:
            raise Unsupported(f"{self.name} needs {self.sample_size} examples", value=sample.size)
        points, labels = sample.rows()
        chunks = self.chunks()
        return np.where(labels[chunks] == 1, points[chunks], np.inf).min(axis=1)


@attrs.frozen
class SharedExample(Disjoint):
    """The slip: a chunk of three examples reaches into the next one. Loses 2ε: an example moves two votes."""

    def chunks(self) -> np.ndarray:
        starts = 2 * np.arange(self.teachers)
        return (starts[:, None] + np.arange(3)) % self.sample_size


@attrs.frozen
class NoNoiseIfUnanimous(Disjoint):
    """The slip: where all teachers agree the answer needs no noise.

    No ε holds: without a vote the answer is 0 for certain, with one it is 1 with chance e^-ε/2.
    """

    class State(TeachersState):
        def noisy(self, votes: np.ndarray) -> np.ndarray:
            unanimous = (votes == 0) | (votes == self.spec.teachers)
            return np.where(unanimous, votes, super().noisy(votes))


SUBSET = EverlastingV2(teachers=2, chunk=1, answers=2, rounds=1, noise=1.0, training_rate=0.1, rate=0.01)


@attrs.frozen
class WholeSample(NamedByClass, Learner):
    """The slip: it asks for as many examples as its teachers take, so that the random subset of step 2 is all
    of them, and still claims what a subset at the printed rate would cost.

    Both answers have noise for ε′ = 1, and one vote of two changes: loses 2, where 0.58 is claimed, which is
    ln(1 + 0.1 (e^2.17 - 1)).
    """

    protocols = ("Figure1",)

    printed: EverlastingV2 = SUBSET

    @property
    def claim(self) -> Claim:
        return self.printed.claim

    @property
    def run(self) -> EverlastingV2:
        """What is run."""
        return attrs.evolve(self.printed, training_rate=1.0)

    @property
    def sample_size(self) -> int:
        return self.run.sample_size

    def start(self, games: int, rng: np.random.Generator) -> V2State:
        return self.run.start(games, rng)
