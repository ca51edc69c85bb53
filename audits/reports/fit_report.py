"""The result of fitting a learner to data, as text and as data for JSON."""

from __future__ import annotations

from typing import Any

from arena import Learner
from arena.capabilities import ComparesCosts
from audits.data.fitting import FitResult
from audits.registry.settings_text import summarize_player
from audits.registry.tested_claim import read_claim
from audits.reports.formatting import name_table


def format_fit(result: FitResult) -> str:
    """The data, the rules of the first split, the accuracy, the claim and its cost by other analyses."""
    data = result.data
    ones = int(data.labels.sum())
    header = (
        f"{result.learner.name} on {data.path}: {len(data.labels):,} examples, "
        f"{len(data.names):,} variables from {len(data.columns)} columns\n"
        f"label 1 is {data.y} = {data.values[1]} ({ones:,} examples), 0 is {data.values[0]}"
    )
    public = _count_public_points(result.learner)
    if public:
        header += f"\nbesides these, the points of {public:,} examples are public and unprotected"
    examples = f"{result.held_out:,} held-out" if result.held_out else f"its {result.trained:,} training"
    splits, limits = len(result.correct), result.limits
    accuracy = f"{result.accuracies.mean():.2%}" + (f" (mean over {splits} splits)" if splits > 1 else "")
    if limits is not None:
        accuracy += f", 95 % limits {limits[0]:.2%} to {limits[1]:.2%}"
    rows = [
        (f"accuracy on {examples} examples", accuracy),
        ("claim", str(read_claim(result.learner))),
    ]
    rows += [(f"by {name}", f"ε = {cost:.4g}") for name, cost in _get_other_costs(result.learner).items()]
    rules = "\n".join(result.describe_rules())
    if splits > 1:
        rules = f"The first of {splits} splits released:\n{rules}"
    return f"{header}\n\n{rules}\n\n{name_table(rows)}"


def describe_fit(result: FitResult) -> dict[str, Any]:
    """The figures and the rules, for `to_json`."""
    claim, data, limits = read_claim(result.learner), result.data, result.limits
    return {
        "learner": summarize_player(result.learner),
        "data": {
            "file": data.path,
            "examples": len(data.labels),
            "variables": len(data.names),
            "columns": data.columns,
            "y": data.y,
            "label_0": data.values[0],
            "label_1": data.values[1],
        },
        "rules": result.describe_rules(),
        "trained": result.trained,
        "held_out": result.held_out,
        "public": _count_public_points(result.learner),
        "splits": len(result.correct),
        "accuracy": {
            "mean": result.accuracies.mean(),
            "lower": None if limits is None else limits[0],
            "upper": None if limits is None else limits[1],
            "each": result.accuracies,
        },
        "claim": claim,
        "costs": _get_other_costs(result.learner),
    }


def _count_public_points(learner: Learner) -> int:
    points = getattr(learner, "public", None)
    return 0 if points is None else len(points)


def _get_other_costs(learner: Learner) -> dict[str, float]:
    return learner.other_costs() if isinstance(learner, ComparesCosts) else {}
