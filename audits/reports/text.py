"""The verdict of an audit as text."""

from __future__ import annotations

import textwrap

from tabulate import tabulate

from audits.registry.settings_text import summarize_player
from audits.runs.plan import Plan
from audits.runs.verdict import Verdict

_WIDTH = 100
_SIDE_BY_SIDE = (
    "All estimators, on the same games. Betting may be looked at and stopped at any time; the others\n"
    "hold at the number of games fixed beforehand. Each is right with the stated confidence by itself:\n"
    "choose one before you look."
)


def text(verdict: Verdict, *, plan: Plan | None = None) -> str:
    """The report for a terminal. With the plan it names the players' settings too."""
    figures = tabulate(rows(verdict, plan), tablefmt="plain", disable_numparse=True)
    parts = [figures, textwrap.fill(meaning(verdict), _WIDTH)]
    if verdict.estimates is not None:
        beside = tabulate(verdict.estimates.table(), tablefmt="plain", disable_numparse=True)
        parts.append(f"{_SIDE_BY_SIDE}\n\n{beside}")
    return "\n\n".join(parts)


def rows(verdict: Verdict, plan: Plan | None = None) -> list[tuple[str, str]]:
    """The figures of a verdict, each with its name."""
    classical = verdict.clopper_pearson
    speed = f"{verdict.games_per_second:,.0f} games a second, both worlds counted ({verdict.seconds:.1f} s)"
    played = f"{verdict.games:,} in each world"
    if verdict.played_now < verdict.games:
        played += f", {verdict.games - verdict.played_now:,} of them from the ledger"
    return [
        ("learner", verdict.learner if plan is None else summarize_player(plan.learner)),
        ("adversary", verdict.adversary if plan is None else summarize_player(plan.adversary)),
        ("protocol", verdict.protocol),
        ("claim under test", str(verdict.claim)),
        ("certified", certified(verdict)),
        ("ceiling", ceiling(verdict)),
        (
            "Clopper-Pearson",
            "too few games" if classical is None else f"ε ≥ {nats(classical)} nats, for comparison",
        ),
        ("games", played),
        *([("speed", speed)] if verdict.played_now else []),
        ("seed", seed(verdict.seed, plan is not None and plan.learner.own_coins)),
    ]


def seed(of_plan: object, own_coins: object) -> str:
    """The seed, and whether it settles every coin."""
    beside = ", but the learner's coins are its own: no run repeats these games" if own_coins else ""
    return f"{of_plan}{beside}"


def certified(verdict: Verdict) -> str:
    """The certified bound, with what it is certified at."""
    at = f"at δ = {verdict.claim.delta:.3g}, confidence {percent(verdict.confidence)}"
    return f"ε ≥ {nats(verdict.epsilon_lower)} nats {at}"


def ceiling(verdict: Verdict) -> str:
    """What the bound should be held against."""
    return f"ε ≥ {nats(verdict.ceiling)} nats, had the adversary told the worlds apart every time"


def meaning(verdict: Verdict) -> str:
    """What the verdict means, in a few sentences."""
    said = f"{outcome(verdict)}: {finding(verdict)}"
    return f"Interrupted; what was played stands. {said}" if verdict.interrupted else said


def outcome(verdict: Verdict) -> str:
    """The verdict in a word."""
    return "Refuted" if verdict.refuted else "Not refuted"


def finding(verdict: Verdict) -> str:
    """What was found: the rest of the sentence that begins with the outcome, and what to hold it against."""
    sure = f"with confidence {percent(verdict.confidence)}"
    none_holds = f"no claim below ε = {nats(verdict.epsilon_lower)} at δ = {verdict.claim.delta:.3g} holds"
    if verdict.refuted:
        return f"{sure}, the claim is false, and {none_holds}."
    if verdict.epsilon_lower > 0:
        return f"{sure}, {none_holds}; the claim under test is not below it. {_reach(verdict)}"
    return f"these games certify no loss of privacy. {_reach(verdict)}"


def nats(epsilon: float) -> str:
    """An ε as every report writes it."""
    return f"{epsilon:.4g}"


def percent(chance: float) -> str:
    """A chance as every report writes it."""
    return f"{100 * chance:.10g} %"


def _reach(verdict: Verdict) -> str:
    always = "an adversary that always tells the worlds apart would have reached"
    if verdict.ceiling < verdict.claim.epsilon:
        return f"So few games could not refute it: even {always} only ε = {nats(verdict.ceiling)}. Play more."
    return f"{always.capitalize()} ε = {nats(verdict.ceiling)}."
