"""The line that plays an audit again, game for game."""

from __future__ import annotations

import shlex
from typing import Any

import attrs

from arena import REFEREES, Adversary, ArenaError, Learner
from audits.registry.pairing import configure_game
from audits.registry.players import ADVERSARIES, LEARNERS, Registry
from audits.registry.settings_text import build_player, format_value, get_default, get_settable_fields
from audits.runs.plan import Plan
from audits.search import Script, SearchResult
from audits.search.printing import CLASS, audit_line, replay

FILE = "found.py"


def replay_line(plan: Plan, sought: SearchResult | None = None) -> str:
    """A command line where it can name both players, else Python.

    sought: the search that found the adversary, whose source is then expected in `found.py`.
    """
    learner = _arguments(plan.learner, LEARNERS)
    if learner is None:
        return _python(plan)
    if sought is not None:
        return replay(sought, learner=learner, file=FILE)
    adversary = _arguments(plan.adversary, ADVERSARIES, learner=plan.learner)
    if adversary is None or configure_game(REFEREES[plan.referee.name], plan.adversary)[1] != plan.referee:
        return _python(plan)
    return audit_line(plan, learner=learner, adversary=adversary)


def _arguments(spec: Learner | Adversary, registry: Registry, learner: Learner | None = None) -> str | None:
    """How the command line names a player with its settings; None where it would come to another player."""
    changed = {
        name: value
        for name, field in get_settable_fields(type(spec)).items()
        if repr(value := getattr(spec, name)) != repr(get_default(field))
    }
    texts = {
        name: repr(value) if type(value) is float else format_value(value) for name, value in changed.items()
    }
    try:
        if build_player(registry.find(spec.name), texts, learner=learner) != spec:
            return None
    except ArenaError:
        return None
    path = "adversary." if registry is ADVERSARIES else ""
    settings = [f" --set {shlex.quote(f'{path}{name}={text}')}" for name, text in texts.items()]
    return spec.name + "".join(settings)


def _python(plan: Plan) -> str:
    """The plan as Python; an adversary that was found by the name of the class in its source."""
    fields = {field.name: _code(getattr(plan, field.name)) for field in attrs.fields(Plan)}
    arguments = "".join(f"    {name}={code},\n" for name, code in fields.items())
    return f"audits.runs.run.run(audits.runs.plan.Plan(\n{arguments}))"


def _code(value: Any) -> str:
    return f"{CLASS}()" if isinstance(value, Script) else repr(value)
