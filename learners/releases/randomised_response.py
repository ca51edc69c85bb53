"""randomised-response: the labels of all examples, each flipped independently."""

from __future__ import annotations

from math import exp
from typing import Self

import attrs
import numpy as np

from arena.claims import Claim, PrivacyUnit
from arena.laws import Finite, Independent
from arena.players import Learner
from arena.sample import Sample, Training
from arena.settings import at_least, at_most, more_than, setting, whole
from learners.common.sample_size import check_sample_size

_MOST_EPSILON = 30  # beyond, a double is too coarse for the probability of a flip
_MOST_LISTED = 12  # labels up to which all 2^n outcomes are listed


@attrs.frozen
class RandomisedResponse(Learner):
    """Releases the labels (n,) of the sample in order, each flipped with probability 1/(1 + e^ε).

    Warner's randomised response (1965). Replacing an example changes one label, and with it the probabilities
    of the two answers by a factor of at most e^ε. The claim is exact: no smaller ε holds.
    """

    name = "randomised-response"
    protocols = ("Release",)
    theorem = "randomised response (Warner 1965); tight"

    size: int = setting(1, help="n, the number of examples", check=[whole, at_least(1)])
    epsilon: float = setting(
        1.0,
        unit="nats",
        help="ε; a label is flipped with probability 1/(1 + e^ε)",
        check=[more_than(0), at_most(_MOST_EPSILON)],
    )

    @property
    def sample_size(self) -> int:
        return self.size

    @property
    def claim(self) -> Claim:
        return Claim(epsilon=self.epsilon, delta=0, protects=(PrivacyUnit.TRAINING_EXAMPLE,))

    def adapt_to(self, sample_size: int) -> Self:
        """The learner configured for exactly this many examples."""
        return attrs.evolve(self, size=sample_size)

    @property
    def common_random_numbers(self) -> bool:
        """Every game draws one number per example."""
        return True

    @property
    def flip(self) -> float:
        """The probability that a label is flipped."""
        return 1 / (1 + exp(self.epsilon))

    def law(self, sample: Sample) -> Finite | Independent:
        """`Finite` for up to 12 labels, otherwise `Independent`."""
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
    """randomised-response in a batch of games."""

    learner: RandomisedResponse
    rng: np.random.Generator

    def release(self, training: Training) -> np.ndarray:
        for sample in training.samples:
            check_sample_size(self.learner.name, sample, self.learner.size)
        labels = np.stack([sample.rows()[1] for sample in training.samples])[training.which]
        flips = self.rng.random(labels.shape) < self.learner.flip
        return labels ^ flips
