"""The claim of a learner, and the claim that an audit tests."""

from __future__ import annotations

from collections.abc import Set

from arena.claims import Claim, PrivacyUnit
from arena.errors import InvalidArgument
from arena.players import Adversary, Learner
from audits.registry.settings_text import blame_player


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
