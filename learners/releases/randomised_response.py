"""randomised-response: the labels of all examples, each flipped independently."""

from __future__ import annotations

from math import exp

import attrs
import numpy as np

from arena.claims import Claim, PrivacyUnit
from arena.laws import Finite, Independent
from arena.sample import Sample, Training
from arena.settings import at_most, more_than, setting
from learners.common.learner_bases import FixedSizeLearner, ReleaseLearner

_MOST_EPSILON = 30  # beyond, a double is too coarse for the probability of a flip
_MOST_LISTED = 12  # labels up to which all 2^n outcomes are listed


@attrs.frozen
class RandomisedResponse(FixedSizeLearner, ReleaseLearner):
    """Releases the labels (n,) of the sample in order, each flipped with probability 1/(1 + e^ε).

    Warner's randomised response (1965). Replacing an example changes one label, and with it the probabilities
    of the two answers by a factor of at most e^ε. The claim is exact: no smaller ε holds.
    """

    name = "randomised-response"
    theorem = "randomised response (Warner 1965); tight"
    common_random_numbers = True  # every game draws one random number for each label

    epsilon: float = setting(
        1.0,
        unit="nats",
        help="ε; a label is flipped with probability 1/(1 + e^ε)",
        check=[more_than(0), at_most(_MOST_EPSILON)],
    )

    @property
    def claim(self) -> Claim:
        return Claim(epsilon=self.epsilon, delta=0, protects=(PrivacyUnit.TRAINING_EXAMPLE,))

    @property
    def flip(self) -> float:
        """The probability that a label is flipped."""
        return 1 / (1 + exp(self.epsilon))

    def law(self, sample: Sample) -> Finite | Independent:
        """`Finite` for up to 12 labels, otherwise `Independent`."""
        self.check_sample_size(sample)
        _, labels = sample.rows()
        ones = np.where(labels == 1, 1 - self.flip, self.flip)
        if self.size > _MOST_LISTED:
            return Independent(tuple(Finite([0, 1], [1 - one, one]) for one in ones))
        answers = (np.arange(2**self.size)[:, None] >> np.arange(self.size)) & 1
        return Finite(answers, np.where(answers == 1, ones, 1 - ones).prod(axis=1))

    def release(self, training: Training, rng: np.random.Generator) -> np.ndarray:
        for sample in training.samples:
            self.check_sample_size(sample)
        labels = np.stack([sample.rows()[1] for sample in training.samples])[training.which]
        return labels ^ (rng.random(labels.shape) < self.flip)
