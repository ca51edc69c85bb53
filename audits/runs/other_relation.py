"""What a refutation says if nobody chose the neighbouring relation.

A claim for records that are added or removed allows twice its ε where one is replaced, so that the relation
may explain what was certified. Every test of a claim decides here: it plays the adversary on until its bound
exceeds whatever a relation explains (`find_explained`), and otherwise tests the other relation, too
(`decide_relation`). If nothing tested that one, the claim is neither refuted nor not refuted.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any
from warnings import catch_warnings, simplefilter

import attrs

from arena import ArenaError, Claim, Learner, LearnerFails
from arena.capabilities import read_schema
from arena.claims import Neighbours, PrivacyUnit, Relation
from audits.interrupts import acknowledge_interrupt
from audits.registry.match import change_claim, read_claim
from audits.registry.players import is_function
from audits.reports.formatting import describe_lower
from audits.runs.audit_estimators import find_explained
from audits.runs.limits import Limits
from audits.runs.plan import Plan
from audits.runs.verdict import RunNotes, Verdict

OTHER = Relation(Neighbours.ADD_OR_REMOVE_ONE)
UNTESTED = (
    "nobody chose the neighbouring relation, which may explain what was certified, and nothing tested the "
    "other one"
)
_DEFAULT = Relation(Neighbours.REPLACE_ONE)


@attrs.frozen(kw_only=True)
class OtherTest:
    """The test of the same claim for records that are added or removed.

    epsilon_lower: the bound at which the claim is refuted; None if it is not. tried: what was played, as a
    clause. undecided: why that test decides nothing, if it does not.
    """

    epsilon_lower: float | None = None
    tried: str = ""
    undecided: str = ""


@attrs.frozen(kw_only=True)
class RelationDecision:
    """What becomes of a refutation whose relation nobody chose.

    refuted: whether it stands for both relations. note: what a verdict says of the relation. undecided: why
    the claim is neither refuted nor not refuted; empty otherwise. interrupted: whether the second test was.
    """

    refuted: bool
    note: str
    undecided: str = ""
    interrupted: bool = False


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
    if epsilon_lower > find_explained(claim.epsilon, claim.delta, claim.curve):
        return None
    return attrs.evolve(learner, neighbours=str(OTHER))  # type: ignore[call-arg]


def is_open(plan: Plan) -> bool:
    """Whether the relation of a plan's claim may explain a refutation, if nobody chose it."""
    claim = change_claim(read_claim(plan.learner), plan.epsilon, plan.delta, plan.curve)
    return change_relation(plan.learner, claim, 0.0) is not None


def decide_relation(
    learner: Learner,
    claim: Claim,
    epsilon_lower: float,
    play: Callable[[Learner, Claim, Limits], OtherTest],
    limits: Limits | None = None,
) -> RelationDecision | None:
    """Whether a claim stays refuted that is refuted at this bound, and whose relation nobody chose. None if
    no relation explains it.

    play: tests the mechanism and the claim for records that are added or removed, within what is left of the
    limits. Errors and an interrupt of that test are part of the decision.
    """
    player = change_relation(learner, claim, epsilon_lower)
    if player is None:
        return None
    left = Limits() if limits is None else Limits(limits.whole_calls_left, limits.seconds_left)
    interrupted = False
    try:
        with catch_warnings():
            simplefilter("ignore", LearnerFails)  # as the first test has said
            test = play(player, attrs.evolve(claim, neighbours=OTHER), left)
    except ArenaError as error:  # of an adversary that knows one relation only, or of limits
        test = OtherTest(undecided=str(error))
    except KeyboardInterrupt:
        acknowledge_interrupt()
        test, interrupted = OtherTest(undecided="it was interrupted"), True
    if test.epsilon_lower is not None:
        note = f"For records that are added or removed, too: ε ≥ {test.epsilon_lower:.4g}."
        return RelationDecision(refuted=True, note=note)
    tried = test.tried if not test.undecided else f"nothing was tested ({test.undecided.rstrip('.')})"
    note = _write_note(claim, epsilon_lower, tried)
    undecided = UNTESTED if test.undecided else ""
    return RelationDecision(refuted=False, note=note, undecided=undecided, interrupted=interrupted)


def _write_note(claim: Claim, epsilon_lower: float, tried: str) -> str:
    return (
        f"{describe_lower(epsilon_lower, claim.epsilon)} at δ = {claim.delta:.3g} if one record is "
        f"replaced, the default. Nobody chose this relation, and {_describe_allowance(claim)} there. For "
        f"that relation {tried}. Say which one is claimed: neighbours='{_DEFAULT}', or neighbours='{OTHER}'."
    )


def _describe_allowance(claim: Claim) -> str:
    """What a claim for records that are added or removed allows where one is replaced."""
    if claim.curve is not None:
        return f"a claim of {claim.curve} for records that are added or removed allows a larger loss"
    text = f"a claim of ε = {claim.epsilon:.4g} for records that are added or removed allows up to "
    text += f"{2 * claim.epsilon:.4g}"
    return text if not claim.delta else f"{text}, at a larger δ,"


def apply_decision(verdict: Verdict, decision: RelationDecision | None) -> Verdict:
    """The verdict of an audit with what was decided of its relation."""
    if decision is None:
        return verdict
    return attrs.evolve(
        verdict,
        refuted=decision.refuted,
        relation_note=decision.note,
        relation_undecided=decision.undecided,
        interrupted=verdict.interrupted or decision.interrupted,
    )


def decide_audit(
    verdict: Verdict, learner: Learner, play: Callable[[Limits], Verdict], limits: Limits | None = None
) -> RelationDecision | None:
    """As `decide_relation`, for the verdict of an audit whose relation nobody chose. play: the same audit for
    records that are added or removed."""
    if not verdict.refuted or verdict.interrupted:
        return None

    def play_other(player: Learner, claim: Claim, left: Limits) -> OtherTest:
        other = play(left)
        if other.interrupted and not other.refuted:
            raise KeyboardInterrupt
        return OtherTest(
            epsilon_lower=other.epsilon_lower if other.refuted else None,
            tried=(
                f"the audit certified ε ≥ {other.epsilon_lower:.4g} only, in {other.games:,} games in each "
                "world"
            ),
            undecided=other.undecided,
        )

    return decide_relation(learner, verdict.claim, verdict.epsilon_lower, play_other, limits)


# --- ledgers -----------------------------------------------------------------------------------------------


def record_decision(
    ledger: str | os.PathLike[str], plan: Plan, decision: RelationDecision | None, key: bytes | None = None
) -> None:
    """Note in the ledger of a finished run what was decided of its relation, for those who read it."""
    if decision is None or decision.interrupted:
        return
    from audits.runs.ledger import Ledger  # with sqlite3, which only runs with a ledger need

    with Ledger.open(ledger, plan.describe(), allow_changes=True, key=key) as opened:
        opened.add_notes(
            {
                "relation_refuted": decision.refuted,
                "relation_note": decision.note,
                "relation_undecided": decision.undecided,
            }
        )


def read_decision(claim: Claim, epsilon_lower: float, notes: RunNotes) -> RelationDecision | None:
    """What a ledger says of the relation of its run, whose claim is refuted at this bound; `UNTESTED` if
    nobody chose the relation and nothing is said of it. None if no relation explains the bound."""
    if notes.relation_chosen or epsilon_lower > find_explained(claim.epsilon, claim.delta, claim.curve):
        return None
    if notes.relation_note:
        return RelationDecision(
            refuted=notes.relation_refuted, note=notes.relation_note, undecided=notes.relation_undecided
        )
    note = _write_note(claim, epsilon_lower, "the ledger holds no games")
    return RelationDecision(refuted=False, note=note, undecided=UNTESTED)
