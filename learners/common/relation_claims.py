"""Claims of learners whose ε is known for several neighbouring relations."""

from __future__ import annotations

from collections.abc import Mapping

from arena.claims import Claim, Neighbours, PrivacyUnit, choose_claim

SINGLE_EXAMPLES = Neighbours.REPLACE_ONE, Neighbours.ADD_OR_REMOVE_ONE, Neighbours.ZERO_OUT_ONE


def claim_for_relation(neighbours: str, epsilons: Mapping[Neighbours, float]) -> Claim:
    """The claim of pure privacy about a training example for one relation, from the ε in nats that holds for
    each of some.

    Raises: Unsupported if none of them implies anything for that relation.
    """
    claims = [
        Claim(epsilon=epsilon, delta=0, protects=(PrivacyUnit.TRAINING_EXAMPLE,), neighbours=kind)
        for kind, epsilon in epsilons.items()
    ]
    return choose_claim(claims, neighbours)


def claim_of_sensitivity_one(epsilon: float, neighbours: str) -> Claim:
    """The claim of counts that replacing, adding, removing or zeroing out an example changes by at most 1,
    with Laplace or geometric noise."""
    return claim_for_relation(neighbours, dict.fromkeys(SINGLE_EXAMPLES, epsilon))


def claim_of_monotone_choice(epsilon: float, neighbours: str) -> Claim:
    """The claim of an exponential mechanism whose score is minus the number of examples that are wrong.

    A replaced example may raise some scores by 1 and lower others, which costs ε. An added, removed or blank
    one changes all scores in one direction, and so costs half of that.
    """
    epsilons = dict.fromkeys(SINGLE_EXAMPLES, epsilon / 2) | {Neighbours.REPLACE_ONE: epsilon}
    return claim_for_relation(neighbours, epsilons)
