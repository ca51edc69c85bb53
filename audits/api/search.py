"""`audits.search`: find an adversary that refutes a privacy claim."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import attrs

from arena import Claim, InvalidArgument, Learner, Relation, Sample
from arena.privacy_curves import PrivacyCurve
from audits.adversary_search.adversary_search import ERROR, SearchProgress
from audits.adversary_search.adversary_search import search as search_adversary
from audits.adversary_search.odometer_search import EXAMPLES as ODOMETER_EXAMPLES
from audits.adversary_search.odometer_search import OdometerResult, reports_loss, search_odometer
from audits.adversary_search.search_report import SearchResult
from audits.api.audit import claim_for_function, split_settings
from audits.api.user_data import read_data
from audits.counted_warnings import tally_warnings
from audits.interrupts import return_unless_interrupted
from audits.registry.match import change_claim, read_claim, resolve_claim, resolve_curve
from audits.registry.players import GivenLearner, choose_learner, configure_learner
from audits.registry.suggestions import explain_arguments
from audits.runs.limits import Limits
from audits.runs.other_relation import OtherTest, apply_decision, decide_relation, is_chosen
from audits.runs.workers import Workers


@explain_arguments
@tally_warnings
def search(
    learner: GivenLearner | None = None,
    *,
    make: Callable[[], Any] | None = None,
    data: Any = None,
    neighbours: Relation | str | None = None,
    user: Any = None,
    epsilon: float | None = None,
    delta: float | None = None,
    curve: PrivacyCurve | str | None = None,
    protocol: str | None = None,
    error: float = ERROR,
    examples: int | None = None,
    games: int | None = None,
    settings: Mapping[str, Any] | None = None,
    seed: int = 0,
    jobs: int | Workers = 1,
    max_calls: int | None = None,
    max_seconds: float | None = None,
    progress: Callable[[SearchProgress], None] | None = None,
    announce: Callable[[str], None] | None = None,
    relation_chosen: bool | None = None,
    bits: bool = False,
) -> SearchResult | OdometerResult:
    """Search for an adversary that refutes a learner's claim of privacy.

    learner, make, settings, curve, neighbours, user: as in `audits.audit`, and so data, whose examples are
        tried, too; for a function also a strategy: `audits.table`, `audits.records`, or any of Hypothesis.
    epsilon, delta: the claim, ε in nats; default: the learner's.
    error: the probability, at most, that the whole search refutes a true claim.
    examples: the number of adversaries to try; default: with a limit as many as it allows, otherwise that of
        the protocol, 250 or 1,000.
    games: in each world to confirm one, at most.
    max_calls, max_seconds, announce: as in `audits.audit`; with a limit, one process searches.
    progress: called after every adversary. relation_chosen: whether somebody chose the relation; default: if
        `neighbours` or a setting says it, or the learner is no function. If not, and a claim for records that
        are added or removed may be true all the same, these are searched, too (`SearchResult.relation_note`).

    bits: whether the last bits of released numbers count. They tell of floating point, and most claims are
        meant for real numbers.

    A session with an odometer, whose claim is what it reports, gives an `OdometerResult`; of its limits, each
    query is a call.

    Raises: as `audits.adversary_search.search`; Interrupted, with the result so far.
    """
    asked = split_settings(settings)
    learner, asked["learner"] = choose_learner(learner, make, asked["learner"])
    sample, asked = read_data(learner, data, None, asked, neighbours, user)
    asked = claim_for_function(learner, asked, epsilon, delta)
    player = configured = configure_learner(learner, asked["learner"], sample)
    if reports_loss(player) and epsilon is None:
        few = {name: value for name, value in (("games", games),) if value is not None}
        tried = min(examples or ODOMETER_EXAMPLES, ODOMETER_EXAMPLES)
        return search_odometer(
            player,
            error=error,
            examples=tried,
            seed=seed,
            announce=announce,
            max_calls=max_calls,
            max_seconds=max_seconds,
            **few,
        )
    curve, epsilon, delta = resolve_curve(curve, epsilon, delta, player)
    epsilon, delta = resolve_claim(player, epsilon, delta, purpose="refute", option="epsilon=..., in nats")
    for name, value in (("epsilon", epsilon), ("delta", delta), ("error", error)):
        if isinstance(value, str):
            raise InvalidArgument(f"{name} must be a number", value=value)
    claimed = change_claim(read_claim(player), epsilon, delta, curve)

    chosen = is_chosen(learner, asked["learner"]) if relation_chosen is None else relation_chosen

    def play(player: Learner, claim: Claim, limits: Limits) -> SearchResult:
        return search_adversary(
            player,
            protocol=protocol,
            claim=claim,
            error=error,
            examples=examples,
            confirm_games=games,
            data=None if player.receives_records else sample,  # the schema has their examples
            seed=seed,
            jobs=jobs,
            watch=progress,
            max_calls=limits.max_calls,
            max_seconds=limits.max_seconds,
            announce=announce,
            bits=bits,
            relation_chosen=chosen or player is not configured,
        )

    with Limits(max_calls, max_seconds) as limits:
        result = play(configured, claimed, limits)
        if isinstance(sample, Sample):
            result = attrs.evolve(result, example=True)
        if not chosen:
            result = _play_other_relation(result, play, limits)
        return return_unless_interrupted(result)


def _play_other_relation(
    result: SearchResult, play: Callable[[Learner, Claim, Limits], SearchResult], limits: Limits
) -> SearchResult:
    """The result with what a search for records that are added or removed says, if it may explain it."""
    if result.verdict is None or not result.refuted or result.interrupted:
        return result

    def play_other(player: Learner, claim: Claim, left: Limits) -> OtherTest:
        other = play(player, claim, left)
        if other.interrupted and not other.refuted:
            raise KeyboardInterrupt
        return OtherTest(
            epsilon_lower=other.verdict.epsilon_lower if other.verdict is not None else None,
            tried=f"a search found nothing in {other.examples:,} adversaries",
            undecided=other.undecided,
        )

    decision = decide_relation(result.learner, result.claim, result.verdict.epsilon_lower, play_other, limits)
    if decision is None:
        return result
    return attrs.evolve(
        result,
        refuted=decision.refuted,
        verdict=apply_decision(result.verdict, decision),
        relation_note=decision.note,
        undecided=decision.undecided,
        interrupted=decision.interrupted,
    )
