"""What the online learners without privacy share: a class with a finite domain, and a claim of nothing."""

from __future__ import annotations

import attrs
import numpy as np

from arena.claims import STREAM_EXAMPLE, Claim
from arena.concepts import ConceptClass, Thresholds
from arena.errors import BudgetExceeded, Unsupported
from arena.players import Learner
from arena.settings import setting


def _finite(instance: Learner, attribute: object, value: ConceptClass) -> None:
    if value.domain is None:
        raise Unsupported(
            f"{instance.name} needs a class with a finite domain; the Littlestone dimension of {value} is "
            "infinite",
            remedy="Give it a finite domain, as in thresholds:1..16.",
        )


@attrs.frozen
class WithoutPrivacy(Learner):
    """An online learner that protects nothing (ε = ∞): a yardstick for those that do.

    Audit it against a claim of your own (`--epsilon`) to see an audit succeed.

    Raises: Unsupported if the domain is not finite.
    """

    protocols = ("Oblivious", "Adaptive", "SpecialRound")

    concepts: ConceptClass = setting(
        Thresholds(range(16)), help="the concept class H, over a finite domain", check=_finite
    )

    @property
    def point_shape(self) -> tuple[int, ...]:
        return self.concepts.point_shape

    @property
    def claim(self) -> Claim:
        return Claim(epsilon=np.inf, delta=0, protects=(STREAM_EXAMPLE,))

    @property
    def in_step(self) -> bool:
        """It draws no coins, or one number a round in every game."""
        return True


class Rounds:
    """Counts the rounds of a game, of which there are at most `most`."""

    def __init__(self, name: str, most: int) -> None:
        """name: of the learner, for the message."""
        self._name = name
        self._most = most
        self.left = most

    def begin(self) -> None:
        """A round begins; `left` are those that follow it.

        Raises: BudgetExceeded if all have been played.
        """
        if self.left == 0:
            raise BudgetExceeded(
                f"{self._name} has spent its {self._most} rounds; set rounds to the game's length"
            )
        self.left -= 1
