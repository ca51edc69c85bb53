"""Text, CSV and JSON of a solved game."""

from __future__ import annotations

import csv
import math
import os
from collections.abc import Mapping
from typing import Any

from arena import Learner
from audits.data.output_files import write_atomically
from audits.reports.formatting import WIDTH, column_table, name_table, wrap
from audits.reports.json_form import to_data, to_json
from audits.solver.decision_graph import END
from audits.solver.solution import Outcome, Solution, Strategy

_SHOWN = 24  # nodes of a strategy in a report
_COLUMNS = ("epsilon", "delta_lower", "delta_upper")


def format_solution(solution: Solution, *, learner: str) -> str:
    """The report for a terminal. learner: the player as text."""
    rows = [(f"{point.epsilon:.4g}", f"{point.lower:.6g}", f"{point.upper:.6g}") for point in solution.curve]
    parts = [
        name_table(_rows(solution, learner)),
        wrap(explain_solution(solution)),
        "δ of the best adversary at each ε:\n" + column_table(rows, ("ε in nats", "at least", "at most")),
        _format_strategy(solution.strategy),
    ]
    return "\n\n".join(parts)


def explain_solution(solution: Solution) -> str:
    """What the solution says about the claim, in sentences."""
    against = (
        f"against every adversary of at most {solution.rounds:,} {_unit(solution)} on this pair of datasets"
    )
    if solution.claim.empty:
        text = f"Nothing is claimed, so there is nothing to prove or refute; the curve holds {against}."
    elif solution.outcome is Outcome.PROVED:
        text = f"Proved of the declared output distribution: {against} the claim holds."
    elif solution.outcome is Outcome.BRACKETED:
        text = (
            f"Bracketed: {against} the claim holds of the declared output distribution, by bounds that are "
            "measured in part and not proved."
        )
    elif solution.outcome is Outcome.REFUTED:
        text = (
            f"Refuted: the claim is false of the declared output distribution, "
            f"{against.replace('every', 'the best')}."
        )
    else:
        text = f"Neither proved nor refuted {against}."
        for point in solution.curve:
            if point.epsilon == solution.claim.epsilon:
                text += f" Its ε holds with δ = {point.upper:.3g}, and with no δ below {point.lower:.3g}."
    if solution.measured:
        text += f" Measured: {'; '.join(solution.measured)}."
    if solution.rounds < solution.asked:
        text += (
            f" The computation was interrupted: this game is of {solution.rounds:,} {_unit(solution)}. Its "
            f"lower bounds hold for {solution.asked:,} too."
        )
    elif solution.interrupted:
        text += " The search for closer bounds was interrupted; these hold."
    return text


def format_bracket(lower: float, upper: float) -> str:
    """Bounds on a number that are shown with the digits in which they agree, and one more."""
    if math.isinf(lower):
        return "infinite"
    if math.isinf(upper):
        return f"at least {lower:.6g}"
    if lower >= upper or f"{lower:.6g}" == f"{upper:.6g}":
        return f"{upper:.6g}"
    return f"from {lower:.6g} to {upper:.6g}"


def solution_data(solution: Solution, learner: Learner) -> dict[str, Any]:
    """The entries of a solution's JSON object."""
    strategy = solution.strategy
    return {
        **to_data(solution),
        "strategy": {
            "epsilon": strategy.epsilon,
            "delta": strategy.delta,
            "decisions": None if strategy.graph is None else len(strategy.graph.move),
        },
        "players": {"learner": to_data(learner)},
    }


def solution_json(solution: Solution, learner: Learner, header: Mapping[str, Any] | None = None) -> str:
    """The solution as one JSON object on one line."""
    return to_json(solution_data(solution, learner), header)


def write_solution_csv(solution: Solution, path: str | os.PathLike[str]) -> None:
    """Write the curve: ε in nats, and the bounds on δ. Raises: InvalidArgument if it cannot be written."""
    with (
        write_atomically("CSV file", path) as unfinished,
        unfinished.open("w", newline="", encoding="utf-8") as file,
    ):
        writer = csv.writer(file)
        writer.writerow(_COLUMNS)
        writer.writerows((point.epsilon, point.lower, point.upper) for point in solution.curve)


def _unit(solution: Solution) -> str:
    return "queries" if solution.strategy.moves.labels is None else "rounds"


def _rows(solution: Solution, learner: str) -> list[tuple[str, str]]:
    at = solution.epsilon_at
    return [
        ("learner", learner),
        ("worlds", wrap(solution.worlds, WIDTH - 20)),
        (_unit(solution), f"at most {solution.rounds:,} in a game, with {solution.moves:,} choices in each"),
        ("claim", str(solution.claim)),
        (f"least ε at δ = {at.delta:.3g}", f"{format_bracket(at.lower, at.upper)} nats"),
        ("error", f"bounds on δ allow {solution.rounding:.1e} for rounding"),
        ("compared with games", wrap(str(solution.comparison), WIDTH - 20)),
    ]


def _format_strategy(strategy: Strategy) -> str:
    graph = strategy.graph
    head = f"The best adversary at ε = {strategy.epsilon:.4g} reaches δ = {strategy.delta:.6g}. "
    if graph is None:
        return wrap(f"{head}Its decisions are too many to be listed; allow fewer rounds to see them.")
    nodes, lines = len(graph.move), []
    for node in range(min(nodes, _SHOWN)):
        ends: dict[str, list[str]] = {}  # outcomes by what follows
        for outcome, after, score in zip(
            strategy.moves.outcomes, graph.after[node], graph.score[node], strict=False
        ):
            if after != END or not math.isnan(score):
                ends.setdefault(_format_end(int(after), float(score)), []).append(outcome)
        texts = (f"{' or '.join(outcomes)} → {end}" for end, outcomes in ends.items())
        lines.append(f"{node + 1:>4}. {strategy.moves.names[graph.move[node]]}: {'; '.join(texts)}")
    if nodes > _SHOWN:
        lines.append(f"      and {nodes - _SHOWN:,} more, which --strategy FILE.py writes")
    return "\n".join([wrap(f"{head}Its decisions, by the answers so far:"), *lines])


def _format_end(after: int, score: float) -> str:
    return (
        f"{after + 1}" if after != END else f"end, score {score:.4g}" if abs(score) > 1e-9 else "end, score 0"
    )
