"""Algorithm 4 of Li, Wang, Ye, which `Sanitiser` can use in place of the exponential mechanism."""

from __future__ import annotations

import math

import attrs
import numpy as np

from arena.errors import InvalidArgument
from arena.settings import at_most, more_than
from learners.mechanisms.accounting import Guarantee
from learners.mechanisms.selection import exponential_mechanism
from learners.online.sanitiser import EmpiricalLearner, ExponentialLearner


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
