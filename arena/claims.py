"""What a learner promises: its privacy (ε, δ), and bounds on its mistakes, regret or error."""

from __future__ import annotations

import math
from collections.abc import Iterable
from enum import StrEnum
from typing import TypeVar

import attrs

from arena.errors import InvalidArgument

MISTAKES, REGRET, ERROR = "mistakes", "regret", "error"

E = TypeVar("E", bound=StrEnum)


class PrivacyUnit(StrEnum):
    """What may differ between neighbouring datasets, and between the worlds of a game."""

    TRAINING_EXAMPLE = "a training example"
    QUERY = "a query"
    UNLABELLED_EXAMPLE = "an unlabelled example"
    STREAM_EXAMPLE = "an example of the stream"


class Neighbours(StrEnum):
    """When two datasets are neighbours.

    REPLACE_ONE: they have equal length and differ in one place.
    """

    REPLACE_ONE = "replace one"


def _read_units(units: Iterable[PrivacyUnit]) -> tuple[PrivacyUnit, ...]:
    return tuple(_read_member(PrivacyUnit, unit, "protects") for unit in units)


def _read_neighbours(relation: Neighbours) -> Neighbours:
    return _read_member(Neighbours, relation, "neighbours")


def _read_member(kind: type[E], value: str, field: str) -> E:
    """A member of an enumeration; ledgers hold members as their texts."""
    try:
        return kind(value)
    except ValueError as error:
        members = ", ".join(f"{kind.__name__}.{member.name}" for member in kind)
        raise InvalidArgument(
            f"{field} must be of {kind.__name__}", value=value, remedy=f"Choose from {members}."
        ) from error


@attrs.frozen(kw_only=True)
class Claim:
    """(ε, δ)-indistinguishability of the adversary's views in the two worlds.

    epsilon: in nats; infinity where nothing is promised. delta: a probability.
    protects: what may differ between the worlds. neighbours: the neighbouring relation.

    Raises: InvalidArgument if epsilon is negative, delta is not a probability, or a text belongs to no member
    of its enumeration.
    """

    epsilon: float = attrs.field(converter=float)
    delta: float = attrs.field(converter=float)
    protects: tuple[PrivacyUnit, ...] = attrs.field(converter=_read_units)
    neighbours: Neighbours = attrs.field(default=Neighbours.REPLACE_ONE, converter=_read_neighbours)

    @epsilon.validator
    def _check_epsilon(self, attribute: object, epsilon: float) -> None:
        if not epsilon >= 0:
            raise InvalidArgument("ε must be at least 0 nats", value=epsilon)

    @delta.validator
    def _check_delta(self, attribute: object, delta: float) -> None:
        if not 0 <= delta <= 1:
            raise InvalidArgument("δ must be a probability", value=delta)

    @property
    def empty(self) -> bool:
        """True if the claim promises nothing."""
        return math.isinf(self.epsilon) or self.delta >= 1

    def __str__(self) -> str:
        if self.empty:
            return "no privacy is claimed"
        protected = " or ".join(self.protects)
        return f"({self.epsilon:.4g}, {self.delta:.3g})-DP for {protected} ({self.neighbours})"


@attrs.frozen
class Bound:
    """An upper bound on a learner's mistakes, regret or error in a game of a given number of rounds.

    at_most: the bound. of: `MISTAKES` in realizable games, `REGRET` in any game, or `ERROR`, the error rate
    of every hypothesis of a predictor whose sample and queries are drawn from one distribution.
    beta: the probability with which a game may exceed it; 0: no game does; None: it bounds the expectation.
    theorem: its source. oblivious: True if it is proved for oblivious adversaries only.
    promised: False if the theorem assumes other constants than those in use. The learner is then measured
    against the bound, but breaks no promise by exceeding it.
    """

    at_most: float
    of: str = attrs.field(validator=attrs.validators.in_((MISTAKES, REGRET, ERROR)))
    beta: float | None = attrs.field()
    theorem: str
    oblivious: bool = False
    promised: bool = True

    @beta.validator
    def _check_beta(self, attribute: object, beta: float | None) -> None:
        if beta is not None and not 0 <= beta < 1:
            raise InvalidArgument("beta must be a probability below 1, or None", value=beta)
