"""Base of the learners that are configured for a fixed sample size."""

from __future__ import annotations

from typing import Self

import attrs

from arena.errors import Unsupported
from arena.players import Learner
from arena.sample import Sample
from arena.settings import count_setting


@attrs.frozen
class FixedSizeLearner(Learner):
    """Base of the learners that are configured for exactly `size` examples."""

    size: int = count_setting(1, help="n, the number of training examples")

    @property
    def sample_size(self) -> int:
        return self.size

    def adapt_to(self, sample_size: int) -> Self:
        """The learner configured for exactly this many examples."""
        return attrs.evolve(self, size=sample_size)

    def check_sample_size(self, sample: Sample) -> None:
        """Raises: Unsupported if the sample has another size."""
        if sample.size != self.size:
            raise Unsupported(
                f"{self.name} is configured for {self.size:,} example{'s' if self.size > 1 else ''}",
                value=sample.size,
                remedy="Set size to the size of the sample.",
            )
