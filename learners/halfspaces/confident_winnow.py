"""confident-winnow: Winnow that also updates on correct but uncertain predictions, without privacy."""

from __future__ import annotations

import attrs
import numpy as np

from arena.settings import at_least, less_than, one_of, setting
from learners.halfspaces.winnow import Winnow, WinnowState

ALWAYS, NEVER = "always", "never"


@attrs.frozen
class ConfidentWinnow(Winnow):
    """Winnow that may also update on uncertain predictions (Algorithm 4.1 of Bun and Fang), without privacy
    (ε = ∞).

    It updates on a mistake, and also where y'(w·x) ≤ c·ρ and the bit b_t that the adversary sends with the
    example (`Example.update`) is 1. In realizable games there are at most 2·ln d/(η·(2(1 − c)ρ − η)) updates,
    and so mistakes, whatever the bits (Lemma 4.2); for η = (1 − c)ρ, the default, 2·ln d/((1 − c)²ρ²). Proof:
    docs/proofs/multiplicative_weights.md. dp-winnow is a private version of this learner. With `update` =
    never and no bits it is Winnow with the rate (1 − c)ρ.

    Shapes: points (n, d); hypotheses are weights (n, d) of sum 1.
    """

    name = "confident-winnow"
    theorem = "Lemma 4.2 of Bun and Fang"

    c: float = setting(
        0.5,
        unit="margins",
        help="c: a prediction with y'(w·x) ≤ c·ρ is uncertain",
        check=[at_least(0), less_than(1)],
    )
    update: str = setting(
        ALWAYS,
        help="b_t in rounds in which the adversary sends no bit: always 1, or never",
        check=one_of(ALWAYS, NEVER),
    )

    @property
    def lead(self) -> float:
        """A lower bound on v·z − w·z in an update, for the target v and z = y'·x: (1 − c)ρ."""
        return (1 - self.c) * self.concepts.margin

    def start(self, games: int, rng: np.random.Generator) -> ConfidentWinnowState:
        return ConfidentWinnowState(self, games)


class ConfidentWinnowState(WinnowState):
    """A running confident-winnow."""

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
