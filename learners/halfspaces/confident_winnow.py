"""confident-winnow: Winnow that also updates where it is right without confidence; no privacy."""

from __future__ import annotations

import attrs
import numpy as np

from arena.settings import at_least, less_than, one_of, setting
from learners.halfspaces.winnow import Winnow, WinnowState

ALWAYS, NEVER = "always", "never"


@attrs.frozen
class ConfidentWinnow(Winnow):
    """Algorithm 4.1 of Bun and Fang: Winnow whose unsure predictions the adversary may call in.

    It updates on a mistake, and where y'(w·x) ≤ c·ρ and the bit b_t that the adversary adds to the example
    (`Example.update`) is 1. Lemma 4.2: in realizable games there are at most 2·ln d/(η·(2(1 − c)ρ − η))
    updates, and so mistakes, whatever the bits; at η = (1 − c)ρ, the default, 2·ln d/((1 − c)²ρ²). It is the
    argument of `most_updates` with v·z − w·z ≥ ρ − cρ.

    It protects nothing: what dp-winnow hides is such a learner. With `update` = never and no bits it is
    Winnow with the rate (1 − c)ρ. Shapes: points (n, d); hypotheses are weights of sum 1.
    Raises: Unsupported if the class is another.
    """

    name = "confident-winnow"
    theorem = "Lemma 4.2 of Bun and Fang"

    c: float = setting(
        0.5,
        unit="margins",
        help="c: products below c·ρ are unsure",
        check=[at_least(0), less_than(1)],
    )
    update: str = setting(
        ALWAYS,
        help="b_t in rounds in which the adversary gives none: always 1, or never",
        check=one_of(ALWAYS, NEVER),
    )

    @property
    def lead(self) -> float:
        """By how much the target's product with y'·x exceeds the learner's at an update: (1 − c)ρ."""
        return (1 - self.c) * self.concepts.margin

    def start(self, games: int, rng: np.random.Generator) -> ConfidentWinnowState:
        return ConfidentWinnowState(self, games)


class ConfidentWinnowState(WinnowState):
    """confident-winnow at a table."""

    def __init__(self, spec: ConfidentWinnow, games: int) -> None:
        super().__init__(spec, games)
        self._unsure = spec.c * spec.concepts.margin
        self._usual = np.full(games, spec.update == ALWAYS)
        self._bits = self._usual

    def instruct(self, update: np.ndarray) -> None:
        """Receive b_t of this round, (n,) bool."""
        self._bits = update

    def _due(self, product: np.ndarray, y: np.ndarray) -> np.ndarray:
        unsure = np.where(np.equal(y, 1), product, -product) <= self._unsure
        bits, self._bits = self._bits, self._usual
        return np.asarray(super()._due(product, y) | (unsure & bits))
