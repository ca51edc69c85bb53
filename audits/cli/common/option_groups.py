"""Groups of command-line options: an attrs record whose fields are options, filled by one decorator.

The annotation of a field says what its option takes: a number, a flag, or several values.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, dataclass_transform, get_type_hints

import attrs
import click

from arena.errors import InvalidArgument
from audits.registry.settings_text import parse_value

Record = TypeVar("Record")
Command = Callable[..., Any]


class TextType(click.ParamType):
    """A value that `parse` reads. Its refusals become invalid usage of the option.

    parse: takes the name of the option and the text.
    """

    def __init__(self, name: str, parse: Callable[[str, str], Any]) -> None:
        self.name = name
        self._parse = parse

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        name = "a value" if parameter is None else parameter.opts[0]
        try:
            return self._parse(name, value)
        except InvalidArgument as error:
            raise click.BadParameter(str(error), context, parameter) from error


# Numbers are written as for `--set`: 20_001 and 1e5 are integers.
_INTEGER = TextType("integer", functools.partial(parse_value, kind=int))
REAL = TextType("number", functools.partial(parse_value, kind=float))
_SETTINGS_BY_ANNOTATION: dict[str, dict[str, Any]] = {
    "int": {"type": _INTEGER},
    "float": {"type": REAL},
    "bool": {"is_flag": True},
    "tuple[str, ...]": {"multiple": True},
    "tuple[float, ...]": {"type": REAL, "multiple": True},
}


class _Option(click.Option):
    """An option that is named in messages by its long flag, and that also has flags which no help shows."""

    def __init__(self, *arguments: Any, synonyms: tuple[str, ...] = (), **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self._synonyms = synonyms

    def add_to_parser(self, parser: Any, ctx: click.Context) -> None:
        shown = self.opts
        self.opts = [*shown, *self._synonyms]
        super().add_to_parser(parser, ctx)
        self.opts = shown

    def get_error_hint(self, ctx: click.Context | None) -> str:
        return f"'{self.opts[0]}'"


def option(*flags: str, **settings: Any) -> Any:
    """A field of an option group that `click.option(*flags, **settings)` fills. A default is shown.

    flags: the long one first, which messages and recorded commands name. synonyms: flags without a help.
    """

    def declare(field: attrs.Attribute[Any]) -> Callable[[Command], Command]:
        implied = _SETTINGS_BY_ANNOTATION.get(str(field.type).removesuffix(" | None"), {})
        settled = {"show_default": "default" in settings, **implied, **settings}
        return click.option(field.name, *flags, cls=_Option, **settled)

    return attrs.field(metadata={"declare": declare})


def argument(**settings: Any) -> Any:
    """A field of an option group that `click.argument(**settings)` fills."""
    return attrs.field(metadata={"declare": lambda field: click.argument(field.name, **settings)})


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(option, argument))
def option_record(cls: type[Record]) -> type[Record]:
    """Make a class an option group: a frozen attrs class, all of whose fields are options or arguments."""
    # Without what no command needs: comparing groups, and the slots that would forbid multiple inheritance.
    return attrs.frozen(cls, kw_only=True, slots=False, eq=False, repr=False)


def option_groups(command: Command) -> Command:
    """Give a command the options of the records that annotate its parameters, in order."""
    records = get_type_hints(command)
    records.pop("return", None)

    @functools.wraps(command)
    def call(**values: Any) -> Any:
        return command(**{name: fill_record(record, values) for name, record in records.items()})

    for record in reversed(records.values()):
        for field in reversed(attrs.fields(record)):
            call = field.metadata["declare"](field)(call)
    return call


def list_options(*records: type) -> tuple[str, ...]:
    """The names of the options of these records."""
    return tuple(field.name for record in records for field in attrs.fields(record))


def fill_record(record: type[Record], values: Mapping[str, Any]) -> Record:
    """The record with the values of its options, of the parameters of a click context."""
    return record(**{name: values[name] for name in list_options(record)})
