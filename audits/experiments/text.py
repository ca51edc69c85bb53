"""An experiment as text and as JSON."""

from __future__ import annotations

import json
import math
import textwrap

from tabulate import tabulate

from audits.experiments.printed import NAMES
from audits.experiments.result import Mean, Outcome, Result

_WIDTH = 100
_NOTE = (
    "± is 1.96 standard errors of the mean over splits. ε, in nats, and δ hold for all answers that a "
    "student may be given; ε ex post is what those that it asked for would cost if their number had been "
    "fixed beforehand, and no guarantee."
)
_HEADERS = ("method", "answers", "ε", "ε ex post", "accuracy")


def as_json(result: Result) -> str:
    """One JSON object on one line; null stands for an infinite ε, and for what is not known."""
    return json.dumps(result.as_json(), allow_nan=False, ensure_ascii=False)


def text(result: Result) -> str:
    """The report for a terminal."""
    outcomes = result.outcomes
    beside = any(one.paper is not None for one in outcomes)
    headers = (*_HEADERS, "Table 4", "difference") if beside else _HEADERS
    rows = [_row(one, beside) for one in outcomes]
    table = tabulate(rows, headers, tablefmt="simple", disable_numparse=True)
    return "\n\n".join([_head(result), table, textwrap.fill(_NOTE, _WIDTH)])


def title(result: Result) -> str:
    """What an experiment is on, in a line."""
    plan = result.experiment
    known = f" ({NAMES[plan.examples]})" if plan.examples in NAMES else ""
    return f"{plan.teachers:,} teachers on {plan.examples:,} examples{known}, {len(result.tallies)} splits"


def _head(result: Result) -> str:
    plan, data = result.experiment, result.experiment.data
    players = ", ".join(f"{name} {told}" for name, told in plan.players.describe().items())
    rows = [
        ("data", f"{data.path}: {plan.examples:,} examples, {len(data.names):,} variables"),
        ("label 1", f"{data.y} = {data.values[1]}"),
        ("split", f"{plan.private:,} private, {plan.public:,} public, {plan.tested:,} to test"),
        ("teachers", f"{plan.teachers:,}, each of about {plan.teacher_examples:,} private examples"),
        ("players", players),
        ("δ", f"{plan.delta_run:.3g}" + ("" if plan.delta is not None else ", one in the private examples")),
        ("splits", f"{len(result.tallies)} of {plan.repeats}, seed {plan.seed}"),
        ("vote", f"{_mean(result.vote, 4)} of the vote itself; the commoner label: {result.majority:.4f}"),
    ]
    return str(tabulate(rows, tablefmt="plain", disable_numparse=True))


def _row(one: Outcome, beside: bool) -> tuple[str, ...]:
    row = (
        one.row.method,
        _mean(one.answers, 1),
        _epsilon(one.row.epsilon),
        _epsilon(one.epsilon_ex_post),
        _mean(one.accuracy, 4),
    )
    if not beside:
        return row
    if one.paper is None or one.difference is None:
        return (*row, "", "")
    return (*row, f"{one.paper.accuracy:.4f}", f"{one.difference:+.4f}")


def _mean(mean: Mean, digits: int) -> str:
    value = f"{mean.value:,.{digits}f}".removesuffix(".0")
    return value if not mean.off else f"{value} ± {mean.off:.{digits}f}"


def _epsilon(epsilon: float) -> str:
    return "∞" if math.isinf(epsilon) else f"{epsilon:.4g}"
