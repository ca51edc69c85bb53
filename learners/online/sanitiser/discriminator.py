"""The discriminator of the sanitiser: finds a function that distinguishes a proposal from the data."""

from __future__ import annotations

import math

import attrs
import numpy as np

from learners.mechanisms.noise.laplace_noise import laplace
from learners.mechanisms.selection.exponential_mechanism import exponential_mechanism
from learners.online.sanitiser.empirical import EmpiricalLearner

WIN = -1  # the answer if no function was found


@attrs.frozen(eq=False)
class Discriminator:
    """Lemma D.7 of Li, Wang, Ye: a function whose mean on the data exceeds its mean under the proposal, or
    `WIN`.

    A block of functions is chosen by the exponential mechanism, a function of the block is learned privately,
    and it is the answer if its noisy mean is large enough. Each of the three steps costs `epsilon`; the
    learner's privacy is its own. Details and deviations: docs/proofs/sanitiser.md.

    functions: (F, D) bool, with the complement of each. alpha: the error of the proposals that win.
    """

    functions: np.ndarray
    alpha: float
    epsilon: float
    learner: EmpiricalLearner

    @property
    def blocks(self) -> int:
        return math.ceil(10 / self.alpha)

    def slack(self, beta: float) -> float:
        """The error of the counts in each step, except with probability at most `beta` for each step."""
        choice = 2 * math.log(self.blocks / beta) / self.epsilon
        noise = math.log(1 / beta) / self.epsilon
        return max(choice, noise, self.learner.excess_errors(len(self.functions), beta))

    def respond(self, rng: np.random.Generator, counts: np.ndarray, proposals: np.ndarray) -> np.ndarray:
        """The answers: rows of `functions`, or `WIN`, (n,).

        Shapes: counts (n, D), with the same number of examples in every game; proposals (n, D),
        distributions.
        """
        if not len(counts):
            return np.empty(0, np.intp)
        size = int(counts[0].sum())
        sums = counts.astype(float) @ self.functions.T
        block = self._block(proposals)
        choice = self._choose_block(rng, sums, block, size)
        allowed = block == choice[:, None]
        learned = self.learner.learn(rng, self.functions, np.zeros_like(counts), counts, allowed)
        noisy = sums[np.arange(len(sums)), learned] + laplace(rng, np.empty(len(sums)), 1 / self.epsilon)
        exceeds = noisy - self._edge(choice, size) >= 3 * self.alpha / 5 * size
        return np.where(exceeds, learned, WIN)

    def _block(self, proposals: np.ndarray) -> np.ndarray:
        """(n, F): the number of the block of each function."""
        means = proposals @ self.functions.T
        return np.clip(np.ceil(means * self.blocks).astype(int) - 1, 0, self.blocks - 1)

    def _choose_block(
        self, rng: np.random.Generator, sums: np.ndarray, block: np.ndarray, size: int
    ) -> np.ndarray:
        best = np.full((len(sums), self.blocks), -np.inf)
        np.maximum.at(best, (np.arange(len(sums))[:, None], block), sums)
        score = best - self._edge(np.arange(self.blocks), size)
        return exponential_mechanism(rng, score, epsilon=self.epsilon, sensitivity=1, allowed=best >= 0)

    def _edge(self, block: np.ndarray, size: int) -> np.ndarray:
        """The upper edge of a block, as a count."""
        return np.asarray((block + 1) * (size / self.blocks))
