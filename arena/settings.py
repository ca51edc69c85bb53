"""Fields of player specs that the command line can list, explain and set."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import attrs
import numpy as np

from arena.errors import InvalidArgument

Check = Callable[[Any, "attrs.Attribute[Any]", Any], None]


def setting(
    default: Any = attrs.NOTHING,
    *,
    help: str,
    unit: str = "",
    check: Check | Iterable[Check] = (),
) -> Any:
    """A keyword-only field of a spec, with what it is for and its unit.

    `arena show PLAYER` prints `help` and `unit`; `--set NAME=VALUE` sets the field. `check` is one of
    the validators below (or several); a None default means "derived", and None always passes.
    """
    checks = [check] if callable(check) else list(check)
    return attrs.field(
        default=default,
        kw_only=True,
        validator=[_unless_none(c) for c in checks],
        metadata={"help": help, "unit": unit},
    )


def check_value(name: str, value: Any, *checks: Check) -> None:
    """Apply validators to a value that is no field, such as an argument of a function.

    Raises: InvalidArgument that names it `name`.
    """
    for check in checks:
        check(None, _Named(name), value)  # type: ignore[arg-type]


@attrs.frozen
class _Named:
    """All that a validator reads of an attribute."""

    name: str


def at_least(bound: float) -> Check:
    return _rule(lambda value: value >= bound, f"at least {bound:g}")


def at_most(bound: float) -> Check:
    return _rule(lambda value: value <= bound, f"at most {bound:g}")


def more_than(bound: float) -> Check:
    return _rule(lambda value: value > bound, f"more than {bound:g}")


def less_than(bound: float) -> Check:
    return _rule(lambda value: value < bound, f"less than {bound:g}")


def whole(instance: Any, attribute: attrs.Attribute[Any], value: Any) -> None:
    """An integer: Python's or numpy's, but no bool."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise InvalidArgument(f"{attribute.name} must be an integer", value=value)


def one_of(*names: str) -> Check:
    return _rule(lambda value: value in names, "one of " + ", ".join(names))


def _rule(holds: Callable[[Any], bool], text: str) -> Check:
    def check(instance: Any, attribute: attrs.Attribute[Any], value: Any) -> None:
        try:
            fine = bool(holds(value))
        except TypeError:
            fine = False
        if not fine:
            raise InvalidArgument(f"{attribute.name} must be {text}", value=value)

    return check


def _unless_none(check: Check) -> Check:
    def checked(instance: Any, attribute: attrs.Attribute[Any], value: Any) -> None:
        if value is not None:
            check(instance, attribute, value)

    return checked
