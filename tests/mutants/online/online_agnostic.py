"""Broken versions of `agnostic-batched`: the shipped learner with one slip each, and small batches."""

from __future__ import annotations

from functools import cached_property

import attrs
import numpy as np
from support.simple_players import NamedByClass

from arena import Claim
from arena.concepts import ConceptClass, Thresholds
from learners.online.agnostic_batched import AgnosticBatched, AgnosticBatchedState
from learners.online.sanitiser import Discriminator, ExponentialLearner, Sanitiser


@attrs.frozen
class SmallBatches(NamedByClass, AgnosticBatched):
    """Base of the broken learners: their settings, and the claim of the shipped learner."""

    concepts: ConceptClass = Thresholds(range(1))
    rounds: int = 30
    batch: int = 1
    epsilon: float = 1.0
    delta: float = 0.0
    alpha: float = 0.5
    calls: int | None = 1
    rate: float | None = 20.0

    @property
    def twin(self) -> AgnosticBatched:
        """The shipped learner at the same settings."""
        fields = attrs.fields(AgnosticBatched)
        return AgnosticBatched(**{field.name: getattr(self, field.name) for field in fields})

    @property
    def claim(self) -> Claim:
        return self.twin.claim


class KeepsBatchesState(AgnosticBatchedState):
    def _sanitise(self, out: np.ndarray) -> None:
        before = self._counts.copy()
        super()._sanitise(out)
        self._counts += before


@attrs.frozen
class KeepsBatches(SmallBatches):
    """The slip: a batch is sanitised together with all earlier ones. It loses ε for each batch."""

    rounds: int = 60
    alpha: float = 0.7  # distinguishes the worlds best

    def start(self, games: int, rng: np.random.Generator) -> AgnosticBatchedState:
        return KeepsBatchesState(self, games, rng)


class NoiseOfMeansSanitiser(Sanitiser):
    @cached_property
    def _discriminator(self) -> Discriminator:
        both = np.concatenate([self.functions, ~self.functions])
        return Discriminator(
            both, self.alpha, self.step * NoiseOfMeans().batch, ExponentialLearner(self.step)
        )


@attrs.frozen
class NoiseOfMeans(SmallBatches):
    """The slip: the discriminator uses counts with the noise for means, which is 1/B of it. It loses ε for
    each example of a batch."""

    rounds: int = 64
    batch: int = 20
    alpha: float = (
        0.76  # a batch of ones is distinguished from the uniform proposal, one with a single zero rarely
    )

    @property
    def sanitiser(self) -> Sanitiser:
        own = super().sanitiser
        return NoiseOfMeansSanitiser(
            own.functions, epsilon=own.epsilon, delta=own.delta, alpha=own.alpha, calls=own.calls
        )
