"""winnow: multiplicative weights for halfspaces with a margin, without privacy."""

from __future__ import annotations

import math

import attrs
import numpy as np

from arena.claims import MISTAKES, Bound, Claim, PrivacyUnit
from arena.concepts.cube.halfspaces import label_products, products
from arena.points import freeze
from arena.replies import Hypothesis
from arena.settings import less_than, more_than, setting
from learners.halfspaces.base import HalfspaceLearner, MultiplicativeWeights, add_signed, update_bound


@attrs.frozen
class Winnow(HalfspaceLearner):
    """Winnow, a baseline without privacy (ε = ∞) for dp-winnow.

    As in Mohri, Rostamizadeh, Talwalkar, Foundations of Machine Learning (2018), chapter 8. The hypothesis is
    1[w·x ≥ 0], with uniform weights w at first. After a mistake on (x, y), y' = ±1, each weight is multiplied
    by exp(η·y'·x_i), and the weights are normalised. In a realizable game with margin ρ there are at most
    2·ln d/(η·(2ρ − η)) mistakes, 2·ln d/ρ² for η = ρ. Proof: docs/proofs/multiplicative_weights.md.

    Targets with negative weights are learned by doubling the points
    (`arena.concepts.cube.embeddings.double_points`).

    Shapes: points (n, d); hypotheses are weights (n, d) of sum 1.
    """

    name = "winnow"
    theorem = "Winnow's bound by relative entropy: Mohri, Rostamizadeh, Talwalkar (2018)"
    common_random_numbers = True  # it draws no random numbers

    rate: float | None = setting(
        None,
        unit="nats",
        help="η, the rate of an update; default: the margin",
        check=[more_than(0), less_than(math.inf)],
    )

    @property
    def claim(self) -> Claim:
        return Claim(epsilon=math.inf, delta=0, protects=(PrivacyUnit.STREAM_EXAMPLE,))

    @property
    def lead(self) -> float:
        """A lower bound on v·z − w·z in an update, for the target v and z = y'·x."""
        return self.concepts.margin

    @property
    def eta(self) -> float:
        """η, the rate of an update."""
        return self.lead if self.rate is None else self.rate

    def bound(self, rounds: int) -> Bound | None:
        """The largest number of mistakes in a realizable game of any length; None if η is too large."""
        updates = update_bound(self.concepts.dimension, self.eta, self.lead)
        return None if math.isinf(updates) else Bound(updates, MISTAKES, 0, self.theorem)

    def start(self, games: int, rng: np.random.Generator) -> WinnowState:
        return WinnowState(self, games)


class WinnowState:
    """A running winnow."""

    def __init__(self, spec: Winnow, games: int) -> None:
        self._class = spec.concepts
        dimension = self._class.dimension
        self._scores = MultiplicativeWeights(games, dimension, rate=spec.eta)
        self._weights = freeze(np.full((games, dimension), 1 / dimension))

    def hypothesis(self) -> Hypothesis:
        return Hypothesis(self._class, self._weights)

    def observe(self, x: np.ndarray, y: np.ndarray) -> None:
        points = self._class.check(x)
        rows = np.flatnonzero(self._needs_update(products(self._weights, points), y))
        if rows.size:
            add_signed(self._scores.sums, rows, points, y)
            weights = self._weights.copy()  # hypotheses shown earlier must not change
            weights[rows] = self._scores.weights(rows)
            self._weights = freeze(weights)

    def _needs_update(self, product: np.ndarray, y: np.ndarray) -> np.ndarray:
        """(n,) bool: the games that update, given w·x."""
        return np.asarray(label_products(product) != y)
