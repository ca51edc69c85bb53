"""Text and JSON of the result of a search."""

from __future__ import annotations

import json

import attrs

from audits.registry.settings_text import summarize_player
from audits.reports.formatting import name_table, wrap
from audits.reports.json_form import to_data
from audits.runs.example_games import write_example_games
from audits.search.adversary_search import SearchResult
from audits.search.exploration import EVIDENCE_THRESHOLD
from audits.search.script import Script
from audits.search.source_code import CLASS

_SPECIAL = ("learner", "adversary", "plan", "verdict")  # fields that are not in the JSON as they are


def format_search(result: SearchResult, *, source: str | None, output: str | None) -> str:
    """The report for a terminal. source: of the adversary. output: the file it was written to."""
    parts = [name_table(_rows(result)), wrap(_explain(result))]
    if source is not None:
        parts.append(f"The smallest game that shows the violation:\n\n{_transcript(result)}")
        if output:
            parts.append(f"The adversary is in {output}, class {CLASS}.")
        else:
            parts.append(f"The adversary:\n\n{source.rstrip()}")
    return "\n\n".join(parts)


def search_json(result: SearchResult, *, source: str | None = None) -> str:
    """One JSON object on one line. It depends only on the arguments of the search, so times are left out."""
    verdict = None if result.verdict is None else to_data(result.verdict)
    if verdict is not None:
        del verdict["seconds"], verdict["games_per_second"]
    names = [name for name in attrs.fields_dict(SearchResult) if name not in _SPECIAL]
    data = {
        "learner": result.learner.name,
        **{name: to_data(getattr(result, name)) for name in names},
        "adversary": None if result.adversary is None else _describe_script(result.adversary),
        "verdict": verdict,
        "source": source,
    }
    return json.dumps(data, allow_nan=False)


def _describe_script(script: Script) -> list[str]:
    lines = []
    if script.world_0 is not None:
        lines.append(f"training: {script.world_0.describe()}")
        if script.world_1 is not None:
            lines[0] = f"training in world 0: {script.world_0.describe()}"
            lines.append(f"training in world 1: {script.world_1.describe()}")
    lines += [str(step) for step in script.steps]
    return [*lines, f"score: {script.score}" if script.score is not None else "score: learned"]


def _rows(result: SearchResult) -> list[tuple[str, str]]:
    rows = [
        ("learner", summarize_player(result.learner)),
        ("protocol", result.protocol),
        ("claim under test", str(result.claim)),
        ("tried", f"{result.examples:,} adversaries, {result.games:,} games in each world"),
        ("confirmations", f"{result.confirmations}, with a total error of {result.error:g}"),
        ("seed", str(result.seed)),
    ]
    if result.verdict is not None:
        bound = f"ε ≥ {result.verdict.epsilon_lower:.4g} nats at δ = {result.claim.delta:.3g}"
        rows.insert(3, ("certified", f"{bound}, on {result.verdict.games:,} fresh games in each world"))
    if result.rejected:
        declined = f"{result.rejected:,} adversaries that the learner does not play against"
        rows.insert(-1, ("declined", declined))
    if result.failed:
        rows.insert(-1, ("failed", f"against {result.failed:,} adversaries; first: {result.failure}"))
    return rows


def _explain(result: SearchResult) -> str:
    if result.verdict is not None:
        return (
            f"Refuted: with confidence 1 - {result.error:g} the claim is false, and no claim below "
            f"ε = {result.verdict.epsilon_lower:.4g} at δ = {result.claim.delta:.3g} holds."
        )
    if result.confirmations:
        outcome = f"{result.confirmations} looked promising, but fresh games did not confirm it"
    else:
        outcome = f"the best gave {result.best:.2g} nats of evidence, of {EVIDENCE_THRESHOLD:g} needed"
    explanation = f"Nothing found: of {result.examples:,} adversaries {outcome}. This does not prove privacy."
    return f"Interrupted. {explanation}" if result.interrupted else explanation


def _transcript(result: SearchResult) -> str:
    plan = result.plan
    assert plan is not None
    players = plan.learner, plan.adversary, plan.referee
    return write_example_games(*players, seed=plan.seed, faults=plan.faults, telling=True)
