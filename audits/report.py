"""What an audit found, for people (text, HTML) and for programs (JSON)."""

from __future__ import annotations

import importlib.util
import io
import json
import math
import os
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tabulate import tabulate

from arena.errors import InvalidArgument
from audits.course import Progress
from audits.plan import Plan
from audits.settings import summary
from audits.verdict import Verdict

_WIDTH = 100
_NEEDED = ("jinja2", "matplotlib")


def as_json(verdict: Verdict) -> str:
    """One JSON object on one line. A figure that is unknown or not finite is null: JSON has no infinity."""
    return json.dumps(_finite(verdict.as_json()), allow_nan=False)


def text(verdict: Verdict, *, plan: Plan | None = None) -> str:
    """The report for a terminal. With the plan it names the players' settings too."""
    figures = tabulate(rows(verdict, plan), tablefmt="plain", disable_numparse=True)
    return f"{figures}\n\n{textwrap.fill(meaning(verdict), _WIDTH)}"


def rows(verdict: Verdict, plan: Plan | None = None) -> list[tuple[str, str]]:
    """The figures of a verdict, each with its name."""
    classical = verdict.clopper_pearson
    seconds = f"{verdict.seconds:.1f} s"
    at = f"at δ = {verdict.claim.delta:.3g}, confidence {_percent(verdict)}"
    played = f"{verdict.games:,} in each world"
    if verdict.played_now < verdict.games:
        played += f", {verdict.games - verdict.played_now:,} of them from the ledger"
    return [
        ("learner", verdict.learner if plan is None else summary(plan.learner)),
        ("adversary", verdict.adversary if plan is None else summary(plan.adversary)),
        ("protocol", verdict.protocol),
        ("claim under test", str(verdict.claim)),
        ("certified", f"ε ≥ {verdict.epsilon_lower:.4g} nats {at}"),
        ("ceiling", f"ε ≥ {verdict.ceiling:.4g} nats, had the adversary told the worlds apart every time"),
        (
            "Clopper-Pearson",
            "too few games" if classical is None else f"ε ≥ {classical:.4g} nats, for comparison",
        ),
        ("games", played),
        ("speed", f"{verdict.games_per_second:,.0f} games a second, both worlds counted ({seconds})"),
        ("seed", str(verdict.seed)),
    ]


def meaning(verdict: Verdict) -> str:
    """What the verdict means, in a few sentences."""
    sure, bound = f"with confidence {_percent(verdict)}", f"{verdict.epsilon_lower:.4g}"
    none_holds = f"no claim below ε = {bound} at δ = {verdict.claim.delta:.3g} holds"
    if verdict.refuted:
        said = f"Refuted: {sure}, the claim is false, and {none_holds}."
    elif verdict.epsilon_lower > 0:
        said = f"Not refuted: {sure}, {none_holds}; the claim under test is not below it. {_reach(verdict)}"
    else:
        said = f"Not refuted: these games certify no loss of privacy. {_reach(verdict)}"
    return f"Interrupted; what was played stands. {said}" if verdict.interrupted else said


def check_html(path: str | os.PathLike[str]) -> None:
    """Refuse, before any game is played, an HTML report that could not be written."""
    missing = [name for name in _NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise InvalidArgument(
            f"the HTML report needs {' and '.join(missing)}", remedy="Run pip install dp-arena[report]."
        )
    where = Path(path)
    if where.is_dir():
        raise InvalidArgument(f"the HTML report {path} is a directory", remedy="Name a file in it.")
    if not where.absolute().parent.is_dir():
        raise InvalidArgument(
            f"the directory of the HTML report {path} does not exist", remedy="Make it first."
        )


def html(
    verdict: Verdict, history: Sequence[Progress], path: str | os.PathLike[str], *, plan: Plan | None = None
) -> None:
    """Write a report that is one file and needs no network: the figures, and the bound against games played.

    history: the run's progress, block by block. The file appears whole or not at all.

    Raises: InvalidArgument if a package is missing or the file cannot be written.
    """
    check_html(path)
    from jinja2 import Environment  # an extra, and slow to import

    template = Environment(autoescape=True).from_string(_TEMPLATE)
    page = template.render(
        title=f"{verdict.learner} against {verdict.adversary}",
        outcome="refuted" if verdict.refuted else "not refuted",
        meaning=meaning(verdict),
        rows=rows(verdict, plan),
        chart=_chart(verdict, history),
    )
    where = Path(path)
    unfinished = where.with_name(f".{where.name}.{os.getpid()}.tmp")
    try:
        unfinished.write_text(page, encoding="utf-8")
        unfinished.replace(where)
    except OSError as error:
        unfinished.unlink(missing_ok=True)
        raise InvalidArgument(f"the HTML report {path} cannot be written ({error.strerror})") from error


def _chart(verdict: Verdict, history: Sequence[Progress]) -> str:
    """The running bound as inline SVG, the same bytes for the same figures."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context({"svg.hashsalt": "dp-arena", "font.size": 10}):
        figure = Figure(figsize=(8, 4), layout="constrained")
        axes = figure.subplots()
        games = [0, *(now.games for now in history)]
        axes.step(
            games, [0.0, *(now.epsilon_lower for now in history)], where="post", label="certified so far"
        )
        claim = verdict.claim.epsilon
        axes.axhline(claim, color="tab:red", linestyle="--", label=f"claim under test, {claim:.4g}")
        ceiling = f"ceiling after all games, {verdict.ceiling:.4g}"
        axes.axhline(verdict.ceiling, color="tab:gray", linestyle=":", label=ceiling)
        axes.set(xlabel="games in each world", ylabel="ε in nats", xlim=(0, max(games[-1], 1)))
        # A far-off ceiling is named but not drawn, or the course of the bound would be a flat line.
        axes.set_ylim(0, 1.1 * min(max(verdict.ceiling, claim), 3 * max(verdict.epsilon_lower, claim)))
        axes.xaxis.set_major_formatter("{x:,.0f}")
        axes.legend(loc="best")
        drawn = io.StringIO()
        figure.savefig(drawn, format="svg", metadata={"Date": None})
    svg = drawn.getvalue()
    return svg[svg.index("<svg") :]


def _reach(verdict: Verdict) -> str:
    always = "an adversary that always tells the worlds apart would have reached"
    if verdict.ceiling < verdict.claim.epsilon:
        return f"So few games could not refute it: even {always} only ε = {verdict.ceiling:.4g}. Play more."
    return f"{always.capitalize()} ε = {verdict.ceiling:.4g}."


def _percent(verdict: Verdict) -> str:
    return f"{100 * verdict.confidence:.10g} %"


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _finite(part) for name, part in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value


_TEMPLATE = """<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<title>{{ title }}: {{ outcome }}</title>
<style>
  body { font: 16px/1.5 system-ui, sans-serif; color: #222; }
  body { max-width: 52rem; margin: 2rem auto; padding: 0 1rem; }
  table { border-collapse: collapse; margin: 1.5rem 0; }
  th, td { text-align: left; vertical-align: top; padding: .25rem 1rem .25rem 0; }
  tr { border-bottom: 1px solid #ddd; }
  th { font-weight: 600; white-space: nowrap; }
  svg { max-width: 100%; height: auto; }
  .refuted { color: #b00020; }
</style>
<h1>{{ title }}: <span class="{{ 'refuted' if outcome == 'refuted' else '' }}">{{ outcome }}</span></h1>
<p>{{ meaning }}</p>
<table>{% for name, value in rows %}
  <tr><th>{{ name }}</th><td>{{ value }}</td></tr>{% endfor %}
</table>
<figure>{{ chart | safe }}<figcaption>The certified bound as the games were played.</figcaption></figure>
</html>
"""
