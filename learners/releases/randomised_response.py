"""randomised-response: every example's label, each flipped by a coin of its own."""

from __future__ import annotations

from math import exp
from typing import Self

import attrs
import numpy as np

from arena.claims import TRAINING_EXAMPLE, Claim
from arena.laws import Finite, Independent
from arena.players import Learner
from arena.sample import Sample, Training
from arena.settings import at_least, at_most, more_than, setting, whole
from learners.predictors.vote_predictor import check_sample_size

_MOST_EPSILON = 30  # beyond, a double has too few digits for the coin
_MOST_LISTED = 12  # labels whose 2^n outcomes are listed one by one


@attrs.frozen
class RandomisedResponse(Learner):
    """Releases the labels of the sample in its order, (n,) of 0 and 1, each flipped with chance
    1/(1 + e^ε).

    Warner's randomised response (1965). A replaced example has one label, whose two answers have chances
    that differ by a factor of e^ε at most. Its claim is exact: no ε below it holds.
    """

    name = "randomised-response"
    protocols = ("Release",)
    theorem = "randomised response (Warner 1965); tight"

    size: int = setting(1, help="n, the examples it is given", check=[whole, at_least(1)])
    epsilon: float = setting(
        1.0,
        unit="nats",
        help="ε; a label is flipped with chance 1/(1 + e^ε)",
        check=[more_than(0), at_most(_MOST_EPSILON)],
    )

    @property
    def sample_size(self) -> int:
        return self.size

    @property
    def claim(self) -> Claim:
        return Claim(epsilon=self.epsilon, delta=0, protects=(TRAINING_EXAMPLE,))

    def sized_for(self, sample_size: int) -> Self:
        """Set for exactly so many examples."""
        return attrs.evolve(self, size=sample_size)

    @property
    def common_random_numbers(self) -> bool:
        """Every game draws one coin an example."""
        return True

    @property
    def flip(self) -> float:
        """The chance that a label is flipped."""
        return 1 / (1 + exp(self.epsilon))

    def law(self, sample: Sample) -> Finite | Independent:
        """Finite for up to 12 labels, beyond that independent labels."""
        check_sample_size(self.name, sample, self.size)
        _, labels = sample.rows()
        ones = np.where(labels == 1, 1 - self.flip, self.flip)
        if self.size > _MOST_LISTED:
            return Independent(tuple(Finite([0, 1], [1 - one, one]) for one in ones))
        answers = (np.arange(2**self.size)[:, None] >> np.arange(self.size)) & 1
        return Finite(answers, np.where(answers == 1, ones, 1 - ones).prod(axis=1))

    def start(self, games: int, rng: np.random.Generator) -> RandomisedResponseState:
        return RandomisedResponseState(self, rng)


@attrs.frozen(eq=False)
class RandomisedResponseState:
    """randomised-response at a table."""

    spec: RandomisedResponse
    rng: np.random.Generator

    def release(self, training: Training) -> np.ndarray:
        for sample in training.samples:
            check_sample_size(self.spec.name, sample, self.spec.size)
        labels = np.stack([sample.rows()[1] for sample in training.samples])[training.which]
        flips = self.rng.random(labels.shape) < self.spec.flip
        return labels ^ flips
