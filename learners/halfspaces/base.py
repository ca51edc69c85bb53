"""What the learners of halfspaces with margin share: the class, and multiplicative weights."""

from __future__ import annotations

import math

import attrs
import numpy as np

from arena.concepts import ConceptClass, Halfspaces
from arena.concepts.cube.halfspaces import products
from arena.errors import Unsupported
from arena.players import Learner
from arena.points import freeze
from arena.settings import setting

MOST_SIGNS = 6  # coordinates that `some_points` singles out


def _has_margin(instance: Learner, attribute: object, value: ConceptClass) -> None:
    if not isinstance(value, Halfspaces):
        raise Unsupported(
            f"{instance.name} learns halfspaces with margin, not {value}",
            remedy="Give it some, as in halfspaces:64,0.2; arena.concepts.cube.embeddings writes others as such.",
        )


@attrs.frozen
class HalfspaceLearner(Learner):
    """An online learner of halfspaces with margin ρ over the cube [-1, 1]^d."""

    protocols = ("Oblivious", "Adaptive", "SpecialRound")

    concepts: Halfspaces = setting(
        Halfspaces(64, 0.2), help="the concept class H: halfspaces with d and the margin ρ", check=_has_margin
    )

    @property
    def some_points(self) -> np.ndarray:
        """(k, d): points with a 1 in one place and -1 elsewhere, all ones, their opposites, and 0."""
        dimension = self.concepts.dimension
        single = 2 * np.eye(dimension)[:MOST_SIGNS] - 1
        corners = np.concatenate([single, np.ones((1, dimension))])
        return freeze(np.concatenate([corners, -corners, np.zeros((1, dimension))]))


class Multiplicative:
    """Weights w_i proportional to exp(rate·s_i), with s the sum of the vectors that were added.

    That is what multiplicative updates w_i ← w_i·exp(rate·z_i)/Z come to. The sums are kept instead of the
    weights: they neither overflow nor get stuck at 0, and are exact where the vectors are whole.

    Shapes: n games, d coordinates; sums (n, d). Units: rate in nats per unit of a coordinate.
    """

    def __init__(self, games: int, dimension: int, *, rate: float) -> None:
        self.sums = np.zeros((games, dimension))
        self._rate = rate

    def weights(self, rows: np.ndarray) -> np.ndarray:
        """(k, d): the weights in the games `rows`, of sum 1."""
        weights = self.sums[rows]
        weights -= weights.max(axis=1, keepdims=True)
        weights *= self._rate
        np.exp(weights, out=weights)
        weights /= weights.sum(axis=1, keepdims=True)
        return weights


def add_signed(sums: np.ndarray, rows: np.ndarray, points: np.ndarray, y: np.ndarray) -> None:
    """Add y'·x to `sums` in the games `rows`, where y' is +1 for label 1 and -1 for 0.

    Shapes: sums, points (n, d), y (n,), rows (k,).
    """
    sums[rows] += points[rows] * np.where(np.equal(y[rows], 1), 1, -1).astype(np.int8)[:, None]


def says_one(weights: np.ndarray, points: np.ndarray) -> np.ndarray:
    """(n,) bool: the labels that the class gives, without its checks. Shapes: weights, points (n, d)."""
    return np.asarray(products(weights, points) >= 0)


def most_updates(dimension: int, rate: float, lead: float) -> float:
    """How often multiplicative weights change at most: 2·ln d/(rate·(2·lead − rate)); ∞ for rate ≥ 2·lead.

    Let v be the target, and z in [-1, 1]^d a signed point y'·x, or a mean of some, with v·z − w·z ≥ lead. The
    relative entropy of v to w then changes by −rate·(v·z) + ln Σ w_i exp(rate·z_i), and by Hoeffding's lemma
    the logarithm is at most rate·(w·z) + rate²/2. So it falls by rate·(lead − rate/2) or more. It is at
    most ln d before the first update, when w is uniform, and never below 0. At rate = lead, 2·ln d/lead².
    """
    if dimension == 1:
        return 0.0
    fall = rate * (2 * lead - rate)
    return 2 * math.log(dimension) / fall if fall > 0 else math.inf
