"""What one night hands on to the next: the adversary, as code that is read and not run, and its scores."""

from __future__ import annotations

import ast
import base64
import importlib
from collections.abc import Callable, Mapping
from datetime import date, datetime, time, timedelta, timezone
from enum import Enum
from typing import Any

import attrs
import numpy as np

from arena import Adversary, CannotBeSent, InvalidArgument
from arena.errors import RAISED
from audits.monitors.store import Kept
from audits.registry import OWN_PACKAGES
from audits.registry.record_code import write_assignments
from audits.statistics.score_histogram import choose_landmarks
from audits.statistics.score_pairs import PairCounts, join_blocks

_NAME = "kept"
_MAX_SOURCE = 200_000  # characters
_MAX_LEVELS = 64  # of kept scores, whose pairs then take some kilobytes
_FUNCTIONS: dict[str, Callable[..., Any]] = {"np.array": np.array, "float": float}
_FUNCTIONS |= {f"datetime.{kind.__name__}": kind for kind in (date, datetime, time, timedelta, timezone)}


class _Unreadable(Exception):
    """The code is more than records of dp-arena's own and plain values."""


def write_adversary(adversary: Adversary) -> str:
    """The adversary as code that `read_adversary` reads; empty if there is none."""
    try:
        source = write_assignments(**{_NAME: adversary})
    except CannotBeSent:
        return ""
    return source if read_adversary(source) == adversary else ""


def read_adversary(source: str) -> Adversary | None:
    """The adversary that `write_adversary` wrote; None for any other text. No code of the text is run: it may
    only make records of dp-arena's own of plain values."""
    if len(source) > _MAX_SOURCE:
        return None
    try:
        *before, last = ast.parse(source).body
        names: dict[str, Any] = {}
        for statement in before:
            names |= _read_import(statement)
        if not isinstance(last, ast.Assign) or ast.unparse(last.targets[0]) != _NAME:
            return None
        adversary = _evaluate(last.value, names)
    except (_Unreadable, SyntaxError, RecursionError, MemoryError, *RAISED):  # what a record refuses
        return None
    return adversary if isinstance(adversary, Adversary) else None


def _read_import(statement: ast.stmt) -> Mapping[str, Any]:
    """The classes of dp-arena that a line imports. Raises: _Unreadable."""
    if isinstance(statement, ast.Import) and ast.unparse(statement) in (
        "import numpy as np",
        "import datetime",
    ):
        return {}
    if not isinstance(statement, ast.ImportFrom) or statement.level or statement.module is None:
        raise _Unreadable
    if statement.module.partition(".")[0] not in (*OWN_PACKAGES, "audits"):
        raise _Unreadable
    module = importlib.import_module(statement.module)
    found = {alias.name: getattr(module, alias.name) for alias in statement.names if alias.asname is None}
    for item in found.values():
        if not (isinstance(item, type) and (attrs.has(item) or issubclass(item, Enum))):
            raise _Unreadable
    return found


def _evaluate(node: ast.expr, names: Mapping[str, Any]) -> Any:
    """The value of an expression of literals and calls of known names. Raises: _Unreadable."""
    if isinstance(node, ast.Call):
        called = names.get(node.func.id) if isinstance(node.func, ast.Name) else None
        called = called or _FUNCTIONS.get(ast.unparse(node.func))
        if called is None or any(word.arg is None for word in node.keywords):
            raise _Unreadable
        named = {str(word.arg): _evaluate(word.value, names) for word in node.keywords}
        return called(*(_evaluate(part, names) for part in node.args), **named)
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        kind = names.get(node.value.id)
        if isinstance(kind, type) and issubclass(kind, Enum) and node.attr in kind.__members__:
            return kind[node.attr]
        raise _Unreadable
    if isinstance(node, ast.Tuple):
        return tuple(_evaluate(part, names) for part in node.elts)
    if isinstance(node, ast.List):
        return [_evaluate(part, names) for part in node.elts]
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError) as error:
        raise _Unreadable from error


# --- scores ------------------------------------------------------------------------------------------------


def pack_scores(blocks: list[PairCounts]) -> str:
    """The score pairs of all blocks as text, with scores replaced by the lower edges of at most 64 bins. Bets
    are chosen from them, and events of later scores are bet on, which may be any."""
    if not blocks:
        return ""
    joined = join_blocks(blocks)
    if len(joined.levels) > _MAX_LEVELS:
        edges = np.union1d([0], choose_landmarks(joined.by_level[:2], _MAX_LEVELS - 1))
        place = np.searchsorted(edges, np.arange(len(joined.levels)), side="right") - 1
        first, second = place[joined.which].T
        joined = PairCounts.of_levels(joined.levels[edges], first, second, joined.counts)
    return base64.b64encode(joined.to_bytes()).decode()


def unpack_scores(kept: Kept | None) -> list[PairCounts]:
    """The block that `pack_scores` made, in a list; none if there is none. Raises: InvalidArgument."""
    if kept is None or not kept.scores:
        return []
    try:
        packed = base64.b64decode(kept.scores, validate=True)
    except ValueError as error:
        raise InvalidArgument("the scores in the store of a monitor cannot be read") from error
    return [PairCounts.from_bytes(packed)]
