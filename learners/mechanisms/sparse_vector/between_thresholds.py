"""BetweenThresholds on a table: is a value below two thresholds, above both, or between them?"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from arena.errors import InvalidArgument
from learners.mechanisms.noise.laplace_noise import NoisyValues, laplace
from learners.mechanisms.parameter_checks import check_positive
from learners.mechanisms.sparse_vector.above_threshold import RestartBudget, unwritable_view

_STRETCH = 64  # values that are looked at together; an outcome TOP ends a stretch


class BetweenThresholds:
    """Answers L below, R above, and TOP between two noisy thresholds, and halts at TOP.

    Appendix C.2 and Lemma C.3 of Naor, Nissim, Stemmer, Yan (2023), first version, after Bun, Steinke,
    Ullman (2016): μ ~ Lap(2/(ε·size)) moves the thresholds together or apart, to lower + μ and upper − μ;
    each value has noise Lap(6/(ε·size)); below the first is L, otherwise above the second is R, otherwise
    TOP. All answers together cost (ε, delta_of_gap(...)), if replacing one of `size` records moves no value
    by more than 1/size. With `halts=c` (Observation 2) a game goes on after TOP with a fresh instance, fresh
    μ, and halts after c of them: composition.advanced(c, ε, δ, slack=c·δ).

    Deviations: none. Where μ makes the thresholds cross there is no TOP, by the printed order of the tests.

    Fresh μ are drawn for the games that need one alone. So the answers of other games may decide which of the
    table's coins a game gets, but never with what probabilities.

    Shapes: n is `games`; all answers are read-only views (n,), overwritten by the next call.
    Units: epsilon in nats, for *one* of the `halts` instances; thresholds in those of the values.
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
        """Raises: InvalidArgument if a parameter is out of range."""
        if not -math.inf < lower < upper < math.inf:
            raise InvalidArgument("lower must be less than upper, both finite", value=(lower, upper))
        check_positive(epsilon=epsilon, size=size)
        scale = 6 / (epsilon * size)
        self._rng = rng
        self._scale = scale
        self._noisy = NoisyValues(games, rng, scale=scale)
        self._budget = RestartBudget(games, halts)
        self._lower = lower / scale
        self._upper = upper / scale
        self._lowers = np.empty(games)
        self._uppers = np.empty(games)
        self._noise = np.empty(games)
        self._not_below = np.zeros(games, dtype=bool)
        self._top = np.zeros(games, dtype=bool)
        self._shown = unwritable_view(self._not_below)
        self.top = unwritable_view(self._top)
        self._start(np.arange(games))

    @property
    def halted(self) -> np.ndarray:
        """(n,) bool: the games that have answered TOP `halts` times."""
        return self._budget.halted

    @property
    def cuts(self) -> np.ndarray:
        """(n,), or (n, j) of several: the values from which on the last answers would not have been L."""
        return np.asarray((self._compared - self._added) * self._scale)

    def respond(self, values: Any) -> np.ndarray:
        """(n,) bool: False for L, True for R or TOP; `top` then tells which of the latter it was.

        True and False are the labels that GenericBBL gives. A game that has halted answers either, which
        means nothing, and never TOP.

        Shapes: values is one number for all games or (n,).
        Raises: InvalidArgument if values has another shape or is not finite.
        """
        noisy = self._noisy.draw(values)
        self._compared, self._added = self._lowers, self._noisy.noise
        np.greater_equal(noisy, self._lowers, out=self._not_below)
        np.less_equal(noisy, self._uppers, out=self._top)
        self._top &= self._not_below
        if self._top.any():
            self._spend()
        return self._shown

    def respond_many(self, values: np.ndarray) -> np.ndarray:
        """(n, j) bool: as `respond`, to the first j of several values a game, up to the first halt of a game.

        Shapes: values (n, k), k ≥ 1. Raises: InvalidArgument if one is not finite.
        """
        if not np.isfinite(values).all():
            raise InvalidArgument("the values of a query must be finite", value=values)
        noise = laplace(self._rng, np.empty(values.shape))
        noisy = values / self._scale + noise
        lowers, said = np.empty(values.shape), np.empty(values.shape, bool)
        done, ended = 0, self.halted.copy()
        while done < values.shape[1] and not (self.halted > ended).any():
            some = noisy[:, done : done + _STRETCH]
            not_below = some >= self._lowers[:, None]
            top = not_below & (some <= self._uppers[:, None])
            fired = top.any(axis=0)
            last = int(fired.argmax()) if fired.any() else some.shape[1] - 1
            here = slice(done, done + last + 1)
            said[:, here], lowers[:, here] = not_below[:, : last + 1], self._lowers[:, None]
            self._top[:] = top[:, last]
            if fired.any():
                self._spend()
            done = here.stop
        self._compared, self._added = lowers[:, :done], noise[:, :done]
        return said[:, :done]

    def _spend(self) -> None:
        """Count the outcomes TOP, and start again where the budget allows."""
        again = self._budget.spend(self._top)
        if again.size:
            self._lowers = self._lowers.copy()  # `cuts` may be asked for those that were compared with
            self._start(again)
        np.putmask(self._uppers, self._budget.halted, -math.inf)

    def _start(self, rows: np.ndarray) -> None:
        # Everything is in units of a value's noise, 6/(ε·size): that of μ, 2/(ε·size), is a third of one.
        mu = laplace(self._rng, self._noise[: rows.size], 1 / 3)
        self._lowers[rows] = self._lower + mu
        self._uppers[rows] = self._upper - mu


def gap_of_delta(*, epsilon: float, delta: float, size: int) -> float:
    """How far apart the thresholds must be for one instance to be (epsilon, delta)-DP.

    Lemma C.3 of Naor, Nissim, Stemmer, Yan (2023), first version: 12/(ε·size)·(ln(10/ε) + ln(1/δ) + 1).
    The lemma says epsilon < 1; the law of the answers is continuous in ε, so it holds at 1 too.

    Units: epsilon in nats, at most 1; delta a probability; neighbours replace one of `size` records.
    Raises: InvalidArgument if a parameter is out of range.
    """
    _lemma(epsilon=epsilon, size=size)
    if not 0 < delta < 1:
        raise InvalidArgument("delta must be between 0 and 1", value=delta)
    return 12 / (epsilon * size) * (math.log(10 / epsilon) - math.log(delta) + 1)


def delta_of_gap(*, epsilon: float, gap: float, size: int) -> float:
    """The smallest delta that Lemma C.3 gives one instance whose thresholds are `gap` apart.

    `gap_of_delta` solved for δ: (10/ε)·exp(1 − gap·ε·size/12), never rounded down to 0. It may exceed 1,
    and then nothing is promised.

    Units and Raises: as `gap_of_delta`; gap must be positive.
    """
    _lemma(epsilon=epsilon, size=size)
    check_positive(gap=gap)
    return max(10 / epsilon * math.exp(1 - gap * epsilon * size / 12), math.ulp(0.0))


def _lemma(*, epsilon: float, size: int) -> None:
    check_positive(epsilon=epsilon, size=size)
    if epsilon > 1:
        raise InvalidArgument(
            "Lemma C.3 speaks of epsilon of at most 1 for one instance",
            value=epsilon,
            remedy="Use a smaller epsilon",
        )
