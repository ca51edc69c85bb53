"""What a learner promises: (ε, δ), what is protected, and between which neighbours."""

from __future__ import annotations

import math

import attrs

from arena.errors import InvalidArgument

TRAINING_EXAMPLE = "a training example"
QUERY = "a query"
UNLABELLED_EXAMPLE = "an unlabelled example"
STREAM_EXAMPLE = "an example of the stream"
REPLACE_ONE = "replace one"


def _epsilon(instance: object, attribute: attrs.Attribute[float], value: float) -> None:
    if not value >= 0:
        raise InvalidArgument("ε must be at least 0 nats", value=value)


def _delta(instance: object, attribute: attrs.Attribute[float], value: float) -> None:
    if not 0 <= value <= 1:
        raise InvalidArgument("δ must be a probability", value=value)


@attrs.frozen(kw_only=True)
class Claim:
    """(ε, δ)-indistinguishability of the adversary's views in the two worlds.

    epsilon: in nats; infinity where nothing is promised.
    delta: a probability.
    protects: what may differ between the worlds (`TRAINING_EXAMPLE`, `QUERY`, `UNLABELLED_EXAMPLE`,
        `STREAM_EXAMPLE`).
    neighbours: the neighbouring relation.
    """

    epsilon: float = attrs.field(validator=_epsilon, converter=float)
    delta: float = attrs.field(validator=_delta, converter=float)
    protects: tuple[str, ...]
    neighbours: str = REPLACE_ONE

    @property
    def empty(self) -> bool:
        """True if the claim promises nothing."""
        return math.isinf(self.epsilon) or self.delta >= 1

    def __str__(self) -> str:
        if self.empty:
            return "no privacy is claimed"
        protected = " or ".join(self.protects)
        return f"({self.epsilon:.4g}, {self.delta:.3g})-DP for {protected} ({self.neighbours})"
