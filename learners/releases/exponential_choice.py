"""exponential-choice: a concept of a finite class, chosen by the exponential mechanism."""

from __future__ import annotations

import attrs
import numpy as np

from arena.capabilities import finite_domain
from arena.claims import Claim
from arena.concepts import ConceptClass, Thresholds
from arena.errors import InvalidArgument
from arena.laws import Finite
from arena.neighbours import Neighbours, neighbours_setting
from arena.sample import BLANK, Sample, Training
from arena.settings import setting
from learners.common.learner_bases import ReleaseLearner, claim_of_monotone_choice
from learners.mechanisms.selection import exponential_mechanism

_MOST_POINTS = 4_096  # concepts are distinguished by their labels at all points of the domain


@attrs.frozen
class ExponentialChoice(ReleaseLearner):
    """Releases concept c with probability proportional to exp(−ε·m(c)/2), where c mislabels m(c) examples.

    The private learner of Kasiviswanathan, Lee, Nissim, Raskhodnikova, Smith (2011) for finite classes: the
    exponential mechanism with score −m, which changes by at most 1 if one example is replaced. The options
    are one concept for each labelling of the domain that the class realises. Blank examples are ignored.

    The released value is the number that encodes the concept in its class: t of a threshold (+∞ labels all
    points 0), or the row of a matrix. `Hypothesis(concepts, numbers)` labels points.
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
