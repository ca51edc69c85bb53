"""Sources of examples on [0, 1] on which the best threshold, and the risk of every other, are known.

Points are uniform, and the class is that of the thresholds 1[x ≥ t], of VC dimension 1. A threshold beyond 1
labels as t = 1 does.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import attrs
import numpy as np

from arena.settings import at_most, more_than

MIDDLE = 0.5


class LineSource(ABC):
    """Uniform points of [0, 1], and labels 1 with probability r(x)."""

    best: float  # t of h*, the first if there are several
    best_error: float  # Err(h*)

    @abstractmethod
    def regression(self, x: np.ndarray) -> np.ndarray:
        """r(x) = P[y = 1 | x]."""

    @abstractmethod
    def excess(self, t: np.ndarray) -> np.ndarray:
        """Err(h_t) − Err(h*) of thresholds, exactly."""

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Independent examples: points and labels, bool, of this shape."""
        points = rng.random(shape)
        return points, rng.random(shape) < self.regression(points)

    def disagreement(self, t: np.ndarray) -> np.ndarray:
        """Dis(h_t, h*)."""
        return np.asarray(np.abs(np.minimum(t, 1.0) - self.best))


@attrs.frozen
class Tsybakov(LineSource):
    """|r(x) − 1/2| = c·|2x − 1|^((1 − τ)/τ): Definition 8 with this τ, and h*(x) = 1[x ≥ 1/2] the Bayes rule.

    P[|r(x) − 1/2| ≤ u] = (u/c)^(τ/(1 − τ)) for u ≤ c, and Err(h_t) − Err(h*) = τ·c·|2t − 1|^(1/τ), so Lemma 9
    holds for thresholds with equality, with η = (τc)^(−τ)/2. τ = 1 is bounded noise, and with c = 1/2 the
    realizable case.

    tau: τ. scale: c.
    """

    tau: float = attrs.field(validator=[more_than(0), at_most(1)])
    scale: float = attrs.field(default=0.5, validator=[more_than(0), at_most(0.5)])

    best = MIDDLE

    @property
    def realizable(self) -> bool:
        """Whether labels have no noise."""
        return self.tau == 1 and self.scale == MIDDLE

    @property
    def best_error(self) -> float:  # type: ignore[override]
        return 0.5 - self.tau * self.scale

    @property
    def eta(self) -> float:
        """η of Lemma 9, for thresholds."""
        return float((self.tau * self.scale) ** -self.tau / 2)

    def regression(self, x: np.ndarray) -> np.ndarray:
        away = 2 * x - 1
        margin = self.scale * np.abs(away) ** ((1 - self.tau) / self.tau)
        return np.where(away >= 0, 0.5 + margin, 0.5 - margin)

    def excess(self, t: np.ndarray) -> np.ndarray:
        return self.tau * self.scale * (2 * self.disagreement(t)) ** (1 / self.tau)


@attrs.frozen
class Plateau(LineSource):
    """r = 1/2 on the middle third, 0 before and 1 after it: every threshold there is best, and there is no τ.

    Teachers scatter over the third, whatever n, so the margin of their vote has no lower bound there.
    """

    best = 1 / 3
    best_error = 1 / 6

    def regression(self, x: np.ndarray) -> np.ndarray:
        return np.where(x < 1 / 3, 0.0, np.where(x < 2 / 3, 0.5, 1.0))

    def excess(self, t: np.ndarray) -> np.ndarray:
        clipped = np.minimum(t, 1.0)
        return np.maximum(0.0, np.maximum(1 / 3 - clipped, clipped - 2 / 3))


@attrs.frozen
class TwoBest(LineSource):
    """Labels without noise that no threshold fits: 0 before 0.4, 1 up to 0.5, 0 up to 0.6, 1 after it.

    The thresholds 0.4 and 0.6 err on 0.1, those between on up to 0.2. Half of the teachers say 0.4 and half
    of them 0.6, whatever n, so on a fifth of the points the vote is near a tie.
    """

    best = 0.4
    best_error = 0.1

    def regression(self, x: np.ndarray) -> np.ndarray:
        return (((x >= 0.4) & (x < 0.5)) | (x >= 0.6)).astype(float)

    def excess(self, t: np.ndarray) -> np.ndarray:
        clipped = np.minimum(t, 1.0)
        return np.minimum(np.abs(clipped - 0.4), np.abs(clipped - 0.6))
