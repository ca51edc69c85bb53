"""What every command is made of: groups of options, which records declare, and how results are printed.

A group of options is an attrs record whose fields are options, filled by one decorator. The annotation of a
field says what its option takes: a number, a flag, or several values. Results go to standard output, notes
and progress bars to standard error.
"""

from __future__ import annotations

import functools
import os
import re
import shlex
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar, dataclass_transform, get_type_hints

import attrs
import click
from click.core import ParameterSource

from arena.errors import InvalidArgument
from audits.cli import PRINTED
from audits.registry.settings_text import parse_value
from audits.reports.formatting import escape_controls

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


# The options on which no figure depends; a recorded command leaves them out.
UNRECORDED = (
    *("as_json", "quiet", "html", "plot", "csv_file", "estimators"),
    *("jobs", "backend", "cluster", "patience"),
    *("ledger", "part", "key", "allow_changes"),
)


def format_command() -> str:
    """The command line without the options on which no figure depends, in the order of --help."""
    context = click.get_current_context()
    # The root may have another name, for instance under `python -m audits.cli`.
    words = ["arena", *context.command_path.removeprefix(context.find_root().command_path).split()]
    for parameter in context.command.params:
        name = parameter.name or ""
        if name in UNRECORDED or context.get_parameter_source(name) is not ParameterSource.COMMANDLINE:
            continue
        is_list = parameter.multiple or parameter.nargs != 1
        for value in context.params[name] if is_list else [context.params[name]]:
            words += [] if isinstance(parameter, click.Argument) else [parameter.opts[0]]
            words += [] if value is True else [str(value)]
    return shlex.join(words)


_REFRESH = 1.0  # seconds
_VERDICT = re.compile(r"\b(not )?refuted\b", re.IGNORECASE)


def print_note(note: str) -> None:
    """Print one line on standard error."""
    click.echo(f"arena: note: {escape_controls(note, one_line=True)}", err=True)


def colour_verdicts(text: str) -> str:
    """The text with "refuted" in red and "not refuted" in green, whatever the case."""
    return _VERDICT.sub(
        lambda found: click.style(found[0], fg="green" if found[1] else "red", bold=not found[1]), text
    )


def _has_colour() -> bool:
    """Whether standard output is a terminal with colours, and the user has not switched them off."""
    off = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return not off and sys.stdout is not None and sys.stdout.isatty()


@option_record
class Quiet:
    """The option --quiet."""

    quiet: bool = option("--quiet", "-q", help="Print no notes and no progress bar.")

    def print_notes(self, notes: Iterable[str]) -> None:
        """Print notes, one a line, unless --quiet is given."""
        for note in () if self.quiet else notes:
            print_note(note)


@option_record
class Json:
    """The option --json."""

    as_json: bool = option("--json", help="Print JSON; null stands for a number that is not finite.")

    def print_result(
        self,
        result: Any,
        format_text: Callable[[Any], str] | None = None,
        format_json: Callable[[Any, dict[str, Any]], str] | None = None,
    ) -> None:
        """Print a result as text, or as one line of JSON that begins with a header.

        format_text, format_json: make these of a result that is no `Report`; the second of the result and the
        header. Default: its summary, and `to_json`.
        """
        context = click.get_current_context()
        context.meta[PRINTED] = True
        if not self.as_json:
            text = escape_controls(result.summary() if format_text is None else format_text(result))
            click.echo(colour_verdicts(text) if _has_colour() else text)
            return
        from audits.reports.json_form import describe_header, get_kind, to_json  # only JSON needs them

        if format_text is None:
            click.echo(to_json(result.to_dict(format_command())))
            return
        header = describe_header(get_kind(result) or context.command.name or "", format_command())
        click.echo((format_json or to_json)(result, header))


@option_record
class Output(Quiet, Json):
    """The options --json and --quiet. As a rule, either hides progress bars."""

    @contextmanager
    def progress_bar(
        self, unit: str, total: int | None = None, *, scaled: bool = False, beside_json: bool = False
    ) -> Iterator[Any]:
        """A progress bar on standard error. It is shown on a terminal only, and removed at the end.

        The time that it shows goes on while a step takes long. scaled: whether thousands are written as k.
        beside_json: whether it is shown also with --json.
        """
        from tqdm import tqdm

        hidden = self.quiet or (self.as_json and not beside_json)
        hidden = hidden or sys.stderr is None or not sys.stderr.isatty()
        with tqdm(total=total, unit=f" {unit}", unit_scale=scaled, disable=hidden, leave=False) as bar:
            if hidden:
                yield bar
                return
            done = threading.Event()

            def refresh() -> None:
                while not done.wait(_REFRESH):
                    bar.refresh()

            clock = threading.Thread(target=refresh, daemon=True)
            clock.start()
            try:
                yield bar
            finally:
                done.set()
                clock.join()

    @contextmanager
    def stage_progress(self) -> Iterator[Callable[[str, int, int], None]]:
        """A progress bar of several stages. The time, and its estimate, are those of the stage.

        It is a function of the stage, how much of it is done, and the whole, which is 0 if it is not known.
        """
        with self.progress_bar("done") as bar:
            if bar.disable:
                yield lambda stage, done, total: None
                return
            bar.desc = ""

            def show(stage: str, done: int, total: int) -> None:
                if bar.desc != stage:
                    bar.set_description_str(stage, refresh=False)
                    bar.reset(total or None)
                    bar.refresh()
                bar.total = total or None
                bar.update(done - bar.n)

            yield show

    @contextmanager
    def count_progress(
        self, unit: str, total: int, *, scaled: bool = False
    ) -> Iterator[Callable[[int], None]]:
        """A progress bar as a function that is called with the number of units done so far."""
        with self.progress_bar(unit, total, scaled=scaled) as bar:
            yield lambda done: bar.update(done - bar.n)
