"""The sanitiser: generator against discriminator, for as many calls as privacy is paid for."""

from __future__ import annotations

import math
from functools import cached_property

import attrs
import numpy as np

from arena.errors import InvalidArgument
from learners.mechanisms.accounting.composition import Guarantee, best_composition
from learners.mechanisms.accounting.monotone_search import largest_affordable
from learners.mechanisms.parameter_checks import check_positive
from learners.online.sanitiser.discriminator import WIN, Discriminator
from learners.online.sanitiser.empirical import EmpiricalLearner, ExponentialLearner
from learners.online.sanitiser.generator import Generator, most_updates

_STEPS = 3  # of a call of the discriminator, with the learner's


@attrs.frozen(eq=False)
class Sanitised:
    """What the sanitiser found.

    distribution: (n, D), one a game. won: (n,) bool: whether the discriminator gave up.
    """

    distribution: np.ndarray
    won: np.ndarray


@attrs.frozen(eq=False)
class Sanitiser:
    """A distribution under which every function has nearly its mean on the data (Definition 2.7).

    Theorem 4.2 of Li, Wang, Ye: the generator proposes, the discriminator answers a function that tells the
    proposal from the data, until it answers WIN. Finite classes make both parts simpler: see there.

    With the defaults of `calls` and `rate`, and `sample_size(beta)` examples or more, the error is at most
    `alpha` but with probability beta at most. Fewer calls cost less privacy, and so may find better
    distributions of few examples; where the calls end before WIN the last proposal is taken, where the
    paper's learner stops.

    functions: (C, D) bool. epsilon (nats), delta: of one run, for one replaced example; they set the ε of a
    step, and `guarantee` is what the steps cost. alpha: the error aimed at. calls: of the discriminator, at
    most. rate: of the generator, by default 2·alpha. learner: by default the exponential mechanism, at the ε
    of a step; another one's privacy is its own and comes on top.
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
        if not 0 <= self.delta < 1:
            raise InvalidArgument("delta must be a probability below 1", value=self.delta)
        if self.calls is not None and self.calls < 1:
            raise InvalidArgument("there is at least one call", value=self.calls)

    @property
    def most_calls(self) -> int:
        """Calls of the discriminator: those that are paid for."""
        if self.calls is not None:
            return self.calls
        return most_updates(self.functions.shape[1], self.alpha, self._rate) + 1

    @cached_property
    def step(self) -> float:
        """The ε of a step: the largest at which all of them, three a call, are within (epsilon, delta)."""
        steps = _STEPS * self.most_calls
        return largest_affordable(lambda step: _composed(steps, step, 0.0, self.delta).epsilon, self.epsilon)

    def guarantee(self, size: int) -> Guarantee:
        """What a run on `size` examples costs for one that is replaced."""
        if self.learner is None:
            return _composed(_STEPS * self.most_calls, self.step, 0.0, self.delta)
        steps = _composed((_STEPS - 1) * self.most_calls, self.step, 0.0, self.delta / 2)
        learned = _composed(self.most_calls, *self.learner.guarantee(size), self.delta / 2)
        return Guarantee(steps.epsilon + learned.epsilon, steps.delta + learned.delta)

    def sample_size(self, beta: float) -> float:
        """The examples from which on every error is at most `alpha`, but with probability `beta` at most.

        Lemma D.7 with its constants kept: each of the three steps of a call is off by alpha/10 at most.
        Infinite where nothing is known: with few calls, or a learner that does not tell.
        """
        enough = 0 < self._rate < 4 * self.alpha and self.most_calls > most_updates(
            self.functions.shape[1], self.alpha, self._rate
        )
        slack = self._discriminator.slack(beta / (_STEPS * self.most_calls))
        return math.ceil(10 / self.alpha * slack) if enough and slack < math.inf else math.inf

    def run(self, rng: np.random.Generator, counts: np.ndarray) -> Sanitised:
        """Sanitise a dataset a game.

        Shapes: counts (n, D), how often each point occurs; as many examples in every game.
        Raises: InvalidArgument if the games have different numbers of examples.
        """
        if len(counts) and (counts.sum(axis=1) != counts[0].sum()).any():
            raise InvalidArgument("games that are sanitised together have equally many examples")
        found = self._discriminator
        generator = Generator(*counts.shape, rate=self._rate)
        going = np.arange(len(counts))
        for _ in range(self.most_calls):
            answers = found.respond(rng, counts[going], generator.proposals[going])
            going, answers = going[answers != WIN], answers[answers != WIN]
            generator.update(going, found.functions[answers])
            if not going.size:
                break
        won = np.ones(len(counts), bool)
        won[going] = False
        return Sanitised(generator.proposals, won)

    @property
    def _rate(self) -> float:
        return 2 * self.alpha if self.rate is None else self.rate

    @cached_property
    def _discriminator(self) -> Discriminator:
        both = np.concatenate([self.functions, ~self.functions])
        learner = ExponentialLearner(self.step) if self.learner is None else self.learner
        return Discriminator(both, self.alpha, self.step, learner)


def rounded(distribution: np.ndarray, size: int) -> np.ndarray:
    """Synthetic data: `size` examples a game, (n, D) whole numbers, that follow the distributions (n, D).

    Every sum of counts from the first point on is the nearest whole number to what it should be, so that no
    coins are needed, and `rounding_error` bounds what a function can tell.
    """
    below = np.floor(np.cumsum(distribution, axis=1) * size + 0.5).astype(np.int64)
    below[:, -1] = size  # rounding errors of the sum aside
    return np.diff(below, axis=1, prepend=0)


def rounding_error(functions: np.ndarray, size: int) -> float:
    """By how much the mean of a function can move when a distribution is `rounded` to `size` examples.

    Half an example for every change between 0 and 1 along a row of functions (C, D).
    """
    return float((functions[:, 1:] != functions[:, :-1]).sum(axis=1).max(initial=0)) / (2 * size)


def _composed(k: int, epsilon: float, delta: float, slack: float) -> Guarantee:
    """`best_composition`, for which slack = 0 asks for basic composition."""
    if slack > 0:
        return best_composition(k, epsilon, delta, slack=slack)
    return Guarantee(k * epsilon, k * delta)
