"""Bases of learners (those that release once, online learners, baselines without privacy, those of a fixed
size), the count of rounds, and claims for several neighbouring relations."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, Self

import attrs
import numpy as np

from arena.claims import Claim, Neighbours, PrivacyUnit, Relation, choose_claim
from arena.concepts.base import ConceptClass
from arena.errors import BudgetExceeded, Unsupported
from arena.messages import Hypothesis
from arena.players import Learner
from arena.privacy_curves import PrivacyCurve
from arena.sample import Sample, Training
from arena.settings import count_setting
from learners.mechanisms.accounting import Guarantee

_REPLACE_ONE = Relation(Neighbours.REPLACE_ONE)
SINGLE_EXAMPLES = Neighbours.REPLACE_ONE, Neighbours.ADD_OR_REMOVE_ONE, Neighbours.ZERO_OUT_ONE
MOST_NUMBERS = 2**28  # in the state of a batch of games, 8 bytes each


def claim_for_example(
    epsilon: float,
    delta: float = 0.0,
    *,
    neighbours: Relation | Neighbours | str = _REPLACE_ONE,
    curve: PrivacyCurve | None = None,
) -> Claim:
    """The claim of a learner that protects a training example."""
    unit = PrivacyUnit.TRAINING_EXAMPLE
    return Claim(epsilon=epsilon, delta=delta, protects=(unit,), neighbours=neighbours, curve=curve)


@attrs.frozen
class ReleaseLearner(Learner):
    """Base of the learners that release once. A subclass defines `claim` and `release`."""

    protocols = ("Release",)

    @abstractmethod
    def release(self, training: Training, rng: np.random.Generator) -> Any:
        """The releases of all games: an array (n, ...), or a Hypothesis."""

    def start(self, games: int, rng: np.random.Generator) -> RunningRelease:
        return RunningRelease(self, rng)


@attrs.frozen(eq=False)
class RunningRelease:
    learner: ReleaseLearner
    rng: np.random.Generator

    def release(self, training: Training) -> Any:
        return self.learner.release(training, self.rng)


@attrs.frozen
class OnlineLearner(Learner):
    """Base of the online learners. A private one defines `_cost`; the others protect nothing (ε = ∞)."""

    protocols = ("Oblivious", "Adaptive", "SpecialRound")

    @property
    def claim(self) -> Claim:
        epsilon, delta = self._cost()
        return Claim(epsilon=epsilon, delta=delta, protects=(PrivacyUnit.STREAM_EXAMPLE,))

    def _cost(self) -> Guarantee:
        return Guarantee(np.inf, 0)


def check_memory(games: int, numbers: int) -> None:
    """Raises: Unsupported if so many games need too much memory, with so many numbers each."""
    if games * numbers > MOST_NUMBERS:
        raise Unsupported(
            f"{games:,} games of {numbers:,} numbers each exceed {MOST_NUMBERS:,} numbers",
            remedy=f"Play {MOST_NUMBERS // numbers:,} games at a time, or choose a smaller domain.",
        )


@attrs.frozen
class BaselineLearner(Learner):
    """Base of the non-private baselines, which claim nothing (ε = ∞)."""

    theorem = "none: the baseline without privacy"
    common_random_numbers = True  # it draws no random numbers

    @property
    def claim(self) -> Claim:
        return claim_for_example(np.inf)


@attrs.frozen
class FittedLearner(BaselineLearner, ReleaseLearner):
    """Base of the baselines under Release. A subclass defines `fit` and `_hypotheses`."""

    @property
    @abstractmethod
    def _hypotheses(self) -> ConceptClass:
        """The class of the released hypotheses."""

    @abstractmethod
    def fit(self, sample: Sample) -> np.ndarray:
        """The concept that is released for a sample."""

    def release(self, training: Training, rng: np.random.Generator) -> Hypothesis:
        concepts = np.stack([self.fit(sample) for sample in training.samples])
        return Hypothesis(self._hypotheses, concepts[training.which])


@attrs.frozen
class FixedSizeLearner(Learner):
    """Base of the learners that are configured for exactly `size` examples."""

    size: int = count_setting(1, help="n, the number of training examples")

    @property
    def sample_size(self) -> int:
        return self.size

    def adapt_to(self, sample_size: int) -> Self:
        return attrs.evolve(self, size=sample_size)

    def check_sample_size(self, sample: Sample) -> None:
        if sample.size != self.size:
            raise Unsupported(
                f"{self.name} is configured for {self.size:,} example{'s' if self.size > 1 else ''}",
                value=sample.size,
                remedy="Set size to the size of the sample.",
            )


class RoundBudget:
    """Counts the rounds of a batch of games: `played`, including the current one, and `left` after it."""

    def __init__(self, name: str, rounds: int) -> None:
        self._name = name
        self._rounds = rounds
        self.played = 0

    @property
    def left(self) -> int:
        return self._rounds - self.played

    def begin(self) -> None:
        if not self.left:
            spent = f"{self._name} has spent its {self._rounds} rounds"
            raise BudgetExceeded(f"{spent}; set rounds to the game's length")
        self.played += 1


def claim_for_relation(neighbours: str, epsilons: Mapping[Neighbours, float]) -> Claim:
    """The claim of pure privacy for a relation, from the ε of some. Raises: Unsupported if none implies
    any."""
    claims = [claim_for_example(epsilon, neighbours=kind) for kind, epsilon in epsilons.items()]
    return choose_claim(claims, neighbours)


def claim_of_sensitivity_one(epsilon: float, neighbours: str) -> Claim:
    """The claim of Laplace or geometric noise on counts that one example changes by at most 1."""
    return claim_for_relation(neighbours, dict.fromkeys(SINGLE_EXAMPLES, epsilon))


def claim_of_monotone_choice(epsilon: float, neighbours: str) -> Claim:
    """The claim of an exponential mechanism whose score is minus the number of examples that are wrong.

    A replaced example may raise some scores and lower others; others change all in one direction, for half of
    ε.
    """
    epsilons = dict.fromkeys(SINGLE_EXAMPLES, epsilon / 2) | {Neighbours.REPLACE_ONE: epsilon}
    return claim_for_relation(neighbours, epsilons)
