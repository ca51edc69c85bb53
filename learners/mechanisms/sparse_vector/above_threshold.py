"""AboveThreshold of the sparse vector technique, on a table, and the halting that its relatives share."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from arena.errors import InvalidArgument
from learners.mechanisms.noise.laplace_noise import NoisyValues, laplace
from learners.mechanisms.parameter_checks import check_positive


class AboveThreshold:
    """Tells, query by query, whether a value is above a threshold, and halts at the first that is.

    AboveThreshold (Algorithm 1) of Dwork and Roth, The Algorithmic Foundations of Differential Privacy
    (2014), section 3.6, for queries of any sensitivity Δ: the threshold has noise Lap(2Δ/ε), each value
    Lap(4Δ/ε). (ε, 0)-DP for any number of adaptive queries (Theorem 3.23). With `halts=c` a game goes on
    after an answer "above" with fresh noise on its threshold, and halts after c of them: c instances, so
    (c·ε, 0)-DP.

    Fresh noise is drawn for the games that need it alone. So the answers of other games may decide which of
    the table's coins a game gets, but never with what probabilities.

    Shapes: n is `games`; answers are read-only views (n,), overwritten by the next call.
    Units: epsilon in nats, for *one* of the `halts` instances; threshold and sensitivity in the units of
    the values.
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
        """Raises: InvalidArgument if a parameter is out of range."""
        check_positive(epsilon=epsilon, sensitivity=sensitivity)
        if not math.isfinite(threshold):
            raise InvalidArgument("the threshold must be finite", value=threshold)
        scale = 4 * sensitivity / epsilon
        self._rng = rng
        self._noisy = NoisyValues(games, rng, scale=scale)
        self._budget = RestartBudget(games, halts)
        self._threshold = threshold / scale
        self._thresholds = np.empty(games)
        self._noise = np.empty(games)
        self._above = np.zeros(games, dtype=bool)
        self._shown = unwritable_view(self._above)
        self._start(np.arange(games))

    @property
    def halted(self) -> np.ndarray:
        """(n,) bool: the games that have said "above" `halts` times."""
        return self._budget.halted

    def respond(self, values: Any) -> np.ndarray:
        """(n,) bool: whether each game's value, made noisy, is at or above its noisy threshold.

        A game that has halted always answers False, which means nothing.

        Shapes: values is one number for all games or (n,).
        Raises: InvalidArgument if values has another shape or is not finite.
        """
        np.greater_equal(self._noisy.draw(values), self._thresholds, out=self._above)
        if self._above.any():
            again = self._budget.spend(self._above)
            if again.size:
                self._start(again)
            np.putmask(self._thresholds, self._budget.halted, math.inf)
        return self._shown

    def _start(self, rows: np.ndarray) -> None:
        # Everything is in units of the noise of a value, 4Δ/ε: the threshold's 2Δ/ε is half of one.
        noise = laplace(self._rng, self._noise[: rows.size], 1 / 2)
        self._thresholds[rows] = self._threshold + noise


class RestartBudget:
    """How often each game of a table may still halt and start again, and which games have halted for good."""

    def __init__(self, games: int, halts: int) -> None:
        """Raises: InvalidArgument if halts is not a whole number of at least 1."""
        if isinstance(halts, bool) or not isinstance(halts, (int, np.integer)) or halts < 1:
            raise InvalidArgument("halts is a whole number of at least 1", value=halts)
        self._left = np.full(games, halts, dtype=np.int64)
        self._halted = np.zeros(games, dtype=bool)
        self._again = np.empty(games, dtype=bool)
        self.halted = unwritable_view(self._halted)

    def spend(self, fired: np.ndarray) -> np.ndarray:
        """Count one halt in the games where `fired` (n,) bool; return the indices of those that start again.

        A game that has halted for good must not fire.
        """
        np.subtract(self._left, fired, out=self._left)
        np.equal(self._left, 0, out=self._halted)
        np.greater(fired, self._halted, out=self._again)
        return np.flatnonzero(self._again)


def unwritable_view(array: np.ndarray) -> np.ndarray:
    """A view of `array` that follows it and cannot be written to."""
    view = array.view()
    view.flags.writeable = False
    return view
