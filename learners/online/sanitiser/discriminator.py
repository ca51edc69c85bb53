"""The discriminator of sequential fooling: finds what tells a proposal from the data, or gives up."""

from __future__ import annotations

import math

import attrs
import numpy as np

from learners.mechanisms.noise.laplace_noise import laplace
from learners.mechanisms.selection.exponential_mechanism import exponential_mechanism
from learners.online.sanitiser.empirical import EmpiricalLearner

WIN = -1  # no function was found


@attrs.frozen(eq=False)
class Discriminator:
    """Lemma D.7 of Li, Wang, Ye: a function whose mean on the data exceeds that on the proposal, or `WIN`.

    1. Cut the functions into k = ⌈10/alpha⌉ blocks by their means on the proposal, ((i − 1)/k, i/k]. Choose
       the block whose best mean on the data exceeds i/k most, by the exponential mechanism.
    2. Learn the block privately on the data with all labels 1: a function with a large mean on the data.
    3. Answer it if its noisy mean exceeds i/k by 3·alpha/5.

    Every step costs `epsilon`, the learner's its own. For n examples the noise of step 3 is
    Lap(1/(epsilon·n)): the paper prints the scale without n, while the proof bounds what it is with n. Its ε
    is 3·epsilon here. Functions with a mean of 0 are in the first block; a mean on the edge of two blocks is
    in the lower one alone.

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
        """How far counts may be off at each of the steps, but with probability `beta` for each at most."""
        chosen = 2 * math.log(self.blocks / beta) / self.epsilon
        noise = math.log(1 / beta) / self.epsilon
        return max(chosen, noise, self.learner.excess(len(self.functions), beta))

    def respond(self, rng: np.random.Generator, counts: np.ndarray, proposals: np.ndarray) -> np.ndarray:
        """(n,) rows of `functions`, or `WIN`.

        Shapes: counts (n, D), as many examples in every game; proposals (n, D), distributions.
        """
        if not len(counts):
            return np.empty(0, np.intp)
        size = int(counts[0].sum())
        sums = counts.astype(float) @ self.functions.T
        block = self._block(proposals)
        chosen = self._choose_block(rng, sums, block, size)
        inside = block == chosen[:, None]
        found = self.learner.learn(rng, self.functions, np.zeros_like(counts), counts, inside)
        noisy = sums[np.arange(len(sums)), found] + laplace(rng, np.empty(len(sums)), 1 / self.epsilon)
        exceeds = noisy - self._edge(chosen, size) >= 3 * self.alpha / 5 * size
        return np.where(exceeds, found, WIN)

    def _block(self, proposals: np.ndarray) -> np.ndarray:
        """(n, F): the block of each function, from 0."""
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
