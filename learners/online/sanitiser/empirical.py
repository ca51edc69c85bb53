"""Private proper learners of finite classes that minimise the empirical error."""

from __future__ import annotations

import math
from typing import Protocol

import attrs
import numpy as np

from arena.errors import InvalidArgument
from arena.settings import at_most, more_than
from learners.mechanisms.accounting.composition import Guarantee
from learners.mechanisms.parameter_checks import check_positive
from learners.mechanisms.selection.exponential_mechanism import exponential_mechanism


class EmpiricalLearner(Protocol):
    """The interface that the discriminator uses."""

    def guarantee(self, size: int) -> Guarantee:
        """The privacy of one run on `size` examples, for one replaced example."""

    def excess_errors(self, functions: int, beta: float) -> float:
        """The errors in excess of the best of `functions` functions, except with probability at most `beta`;
        infinite if no bound is known."""

    def learn(
        self,
        rng: np.random.Generator,
        functions: np.ndarray,
        zeros: np.ndarray,
        ones: np.ndarray,
        allowed: np.ndarray,
    ) -> np.ndarray:
        """A row of `functions` for each game.

        Shapes: functions (F, D) bool; zeros, ones (n, D): how often each point occurs with each label, with
        the same number of examples in every game; allowed (n, F) bool: the class to learn, the same for
        neighbours; returns (n,).
        """


@attrs.frozen
class ExponentialLearner:
    """The exponential mechanism: f has probability proportional to exp(−epsilon·errors(f)/2).

    Kasiviswanathan, Lee, Nissim, Raskhodnikova, Smith (2011). A deviation: Theorem D.2 of Li, Wang, Ye uses
    the learner of Ghazi et al. (2021) for classes of finite Littlestone dimension d, whose sample size is
    polynomial in d. Here classes are finite and ln|F| takes its place, which is less than d⁶ for every class
    that fits into memory.

    epsilon: of one run, nats.
    """

    epsilon: float = attrs.field()

    @epsilon.validator
    def _check_epsilon(self, attribute: object, value: float) -> None:
        check_positive(epsilon=value)

    def guarantee(self, size: int) -> Guarantee:
        return Guarantee(self.epsilon, 0.0)

    def excess_errors(self, functions: int, beta: float) -> float:
        return 2 * math.log(functions / beta) / self.epsilon

    def learn(
        self,
        rng: np.random.Generator,
        functions: np.ndarray,
        zeros: np.ndarray,
        ones: np.ndarray,
        allowed: np.ndarray,
    ) -> np.ndarray:
        # Minus the errors of the function that is 0 everywhere, a term that all functions share.
        errors = (zeros - ones).astype(float) @ functions.T
        return exponential_mechanism(rng, -errors, epsilon=self.epsilon, sensitivity=1, allowed=allowed)


@attrs.frozen
class SubsampledLearner:
    """An agnostic learner from a realizable one (Algorithm 4 of Li, Wang, Ye).

    Draws m = ⌈rate·n⌉ of the n examples, chooses their labels by the exponential mechanism among those that a
    function realises, and lets `inner` learn the relabelled examples. Privacy, by the proof of Claim D.5 with
    its constants: docs/proofs/sanitiser.md.

    rate: both the share of examples drawn and the ε of the choice, at most 0.1. inner: the learner of the
    last step.
    """

    rate: float = attrs.field(validator=[more_than(0), at_most(0.1)])
    inner: EmpiricalLearner = attrs.field(factory=lambda: ExponentialLearner(1.0))

    def guarantee(self, size: int) -> Guarantee:
        """Raises: InvalidArgument if `size` is less than 1/rate, which the proof needs."""
        drawn = self._subsample_size(size)
        inner = self.inner.guarantee(drawn)
        factor = 4 * math.exp(self.rate * (1 + size / drawn))
        ratio = math.exp(self.rate) + factor * math.exp(inner.epsilon) * drawn / (size - drawn)
        return Guarantee(math.log(ratio), factor * inner.delta * drawn / size)

    def excess_errors(self, functions: int, beta: float) -> float:
        """Infinite: Claim D.6 does not state its constants."""
        return math.inf

    def learn(
        self,
        rng: np.random.Generator,
        functions: np.ndarray,
        zeros: np.ndarray,
        ones: np.ndarray,
        allowed: np.ndarray,
    ) -> np.ndarray:
        choices = []
        for zero, one, usable in zip(zeros, ones, allowed, strict=True):
            rows = np.flatnonzero(usable)
            matrix = functions[rows]
            counts = (zero + one).astype(np.int64)
            size = int(counts.sum())
            drawn = self._subsample_size(size)
            # Without labels, which the choice does not need.
            subsample = rng.multivariate_hypergeometric(counts, drawn)
            _, first = np.unique(matrix[:, subsample > 0], axis=0, return_index=True)
            errors = (zero - one) @ matrix.T + one.sum()
            # (R, F): the number of drawn examples on which two functions differ.
            distance = (matrix[first, None] != matrix[None]) @ subsample
            score = (distance * (size / drawn) + errors).min(axis=1)
            choice = exponential_mechanism(rng, -score[None], epsilon=self.rate, sensitivity=1)[0]
            labels = matrix[first[choice]]
            learned = self.inner.learn(
                rng,
                matrix,
                (subsample * ~labels)[None],
                (subsample * labels)[None],
                np.ones((1, len(matrix)), bool),
            )
            choices.append(rows[learned[0]])
        return np.array(choices, np.intp)

    def _subsample_size(self, size: int) -> int:
        if size * self.rate < 1:
            raise InvalidArgument(
                f"rate={self.rate:g} needs at least {math.ceil(1 / self.rate)} examples", value=size
            )
        return math.ceil(self.rate * size)
