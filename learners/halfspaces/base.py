"""The base of the learners of halfspaces with a margin: the concept class, and multiplicative weights."""

from __future__ import annotations

import math

import attrs
import numpy as np

from arena.concepts import ConceptClass, Halfspaces
from arena.concepts.cube.halfspaces import label_products, products
from arena.errors import Unsupported
from arena.players import Learner
from arena.points import freeze
from arena.settings import setting

_SINGLE_COORDINATES = 6  # coordinates for which `some_points` has a point of their own


def _check_margin(instance: Learner, attribute: object, value: ConceptClass) -> None:
    if not isinstance(value, Halfspaces):
        raise Unsupported(
            f"{instance.name} learns halfspaces with a margin, not {value}",
            remedy="For instance halfspaces:64,0.2; arena.concepts.cube.embeddings embeds other classes.",
        )


@attrs.frozen
class HalfspaceLearner(Learner):
    """Base of the online learners of halfspaces with margin ρ over the cube [-1, 1]^d.

    Raises: Unsupported if the concepts are not halfspaces with a margin.
    """

    protocols = ("Oblivious", "Adaptive", "SpecialRound")
    usual_adversary = "first-swap"

    concepts: Halfspaces = setting(
        Halfspaces(64, 0.2),
        help="the concept class H: halfspaces in dimension d with margin ρ",
        check=_check_margin,
    )

    @property
    def some_points(self) -> np.ndarray:
        """(k, d): points with one coordinate 1 and the others -1, all ones, the negatives of these, and 0."""
        dimension = self.concepts.dimension
        single = 2 * np.eye(dimension)[:_SINGLE_COORDINATES] - 1
        corners = np.concatenate([single, np.ones((1, dimension))])
        return freeze(np.concatenate([corners, -corners, np.zeros((1, dimension))]))


class MultiplicativeWeights:
    """Weights w_i proportional to exp(rate·s_i), where s is the sum of the vectors added so far.

    This is the result of multiplicative updates w_i ← w_i·exp(rate·z_i)/Z. The sums are kept instead of the
    weights: they neither overflow nor underflow, and they are exact for integer vectors.

    Shapes: n games, d coordinates; sums (n, d). Units: rate in nats per unit of a coordinate.
    """

    def __init__(self, games: int, dimension: int, *, rate: float) -> None:
        self.sums = np.zeros((games, dimension))
        self._rate = rate

    def weights(self, rows: np.ndarray) -> np.ndarray:
        """(k, d): the normalised weights of the games `rows`."""
        weights = self.sums[rows]
        weights -= weights.max(axis=1, keepdims=True)
        weights *= self._rate
        np.exp(weights, out=weights)
        weights /= weights.sum(axis=1, keepdims=True)
        return weights


def add_signed(sums: np.ndarray, rows: np.ndarray, points: np.ndarray, y: np.ndarray) -> None:
    """Add y'·x to `sums` in the games `rows`, where y' is +1 for label 1 and -1 for label 0.

    Shapes: sums, points (n, d), y (n,), rows (k,).
    """
    sums[rows] += points[rows] * np.where(np.equal(y[rows], 1), 1, -1).astype(np.int8)[:, None]


def label_points(weights: np.ndarray, points: np.ndarray) -> np.ndarray:
    """(n,) bool: the labels of the halfspaces, without the checks of the class. Shapes: weights, points (n,
    d)."""
    return label_products(products(weights, points))


def update_bound(dimension: int, rate: float, lead: float) -> float:
    """The largest possible number of updates: 2·ln d/(rate·(2·lead − rate)), or ∞ for rate ≥ 2·lead.

    lead: a lower bound on v·z − w·z in every update, for the target v, the weights w and the vector z that is
    added. Proof: docs/proofs/multiplicative_weights.md.
    """
    if dimension == 1:
        return 0.0
    decrease = rate * (2 * lead - rate)  # twice the least decrease of the relative entropy
    return 2 * math.log(dimension) / decrease if decrease > 0 else math.inf
