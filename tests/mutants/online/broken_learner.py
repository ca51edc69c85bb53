"""The base of the broken online learners: a shipped learner with one slip, and its claim."""

from __future__ import annotations

from typing import Any, ClassVar

import attrs
import numpy as np
from support.simple_players import NamedByClass

from arena import Claim


class BrokenLearner(NamedByClass):
    """A subclass is also one of the class `shipped`, and runs in a `State`."""

    __slots__ = ()

    shipped: ClassVar[Any]
    State: ClassVar[Any]

    @property
    def twin(self) -> Any:
        """The shipped learner at the same settings."""
        fields = attrs.fields(self.shipped)
        return self.shipped(**{field.name: getattr(self, field.name) for field in fields})

    @property
    def claim(self) -> Claim:
        return self.twin.claim

    def start(self, games: int, rng: np.random.Generator) -> Any:
        return self.State(self, games, rng)
