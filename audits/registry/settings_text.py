"""Settings of players as text: which can be set, what a text means, and a player built from texts."""

from __future__ import annotations

import inspect
import math
import sys
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from decimal import Decimal, InvalidOperation
from typing import Any, TypeVar

import attrs

from arena.concepts import ConceptClass
from arena.errors import (
    ArenaError,
    InvalidArgument,
    count_things,
    describe_error,
    is_users_file,
    locate_error,
)
from arena.parcels import callable_name, display_name, is_mechanism, is_model
from arena.players import Adversary, Learner
from arena.records import Records
from arena.sample import Sample
from arena.schemas.schema import Schema
from arena.settings import INSTEAD
from audits.registry.suggestions import correct, suggest
from audits.registry.user_files import load_function, load_schema

Player = Learner | Adversary
P = TypeVar("P", Learner, Adversary)

# Fields that the match fills in: no text can express a dataset or an opponent.
FILLED_FIELDS = {"sample": "filled from --data", "learner": "filled with the opponent's configuration"}
_MAX_EXPONENT = 18  # decimal exponent of the largest integer that a text may denote
_TRUE, _FALSE = ("true", "yes", "on", "1"), ("false", "no", "off", "0")


def build_player(
    player: type[P], texts: Mapping[str, Any], *, sample: Sample | None = None, learner: Learner | None = None
) -> P:
    """A configuration of class `player` with the fields named in `texts`, whose values may also be no texts.

    sample, learner: of the fields of these names, if there are. Raises: InvalidArgument.
    """
    fields = get_settable_fields(player)
    for name in texts:
        if name in FILLED_FIELDS:
            raise InvalidArgument(
                f"{name} of {player.name} cannot be set", remedy=f"It is {FILLED_FIELDS[name]}."
            )
        if name not in fields:
            raise InvalidArgument(
                f"{player.name} has no setting {name!r}",
                remedy=f"{suggest(name, fields)}Its settings are: {', '.join(fields) or 'none'}.",
                corrected=correct(name, fields),
            )
    try:
        kinds = typing.get_type_hints(player) if texts else {}
    except NameError as error:
        raise InvalidArgument(
            f"annotations of {player.name} contain an unknown name ({error})", remedy="Import it at run time."
        ) from error
    values: dict[str, Any] = {
        name: parse_value(name, text, kinds[name]) if isinstance(text, str) else text
        for name, text in texts.items()
    }
    for name, value in (("sample", sample), ("learner", learner)):
        if name in attrs.fields_dict(player) and value is not None:
            values[name] = value
    missing = [
        name
        for name in get_required_fields(player)
        if name not in values and fields[name].metadata.get(INSTEAD) not in values
    ]
    if missing:
        given = [f"It is {FILLED_FIELDS[name]}." for name in missing if name in FILLED_FIELDS]
        replaced = {name: fields[name].metadata.get(INSTEAD) for name in missing if name in fields}
        flags = " ".join(
            f"--set {name}=VALUE" + (f", or --set {other}=VALUE" if (other := replaced.get(name)) else "")
            for name in missing
        )
        raise InvalidArgument(
            f"{player.name} needs a value for {' and '.join(missing)}",
            remedy=given[0] if given else f"Give {flags}.",
        )
    with blame_player(player.name, "created"):
        return player(**values)


@contextmanager
def blame_player(name: str, action: str) -> Iterator[None]:
    """Turn exceptions of a player's code into InvalidArgument. action: a participle such as "created"."""
    try:
        yield
    except ArenaError:
        raise
    except Exception as error:
        place = locate_error(error)
        raise InvalidArgument(
            f"{name} raised {describe_error(error)} when it was {action}",
            remedy="Fix the player." + (f" See {place}." if place else ""),
        ) from error


def get_settable_fields(player: type[Player]) -> dict[str, attrs.Attribute[Any]]:
    """The fields that a text can set, by name."""
    fields = attrs.fields_dict(player).items()
    return {name: field for name, field in fields if name not in FILLED_FIELDS and field.init}


def get_required_fields(player: type[Player]) -> list[str]:
    """The names of the fields that must be set, or replaced by others."""
    fields = (field for field in attrs.fields(player) if field.init)
    return [f.name for f in fields if f.default is attrs.NOTHING or f.metadata.get(INSTEAD)]


def get_default(field: attrs.Attribute[Any], record: object = None) -> object:
    """The default of a field, for this record if it depends on others; `attrs.NOTHING` if it has none."""
    default: Any = field.default
    if not isinstance(default, attrs.Factory):  # type: ignore[arg-type]
        return default
    if default.takes_self:
        return "(computed)" if record is None else default.factory(record)
    return default.factory()


def format_value(value: object) -> str:
    """A setting's value for people."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return f"{value:_}" if abs(value) >= 10_000 else str(value)
    if isinstance(value, float):
        return f"{value:.6g}"
    if value is None or value is attrs.NOTHING:
        return "none" if value is None else "(must be set)"
    if isinstance(value, Learner | Adversary):
        return value.name
    if isinstance(value, Records):
        return count_things(value.size, "record")
    if isinstance(value, tuple):
        return ",".join(map(format_value, value))
    if is_model(value) or (callable(value) and not isinstance(value, ConceptClass)):
        return callable_name(value)
    return str(value)


def format_settings(player: Player) -> dict[str, str]:
    """The settings of a player, as `--set` would write them."""
    return {name: format_value(getattr(player, name)) for name in get_settable_fields(type(player))}


def find_own_settings(player: Player) -> dict[str, Any]:
    """The settings of a player that differ from their defaults."""
    return {
        name: getattr(player, name)
        for name, field in get_settable_fields(type(player)).items()
        if getattr(player, name) != get_default(field, player)
    }


def format_own_settings(player: Player) -> dict[str, str]:
    """The settings of a player that differ from their defaults, as texts that make the same values."""
    return {name: _format_exactly(value) for name, value in find_own_settings(player).items()}


def _format_exactly(value: object) -> str:
    if isinstance(value, float):
        return repr(float(value))
    if isinstance(value, Schema):
        return value.source
    code = getattr(value, "__code__", None)
    path = getattr(code, "co_filename", "<")
    if inspect.isclass(value):
        path = getattr(sys.modules.get(value.__module__), "__file__", None) or "<"
    return f"{path}:{value.__qualname__}" if is_users_file(path) else format_value(value)  # type: ignore[attr-defined]


def summarize_player(player: Player) -> str:
    """A player in one line: its title, and the settings that differ from their defaults."""
    changed = [
        f"{name}={format_value(value)}"
        for name, value in find_own_settings(player).items()
        if not (is_mechanism(value) and display_name(value) == player.own_name)
    ]
    return player.own_name + (f" with {', '.join(changed)}" if changed else "")


def parse_value(name: str, text: str, kind: Any) -> Any:
    """The value of `text` for a field annotated `kind`; of a union, that of the first member that accepts it.

    Raises: InvalidArgument, which calls the field `name`.

    >>> parse_value("teachers", "20_001", int), parse_value("games", "1e5", int)
    (20001, 100000)
    """
    members = typing.get_args(kind) if typing.get_origin(kind) in (typing.Union, types.UnionType) else (kind,)
    if types.NoneType in members and text.strip().casefold() == "none":
        return None
    parsers = [parser for member in members if (parser := _find_parser(member)) is not None]
    if not parsers:
        raise InvalidArgument(
            f"{name} takes a {getattr(kind, '__name__', kind)}, which cannot be written as text",
            value=text,
            remedy="Set it from Python.",
        )
    for parse in parsers[:-1]:
        try:
            return parse(name, text)
        except InvalidArgument:
            continue
    return parsers[-1](name, text)


def _parse_int(name: str, text: str) -> int:
    try:
        number = Decimal(text.strip())  # exact; 1e23 as a float is not 10^23
    except InvalidOperation:
        number = Decimal("nan")
    if number.is_finite() and number.adjusted() > _MAX_EXPONENT:
        raise InvalidArgument(f"{name} must be less than 10^{_MAX_EXPONENT + 1}", value=text)
    if not number.is_finite() or number % 1:
        raise InvalidArgument(f"{name} must be an integer", value=text, remedy="Write 20001, 20_001 or 1e5.")
    return int(number)


def _parse_float(name: str, text: str) -> float:
    with suppress(ValueError):
        if math.isfinite(number := float(text)):
            return number
    raise InvalidArgument(f"{name} must be a finite number", value=text)


def _parse_bool(name: str, text: str) -> bool:
    word = text.strip().casefold()
    if word not in (*_TRUE, *_FALSE):
        raise InvalidArgument(f"{name} must be true or false", value=text)
    return word in _TRUE


def _parse_pair(name: str, text: str) -> tuple[float, float]:
    numbers = text.split(",")
    if len(numbers) != 2:
        raise InvalidArgument(f"{name} must be two numbers", value=text, remedy="Write 0,1.")
    return _parse_float(name, numbers[0]), _parse_float(name, numbers[1])


_PARSERS: dict[Any, Callable[[str, str], Any]] = {
    bool: _parse_bool,
    int: _parse_int,
    float: _parse_float,
    str: lambda name, text: text,
    tuple[float, float]: _parse_pair,
    Callable[..., Any]: lambda name, text: load_function(text),
    Schema: lambda name, text: load_schema(text),
}


def _find_parser(kind: Any) -> Callable[[str, str], Any] | None:
    """The parser for a field annotated `kind`. The player itself checks which concept class it is."""
    if isinstance(kind, type) and issubclass(kind, ConceptClass):
        from arena.concepts import parse_concept_class  # with all classes, which few settings need

        return lambda name, text: parse_concept_class(text)
    if isinstance(kind, type) and hasattr(kind, "from_text"):
        return lambda name, text: kind.from_text(text)
    return _PARSERS.get(kind)
