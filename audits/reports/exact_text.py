"""Text, CSV and JSON of an exact audit."""

from __future__ import annotations

import csv
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tabulate import tabulate

from arena import Adversary, InvalidArgument, Learner
from audits.exact_loss.exact_audit import ExactAudit
from audits.exact_loss.privacy_loss import Bracket
from audits.reports.formatting import WIDTH, name_table, wrap
from audits.reports.json_form import describe_players, to_data, to_json

_COLUMNS = ("view", "p0", "p1", "privacy_loss", "alpha", "beta")


def format_exact(audit: ExactAudit, *, learner: str, adversary: str) -> str:
    """The report for a terminal. learner, adversary: the players as text."""
    parts = [name_table(_rows(audit, learner, adversary)), wrap(_explain(audit))]
    if audit.most_revealing:
        head = ("probability in world 0", "in world 1", "loss in nats", "view")
        lines = [
            (f"{cell.p0:.6g}", f"{cell.p1:.6g}", f"{cell.privacy_loss:.4g}", cell.view)
            for cell in audit.most_revealing
        ]
        table = tabulate(lines, headers=head, tablefmt="plain", disable_numparse=True)
        parts.append(f"The most revealing views, by loss times probability:\n{table}")
    return "\n\n".join(parts)


def describe_exact(audit: ExactAudit, learner: Learner, adversary: Adversary) -> dict[str, Any]:
    """The entries of an exact audit's JSON object."""
    return {**to_data(audit), **describe_players(learner, adversary)}


def exact_json(
    audit: ExactAudit, learner: Learner, adversary: Adversary, header: Mapping[str, Any] | None = None
) -> str:
    """The audit as one JSON object on one line."""
    return to_json(describe_exact(audit, learner, adversary), header)


def write_exact_csv(audit: ExactAudit, path: str | os.PathLike[str]) -> None:
    """Write every view with its probabilities and the trade-off curve: see `ExactAudit.table`."""
    try:
        with Path(path).open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(_COLUMNS)
            writer.writerows(audit.table())
    except OSError as error:
        raise InvalidArgument(f"the CSV file {path} cannot be written ({error.strerror})") from error


def _rows(audit: ExactAudit, learner: str, adversary: str) -> list[tuple[str, str]]:
    at_least = "" if audit.complete else "at least "
    score = "unknown; at most that of the view" if audit.score is None else _epsilon(audit.score)
    of_claim = [] if audit.delta is None else [(audit.claim.epsilon, audit.delta)]
    deltas = [*of_claim, *((delta.epsilon, delta) for delta in audit.deltas)]
    return [
        ("learner", learner),
        ("adversary", adversary),
        ("protocol", audit.protocol),
        ("claim", str(audit.claim)),
        ("pure ε", "infinite" if audit.epsilon_infinite else f"{at_least}{audit.epsilon:.10g} nats"),
        *((f"δ at ε = {epsilon:.4g}", _delta(delta)) for epsilon, delta in deltas),
        (f"ε at δ = {audit.epsilon_at.delta:.3g}", _epsilon(audit.epsilon_at)),
        ("ε of the score alone", score),
        ("views", f"{audit.views:,}"),
        ("error", f"probabilities may be off by {audit.error:.1e}, of the declared output distribution"),
        ("compared with games", wrap(str(audit.comparison), WIDTH - 24)),
    ]


def _explain(audit: ExactAudit) -> str:
    if audit.epsilon == 0 and audit.complete:
        explanation = "The view has the same distribution in both worlds: this adversary learns nothing."
    # An infinite ε alone may also mean that paths were pruned.
    elif audit.epsilon_infinite and math.isinf(audit.worst.privacy_loss):
        explanation = "Some view is possible in one world only: at δ = 0 no finite ε holds."
    elif audit.epsilon_infinite:
        explanation = "The privacy loss is unbounded: at δ = 0 no finite ε holds."
    else:
        explanation = ""
    if audit.claim.empty:
        verdict = "Nothing is claimed, so there is nothing to refute."
    elif audit.refuted:
        verdict = (
            "Refuted: the claim is false of the declared output distribution, by the exact distribution of "
            "this adversary's view."
        )
    else:
        verdict = (
            "Not refuted: against this adversary the claim holds of the declared output distribution, up to "
            "the stated error. Another adversary may see more."
        )
    return f"{verdict} {explanation}".rstrip()


def _epsilon(bracket: Bracket) -> str:
    if math.isinf(bracket.lower):
        return "infinite"
    if math.isinf(bracket.upper):
        return f"at least {bracket.lower:.6g} nats"
    return f"{_middle(bracket)} nats" if bracket.lower > 0 else f"at most {bracket.upper:.2g} nats"


def _delta(bracket: Bracket) -> str:
    return _middle(bracket) if bracket.lower > 0 else f"at most {bracket.upper:.2g}"


def _middle(bracket: Bracket) -> str:
    half = (bracket.upper - bracket.lower) / 2
    return f"{bracket.middle:.6g}" + (f" (± {half:.1e})" if half else "")
