"""Settings of players, which the command line can list, explain and set; validators; and users' files."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import attrs
import numpy as np

from arena.errors import InvalidArgument

Check = Callable[[Any, "attrs.Attribute[Any]", Any], None]
# Told of the path, the content and whether it is code, before a user's file is parsed or run. It may refuse.
FileGuard = Callable[[Path, bytes, bool], None]
file_guard: ContextVar[FileGuard | None] = ContextVar("file_guard", default=None)


def setting(
    default: Any = attrs.NOTHING,
    *,
    help: str,
    unit: str = "",
    check: Check | Iterable[Check] = (),
) -> Any:
    """A keyword-only field of a player's configuration.

    help, unit: what `arena show PLAYER` prints; `--set NAME=VALUE` sets the field.
    check: one or several of the validators below. They let None pass, which as a default means "derived".
    """
    checks = [check] if callable(check) else list(check)
    return attrs.field(
        default=default,
        kw_only=True,
        validator=[attrs.validators.optional(c) for c in checks],
        metadata={"help": help, "unit": unit},
    )


def check_value(name: str, value: Any, *checks: Check) -> None:
    """Apply validators to a value that is not a field, such as an argument of a function.

    Raises: InvalidArgument, which calls the value `name`.
    """
    for check in checks:
        check(None, _Named(name), value)  # type: ignore[arg-type]


@attrs.frozen
class _Named:
    """The part of an attribute that validators read."""

    name: str


def read_file(path: str | os.PathLike[str], *, code: bool = False) -> bytes:
    """The content of a file that the user names, after `file_guard` has seen it. code: whether it is run.

    Raises: OSError; InvalidArgument for a device or a pipe, which may never end; whatever the guard raises.
    """
    location = Path(path)
    if location.exists() and not (location.is_file() or location.is_dir()):
        raise InvalidArgument(
            f"{path} is a device or a pipe, not a file", remedy="Copy its content into a file, and name that."
        )
    try:
        content = location.read_bytes()
    except ValueError as error:  # a zero byte, or half of a pair of surrogates
        raise FileNotFoundError(errno.ENOENT, "No file can have such a name", str(path)) from error
    guard = file_guard.get()
    if guard is not None:
        guard(location.resolve(), content, code)
    return content


def at_least(bound: float) -> Check:
    """Validate value ≥ bound."""
    return _rule(lambda value: value >= bound, f"at least {bound:g}")


def at_most(bound: float) -> Check:
    """Validate value ≤ bound."""
    return _rule(lambda value: value <= bound, f"at most {bound:g}")


def more_than(bound: float) -> Check:
    """Validate value > bound."""
    return _rule(lambda value: value > bound, f"more than {bound:g}")


def less_than(bound: float) -> Check:
    """Validate value < bound."""
    return _rule(lambda value: value < bound, f"less than {bound:g}")


def whole(instance: Any, attribute: attrs.Attribute[Any], value: Any) -> None:
    """Validate an integer of Python or numpy, not a bool."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise InvalidArgument(f"{attribute.name} must be an integer", value=value)


def one_of(*names: str) -> Check:
    """Validate that the value is one of some names."""
    return _rule(lambda value: value in names, "one of " + ", ".join(names))


def _rule(holds: Callable[[Any], bool], text: str) -> Check:
    def check(instance: Any, attribute: attrs.Attribute[Any], value: Any) -> None:
        try:
            valid = bool(holds(value))
        except TypeError:
            valid = False
        if not valid:
            raise InvalidArgument(f"{attribute.name} must be {text}", value=value)

    return check
