"""Sparse vectors in batches of games: AboveThreshold, on values or running sums, and BetweenThresholds."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from arena.errors import InvalidArgument
from arena.settings import at_least, at_most, check_value, less_than, more_than, whole
from learners.mechanisms.accounting import least_sufficient
from learners.mechanisms.noise import NoisyValues, laplace
from learners.mechanisms.parameter_checks import check_positive, check_probability


class AboveThreshold:
    """Answers for every query whether a value is above a threshold, and halts at the first that is.

    Algorithm 1 of Dwork and Roth (2014), section 3.6, for queries of any sensitivity Δ: (ε, 0)-DP (Theorem
    3.23). With `halts=c`, a game goes on after "above" with fresh noise on its threshold, and halts after c:
    (c·ε, 0)-DP. Shapes: n is `games`; answers are read-only views (n,), overwritten by the next call. epsilon
    is that of *one* instance.
    """

    def __init__(
        self,
        games: int,
        rng: np.random.Generator,
        *,
        threshold: float,
        epsilon: float,
        sensitivity: float = 1.0,
        halts: int = 1,
    ) -> None:
        check_positive(epsilon=epsilon, sensitivity=sensitivity)
        if not math.isfinite(threshold):
            raise InvalidArgument("threshold must be finite", value=threshold)
        scale = 4 * sensitivity / epsilon
        self._rng = rng
        self._noisy = NoisyValues(games, rng, scale=scale)
        self._budget = RestartBudget(games, halts)
        self._threshold = threshold / scale
        self._thresholds = np.empty(games)
        self._noise = np.empty(games)
        self._above = np.zeros(games, dtype=bool)
        self._answers = unwritable_view(self._above)
        self._start(np.arange(games))

    @property
    def halted(self) -> np.ndarray:
        """(n,) bool: the games that have answered "above" `halts` times."""
        return self._budget.halted

    def respond(self, values: Any) -> np.ndarray:
        """(n,) bool: whether each game's noisy value is at or above its noisy threshold.

        Always False, and meaningless, in a game that has halted. Values and errors: as `NoisyValues.draw`.
        """
        np.greater_equal(self._noisy.draw(values), self._thresholds, out=self._above)
        if self._above.any():
            restarted = self._budget.spend(self._above)
            if restarted.size:
                self._start(restarted)
            np.putmask(self._thresholds, self._budget.halted, math.inf)
        return self._answers

    def _start(self, rows: np.ndarray) -> None:
        # In units of the noise of a value, 4Δ/ε, the threshold's noise has scale 1/2.
        noise = laplace(self._rng, self._noise[: rows.size], 1 / 2)
        self._thresholds[rows] = self._threshold + noise


class RestartBudget:
    """How many of `halts` instances of a mechanism each game has left; after the last it has halted for
    good."""

    def __init__(self, games: int, halts: int) -> None:
        check_value("halts", halts, whole, at_least(1))
        self._left = np.full(games, halts, dtype=np.int64)
        self._halted = np.zeros(games, dtype=bool)
        self._restarted = np.empty(games, dtype=bool)
        self.halted = unwritable_view(self._halted)

    def spend(self, fired: np.ndarray) -> np.ndarray:
        """End the current instance of the games `fired` (n,) bool, none of which has halted; return the
        indices of those that restart."""
        np.subtract(self._left, fired, out=self._left)
        np.equal(self._left, 0, out=self._halted)
        np.greater(fired, self._halted, out=self._restarted)
        return np.flatnonzero(self._restarted)


def count_columns_to_true(ends: np.ndarray) -> int:
    """The number of columns of ends (n, k) up to the first that holds a True; k if none does."""
    any_end = np.asarray(ends.any(axis=0))
    return int(any_end.argmax()) + 1 if any_end.any() else len(any_end)


def unwritable_view(array: np.ndarray) -> np.ndarray:
    """A view of `array` that follows its changes and cannot be written to."""
    view = array.view()
    view.flags.writeable = False
    return view


class RunningSum:
    """Receives b_t in [0, 1], round by round, and reports when b_1 + ... + b_t has passed a threshold.

    Theorem 2.5 of Li, Wang, Ye, after Dwork et al. (2009): noise Lap(1/ε) on the threshold, and afresh on
    every sum. An instance ends with its first answer "above"; `restart` starts another. All instances
    together are (ε, 0)-DP if one b_t is replaced, even if later ones depend on the answers:
    docs/proofs/running_sum.md. Shapes and units: as `AboveThreshold`.
    """

    def __init__(self, games: int, rng: np.random.Generator, *, thresholds: Any, epsilon: float) -> None:
        check_positive(epsilon=epsilon)
        self._rng = rng
        self._epsilon = epsilon
        self._noisy = NoisyValues(games, rng, scale=1 / epsilon)
        self._sums = np.zeros(games)
        self._thresholds = np.empty(games)  # in units of the noise
        self._fired = np.zeros(games, bool)
        self._answers = unwritable_view(self._fired)
        self.restart(np.arange(games), thresholds)

    def observe(self, values: Any) -> np.ndarray:
        """(n,) bool: whether each game answers "above" in this round, after b_t = `values`, (n,) or one
        number, bool or in [0, 1]. Raises: InvalidArgument for others."""
        values = np.asarray(values)
        _check_unit_interval(values)
        self._sums += values
        np.greater_equal(self._noisy.draw(self._sums), self._thresholds, out=self._fired)
        np.putmask(self._thresholds, self._fired, math.inf)
        return self._answers

    def observe_many(self, values: np.ndarray) -> np.ndarray:
        """(n, j) bool: as `observe`, for the first j of values (n, k), k ≥ 1, up to the first answer
        "above"."""
        _check_unit_interval(values)
        sums = self._sums[:, None] + np.cumsum(values, axis=1)
        fired = sums * self._epsilon + laplace(self._rng, np.empty(values.shape)) >= self._thresholds[:, None]
        fired = fired[:, : count_columns_to_true(fired)]
        self._sums = sums[:, fired.shape[1] - 1]
        np.putmask(self._thresholds, fired[:, -1], math.inf)
        return np.asarray(fired)

    def restart(self, rows: np.ndarray, thresholds: Any) -> None:
        """Start a new instance, with a fresh noisy threshold and sum 0, in the games `rows` (k,).

        thresholds: one number or (k,). Raises: InvalidArgument if one is not finite.
        """
        if not np.isfinite(thresholds).all():
            raise InvalidArgument("thresholds must be finite", value=thresholds)
        noise = laplace(self._rng, np.empty(len(rows)))
        self._sums[rows] = 0
        self._thresholds[rows] = np.asarray(thresholds) * self._epsilon + noise


def running_sum_error(rounds: int, beta: float, *, epsilon: float) -> float:
    """The α by which one instance errs in some of T rounds, on either side, with probability at most β: (ln T
    + 2 ln(2/β))/ε."""
    check_positive(epsilon=epsilon, rounds=rounds)
    check_value("beta", beta, more_than(0), at_most(1))
    return (math.log(rounds) + 2 * math.log(2 / beta)) / epsilon


def running_sum_lag(beta: float, *, epsilon: float) -> float:
    """The α such that a sum that is α above the threshold goes unnoticed in a fixed round with probability at
    most β: P[X + Y > α] = (2 + αε)/4·e^{−αε} for independent X, Y ~ Lap(1/ε)."""
    check_positive(epsilon=epsilon)
    check_value("beta", beta, more_than(0), less_than(0.5))
    return least_sufficient(lambda x: (2 + x) / 4 * math.exp(-x) <= beta) / epsilon


def _check_unit_interval(values: np.ndarray) -> None:
    if values.dtype != bool and not ((values >= 0) & (values <= 1)).all():
        raise InvalidArgument("summed values must lie in [0, 1]", value=values)


_STRETCH = 64  # values that are compared together; the first outcome "between" ends a stretch


class BetweenThresholds:
    """Answers whether a value is below, above or between two noisy thresholds, and halts at "between".

    Appendix C.2 of Naor, Nissim, Stemmer, Yan (2023), first version: the thresholds are lower + μ and upper −
    μ with μ ~ Lap(2/(ε·size)), and values have noise Lap(6/(ε·size)). If replacing one of `size` records
    moves no value by more than 1/size, all answers cost (ε, delta_of_gap(...)) (Lemma C.3). With `halts=c`
    (Observation 2) a game goes on after "between" with a fresh instance: compose_advanced(c, ε, δ,
    slack=c·δ). If μ makes the thresholds cross, no outcome is "between". Shapes and units: as
    `AboveThreshold`.
    """

    def __init__(
        self,
        games: int,
        rng: np.random.Generator,
        *,
        lower: float,
        upper: float,
        epsilon: float,
        size: int,
        halts: int = 1,
    ) -> None:
        if not -math.inf < lower < upper < math.inf:
            raise InvalidArgument("lower must be less than upper, both finite", value=(lower, upper))
        check_positive(epsilon=epsilon, size=size)
        self._rng = rng
        self._scale = scale = 6 / (epsilon * size)
        self._noisy = NoisyValues(games, rng, scale=scale)
        self._budget = RestartBudget(games, halts)
        self._lower = lower / scale
        self._upper = upper / scale
        self._lowers = np.empty(games)
        self._uppers = np.empty(games)
        self._noise = np.empty(games)
        self._not_below = np.zeros(games, dtype=bool)
        self._between = np.zeros(games, dtype=bool)
        self._answers = unwritable_view(self._not_below)
        self.between = unwritable_view(self._between)
        self._start(np.arange(games))

    @property
    def halted(self) -> np.ndarray:
        """(n,) bool: the games that have answered "between" `halts` times."""
        return self._budget.halted

    @property
    def cuts(self) -> np.ndarray:
        """(n,) or (n, j): from which value on the last answers would not have been "below"."""
        return np.asarray((self._compared - self._added) * self._scale)

    def respond(self, values: Any) -> np.ndarray:
        """(n,) bool: False for "below", True for "above" and "between"; `between` then holds the latter.

        Meaningless, and never "between", in a game that has halted. Values and errors: as `NoisyValues.draw`.
        """
        noisy = self._noisy.draw(values)
        self._compared, self._added = self._lowers, self._noisy.noise
        np.greater_equal(noisy, self._lowers, out=self._not_below)
        np.less_equal(noisy, self._uppers, out=self._between)
        self._between &= self._not_below
        if self._between.any():
            self._spend()
        return self._answers

    def respond_many(self, values: np.ndarray) -> np.ndarray:
        """(n, j) bool: as `respond`, for the first j of values (n, k), k ≥ 1, up to the first halt."""
        if not np.isfinite(values).all():
            raise InvalidArgument("the values of a query must be finite", value=values)
        noise = laplace(self._rng, np.empty(values.shape))
        noisy = values / self._scale + noise
        lowers, answers = np.empty(values.shape), np.empty(values.shape, bool)
        done, halted_before = 0, self.halted.copy()
        while done < values.shape[1] and not (self.halted > halted_before).any():
            stretch = noisy[:, done : done + _STRETCH]
            not_below = stretch >= self._lowers[:, None]
            between = not_below & (stretch <= self._uppers[:, None])
            many = count_columns_to_true(between)
            columns = slice(done, done + many)
            answers[:, columns], lowers[:, columns] = not_below[:, :many], self._lowers[:, None]
            self._between[:] = between[:, many - 1]
            if self._between.any():
                self._spend()
            done = columns.stop
        self._compared, self._added = lowers[:, :done], noise[:, :done]
        return answers[:, :done]

    def _spend(self) -> None:
        restarted = self._budget.spend(self._between)
        if restarted.size:
            self._lowers = self._lowers.copy()  # `cuts` still needs the old thresholds
            self._start(restarted)
        np.putmask(self._uppers, self._budget.halted, -math.inf)

    def _start(self, rows: np.ndarray) -> None:
        # In units of the noise of a value, 6/(ε·size), μ has scale 1/3.
        mu = laplace(self._rng, self._noise[: rows.size], 1 / 3)
        self._lowers[rows] = self._lower + mu
        self._uppers[rows] = self._upper - mu


def gap_of_delta(*, epsilon: float, delta: float, size: int) -> float:
    """The distance between the thresholds at which one instance is (epsilon, delta)-DP.

    Lemma C.3 of Naor, Nissim, Stemmer, Yan (2023), first version: 12/(ε·size)·(ln(10/ε) + ln(1/δ) + 1), for ε
    ≤ 1.
    """
    _check_lemma(epsilon=epsilon, size=size)
    check_probability(delta=delta)
    return 12 / (epsilon * size) * (math.log(10 / epsilon) - math.log(delta) + 1)


def delta_of_gap(*, epsilon: float, gap: float, size: int) -> float:
    """The least delta that Lemma C.3 gives one instance whose thresholds are `gap` apart, never 0."""
    _check_lemma(epsilon=epsilon, size=size)
    check_positive(gap=gap)
    return max(10 / epsilon * math.exp(1 - gap * epsilon * size / 12), math.ulp(0.0))


def _check_lemma(*, epsilon: float, size: int) -> None:
    check_positive(epsilon=epsilon, size=size)
    if epsilon > 1:
        raise InvalidArgument(
            "Lemma C.3 needs an epsilon of at most 1", value=epsilon, remedy="Use a smaller epsilon."
        )
