"""Broken versions of `golowich-livni`: the shipped learner but for one slip, with a forest of one tree."""

from __future__ import annotations

import attrs
import numpy as np

from arena import Claim
from arena.concepts import ConceptClass, Thresholds
from learners.golowich_livni import GolowichLivni, SeatedGolowichLivni


@attrs.frozen
class FewTrees(GolowichLivni):
    """What the broken learners share: settings, and the claim of the shipped learner."""

    concepts: ConceptClass = Thresholds(range(2))
    rounds: int = 40
    epsilon: float = 2.0
    delta: float = 0.1
    nodes: int = 2
    switches: int = 1
    level: float | None = 2.0

    @property
    def twin(self) -> GolowichLivni:
        """The shipped learner at the same settings."""
        fields = attrs.fields(GolowichLivni)
        return GolowichLivni(**{field.name: getattr(self, field.name) for field in fields})

    @property
    def claim(self) -> Claim:
        return self.twin.claim


class SeatedBareForest(SeatedGolowichLivni):
    def _switch(self, rows: np.ndarray) -> None:
        counts = self._forests.counts(rows)
        best = np.where(counts.any(axis=1), counts.argmax(axis=1), self._forests.function[rows])
        self._forests.show(rows, best, counts)


@attrs.frozen
class BareForest(FewTrees):
    """The slip: the most frequent function is shown without noise, since AboveThreshold has some. No ε holds.

    A forest of one tree: the first mistake makes its root, and the function of the root is shown.
    """

    name = "bare-forest"

    def seat(self, games: int, rng: np.random.Generator) -> SeatedGolowichLivni:
        return SeatedBareForest(self, games, rng)
