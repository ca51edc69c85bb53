"""winnow: multiplicative weights on mistakes, for halfspaces with margin; no privacy."""

from __future__ import annotations

import math

import attrs
import numpy as np

from arena.claims import MISTAKES, Bound, Claim, PrivacyUnit
from arena.concepts.cube.halfspaces import products
from arena.points import freeze
from arena.replies import Hypothesis
from arena.settings import less_than, more_than, setting
from learners.halfspaces.base import HalfspaceLearner, Multiplicative, add_signed, most_updates


@attrs.frozen
class Winnow(HalfspaceLearner):
    """Winnow as in Mohri, Rostamizadeh, Talwalkar, Foundations of Machine Learning (2018), chapter 8.

    The hypothesis is 1[w·x ≥ 0], with uniform weights w at first. After a mistake on (x, y), y' = ±1, each
    weight is multiplied by exp(η·y'·x_i), and all are divided by their sum. In a realizable game with margin
    ρ there are at most 2·ln d/(η·(2ρ − η)) mistakes, so 2·ln d/ρ² at η = ρ: `most_updates`, as
    y'(v·x) ≥ ρ and y'(w·x) ≤ 0. Weights of both signs are had by doubling the points
    (`arena.concepts.cube.embeddings.double_points`).

    It protects nothing: a yardstick for dp-winnow. Shapes: points (n, d); hypotheses are weights of sum 1.
    Raises: Unsupported if the class is another.
    """

    name = "winnow"
    theorem = "Winnow's bound by relative entropy: Mohri, Rostamizadeh, Talwalkar (2018)"

    rate: float | None = setting(
        None,
        unit="nats",
        help="η of an update; derived: the margin",
        check=[more_than(0), less_than(math.inf)],
    )

    @property
    def claim(self) -> Claim:
        return Claim(epsilon=math.inf, delta=0, protects=(PrivacyUnit.STREAM_EXAMPLE,))

    @property
    def common_random_numbers(self) -> bool:
        """It draws no coins."""
        return True

    @property
    def lead(self) -> float:
        """By how much the target's product with y'·x exceeds the learner's at an update, at least."""
        return self.concepts.margin

    @property
    def eta(self) -> float:
        """η, the rate of an update."""
        return self.lead if self.rate is None else self.rate

    def bound(self, rounds: int) -> Bound | None:
        """The most mistakes of a realizable game of any length; None if η is too large for any."""
        most = most_updates(self.concepts.dimension, self.eta, self.lead)
        return None if math.isinf(most) else Bound(most, MISTAKES, 0, self.theorem)

    def start(self, games: int, rng: np.random.Generator) -> WinnowState:
        return WinnowState(self, games)


class WinnowState:
    """winnow at a table."""

    def __init__(self, spec: Winnow, games: int) -> None:
        self._class = spec.concepts
        dimension = self._class.dimension
        self._scores = Multiplicative(games, dimension, rate=spec.eta)
        self._weights = freeze(np.full((games, dimension), 1 / dimension))

    def hypothesis(self) -> Hypothesis:
        return Hypothesis(self._class, self._weights)

    def observe(self, x: np.ndarray, y: np.ndarray) -> None:
        points = self._class.check(x)
        rows = np.flatnonzero(self._due(products(self._weights, points), y))
        if rows.size:
            add_signed(self._scores.sums, rows, points, y)
            weights = self._weights.copy()  # what was shown stays as it was
            weights[rows] = self._scores.weights(rows)
            self._weights = freeze(weights)

    def _due(self, product: np.ndarray, y: np.ndarray) -> np.ndarray:
        """(n,) bool: the games with an update, given w·x."""
        return np.asarray((product >= 0) != y)
