"""exponential-choice: a concept of a finite class, chosen by the exponential mechanism."""

from __future__ import annotations

import attrs
import numpy as np

from arena.claims import TRAINING_EXAMPLE, Claim
from arena.concepts import ConceptClass, Thresholds
from arena.errors import InvalidArgument
from arena.laws import Finite
from arena.players import Learner
from arena.points import finite_domain
from arena.sample import Sample, Training
from arena.settings import more_than, setting
from learners.mechanisms.selection.exponential_mechanism import exponential_mechanism

_MOST_POINTS = 4_096  # the concepts of a domain are told apart by their labels at every point of it


@attrs.frozen
class ExponentialChoice(Learner):
    """Releases a concept c with probability proportional to exp(−ε·m(c)/2), where m(c) is the number of
    examples that c labels wrongly.

    The private learner of Kasiviswanathan, Lee, Nissim, Raskhodnikova, Smith (2011) for finite classes: the
    exponential mechanism with score −m, which one example moves by 1 at most. It chooses among one concept
    for each labelling of the domain that the class realises.

    It releases the concept as the number that stands for it in its class: t of a threshold (+∞ labels
    everything 0), or the row of a matrix. `Hypothesis(concepts, numbers)` labels points.
    """

    name = "exponential-choice"
    protocols = ("Release",)
    theorem = "the exponential mechanism (McSherry and Talwar 2007)"

    concepts: ConceptClass = setting(
        Thresholds(range(16)), help="the concept class C, over a finite domain of at most 4,096 points"
    )
    epsilon: float = setting(1.0, unit="nats", help="ε of the choice", check=more_than(0))

    def __attrs_post_init__(self) -> None:
        domain = finite_domain(self)
        if domain is None or len(domain) > _MOST_POINTS:
            raise InvalidArgument(
                f"exponential-choice needs a concept class over a finite domain of at most {_MOST_POINTS:,} "
                "points",
                value=self.concepts,
                remedy="For instance concepts=thresholds:1..16.",
            )

    @property
    def claim(self) -> Claim:
        return Claim(epsilon=self.epsilon, delta=0, protects=(TRAINING_EXAMPLE,))

    @property
    def common_random_numbers(self) -> bool:
        """Every game draws one number a concept."""
        return True

    def law(self, sample: Sample) -> Finite:
        options, wrong = self.mistakes((sample,))
        weights = np.exp(-self.epsilon * (wrong[0] - wrong[0].min()) / 2)
        return Finite(options, weights / weights.sum())

    def mistakes(self, samples: tuple[Sample, ...]) -> tuple[np.ndarray, np.ndarray]:
        """The concepts (d,) to choose from, and how many examples of each sample each gets wrong, (s, d)."""
        domain = finite_domain(self)
        options = self.concepts.dichotomies(np.array(domain)).concepts
        wrong = [
            (self.concepts.labels(options, sample.points) != sample.labels) @ sample.counts.astype(np.float64)
            for sample in samples
        ]
        return options, np.stack(wrong)

    def start(self, games: int, rng: np.random.Generator) -> ExponentialChoiceState:
        return ExponentialChoiceState(self, rng)


@attrs.frozen(eq=False)
class ExponentialChoiceState:
    """exponential-choice at a table."""

    spec: ExponentialChoice
    rng: np.random.Generator

    def release(self, training: Training) -> np.ndarray:
        options, wrong = self.spec.mistakes(training.samples)
        chosen = exponential_mechanism(
            self.rng, -wrong[training.which], epsilon=self.spec.epsilon, sensitivity=1
        )
        return options[chosen]
