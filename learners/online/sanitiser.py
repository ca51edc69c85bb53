"""Private synthetic data for a finite class of functions: section 2.3 and Appendix D of Li, Wang, Ye.

Datasets are counts of the points of the domain, one row for each game. Proofs: docs/proofs/sanitiser.md.
"""

from __future__ import annotations

import math
from functools import cached_property, lru_cache
from typing import Protocol

import attrs
import numpy as np

from arena.errors import InvalidArgument
from arena.settings import at_least, check_value, less_than
from learners.mechanisms.accounting import Guarantee, best_composition, largest_affordable
from learners.mechanisms.noise import laplace
from learners.mechanisms.parameter_checks import check_positive
from learners.mechanisms.selection import exponential_mechanism


class EmpiricalLearner(Protocol):
    def guarantee(self, size: int) -> Guarantee:
        """The privacy of one run on `size` examples, for one replaced example."""

    def excess_errors(self, functions: int, beta: float) -> float:
        """The errors in excess of the best, except with probability at most `beta`; infinite if unknown."""

    def learn(
        self,
        rng: np.random.Generator,
        functions: np.ndarray,
        zeros: np.ndarray,
        ones: np.ndarray,
        allowed: np.ndarray,
    ) -> np.ndarray:
        """A row of `functions` (F, D) bool for each game, (n,).

        zeros, ones (n, D): how often each point occurs with each label, as many examples in every game;
        allowed (n, F) bool: the class to learn, the same for neighbours.
        """


@attrs.frozen
class ExponentialLearner:
    """The exponential mechanism: f has probability proportional to exp(−epsilon·errors(f)/2).

    Kasiviswanathan, Lee, Nissim, Raskhodnikova, Smith (2011), where Theorem D.2 of Li, Wang, Ye uses the
    learner of Ghazi et al. (2021) for classes of finite Littlestone dimension.
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


class ProposalGenerator:
    """Multiplicative weights over the points of the domain, starting from the uniform distribution, in place
    of the generator of Lemma D.8 of Li, Wang, Ye (docs/proofs/sanitiser.md)."""

    def __init__(self, games: int, points: int, *, rate: float) -> None:
        self._rate = rate
        self._log_weights = np.zeros((games, points))

    @property
    def proposals(self) -> np.ndarray:
        weights = np.exp(self._log_weights)
        return weights / weights.sum(axis=1, keepdims=True)

    def update(self, games: np.ndarray, functions: np.ndarray) -> None:
        """In the games (r,), increase the weights of points where functions (r, points) are 1."""
        logs = self._log_weights[games] + self._rate * functions
        self._log_weights[games] = logs - logs.max(axis=1, keepdims=True)


def answers_bound(points: int, alpha: float, rate: float | None = None) -> int:
    """The largest number of functions that a correct discriminator answers before it answers WIN.

    rate: by default 2·alpha, which minimises the bound. Raises: InvalidArgument unless it is between 0 and
    4·alpha.

    >>> answers_bound(32, 0.2)
    173
    """
    rate = 2 * alpha if rate is None else rate
    decrease = rate * alpha / 2 - rate**2 / 8
    if not decrease > 0:
        raise InvalidArgument("rate must be more than 0 and less than 4·alpha", value=rate)
    return math.floor(math.log(points) / decrease)


WIN = -1  # the answer if no function was found


@attrs.frozen(eq=False)
class Discriminator:
    """Lemma D.7 of Li, Wang, Ye: a function with a larger mean on the data than under the proposal, or `WIN`.

    A block of functions is chosen by the exponential mechanism, a function of it is learned privately, and it
    is the answer if its noisy mean is large enough. Each step costs `epsilon`; the learner's privacy is its
    own. functions: (F, D) bool, with the complement of each. alpha: the error of the proposals that win.
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
        """(n,): rows of `functions`, or `WIN`, for counts and proposals (n, D), as many examples in every
        game."""
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
        return np.asarray((block + 1) * (size / self.blocks))


_STEPS = 3  # private steps in a call of the discriminator, including the learner's


@attrs.frozen(eq=False)
class SanitisedData:
    """distribution: (n, D), one for each game. won: (n,) bool: whether the discriminator answered WIN."""

    distribution: np.ndarray
    won: np.ndarray


@attrs.frozen(eq=False)
class Sanitiser:
    """A distribution under which every function has nearly its mean on the data (Definition 2.7, Theorem
    4.2).

    The generator proposes a distribution; the discriminator answers with a function that distinguishes it
    from the data, until it answers WIN or the calls are used up. functions: (C, D) bool. epsilon, delta: of
    one run, for one replaced example. alpha: the target error. rate: of the generator, default 2·alpha.
    learner: default the exponential mechanism at the ε of a step; the privacy of another is added to that of
    the steps.
    """

    functions: np.ndarray
    epsilon: float = attrs.field(kw_only=True)
    delta: float = attrs.field(kw_only=True)
    alpha: float = attrs.field(kw_only=True)
    calls: int | None = attrs.field(default=None, kw_only=True)
    rate: float | None = attrs.field(default=None, kw_only=True)
    learner: EmpiricalLearner | None = attrs.field(default=None, kw_only=True)

    def __attrs_post_init__(self) -> None:
        check_positive(epsilon=self.epsilon, alpha=self.alpha, rate=self._rate)
        check_value("delta", self.delta, at_least(0), less_than(1))
        if self.calls is not None:
            check_value("calls", self.calls, at_least(1))

    @property
    def most_calls(self) -> int:
        """The number of calls of the discriminator that the privacy budget covers."""
        if self.calls is not None:
            return self.calls
        return answers_bound(self.functions.shape[1], self.alpha, self._rate) + 1

    @cached_property
    def step(self) -> float:
        """The ε of a step: the largest at which all steps, three in each call, satisfy (epsilon, delta)."""
        return _find_largest_step(_STEPS * self.most_calls, self.epsilon, self.delta)

    def guarantee(self, size: int) -> Guarantee:
        """The privacy of one run on `size` examples, for one replaced example."""
        if self.learner is None:
            return _compose(_STEPS * self.most_calls, self.step, 0.0, self.delta)
        steps = _compose((_STEPS - 1) * self.most_calls, self.step, 0.0, self.delta / 2)
        learned = _compose(self.most_calls, *self.learner.guarantee(size), self.delta / 2)
        return Guarantee(steps.epsilon + learned.epsilon, steps.delta + learned.delta)

    def sample_size(self, beta: float) -> float:
        """The least number of examples with error at most `alpha`, except with probability at most `beta`:
        each step of a call is off by at most alpha/10 (Lemma D.7). Infinite if there is no bound."""
        enough = 0 < self._rate < 4 * self.alpha and self.most_calls > answers_bound(
            self.functions.shape[1], self.alpha, self._rate
        )
        slack = self._discriminator.slack(beta / (_STEPS * self.most_calls))
        return math.ceil(10 / self.alpha * slack) if enough and slack < math.inf else math.inf

    def run(self, rng: np.random.Generator, counts: np.ndarray) -> SanitisedData:
        """Sanitise one dataset for each game: counts (n, D), as many examples in each."""
        if len(counts) and (counts.sum(axis=1) != counts[0].sum()).any():
            raise InvalidArgument("games that are sanitised together must have as many examples each")
        discriminator = self._discriminator
        generator = ProposalGenerator(*counts.shape, rate=self._rate)
        running = np.arange(len(counts))
        for _ in range(self.most_calls):
            answers = discriminator.respond(rng, counts[running], generator.proposals[running])
            running, answers = running[answers != WIN], answers[answers != WIN]
            generator.update(running, discriminator.functions[answers])
            if not running.size:
                break
        won = np.ones(len(counts), bool)
        won[running] = False
        return SanitisedData(generator.proposals, won)

    @property
    def _rate(self) -> float:
        return 2 * self.alpha if self.rate is None else self.rate

    @cached_property
    def _discriminator(self) -> Discriminator:
        both = np.concatenate([self.functions, ~self.functions])
        learner = ExponentialLearner(self.step) if self.learner is None else self.learner
        return Discriminator(both, self.alpha, self.step, learner)


def error_functions(labellings: np.ndarray) -> np.ndarray:
    """H^label, of every concept h the function (x, y) → 1[h(x) ≠ y]: (concepts, 2·points) bool.

    The example (x, y) is the point y·points + x. Lemma 2.8 of Li, Wang, Ye derives a sanitiser for H^label
    from one for H. On a finite domain H^label is itself a finite class, which adds ln 2 to logarithmic terms.

    >>> error_functions(np.array([[False, True]])).astype(int)
    array([[0, 1, 1, 0]])
    """
    return np.concatenate([labellings, ~labellings], axis=1)


def round_to_counts(distribution: np.ndarray, size: int) -> np.ndarray:
    """Synthetic data: counts (n, D) of `size` examples in each game that follow the distributions (n, D):
    partial sums are rounded to the nearest integer."""
    sums = np.floor(np.cumsum(distribution, axis=1) * size + 0.5).astype(np.int64)
    sums[:, -1] = size  # exactly, whatever the rounding errors of the sum
    return np.diff(sums, axis=1, prepend=0)


def rounding_error(functions: np.ndarray, size: int) -> float:
    """The largest change of a function's mean by `round_to_counts`: half an example for every change between
    0 and 1 along a row of functions (C, D)."""
    return float((functions[:, 1:] != functions[:, :-1]).sum(axis=1).max(initial=0)) / (2 * size)


@lru_cache(maxsize=64)  # sanitisers are made anew in every stretch of every batch of games
def _find_largest_step(steps: int, epsilon: float, delta: float) -> float:
    return largest_affordable(lambda step: _compose(steps, step, 0.0, delta).epsilon, epsilon)


def _compose(k: int, epsilon: float, delta: float, slack: float) -> Guarantee:
    if slack > 0:
        return best_composition(k, epsilon, delta, slack=slack)
    return Guarantee(k * epsilon, k * delta)
