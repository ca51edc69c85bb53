"""How a command prints: results on standard output; notes and progress bars on standard error."""

from __future__ import annotations

import os
import re
import shlex
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from audits.cli import PRINTED, QUIET
from audits.cli.options import file_option, option, option_record
from audits.reports.formatting import escape_controls
from audits.reports.terminal import fit_prose, fit_text, measure_width, read_width

if TYPE_CHECKING:
    from audits.reports.report import Report

_REFRESH = 1.0  # seconds
_VERDICT = re.compile(r"\b(not )?refuted\b", re.IGNORECASE)
# The options on which no figure depends; a recorded command leaves them out.
UNRECORDED = (
    *("as_json", "quiet", "html", "plot", "csv_file", "estimators"),
    *("jobs", "backend", "cluster", "patience"),
    *("ledger", "part", "key", "allow_changes"),
)


def format_command(*, left_out: tuple[str, ...] = ()) -> str:
    """The command line without the options on which no figure depends, and others that are left out, in the
    order of --help."""
    context = click.get_current_context()
    # The root may have another name, for instance under `python -m audits.cli`.
    words = ["arena", *context.command_path.removeprefix(context.find_root().command_path).split()]
    for parameter in context.command.params:
        name = parameter.name or ""
        if (
            name in (*UNRECORDED, *left_out)
            or context.get_parameter_source(name) is not ParameterSource.COMMANDLINE
        ):
            continue
        is_list = parameter.multiple or parameter.nargs != 1
        for value in context.params[name] if is_list else [context.params[name]]:
            words += [] if isinstance(parameter, click.Argument) else [parameter.opts[0]]
            words += [] if value is True else [str(value)]
    return shlex.join(words)


def print_note(note: str) -> None:
    """Print one line on standard error; on a terminal, as many as it takes."""
    click.echo(fit_prose(f"arena: note: {escape_controls(note, one_line=True)}", sys.stderr), err=True)


def colour_verdicts(text: str) -> str:
    """The text with "refuted" in red and "not refuted" in green, whatever the case."""
    return _VERDICT.sub(
        lambda found: click.style(found[0], fg="green" if found[1] else "red", bold=not found[1]), text
    )


def _has_colour() -> bool:
    """Whether standard output is a terminal with colours, and the user has not switched them off."""
    off = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return not off and sys.stdout is not None and sys.stdout.isatty()


def _note_quiet(context: click.Context, parameter: click.Parameter, quiet: bool) -> bool:
    if quiet:
        context.meta[QUIET] = True
    return quiet


@option_record
class Quiet:
    """The option --quiet."""

    quiet: bool = option(
        "--quiet",
        "-q",
        help="Print no notes, no progress bar, and no warnings of the code that is audited.",
        callback=_note_quiet,
    )

    def print_notes(self, notes: Iterable[str]) -> None:
        """Print notes, one a line, unless --quiet is given."""
        for note in () if self.quiet else notes:
            print_note(note)

    def print_cost(self, text: str) -> None:
        """Print what a command costs as a note, with the names of options in place of those of arguments."""
        self.print_notes([text.replace("max_calls", "--max-calls").replace("max_seconds", "--max-time")])


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
        """Print a result, by default a `Report`, as text or as one line of JSON that begins with a header."""
        context = click.get_current_context()
        context.meta[PRINTED] = True
        if not self.as_json:
            prose = read_width(sys.stdout)
            text = escape_controls(result.summary(prose) if format_text is None else format_text(result))
            text = fit_text(text, measure_width(sys.stdout))
            click.echo(colour_verdicts(text) if _has_colour() else text)
            return
        from audits.reports.json_form import describe_header, to_json  # only JSON needs them

        if format_text is None:
            click.echo(to_json(result.to_dict(format_command())))
            return
        header = describe_header(context.command.name or "", format_command())
        click.echo((format_json or to_json)(result, header))


@option_record
class TableFile:
    """The option --csv."""

    csv_file: str | None = file_option("--csv", "Also write the result as a table.", "CSV file")

    def write_files(self, result: Report) -> None:
        """Write the files of a result that are asked for."""
        if self.csv_file is not None:
            result.write_csv(self.csv_file)


@option_record
class ResultFiles(TableFile):
    """The options --plot and --csv."""

    plot: str | None = file_option("--plot", "Also draw a chart: FILE.pdf, FILE.png or FILE.svg.", "chart")

    def write_files(self, result: Report) -> None:
        super().write_files(result)
        if self.plot is not None:
            result.write_plot(self.plot)


@option_record
class Output(Quiet, Json):
    """The options --json and --quiet. As a rule, either hides progress bars."""

    @contextmanager
    def progress_bar(
        self, unit: str, total: int | None = None, *, scaled: bool = False, beside_json: bool = False
    ) -> Iterator[Any]:
        """A progress bar on standard error, on a terminal only, whose time goes on in long steps."""
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
        """A progress bar as a function of the stage, how much of it is done, and the whole, 0 if unknown."""
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
