"""The claim of a learner, and the claim that an audit tests."""

from __future__ import annotations

import math
from collections.abc import Set

import attrs

from arena.claims import Claim, PrivacyUnit
from arena.errors import InvalidArgument
from arena.players import Adversary, Learner
from arena.privacy_curves import PrivacyCurve, parse_curve
from audits.registry.settings_text import blame_player

_DELTA = 1e-5  # at which the ε of a curve is stated, unless the learner's claim has a δ


def read_claim(learner: Learner) -> Claim:
    """The learner's own claim. Raises: InvalidArgument if computing it fails, or if it is no `Claim`."""
    with blame_player(learner.name, "asked for its claim"):
        claim = learner.claim
    if not isinstance(claim, Claim):
        raise InvalidArgument(f"the claim of {learner.name} must be a Claim", value=claim)
    return claim


def check_protected(challenges: Set[PrivacyUnit], learner: Learner, adversary: Adversary) -> None:
    """Refuse games whose worlds differ in something that the learner does not promise to protect."""
    unprotected = sorted(challenges - set(learner.claim.protects))
    if unprotected:
        raise InvalidArgument(
            f"{adversary.name} lets the worlds differ in {unprotected[0]}, which {learner.name} does not "
            "promise to protect",
            remedy=f"It protects {' and '.join(learner.claim.protects)}.",
        )


def resolve_curve(
    curve: PrivacyCurve | str | None,
    epsilon: float | None,
    delta: float | None,
    learner: Learner | None = None,
) -> tuple[PrivacyCurve | None, float | None, float | None]:
    """The privacy curve to test and its (ε in nats, δ), if there is one; otherwise ε and δ as they are.

    delta: at which ε is stated; default: that of the learner's own claim, or 1e-5.

    Raises: InvalidArgument if both a curve and an ε are given, or if the curve has no ε at this δ.
    """
    if curve is None:
        return None, epsilon, delta
    if epsilon is not None:
        raise InvalidArgument(
            "a claim is a privacy curve or an ε, not both", value=epsilon, remedy="Leave out one of them."
        )
    curve = parse_curve(curve)
    if delta is None:
        own = 0.0 if learner is None else read_claim(learner).delta
        delta = own if 0 < own < 1 else _DELTA
    epsilon = curve.epsilon(delta)
    if not 0 < epsilon < math.inf:
        raise InvalidArgument(
            f"{curve} has no finite ε above 0 at this δ", value=delta, remedy="Choose another delta."
        )
    return curve, epsilon, delta


def get_given_curve(learner: Learner, claim: Claim) -> PrivacyCurve | None:
    """The privacy curve of a claim under test, unless that is the learner's own claim."""
    own = read_claim(learner)
    is_own = (own.epsilon, own.delta, own.curve) == (claim.epsilon, claim.delta, claim.curve)
    return None if is_own else claim.curve


def change_claim(own: Claim, epsilon: float, delta: float, curve: PrivacyCurve | None = None) -> Claim:
    """The claim (ε in nats, δ) with the units and neighbours of a learner's own, and a curve, if any.

    The claim's own point keeps its curve.
    """
    if curve is None and (epsilon, delta) == (own.epsilon, own.delta):
        return own
    return attrs.evolve(own, epsilon=epsilon, delta=delta, curve=curve)


def resolve_claim(
    learner: Learner,
    epsilon: float | None = None,
    delta: float | None = None,
    *,
    claims: str = "nothing with these settings",
    purpose: str = "test",
    option: str = "--epsilon, in nats",
) -> tuple[float, float]:
    """ε in nats and δ of the claim to test: the given values, and the learner's own where none is given.

    Raises: InvalidArgument, with the texts claims, purpose and option, if there is no ε.
    """
    own = read_claim(learner)
    if epsilon is None and own.empty:
        raise InvalidArgument(
            f"{learner.name} claims {claims}, so there is nothing to {purpose}",
            remedy=f"Say what to test it against: {option}.",
        )
    if delta is None:
        delta = 0.0 if own.empty else own.delta
    return own.epsilon if epsilon is None else epsilon, delta
