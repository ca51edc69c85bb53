"""AboveThreshold, the sparse vector technique, for batches of games; and the restarts of its variants."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from arena.errors import InvalidArgument
from arena.settings import at_least, check_value, whole
from learners.mechanisms.noise.laplace_noise import NoisyValues, laplace
from learners.mechanisms.parameter_checks import check_positive


class AboveThreshold:
    """Answers for every query whether a value is above a threshold, and halts at the first that is.

    AboveThreshold (Algorithm 1) of Dwork and Roth, The Algorithmic Foundations of Differential Privacy
    (2014), section 3.6, for queries of any sensitivity Δ: the threshold has noise Lap(2Δ/ε), each value
    Lap(4Δ/ε). (ε, 0)-DP for any number of adaptive queries (Theorem 3.23). With `halts=c`, a game continues
    after an answer "above" with fresh noise on its threshold, and halts after c of them: c instances, (c·ε,
    0)-DP.

    Fresh noise is drawn only for the games that restart. So the answers of other games may decide which
    random numbers a game receives, but not their distribution.

    Shapes: n is `games`; answers are read-only views (n,), overwritten by the next call.
    Units: epsilon in nats, for *one* of the `halts` instances; threshold and sensitivity in units of the
    values.
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

        The answer of a game that has halted is always False, and meaningless.

        Shapes: values is one number for all games or (n,).
        Raises: InvalidArgument if values has another shape or is not finite.
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
    """How many instances of a halting mechanism each game has left, and which games have halted for good.

    halts: the instances of a game. When its last instance halts, the game has halted.
    """

    def __init__(self, games: int, halts: int) -> None:
        """Raises: InvalidArgument if halts is not an integer ≥ 1."""
        check_value("halts", halts, whole, at_least(1))
        self._left = np.full(games, halts, dtype=np.int64)
        self._halted = np.zeros(games, dtype=bool)
        self._restarted = np.empty(games, dtype=bool)
        self.halted = unwritable_view(self._halted)

    def spend(self, fired: np.ndarray) -> np.ndarray:
        """End the current instance of the games `fired` (n,) bool; return the indices of those that restart.

        A game that has halted must not fire.
        """
        np.subtract(self._left, fired, out=self._left)
        np.equal(self._left, 0, out=self._halted)
        np.greater(fired, self._halted, out=self._restarted)
        return np.flatnonzero(self._restarted)


def unwritable_view(array: np.ndarray) -> np.ndarray:
    """A view of `array` that follows its changes and cannot be written to."""
    view = array.view()
    view.flags.writeable = False
    return view
