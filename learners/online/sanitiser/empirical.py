"""Private proper empirical learners of finite classes: a function with few errors on the data themselves."""

from __future__ import annotations

import math
from typing import Protocol

import attrs
import numpy as np

from arena.errors import InvalidArgument
from learners.mechanisms.accounting.composition import Guarantee
from learners.mechanisms.parameter_checks import check_positive
from learners.mechanisms.selection.exponential_mechanism import exponential_mechanism


class EmpiricalLearner(Protocol):
    """What the discriminator asks of one."""

    def guarantee(self, size: int) -> Guarantee:
        """The privacy of one run on `size` examples, for one replaced example."""

    def excess(self, functions: int, beta: float) -> float:
        """How many errors more than the best of `functions` functions it makes, but with probability `beta`
        at most; infinite where that is not known."""

    def learn(
        self,
        rng: np.random.Generator,
        functions: np.ndarray,
        zeros: np.ndarray,
        ones: np.ndarray,
        allowed: np.ndarray,
    ) -> np.ndarray:
        """A row of `functions` for each game.

        Shapes: functions (F, D) bool; zeros, ones (n, D): how often each point comes with each label, as many
        examples in every game; allowed (n, F) bool: the class that is learned, the same for neighbours;
        returns (n,).
        """


@attrs.frozen
class ExponentialLearner:
    """The exponential mechanism on errors: f with probability proportional to exp(−epsilon·errors(f)/2).

    Kasiviswanathan, Lee, Nissim, Raskhodnikova, Smith (2011). Theorem D.2 of Li, Wang, Ye learns classes of
    finite Littlestone dimension by Ghazi et al. (2021), with examples polynomial in the dimension however
    many concepts there are. Here classes are finite, and ln|F| stands in its place: a deviation, which is
    smaller than d⁶ for every class that fits into memory.

    epsilon: nats, of one run.
    """

    epsilon: float = attrs.field()

    @epsilon.validator
    def _check_epsilon(self, attribute: object, value: float) -> None:
        check_positive(epsilon=value)

    def guarantee(self, size: int) -> Guarantee:
        return Guarantee(self.epsilon, 0.0)

    def excess(self, functions: int, beta: float) -> float:
        return 2 * math.log(functions / beta) / self.epsilon

    def learn(
        self,
        rng: np.random.Generator,
        functions: np.ndarray,
        zeros: np.ndarray,
        ones: np.ndarray,
        allowed: np.ndarray,
    ) -> np.ndarray:
        # Errors less those of the function that is 0 everywhere, which all functions share.
        errors = (zeros - ones).astype(float) @ functions.T
        return exponential_mechanism(rng, -errors, epsilon=self.epsilon, sensitivity=1, allowed=allowed)


@attrs.frozen
class SubsampledLearner:
    """Algorithm 4 of Li, Wang, Ye: an agnostic learner from a realizable one.

    Draws m = ⌈rate·n⌉ of the n examples; chooses among the functions that label these differently, with score
    q(h) = min over f of (share of the m on which h and f differ) + (share of the n on which f errs), by the
    exponential mechanism with ε = rate and sensitivity 1/n; and lets `inner` learn the m examples with the
    labels of the choice.

    **Privacy**, from the proof of Claim D.5 with its steps left unrounded. If the replaced example is not
    drawn, the choice is rate-DP and `inner` is not told. If it is, the draw is compared with one that has
    another example in its place. Then q moves by 1/n + 1/m, so that a weight of the exponential mechanism
    moves by a factor exp(rate·(1 + n/m)/2), twice with the normaliser; on either side one or two functions
    agree on the m − 1 common examples, a factor of 2 for the normaliser and of 2 for the sum; and `inner`
    sees neighbours. With c = 4·exp(rate·(1 + n/m)) and `inner` (ε', δ')-DP, the whole is (ln(e^rate +
    c·e^ε'·m/(n − m)), c·δ'·m/n)-DP. The claim prints O(ε): for ε' = 1 and small rates
    it is (1 + 4e²)·rate, thirty times the rate.

    rate: both the share that is drawn and the ε of the choice, at most 0.1. inner: what learns in the end.
    """

    rate: float = attrs.field()
    inner: EmpiricalLearner = attrs.field(factory=lambda: ExponentialLearner(1.0))

    @rate.validator
    def _check_rate(self, attribute: object, value: float) -> None:
        if not 0 < value <= 0.1:
            raise InvalidArgument("rate must be positive and at most 0.1", value=value)

    def guarantee(self, size: int) -> Guarantee:
        """Raises: InvalidArgument if `size` is less than 1/rate, where the proof ends."""
        drawn = self._drawn(size)
        inner = self.inner.guarantee(drawn)
        factor = 4 * math.exp(self.rate * (1 + size / drawn))
        grown = math.exp(self.rate) + factor * math.exp(inner.epsilon) * drawn / (size - drawn)
        return Guarantee(math.log(grown), factor * inner.delta * drawn / size)

    def excess(self, functions: int, beta: float) -> float:
        """Infinite: Claim D.6 leaves its constants open."""
        return math.inf

    def learn(
        self,
        rng: np.random.Generator,
        functions: np.ndarray,
        zeros: np.ndarray,
        ones: np.ndarray,
        allowed: np.ndarray,
    ) -> np.ndarray:
        games = zip(zeros, ones, allowed, strict=True)
        return np.array([self._learn_one(rng, functions, *game) for game in games], np.intp)

    def _learn_one(
        self,
        rng: np.random.Generator,
        functions: np.ndarray,
        zeros: np.ndarray,
        ones: np.ndarray,
        allowed: np.ndarray,
    ) -> int:
        of_class = np.flatnonzero(allowed)
        matrix = functions[of_class]
        both = (zeros + ones).astype(np.int64)
        size = int(both.sum())
        drawn = self._drawn(size)
        part = rng.multivariate_hypergeometric(both, drawn)  # of the points; the choice needs no labels of it
        _, first = np.unique(matrix[:, part > 0], axis=0, return_index=True)
        errors = (zeros - ones) @ matrix.T + ones.sum()
        # (R, F): on how many of the drawn examples two functions differ.
        apart = (matrix[first, None] != matrix[None]) @ part
        score = (apart * (size / drawn) + errors).min(axis=1)
        chosen = exponential_mechanism(rng, -score[None], epsilon=self.rate, sensitivity=1)[0]
        relabelled = matrix[first[chosen]]
        learned = self.inner.learn(
            rng,
            matrix,
            (part * ~relabelled)[None],
            (part * relabelled)[None],
            np.ones((1, len(matrix)), bool),
        )
        return int(of_class[learned[0]])

    def _drawn(self, size: int) -> int:
        if size * self.rate < 1:
            raise InvalidArgument(
                f"rate = {self.rate:g} needs at least {math.ceil(1 / self.rate)} examples", value=size
            )
        return math.ceil(self.rate * size)
