"""Groups of command-line options: an attrs record whose fields are options, filled by one decorator."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, dataclass_transform

import attrs
import click

Record = TypeVar("Record")
Command = Callable[..., Any]


def option(*flags: str, **settings: Any) -> Any:
    """A field of an option group that `click.option(*flags, **settings)` fills."""
    return attrs.field(metadata={"declare": lambda name: click.option(name, *flags, **settings)})


def argument(**settings: Any) -> Any:
    """A field of an option group that `click.argument(**settings)` fills."""
    return attrs.field(metadata={"declare": lambda name: click.argument(name, **settings)})


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(option, argument))
def option_record(cls: type[Record]) -> type[Record]:
    """Make a class an option group: a frozen attrs class, all of whose fields are options or arguments."""
    # Without what no command needs: comparing groups, and the slots that would forbid multiple inheritance.
    return attrs.frozen(cls, kw_only=True, slots=False, eq=False, repr=False)


def option_groups(**records: type) -> Callable[[Command], Command]:
    """Give a command the options of these records, in order. It is called with a record for each keyword."""

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def call(**values: Any) -> Any:
            return command(**{name: fill_record(record, values) for name, record in records.items()})

        for record in reversed(records.values()):
            for field in reversed(attrs.fields(record)):
                call = field.metadata["declare"](field.name)(call)
        return call

    return decorate


def list_options(*records: type) -> tuple[str, ...]:
    """The names of the options of these records."""
    return tuple(field.name for record in records for field in attrs.fields(record))


def fill_record(record: type[Record], values: Mapping[str, Any]) -> Record:
    """The record with the values of its options, of the parameters of a click context."""
    return record(**{name: values[name] for name in list_options(record)})
