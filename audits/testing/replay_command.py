"""The command line that replays an audit, game for game."""

from __future__ import annotations

import shlex
import sys
from functools import partial
from typing import Any

import attrs
import numpy as np

from arena import REFEREES, Adversary, ArenaError, Learner, Sample
from arena.errors import is_users_file
from arena.privacy_curves import format_curve
from audits.adversary_search import Script, SearchResult
from audits.adversary_search.source_code import CLASS, audit_command, replay_command
from audits.registry.pairing import configure_game
from audits.registry.players import ADVERSARIES, LEARNERS, Registry
from audits.registry.settings_text import build_player, format_value, get_default, get_settable_fields
from audits.runs.plan import Plan

SOURCE_FILE = "found.py"


def format_replay(plan: Plan, search: SearchResult | None = None) -> str:
    """A command line if it can name both players, otherwise Python code.

    search: the search that found the adversary, whose source is then expected in `found.py`.
    """
    learner = _format_player(plan.learner, LEARNERS)
    has_option = plan.given_curve is None or format_curve(plan.given_curve) is not None
    if learner is None or not has_option:
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
            texts[name] = repr(value) if type(value) is float else _format_setting(value)
    try:
        if build_player(registry.find(player.name), texts, learner=learner) != player:
            return None
    except ArenaError:
        return None
    path = "adversary." if registry is ADVERSARIES else ""
    settings = [f" --set {shlex.quote(f'{path}{name}={text}')}" for name, text in texts.items()]
    return player.name + "".join(settings)


def _format_setting(value: object) -> str:
    code = getattr(value, "__code__", None)
    if code is None or not is_users_file(code.co_filename):
        return format_value(value)
    return f"{code.co_filename}:{value.__qualname__}"  # type: ignore[attr-defined]


def _format_python(plan: Plan) -> str:
    """The plan as Python code to paste. An adversary that was found appears as the class in its source."""
    imports: dict[str, None] = {
        "from audits.runs.plan import Plan": None,
        "from audits.runs.run import run": None,
    }
    values = {field.alias or field.name: getattr(plan, field.name) for field in attrs.fields(Plan)}
    codes = {name: _format_code(value, imports) for name, value in values.items()}
    arguments = "".join(f"    {name}={code},\n" for name, code in codes.items())
    return "\n".join([*sorted(imports, key=_is_assignment), "", f"run(Plan(\n{arguments}))"])


def _format_code(value: Any, imports: dict[str, None]) -> str:
    """The value as Python code; the lines that define its names are added to `imports`."""
    if isinstance(value, Script):
        return f"{_name_object(CLASS, f'{SOURCE_FILE}:{CLASS}', imports)}()"
    if isinstance(value, partial):
        imports["from functools import partial"] = None
        parts = [value.func, *value.args]
        codes = [_format_code(part, imports) for part in parts]
        codes += [f"{name}={_format_code(part, imports)}" for name, part in value.keywords.items()]
        return f"partial({', '.join(codes)})"
    if isinstance(value, Sample):
        arrays = (value.points.tolist(), value.labels.tolist(), value.counts.tolist())
        return f"{_import_object(Sample, imports)}({', '.join(map(repr, arrays))})"
    if isinstance(value, np.ndarray):
        imports["import numpy as np"] = None
        return f"np.array({value.tolist()!r})"
    if attrs.has(type(value)):
        fields = [field for field in attrs.fields(type(value)) if field.init]
        codes = [f"{f.alias}={_format_code(getattr(value, f.name), imports)}" for f in fields]
        return f"{_import_object(type(value), imports)}({', '.join(codes)})"
    if isinstance(value, tuple | list) and value:
        codes = [_format_code(part, imports) for part in value]
        return f"[{', '.join(codes)}]" if isinstance(value, list) else f"({', '.join(codes)},)"
    return _import_object(value, imports) if hasattr(value, "__qualname__") else repr(value)


def _import_object(item: Any, imports: dict[str, None]) -> str:
    """The name of a class or function; the line that defines it is added to `imports`."""
    code = getattr(item, "__code__", None)
    module = sys.modules.get(item.__module__)
    path = code.co_filename if code is not None else getattr(module, "__file__", None)
    name = item.__name__ if item.__name__.isidentifier() else "function"
    if item.__qualname__ != item.__name__ or name != item.__name__:  # a local class or function, or a lambda
        imports[f"{name} = ...  # {item.__qualname__} of {path or item.__module__}: paste it here"] = None
        return name
    if path is not None and is_users_file(path):
        return _name_object(name, f"{path}:{name}", imports)
    imports[f"from {item.__module__} import {name}"] = None
    return name


def _name_object(name: str, text: str, imports: dict[str, None]) -> str:
    imports["from audits.registry.user_files import load_function"] = None
    imports[f"{name} = load_function({text!r})"] = None
    return name


def _is_assignment(line: str) -> bool:
    return " = " in line
