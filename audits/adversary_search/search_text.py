"""Text and JSON of the result of a search."""

from __future__ import annotations

from math import inf
from typing import Any

import attrs
import numpy as np

from arena import Learner
from arena.capabilities import finite_domain, read_of_samples
from audits.adversary_search.adversary_search import SearchResult
from audits.adversary_search.exploration import EVIDENCE_THRESHOLD
from audits.adversary_search.point_strategies import constant_points_of, far_points_of, points_of, round_limit
from audits.adversary_search.script import Script, TrainingScript
from audits.adversary_search.step_strategies import MAX_EXAMPLES, MAX_QUERIES
from audits.registry.settings_text import summarize_player
from audits.reports.formatting import name_table, wrap
from audits.reports.json_form import to_data
from audits.reports.replay import FOUND
from audits.reports.verdict_text import describe_false_claims
from audits.runs.example_games import write_example_games

# By chance, a confirmation fails as rarely as evidence of the threshold comes up under a true claim.
_MANY_FAILED = 3
_DEPENDENT = (
    "{} confirmations on fresh games failed, which is rare if games are independent. Check by "
    "arena.testing.check_learner whether the games of a batch share random numbers."
)
_SPECIAL = ("learner", "adversary", "plan", "verdict")  # fields that are not in the JSON as they are


def format_search(result: SearchResult, *, source: str | None, output: str | None) -> str:
    """The report for a terminal. source: of the adversary. output: the file it was written to."""
    parts = [name_table(_rows(result)), wrap(_explain(result))]
    if source is not None:
        parts.append(f"The smallest game that shows the violation:\n\n{_transcript(result)}")
        if output:
            parts.append(f"The adversary is in {output}; commands play it as {output}:{FOUND}.")
        else:
            parts.append(f"The adversary:\n\n{source.rstrip()}")
    return "\n\n".join(parts)


def describe_search(result: SearchResult, *, source: str | None = None) -> dict[str, Any]:
    """The entries of a search's JSON object. They depend on its arguments only, so times are left out."""
    verdict = None if result.verdict is None else to_data(result.verdict)
    if verdict is not None:
        del verdict["seconds"], verdict["games_per_second"]
    names = [name for name in attrs.fields_dict(SearchResult) if name not in _SPECIAL]
    return {
        "learner": result.learner.name,
        "players": {"learner": to_data(result.learner)},
        **{name: to_data(getattr(result, name)) for name in names},
        "searched": _describe_space(result),
        "adversary": None if result.adversary is None else _describe_script(result.adversary, result.learner),
        "verdict": verdict,
        "source": source,
    }


def _describe_script(script: Script, learner: Learner) -> list[str]:
    """The steps of a script, one a line, with what the learner reads of the examples."""
    lines = []
    reads = read_of_samples(learner)
    if script.world_0 is not None:
        lines.append(f"training: {script.world_0.describe(reads=reads)}")
        if script.world_1 is not None:
            lines[0] = f"training in world 0: {script.world_0.describe(reads=reads)}"
            lines.append(f"training in world 1: {script.world_1.describe(reads=reads)}")
    lines += [str(step) for step in script.steps]
    if isinstance(script, TrainingScript):
        lines += [str(pull) for pull in script.pulls]
    return [*lines, f"score: {script.score}" if script.score is not None else "score: learned"]


def _rows(result: SearchResult) -> list[tuple[str, str]]:
    rows = [
        ("learner", summarize_player(result.learner)),
        ("protocol", result.protocol),
        ("claim under test", str(result.claim)),
        ("tried", f"{result.examples:,} adversaries, {result.games:,} games in each world"),
        ("searched", _describe_space(result)),
        ("confirmations", f"{result.confirmations}, with a total error of {result.error:g}"),
        ("seed", str(result.seed)),
    ]
    if result.verdict is not None:
        bound = f"ε ≥ {result.verdict.epsilon_lower:.4g} nats at δ = {result.claim.delta:.3g}"
        bound += result.verdict.curve_note
        rows.insert(3, ("certified", f"{bound}, on {result.verdict.games:,} fresh games in each world"))
    if result.rejected:
        declined = f"{result.rejected:,} adversaries that the learner does not play against"
        rows.insert(-1, ("declined", declined))
    if result.failed:
        rows.insert(-1, ("failed", f"against {result.failed:,} adversaries; first: {result.failure}"))
    return rows


def _describe_space(result: SearchResult) -> str:
    """From which points adversaries were drawn, and how long their games could be."""
    learner = result.learner
    constants = [point for points in constant_points_of(learner) for point in points]
    points = list(dict.fromkeys([*points_of(learner), *far_points_of(learner), *constants]))
    words = f"{len(points)} points with numbers from {np.min(points):g} to {np.max(points):g}"
    if finite_domain(learner) is None:
        low, high = learner.domain or (-inf, inf)
        words += f" (domain: {'unbounded' if learner.domain is None else f'{low:g} to {high:g}'})"
    words += f", {len(constants)} of them from the constants of its code" if constants else ""
    limits = {"Figure1": MAX_QUERIES, "Voting": MAX_QUERIES, "SpecialRound": MAX_EXAMPLES}
    if result.protocol in limits:
        words += f", games of up to {round_limit(learner, limits[result.protocol]):,} rounds"
    return words


def _explain(result: SearchResult) -> str:
    failed = result.confirmations - result.refuted
    doubt = f" {_DEPENDENT.format(failed)}" if failed >= _MANY_FAILED else ""
    return _explain_outcome(result) + doubt


def _explain_outcome(result: SearchResult) -> str:
    if result.verdict is not None:
        return (
            f"Refuted: with confidence 1 - {result.error:g} the claim is false, and "
            f"{describe_false_claims(result.verdict)}."
        )
    if result.confirmations:
        outcome = f"{result.confirmations} looked promising, but fresh games did not confirm it"
    else:
        outcome = f"the best gave {result.best:.2g} nats of evidence, of {EVIDENCE_THRESHOLD:g} needed"
    explanation = f"Nothing found: of {result.examples:,} adversaries {outcome}. This does not prove privacy."
    if result.detectable is not None:
        explanation += (
            f" A loss of {result.detectable:.2g} nats above the claim, shown by one of them as by randomised "
            "response, would have been found with probability 90 %."
        )
    return f"Interrupted. {explanation}" if result.interrupted else explanation


def _transcript(result: SearchResult) -> str:
    plan = result.plan
    assert plan is not None
    players = plan.learner, plan.adversary, plan.referee
    return write_example_games(*players, seed=plan.seed, faults=plan.faults, telling=True)
