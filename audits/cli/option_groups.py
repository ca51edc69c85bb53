"""Groups of command-line options: an attrs record whose fields are options, filled by one decorator."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import attrs
import click

Record = TypeVar("Record")
Command = Callable[..., Any]


def option(*flags: str, **settings: Any) -> Any:
    """A field of an option group that `click.option(*flags, **settings)` fills."""
    return attrs.field(metadata={"declare": functools.partial(_declare_option, flags, settings)})


def argument(**settings: Any) -> Any:
    """A field of an option group that `click.argument(**settings)` fills."""
    return attrs.field(metadata={"declare": lambda name: click.argument(name, **settings)})


def _declare_option(
    flags: tuple[str, ...], settings: dict[str, Any], name: str
) -> Callable[[Command], Command]:
    return click.option(name, *flags, **settings)


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


def fill_record(record: type[Record], values: Mapping[str, Any]) -> Record:
    """The record with the values of its options, of the parameters of a click context."""
    return record(**{field.name: values[field.name] for field in attrs.fields(record)})  # type: ignore[arg-type]
