"""winnow and confident-winnow, and what learners of halfspaces share."""

from __future__ import annotations

import math

import attrs
import numpy as np

from arena.claims import MISTAKES, Bound
from arena.concepts import ConceptClass, Halfspaces
from arena.concepts.halfspaces import label_products, products
from arena.errors import Unsupported
from arena.messages import Hypothesis
from arena.players import Learner
from arena.sample import freeze
from arena.settings import at_least, less_than, more_than, one_of, setting
from learners.common.learner_bases import OnlineLearner

_SINGLE_COORDINATES = 6  # coordinates for which `some_points` has a point of their own


def _check_margin(instance: Learner, attribute: object, value: ConceptClass) -> None:
    if not isinstance(value, Halfspaces):
        raise Unsupported(
            f"{instance.name} learns halfspaces with a margin, not {value}",
            remedy="For instance halfspaces:64,0.2; arena.concepts.halfspaces embeds other classes.",
        )


@attrs.frozen
class HalfspaceLearner(OnlineLearner):
    """Base of the online learners of halfspaces with margin ρ over the cube [-1, 1]^d."""

    usual_adversary = "first-swap"

    concepts: Halfspaces = setting(
        Halfspaces(64, 0.2), help="the concept class H: halfspaces with margin ρ", check=_check_margin
    )

    @property
    def some_points(self) -> np.ndarray:
        """(k, d): points with one coordinate 1 and the others -1, all ones, the negatives of these, and 0."""
        dimension = self.concepts.dimension
        single = 2 * np.eye(dimension)[:_SINGLE_COORDINATES] - 1
        corners = np.concatenate([single, np.ones((1, dimension))])
        return freeze(np.concatenate([corners, -corners, np.zeros((1, dimension))]))


class MultiplicativeWeights:
    """Weights w_i proportional to exp(rate·s_i), where s (n, d) is the sum of the vectors added so far.

    Sums neither overflow nor underflow, and are exact for integer vectors. rate: nats per unit of a
    coordinate.
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
    """Add y'·x to `sums` (n, d) in the games `rows`, where y' is +1 for label 1 and -1 for label 0."""
    sums[rows] += points[rows] * np.where(np.equal(y[rows], 1), 1, -1).astype(np.int8)[:, None]


def label_points(weights: np.ndarray, points: np.ndarray) -> np.ndarray:
    """(n,) bool: the labels of points (n, d) by halfspaces (n, d), without the checks of the class."""
    return label_products(products(weights, points))


def update_bound(dimension: int, rate: float, lead: float) -> float:
    """The largest possible number of updates: 2·ln d/(rate·(2·lead − rate)), or ∞ for rate ≥ 2·lead.

    lead: a lower bound on v·z − w·z in every update, for the target v and the vector z that is added:
    docs/proofs/multiplicative_weights.md.
    """
    if dimension == 1:
        return 0.0
    decrease = rate * (2 * lead - rate)  # twice the least decrease of the relative entropy
    return 2 * math.log(dimension) / decrease if decrease > 0 else math.inf


@attrs.frozen
class Winnow(HalfspaceLearner):
    """Winnow, a baseline without privacy (ε = ∞) for dp-winnow.

    Mohri, Rostamizadeh, Talwalkar (2018), chapter 8. After a mistake on (x, y), y' = ±1, each weight is
    multiplied by exp(η·y'·x_i); at most 2·ln d/(η·(2ρ − η)) mistakes (docs/proofs/multiplicative_weights.md).
    Hypotheses are weights (n, d) of sum 1; `arena.concepts.halfspaces.double_points` allows targets with
    negative weights.
    """

    name = "winnow"
    theorem = "Winnow's bound by relative entropy: Mohri, Rostamizadeh, Talwalkar (2018)"
    common_random_numbers = True  # it draws no random numbers

    rate: float | None = setting(
        None, unit="nats", help="η, the rate; default: the margin", check=[more_than(0), less_than(math.inf)]
    )

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
        return np.asarray(label_products(product) != y)


ALWAYS, NEVER = "always", "never"


@attrs.frozen
class ConfidentWinnow(Winnow):
    """Winnow that may also update on uncertain predictions (Algorithm 4.1 of Bun and Fang), without privacy
    (ε = ∞).

    It updates on a mistake, and where y'(w·x) ≤ c·ρ and the bit b_t that comes with the example
    (`Example.update`) is 1. There are at most 2·ln d/(η·(2(1 − c)ρ − η)) updates, whatever the bits (Lemma
    4.2; docs/proofs/multiplicative_weights.md).
    """

    name = "confident-winnow"
    theorem = "Lemma 4.2 of Bun and Fang"

    c: float = setting(
        0.5, unit="margins", help="c: y'(w·x) ≤ c·ρ is uncertain", check=[at_least(0), less_than(1)]
    )
    update: str = setting(ALWAYS, help="b_t in rounds without: always or never", check=one_of(ALWAYS, NEVER))

    @property
    def lead(self) -> float:
        """A lower bound on v·z − w·z in an update, for the target v and z = y'·x: (1 − c)ρ."""
        return (1 - self.c) * self.concepts.margin

    def start(self, games: int, rng: np.random.Generator) -> ConfidentWinnowState:
        return ConfidentWinnowState(self, games)


class ConfidentWinnowState(WinnowState):
    def __init__(self, spec: ConfidentWinnow, games: int) -> None:
        super().__init__(spec, games)
        self._uncertain_below = spec.c * spec.concepts.margin
        self._default_bits = np.full(games, spec.update == ALWAYS)
        self._bits = self._default_bits

    def instruct(self, update: np.ndarray) -> None:
        """Receive the bits b_t of this round, (n,) bool."""
        self._bits = update

    def _needs_update(self, product: np.ndarray, y: np.ndarray) -> np.ndarray:
        uncertain = np.where(np.equal(y, 1), product, -product) <= self._uncertain_below
        bits, self._bits = self._bits, self._default_bits
        return np.asarray(super()._needs_update(product, y) | (uncertain & bits))
