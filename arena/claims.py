"""What a learner promises: its privacy (ε, δ), and bounds on its mistakes, regret or error."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import TypeVar

import attrs

from arena.errors import InvalidArgument, Unsupported
from arena.neighbours import Neighbours, Relation, read_relation
from arena.privacy_curves import PrivacyCurve, extend_to_group

MISTAKES, REGRET, ERROR = "mistakes", "regret", "error"

E = TypeVar("E", bound=StrEnum)


class PrivacyUnit(StrEnum):
    """What may differ between neighbouring datasets, and between the worlds of a game."""

    TRAINING_EXAMPLE = "a training example"
    QUERY = "a query"
    UNLABELLED_EXAMPLE = "an unlabelled example"
    STREAM_EXAMPLE = "an example of the stream"


def _read_units(units: Iterable[PrivacyUnit]) -> tuple[PrivacyUnit, ...]:
    return tuple(_read_member(PrivacyUnit, unit, "protects") for unit in units)


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
    protects: what may differ between the worlds. neighbours: the relation of neighbouring training sets, as a
    `Relation`, a `Neighbours` or a text. Neighbouring queries and streams always differ in one place.
    curve: if the claim says δ for every ε, which implies (ε, δ); None: it says no more than (ε, δ).

    Raises: InvalidArgument if epsilon is negative, delta is not a probability, or a text names no unit or no
    relation.
    """

    epsilon: float = attrs.field(converter=float)
    delta: float = attrs.field(converter=float)
    protects: tuple[PrivacyUnit, ...] = attrs.field(converter=_read_units)
    neighbours: Relation = attrs.field(default=Relation(Neighbours.REPLACE_ONE), converter=read_relation)
    curve: PrivacyCurve | None = attrs.field(
        default=None,
        validator=attrs.validators.optional(attrs.validators.instance_of(PrivacyCurve)),  # type: ignore[type-abstract]
    )

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

    def convert(self, neighbours: Relation | Neighbours | str, delta: float | None = None) -> Claim:
        """What this claim implies for another neighbouring relation, by group privacy.

        If N steps between neighbours of this claim's relation lead to any neighbour of the other one, a claim
        with a privacy curve implies the curve of N steps, and so an ε at every δ. A claim without one implies
        (Nε, δ·(1 + e^ε + … + e^((N-1)ε))). Proof: docs/proofs/neighbours.md.

        delta: the δ of the new claim; the default is that of this claim, or what N steps make of it where
        there is no curve.

        Raises: Unsupported if it implies nothing, or nothing at delta.
        """
        relation = read_relation(neighbours)
        steps = relation.count_steps(self.neighbours)
        if steps == 1 and delta in (None, self.delta):
            return attrs.evolve(self, neighbours=relation)
        epsilon, grown = steps * self.epsilon, self._grow_delta(steps)
        asked = self.delta if delta is None else delta
        if self.curve is None or asked >= 1:
            if delta is not None and grown > delta:
                raise Unsupported(
                    f"a claim for '{self.neighbours}' without a privacy curve implies no ε for '{relation}' "
                    "at so small a δ",
                    value=delta,
                    remedy=f"Ask for a δ of at least {grown:.3g}, or give the claim its privacy curve.",
                )
            return attrs.evolve(self, epsilon=epsilon, delta=grown, neighbours=relation, curve=None)
        curve = extend_to_group(self.curve, steps)
        epsilon = min(epsilon if grown <= asked else math.inf, curve.epsilon(asked))
        return attrs.evolve(self, epsilon=epsilon, delta=asked, neighbours=relation, curve=curve)

    def _grow_delta(self, steps: int) -> float:
        """δ·(1 + e^ε + … + e^((steps-1)ε)), at most 1."""
        if not self.delta or steps == 1:
            return self.delta
        terms = math.expm1(-steps * self.epsilon) / math.expm1(-self.epsilon) if self.epsilon else steps
        return math.exp(min(0.0, math.log(self.delta) + (steps - 1) * self.epsilon + math.log(terms)))

    def __str__(self) -> str:
        if self.empty:
            return "no privacy is claimed"
        protected = " or ".join(self.protects)
        curve = "" if self.curve is None else f", with the privacy curve of {self.curve}"
        return f"({self.epsilon:.4g}, {self.delta:.3g})-DP for {protected} ({self.neighbours}){curve}"


def choose_claim(
    claims: Sequence[Claim], neighbours: Relation | Neighbours | str, delta: float | None = None
) -> Claim:
    """The claim for a neighbouring relation, of several that hold: its own, or else the best one implied.

    What claims for other relations imply is compared at delta: the least ε counts. Without delta it is
    compared at the largest δ of the claims, and what has a larger δ comes last.

    Raises: Unsupported if none implies anything, or nothing at delta.
    """
    relation = read_relation(neighbours)
    own = [claim for claim in claims if claim.neighbours == relation]
    most = max(claim.delta for claim in claims) if delta is None else delta
    implied = []
    for claim in own or claims:
        try:
            implied.append(claim.convert(relation, delta))
        except Unsupported as error:
            refusal = error
    if not implied:
        raise refusal
    return min(implied, key=lambda claim: (max(claim.delta, most), claim.epsilon, claim.delta))


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
