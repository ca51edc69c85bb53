"""The command line that replays an audit, game for game."""

from __future__ import annotations

import shlex

import attrs

from arena import REFEREES, Adversary, ArenaError, Learner
from audits.registry.pairing import configure_game
from audits.registry.players import ADVERSARIES, LEARNERS, Registry
from audits.registry.settings_text import build_player, format_value, get_default, get_settable_fields
from audits.runs.plan import Plan
from audits.search import Script, SearchResult
from audits.search.source_code import CLASS, audit_command, replay_command

SOURCE_FILE = "found.py"


def format_replay(plan: Plan, search: SearchResult | None = None) -> str:
    """A command line if it can name both players, otherwise Python code.

    search: the search that found the adversary, whose source is then expected in `found.py`.
    """
    learner = _format_player(plan.learner, LEARNERS)
    if learner is None:
        return _format_python(plan)
    if search is not None:
        return replay_command(search, learner=learner, file=SOURCE_FILE)
    adversary = _format_player(plan.adversary, ADVERSARIES, learner=plan.learner)
    if adversary is None or configure_game(REFEREES[plan.referee.name], plan.adversary)[1] != plan.referee:
        return _format_python(plan)
    return audit_command(plan, learner=learner, adversary=adversary)


def _format_player(
    player: Learner | Adversary, registry: Registry, learner: Learner | None = None
) -> str | None:
    """The player with its settings on a command line; None if that would build another player."""
    texts = {}
    for name, field in get_settable_fields(type(player)).items():
        value = getattr(player, name)
        if repr(value) != repr(get_default(field)):
            texts[name] = repr(value) if type(value) is float else format_value(value)
    try:
        if build_player(registry.find(player.name), texts, learner=learner) != player:
            return None
    except ArenaError:
        return None
    path = "adversary." if registry is ADVERSARIES else ""
    settings = [f" --set {shlex.quote(f'{path}{name}={text}')}" for name, text in texts.items()]
    return player.name + "".join(settings)


def _format_python(plan: Plan) -> str:
    """The plan as Python code. An adversary that was found appears as the class in its source."""
    values = {field.name: getattr(plan, field.name) for field in attrs.fields(Plan)}
    codes = {
        name: f"{CLASS}()" if isinstance(value, Script) else repr(value) for name, value in values.items()
    }
    arguments = "".join(f"    {name}={code},\n" for name, code in codes.items())
    return f"audits.runs.run.run(audits.runs.plan.Plan(\n{arguments}))"
