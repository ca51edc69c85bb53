"""What a refutation says if nobody chose the neighbouring relation: a claim for records that are added or
removed allows twice its ε where one is replaced, so that the relation may explain what was certified."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from warnings import catch_warnings, simplefilter

import attrs

from arena import ArenaError, Claim, Learner, LearnerFails
from arena.capabilities import read_schema
from arena.claims import Neighbours, PrivacyUnit, Relation
from audits.registry.players import is_function

OTHER = Relation(Neighbours.ADD_OR_REMOVE_ONE)
_DEFAULT = Relation(Neighbours.REPLACE_ONE)


def is_chosen(learner: object, settings: Mapping[str, Any]) -> bool:
    """Whether somebody chose the relation of a learner that is given so, with these settings of its own; what
    is no function has the relation of its theorem."""
    return "neighbours" in settings or not is_function(learner)


def change_relation(learner: Learner, claim: Claim, epsilon_lower: float) -> Learner | None:
    """The same mechanism, whose claim is for records that are added or removed, if such a claim may be true
    although a loss of `epsilon_lower` was certified where one is replaced; else None. claim: under test."""
    schema = read_schema(learner)
    if claim.neighbours != _DEFAULT or "neighbours" not in attrs.fields_dict(type(learner)):
        return None
    if PrivacyUnit.TRAINING_EXAMPLE not in claim.protects:
        return None  # in a stream, a round without a record is a claim of its own
    if schema is not None and schema.min_size == schema.max_size:
        return None
    if claim.curve is None and claim.delta == 0 and epsilon_lower > 2 * claim.epsilon:
        return None
    return attrs.evolve(learner, neighbours=str(OTHER))  # type: ignore[call-arg]


def judge_refutation(
    epsilon_lower: float, claim: Claim, play: Callable[[], tuple[float | None, str]]
) -> tuple[bool, str]:
    """Whether a refuted claim whose relation nobody chose stays refuted, and a note on the relation.

    play: the same test for records that are added or removed. It returns the bound at which that claim is
    refuted, or None with a clause that says what was tried."""
    try:
        with catch_warnings():
            simplefilter("ignore", LearnerFails)  # as the first test has said
            other, tried = play()
    except ArenaError as error:  # of an adversary that knows one relation only, or of limits
        other, tried = None, f"nothing was tested ({error})"
    if other is not None:
        return True, f"For records that are added or removed, too: ε ≥ {other:.4g}."
    return False, (
        f"if one record is replaced, the default, no claim below ε = {epsilon_lower:.4g} at "
        f"δ = {claim.delta:.3g} holds. Nobody chose this relation, and a claim of ε = {claim.epsilon:.4g} "
        f"for records that are added or removed allows up to {2 * claim.epsilon:.4g} there. For that "
        f"relation {tried}. Say which one is claimed: neighbours='replace one', or neighbours='{OTHER}'."
    )
