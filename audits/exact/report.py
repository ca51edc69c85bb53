"""An exact audit for people (text), programs (JSON) and spreadsheets (CSV)."""

from __future__ import annotations

import csv
import json
import math
import os
import textwrap
from pathlib import Path

from tabulate import tabulate

from arena import InvalidArgument
from audits.exact.exact_audit import ExactAudit, ViewProbabilities
from audits.exact.privacy_loss import Bracket

_WIDTH = 100
_COLUMNS = ("view", "p0", "p1", "privacy_loss", "alpha", "beta")


def as_json(found: ExactAudit) -> str:
    """One JSON object on one line; see `Exact.as_json` for what null stands for."""
    return json.dumps(found.as_json(), allow_nan=False)


def text(found: ExactAudit, *, learner: str, adversary: str) -> str:
    """The report for a terminal. learner, adversary: how they are named."""
    figures = tabulate(rows(found, learner, adversary), tablefmt="plain", disable_numparse=True)
    parts = [figures, textwrap.fill(meaning(found), _WIDTH)]
    if found.telling:
        head = ("probability in world 0", "in world 1", "loss in nats", "view")
        lines = [_line(witness) for witness in found.telling]
        parts.append(
            "The most telling views, by loss times probability:\n"
            + tabulate(lines, headers=head, tablefmt="plain", disable_numparse=True)
        )
    return "\n\n".join(parts)


def rows(found: ExactAudit, learner: str, adversary: str) -> list[tuple[str, str]]:
    """The figures, each with its name."""
    least = "" if found.complete else "at least "
    needed = [] if found.delta is None else [(found.claim.epsilon, found.delta)]
    score = "not listed; no more than the view" if found.score is None else _epsilon(found.score)
    return [
        ("learner", learner),
        ("adversary", adversary),
        ("protocol", found.protocol),
        ("claim", str(found.claim)),
        ("pure ε", f"{least}{_nats(found.epsilon)}"),
        *((f"δ at ε = {epsilon:.4g}", _delta(delta)) for epsilon, delta in [*needed, *found.deltas]),
        (f"ε at δ = {found.at:.3g}", _epsilon(found.epsilon_at)),
        ("by its score alone", score),
        ("views", f"{found.views:,}"),
        ("error", f"probabilities may be off by {found.error:.1e}"),
    ]


def meaning(found: ExactAudit) -> str:
    """What it means, in a few sentences."""
    if found.epsilon == 0 and found.complete:
        said = "The view has the same law in both worlds: this adversary learns nothing."
    elif math.isinf(found.worst.loss) and math.isinf(found.epsilon):  # not for paths that were given up
        said = "Some view is possible in one world only: at δ = 0 no finite ε holds."
    elif math.isinf(found.epsilon):
        said = "The privacy loss has no bound: at δ = 0 no finite ε holds."
    else:
        said = ""
    if found.claim.empty:
        verdict = "Nothing is claimed, so there is nothing to refute."
    elif found.refuted:
        verdict = "Refuted: the claim is false by the exact law of this adversary's view."
    else:
        verdict = (
            "Not refuted: against this adversary the claim holds, as far as the stated error goes. Another "
            "adversary may see more."
        )
    return f"{verdict} {said}".rstrip()


def write_csv(found: ExactAudit, path: str | os.PathLike[str]) -> None:
    """Every view, from the most to the least like world 1, with the trade-off curve: see `Exact.table`."""
    where = Path(path)
    try:
        with where.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(_COLUMNS)
            writer.writerows(found.table())
    except OSError as error:
        raise InvalidArgument(f"the CSV file {path} cannot be written ({error.strerror})") from error


def _line(witness: ViewProbabilities) -> tuple[str, str, str, str]:
    return f"{witness.p0:.6g}", f"{witness.p1:.6g}", f"{witness.loss:.4g}", witness.text


def _nats(epsilon: float) -> str:
    return "infinite" if math.isinf(epsilon) else f"{epsilon:.10g} nats"


def _epsilon(bracket: Bracket) -> str:
    if math.isinf(bracket.lower):
        return "infinite"
    if math.isinf(bracket.upper):
        return f"at least {bracket.lower:.6g} nats"
    return f"{_within(bracket)} nats" if bracket.lower > 0 else f"at most {bracket.upper:.2g} nats"


def _delta(bracket: Bracket) -> str:
    return _within(bracket) if bracket.lower > 0 else f"at most {bracket.upper:.2g}"


def _within(bracket: Bracket) -> str:
    half = (bracket.upper - bracket.lower) / 2
    return f"{bracket.middle:.6g}" + (f" (± {half:.1e})" if half else "")
