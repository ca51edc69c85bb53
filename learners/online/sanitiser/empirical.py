"""Private proper learners of finite classes that minimise the empirical error."""

from __future__ import annotations

import math
from typing import Protocol

import attrs
import numpy as np

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
