"""BetweenThresholds for batches of games: is a value below two thresholds, above both, or between them?"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from arena.errors import InvalidArgument
from learners.mechanisms.above_threshold import RestartBudget, count_columns_to_true, unwritable_view
from learners.mechanisms.noise import NoisyValues, laplace
from learners.mechanisms.parameter_checks import check_positive, check_probability

_STRETCH = 64  # values that are compared together; the first outcome "between" ends a stretch


class BetweenThresholds:
    """Answers whether a value is below, above or between two noisy thresholds, and halts at "between".

    Appendix C.2 and Lemma C.3 of Naor, Nissim, Stemmer, Yan (2023), first version, after Bun, Steinke, Ullman
    (2016): the thresholds are lower + μ and upper − μ with μ ~ Lap(2/(ε·size)), and each value has noise
    Lap(6/(ε·size)). A noisy value below the first is "below" (L), otherwise above the second is "above" (R),
    otherwise "between" (⊤). If replacing one of `size` records moves no value by more than 1/size, all
    answers together cost (ε, delta_of_gap(...)). With `halts=c` (Observation 2) a game continues after
    "between" with a fresh instance, and halts after c of them: compose_advanced(c, ε, δ, slack=c·δ).

    Deviations: none. If μ makes the thresholds cross, no outcome is "between", by the printed order of tests.

    Shapes and units: as `AboveThreshold`.
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

        True and False are the labels that GenericBBL answers. The answer of a game that has halted is
        meaningless, and never "between". Values and errors: as `NoisyValues.draw`.
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
        """(n, j) bool: as `respond`, for the first j of several values per game, up to the first halt.

        Shapes: values (n, k), k ≥ 1. Raises: InvalidArgument if a value is not finite.
        """
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
        """Count the outcomes "between", and restart games where the budget allows."""
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

    Lemma C.3 of Naor, Nissim, Stemmer, Yan (2023), first version: 12/(ε·size)·(ln(10/ε) + ln(1/δ) + 1). The
    lemma says ε < 1; it also holds at ε = 1, since the output distribution is continuous in ε.

    Units: epsilon in nats, at most 1; delta a probability; neighbours replace one of `size` records.
    """
    _check_lemma(epsilon=epsilon, size=size)
    check_probability(delta=delta)
    return 12 / (epsilon * size) * (math.log(10 / epsilon) - math.log(delta) + 1)


def delta_of_gap(*, epsilon: float, gap: float, size: int) -> float:
    """The least delta that Lemma C.3 gives one instance whose thresholds are `gap` apart.

    `gap_of_delta` solved for δ: (10/ε)·exp(1 − gap·ε·size/12), never rounded down to 0. A result of 1 or more
    promises nothing. Units: as `gap_of_delta`.
    """
    _check_lemma(epsilon=epsilon, size=size)
    check_positive(gap=gap)
    return max(10 / epsilon * math.exp(1 - gap * epsilon * size / 12), math.ulp(0.0))


def _check_lemma(*, epsilon: float, size: int) -> None:
    check_positive(epsilon=epsilon, size=size)
    if epsilon > 1:
        raise InvalidArgument(
            "Lemma C.3 needs an epsilon of at most 1", value=epsilon, remedy="Use a smaller epsilon."
        )
