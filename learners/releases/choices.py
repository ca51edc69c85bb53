"""randomised-response and exponential-choice: flipped labels, and a concept of a finite class."""

from __future__ import annotations

from math import exp

import attrs
import numpy as np

from arena.claims import Claim, Neighbours, neighbours_setting
from arena.concepts import ConceptClass, Thresholds
from arena.errors import InvalidArgument
from arena.laws import Finite, Independent
from arena.players import finite_domain
from arena.sample import BLANK, Sample, Training
from arena.settings import at_most, more_than, setting
from learners.common.learner_bases import (
    FixedSizeLearner,
    ReleaseLearner,
    claim_for_example,
    claim_of_monotone_choice,
)
from learners.mechanisms.selection import exponential_mechanism

_MOST_EPSILON = 30  # beyond, a double is too coarse for the probability of a flip
_MOST_LISTED = 12  # labels up to which all 2^n outcomes are listed


@attrs.frozen
class RandomisedResponse(FixedSizeLearner, ReleaseLearner):
    """Releases the labels (n,) of the sample in order, each flipped with probability 1/(1 + e^ε).

    Warner's randomised response (1965). The claim is exact.
    """

    name = "randomised-response"
    theorem = "randomised response (Warner 1965); tight"
    common_random_numbers = True  # every game draws one random number for each label

    epsilon: float = setting(
        1.0, unit="nats", help="flips have chance 1/(1 + e^ε)", check=[more_than(0), at_most(_MOST_EPSILON)]
    )

    @property
    def claim(self) -> Claim:
        return claim_for_example(self.epsilon)

    @property
    def flip(self) -> float:
        """The probability that a label is flipped."""
        return 1 / (1 + exp(self.epsilon))

    def law(self, sample: Sample) -> Finite | Independent:
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


_MOST_POINTS = 4_096  # concepts are distinguished by their labels at all points of the domain


@attrs.frozen
class ExponentialChoice(ReleaseLearner):
    """Releases concept c with probability proportional to exp(−ε·m(c)/2), where c mislabels m(c) examples.

    Kasiviswanathan, Lee, Nissim, Raskhodnikova, Smith (2011), for one concept of each labelling of a finite
    domain. Blank examples are ignored. What is released is the number that encodes the concept: t of a
    threshold (+∞ labels all points 0), or the row of a matrix. `Hypothesis(concepts, numbers)` labels points.
    """

    name = "exponential-choice"
    theorem = "the exponential mechanism (McSherry and Talwar 2007)"
    common_random_numbers = True  # every game draws one random number for each option

    concepts: ConceptClass = setting(
        Thresholds(range(16)), help="the concept class C, over a finite domain of at most 4,096 points"
    )
    epsilon: float = setting(1.0, unit="nats", help="ε of the choice if an example is replaced")
    neighbours: str = neighbours_setting(Neighbours.REPLACE_ONE)

    def __attrs_post_init__(self) -> None:
        domain = finite_domain(self)
        if domain is None or len(domain) > _MOST_POINTS:
            raise InvalidArgument(
                f"exponential-choice needs a concept class over a finite domain of at most {_MOST_POINTS:,} "
                "points",
                value=self.concepts,
                remedy="Choose one, for instance concepts=thresholds:1..16.",
            )

    @property
    def claim(self) -> Claim:
        return claim_of_monotone_choice(self.epsilon, self.neighbours)

    def law(self, sample: Sample) -> Finite:
        options, mistakes = self.count_mistakes((sample,))
        weights = np.exp(-self.epsilon * (mistakes[0] - mistakes[0].min()) / 2)
        return Finite(options, weights / weights.sum())

    def count_mistakes(self, samples: tuple[Sample, ...]) -> tuple[np.ndarray, np.ndarray]:
        """The concepts (d,) to choose from, and how many examples of each sample they mislabel, (s, d)."""
        domain = finite_domain(self)
        options = self.concepts.dichotomies(np.array(domain)).concepts
        mistakes = []
        for sample in samples:
            real = sample.labels != BLANK
            wrong = self.concepts.labels(options, sample.points[real]) != sample.labels[real]
            mistakes.append(wrong @ sample.counts[real].astype(np.float64))
        return options, np.stack(mistakes)

    def release(self, training: Training, rng: np.random.Generator) -> np.ndarray:
        options, mistakes = self.count_mistakes(training.samples)
        scores = -mistakes[training.which]
        return options[exponential_mechanism(rng, scores, epsilon=self.epsilon, sensitivity=1)]
