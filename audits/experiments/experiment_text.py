"""The report on an experiment, as text for a terminal and as JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from audits.experiments.experiment_result import ExperimentResult, MeanOverSplits, RowFigures
from audits.experiments.paper_table import DATA_SETS
from audits.reports.formatting import column_table, name_table, nats, wrap
from audits.reports.json_form import to_json

_NOTE = (
    "± is 1.96 standard errors of the mean over splits. ε (in nats) and δ hold for all answers that a "
    "student may be given. ε ex post is the cost of the answers that it asked for, had their number been "
    "fixed beforehand; it is no guarantee."
)
_HEADERS = ("method", "answers", "ε", "ε ex post", "accuracy")
_SIZES = ("examples", "private", "public", "tested", "teachers", "repeats", "seed")


def experiment_json(result: ExperimentResult, header: Mapping[str, Any] | None = None) -> str:
    """One JSON object on one line; null stands for an infinite ε, and for what is unknown."""
    plan = result.experiment
    return to_json(
        {name: getattr(plan, name) for name in _SIZES}
        | {name: getattr(result, name) for name in ("interrupted", "majority", "vote", "rows")}
        | {
            "file": plan.data.path,
            "y": plan.data.y,
            "label_1": plan.data.values[1],
            "variables": len(plan.data.names),
            "delta": plan.delta_run,
            "players": plan.players.describe(),
            "repetitions": len(result.tallies),
        },
        header,
    )


def experiment_text(result: ExperimentResult) -> str:
    """The report for a terminal. There must be a repetition."""
    rows = result.rows
    compared = any(row.paper is not None for row in rows)
    headers = (*_HEADERS, "Table 4", "difference") if compared else _HEADERS
    table = column_table([_list_cells(row, compared) for row in rows], headers)
    return "\n\n".join([name_table(_describe(result)), table, wrap(_NOTE)])


def experiment_title(result: ExperimentResult) -> str:
    """The subject of an experiment, in one line."""
    plan = result.experiment
    name = f" ({DATA_SETS[plan.examples]})" if plan.examples in DATA_SETS else ""
    return f"{plan.teachers:,} teachers on {plan.examples:,} examples{name}, {len(result.tallies)} splits"


def _describe(result: ExperimentResult) -> list[tuple[str, str]]:
    plan, data = result.experiment, result.experiment.data
    players = ", ".join(f"{name} {value}" for name, value in plan.players.describe().items())
    default_delta = ", one divided by the number of private examples" if plan.delta is None else ""
    assert result.vote is not None
    vote = _format_mean(result.vote, 4)
    return [
        ("data", f"{data.path}: {plan.examples:,} examples, {len(data.names):,} variables"),
        ("label 1", f"{data.y} = {data.values[1]}"),
        ("split", f"{plan.private:,} private, {plan.public:,} public, {plan.tested:,} to test"),
        ("teachers", f"{plan.teachers:,}, each with about {plan.teacher_examples:,} private examples"),
        ("players", players),
        ("δ", f"{plan.delta_run:.3g}{default_delta}"),
        ("splits", f"{len(result.tallies)} of {plan.repeats}, seed {plan.seed}"),
        ("vote", f"accuracy {vote} without noise; of the more frequent label {result.majority:.4f}"),
    ]


def _list_cells(row: RowFigures, compared: bool) -> tuple[str, ...]:
    cells = (
        row.method,
        _format_mean(row.answers, 1),
        _format_epsilon(row.epsilon),
        _format_epsilon(row.epsilon_ex_post),
        _format_mean(row.accuracy, 4),
    )
    if not compared:
        return cells
    if row.paper is None or row.difference is None:
        return (*cells, "", "")
    return (*cells, f"{row.paper.accuracy:.4f}", f"{row.difference:+.4f}")


def _format_mean(mean: MeanOverSplits, digits: int) -> str:
    value = f"{mean.value:,.{digits}f}".removesuffix(".0")
    return value if not mean.half_width else f"{value} ± {mean.half_width:.{digits}f}"


def _format_epsilon(epsilon: float) -> str:
    return "∞" if math.isinf(epsilon) else nats(epsilon)
