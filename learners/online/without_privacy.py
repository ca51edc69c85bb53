"""The base of the online learners without privacy: a class with a finite domain, and an empty claim."""

from __future__ import annotations

import attrs
import numpy as np

from arena.claims import Claim, PrivacyUnit
from arena.concepts import ConceptClass, Thresholds
from arena.errors import Unsupported
from arena.players import Learner
from arena.settings import setting


def _check_finite(instance: Learner, attribute: object, value: ConceptClass) -> None:
    if value.domain is None:
        raise Unsupported(
            f"{instance.name} needs a class with a finite domain; the Littlestone dimension of {value} is "
            "infinite",
            remedy="Give it a finite domain, as in thresholds:1..16.",
        )


@attrs.frozen
class WithoutPrivacy(Learner):
    """Base of the online learners that protect nothing (ε = ∞), baselines for the private ones.

    Audit one against a claim of your own (`--epsilon`) to see a claim refuted.

    Raises: Unsupported if the domain is not finite.
    """

    protocols = ("Oblivious", "Adaptive", "SpecialRound")
    common_random_numbers = True  # it draws no random numbers, or one in each round of every game

    concepts: ConceptClass = setting(
        Thresholds(range(16)), help="the concept class H, over a finite domain", check=_check_finite
    )

    @property
    def claim(self) -> Claim:
        return Claim(epsilon=np.inf, delta=0, protects=(PrivacyUnit.STREAM_EXAMPLE,))
