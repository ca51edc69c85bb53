"""The verdict of an audit, as text for a terminal and as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from audits.reports.formatting import name_table, nats, percent, wrap
from audits.reports.json_form import to_data, to_json
from audits.runs.ledger.notes import PlayerSummary
from audits.runs.verdict import Verdict

_ALL_ESTIMATORS = (
    "All estimators, on the same games. Betting may be watched, and stopped at any time; the others hold at\n"
    "the number of games that was fixed beforehand. Each holds with the stated confidence by itself: choose\n"
    "one before you look."
)


def verdict_text(verdict: Verdict, players: PlayerSummary | None = None) -> str:
    """The report for a terminal. With the players it names their settings and the learner's own claim."""
    parts = [name_table(verdict_rows(verdict, players)), wrap(explain_verdict(verdict))]
    if players is not None and verdict.games and not _tests_own_claim(verdict, players):
        parts.append(wrap(_explain_own_claim(verdict, players)))
    if verdict.estimates is not None:
        parts += [_ALL_ESTIMATORS, name_table(verdict.estimates.table())]
    return "\n\n".join(parts)


def describe_audit(verdict: Verdict, players: PlayerSummary | None = None) -> dict[str, Any]:
    """The entries of a verdict's JSON object. With the players they include their settings."""
    entries: dict[str, Any] = to_data(verdict)
    if players is not None:
        names = (("learner", players.learner), ("adversary", players.adversary))
        described = {
            role: {"name": name, "settings": to_data(players.settings.get(role, {}))} for role, name in names
        }
        entries |= {"players": described, "distinguisher": players.distinguisher}
    return entries


def verdict_json(
    verdict: Verdict, players: PlayerSummary | None = None, header: Mapping[str, Any] | None = None
) -> str:
    """The verdict as one JSON object on one line."""
    return to_json(describe_audit(verdict, players), header)


def verdict_rows(verdict: Verdict, players: PlayerSummary | None = None) -> list[tuple[str, str]]:
    """The figures of a verdict, each with its name."""
    games = f"{verdict.games:,} in each world"
    if verdict.played_now < verdict.games:
        games += f", {verdict.games - verdict.played_now:,} of them from the ledger"
    speed = f"{verdict.games_per_second:,.0f} games a second, both worlds counted ({verdict.seconds:.1f} s)"
    return [
        ("learner", verdict.learner if players is None else players.learner_set),
        ("adversary", verdict.adversary if players is None else players.adversary_set),
        ("protocol", verdict.protocol),
        ("claim under test", str(verdict.claim)),
        *(
            []
            if players is None or _tests_own_claim(verdict, players)
            else [("learner's claim", str(players.own_claim))]
        ),
        ("certified", describe_certificate(verdict)),
        *([] if verdict.curve_epsilon_lower is None else [("for its curve", describe_curve_bound(verdict))]),
        ("ceiling", describe_ceiling(verdict)),
        ("Clopper-Pearson", _describe_classical(verdict)),
        ("games", games),
        *([("speed", speed)] if verdict.played_now else []),
        ("seed", describe_seed(verdict.seed, players is not None and players.own_coins)),
    ]


def _tests_own_claim(verdict: Verdict, players: PlayerSummary) -> bool:
    tested, own = verdict.claim, players.own_claim
    return (own.epsilon, own.delta) == (tested.epsilon, tested.delta)


def _explain_own_claim(verdict: Verdict, players: PlayerSummary) -> str:
    """What the games say about the learner's own claim, if another one was tested."""
    own = players.own_claim
    if own.empty:
        return f"The claim under test is not {players.learner}'s own: it claims no privacy."
    is_refuted = own.epsilon < verdict.epsilon_lower and own.delta <= verdict.claim.delta
    also = "is refuted, too" if is_refuted else "is not refuted by these games"
    return f"The claim under test is not {players.learner}'s own. Its own, {own}, {also}."


def describe_seed(seed: object, own_coins: object) -> str:
    """The seed, and whether all random numbers follow from it."""
    caveat = ", but the learner draws its own random numbers: no run repeats these games"
    return f"{seed}{caveat if own_coins else ''}"


def describe_certificate(verdict: Verdict) -> str:
    """The certified bound, its δ and its confidence."""
    conditions = f"at δ = {verdict.claim.delta:.3g}, confidence {percent(verdict.confidence)}"
    return f"ε ≥ {nats(verdict.epsilon_lower)} nats {conditions}"


def describe_curve_bound(verdict: Verdict) -> str:
    """The certified bound for the privacy curve of the claim; empty if it has none."""
    if verdict.curve_epsilon_lower is None:
        return ""
    bound = f"ε ≥ {nats(verdict.curve_epsilon_lower)} nats at δ = {verdict.claim.delta:.3g}"
    largest = "" if verdict.curve_lower is None else f": that of {verdict.curve_lower} is false"
    return f"{bound}, among privacy curves of the claim's shape{largest}"


def _describe_classical(verdict: Verdict) -> str:
    """The classical bound, or why there is none."""
    if verdict.clopper_pearson is not None:
        return f"ε ≥ {nats(verdict.clopper_pearson)} nats, for comparison"
    if verdict.until_refuted:
        return "not computed, since the number of games was not fixed beforehand"
    if verdict.interrupted:
        return "not computed, since the fixed number of games was not reached"
    return "not computed, since there are too few games to choose an event on some and count it on others"


def describe_theorem(theorem: str) -> str:
    """Where a claim comes from, to follow it in a sentence; empty if nobody says so."""
    reason = theorem.removeprefix("none: ")
    if reason != theorem:
        return f"; no theorem: {reason}"
    return f", by {theorem}" if theorem else ""


def describe_ceiling(verdict: Verdict) -> str:
    """The largest bound that the games could have certified."""
    return f"ε ≥ {nats(verdict.ceiling)} nats, had the adversary told the worlds apart every time"


def explain_verdict(verdict: Verdict) -> str:
    """The verdict in a few sentences."""
    explanation = f"{name_outcome(verdict)}: {explain_outcome(verdict)}"
    if verdict.interrupted:
        if not verdict.games:
            return "Interrupted: no games were finished, so nothing is certified."
        return f"Interrupted; the games played so far count. {explanation}"
    return explanation


def name_outcome(verdict: Verdict) -> str:
    """The verdict in a word."""
    return "Refuted" if verdict.refuted else "Not refuted"


def explain_outcome(verdict: Verdict) -> str:
    """The rest of the sentence that begins with the outcome, and the largest bound that was possible."""
    confidence = f"with confidence {percent(verdict.confidence)}"
    certified = describe_false_claims(verdict)
    if verdict.refuted:
        return f"{confidence}, the claim is false, and {certified}."
    if verdict.epsilon_lower > 0 or verdict.curve_epsilon_lower:
        comparison = "below neither" if _has_curve_bound(verdict) else "not below it"
        return f"{confidence}, {certified}; the claim under test is {comparison}. {_explain_ceiling(verdict)}"
    return f"these games certify no loss of privacy. {_explain_ceiling(verdict)}"


def describe_false_claims(verdict: Verdict) -> str:
    """Which claims are certified to be false, as a part of a sentence."""
    false = f"no claim below ε = {nats(verdict.epsilon_lower)} at δ = {verdict.claim.delta:.3g} holds"
    if _has_curve_bound(verdict):
        bound = nats(verdict.curve_epsilon_lower or 0.0)
        false += f", nor any privacy curve of the claim's shape below ε = {bound}"
    return false


def _has_curve_bound(verdict: Verdict) -> bool:
    return (verdict.curve_epsilon_lower or 0.0) > verdict.epsilon_lower


def _explain_ceiling(verdict: Verdict) -> str:
    subject = "an adversary that always tells the worlds apart would have reached"
    if not verdict.refutable:
        return (
            f"So few games could not refute it: even {subject} only ε = {nats(verdict.ceiling)}. Play more."
        )
    return f"{subject.capitalize()} ε = {nats(verdict.ceiling)}."
