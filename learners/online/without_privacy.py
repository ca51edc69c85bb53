"""What the online learners without privacy share: a class with a finite domain, and a claim of nothing."""

from __future__ import annotations

import attrs
import numpy as np

from arena.claims import Claim, PrivacyUnit
from arena.concepts import ConceptClass, Thresholds
from arena.errors import Unsupported
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
    def claim(self) -> Claim:
        return Claim(epsilon=np.inf, delta=0, protects=(PrivacyUnit.STREAM_EXAMPLE,))

    @property
    def common_random_numbers(self) -> bool:
        """It draws no coins, or one number a round in every game."""
        return True
