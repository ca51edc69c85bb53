"""A result as people read it: parts of a document, shown as a summary, a chart, a page and plain data."""

from __future__ import annotations

import base64
import hashlib
import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from html import escape
from importlib import resources
from string import Template
from typing import TYPE_CHECKING, Any, ClassVar, overload

import attrs

from arena import InvalidArgument, Unsupported
from audits.data.output_files import check_extra, check_output_file, write_atomically
from audits.reports.formatting import WIDTH, column_table, escape_controls, name_table, wrap
from audits.reports.json_form import describe_header, to_data
from audits.reports.plots import Picture, check_plot
from audits.reports.result_table import Record, ResultRow, format_latex, make_frame, write_records

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from audits.reports.figure import ReportFigure

_COPY_SCRIPT = """
const button = document.getElementById("copy"), command = document.getElementById("command");
button.hidden = false;
button.addEventListener("click", async () => {
  try {
    await navigator.clipboard.writeText(command.textContent);
    button.textContent = "Copied";
  } catch {
    getSelection().selectAllChildren(command);
    button.textContent = "Selected: copy it with Ctrl+C";
  }
});
"""


class Part(ABC):
    """A part of a document. What only a page shows is no text."""

    def text(self, width: int = WIDTH) -> str:
        """The part for a terminal, with prose in lines of this width; empty if it is not shown there."""
        return ""

    @abstractmethod
    def html(self) -> str:
        """The part as HTML, with all texts of strangers escaped."""


@attrs.frozen
class Facts(Part):
    """Names and values; those with an empty value are left out."""

    rows: Sequence[tuple[str, str]] = attrs.field(converter=lambda rows: [row for row in rows if row[1]])

    def text(self, width: int = WIDTH) -> str:
        if width == WIDTH:
            return name_table(self.rows)
        return name_table([(name, value.replace("\n", " ")) for name, value in self.rows])

    def html(self) -> str:
        rows = (
            f'<tr><th scope="row">{escape_text(name)}</th><td>{escape_text(value)}</td></tr>'
            for name, value in self.rows
        )
        return "\n".join(['<table class="facts">', *rows, "</table>"])


@attrs.frozen
class Prose(Part):
    """A paragraph. role: its class on a page, such as "note"."""

    prose: str
    role: str = ""

    def text(self, width: int = WIDTH) -> str:
        return wrap(self.prose, width)

    def html(self) -> str:
        role = f' class="{self.role}"' if self.role else ""
        return f"<p{role}>{escape_text(self.prose)}</p>"


@attrs.frozen
class Table(Part):
    """A table below a sentence that introduces it."""

    headers: Sequence[str]
    rows: Sequence[Sequence[str]]
    introduction: str = ""

    def text(self, width: int = WIDTH) -> str:
        table = column_table(self.rows, self.headers)
        return f"{self.introduction}\n{table}" if self.introduction else table

    def html(self) -> str:
        head = "".join(f"<th>{escape_text(name)}</th>" for name in self.headers)
        lines = ("".join(f"<td>{escape_text(cell)}</td>" for cell in row) for row in self.rows)
        table = [f"<thead><tr>{head}</tr></thead>", *(f"<tr>{line}</tr>" for line in lines)]
        before = [f"<p>{escape_text(self.introduction)}</p>"] if self.introduction else []
        return "\n".join(
            [*before, '<div class="scrolls" tabindex="0">', "<table>", *table, "</table>", "</div>"]
        )


@attrs.frozen
class Listing(Part):
    """Lines that stay as they are, below a sentence that introduces them. None are not shown."""

    lines: str
    introduction: str = ""

    def text(self, width: int = WIDTH) -> str:
        return f"{wrap(self.introduction, width)}\n\n{self.lines}" if self.introduction else self.lines

    def html(self) -> str:
        if not self.lines:
            return ""
        before = f"<p>{escape_text(self.introduction)}</p>\n" if self.introduction else ""
        return f'{before}<pre tabindex="0">{escape_text(self.lines)}</pre>'


@attrs.frozen
class Heading(Part):
    """The heading of a section, on a page only."""

    title: str

    def html(self) -> str:
        return f"<h2>{escape_text(self.title)}</h2>"


@attrs.frozen
class Conclusion(Part):
    """What a result says, at the head of a page. alarming: whether it is bad news. meaning: on a page only.
    before: a sentence before the word."""

    word: str
    explanation: str
    meaning: str
    alarming: bool
    before: str = ""

    def text(self, width: int = WIDTH) -> str:
        return wrap(f"{self.before} {self.word}: {self.explanation}".strip(), width)

    def html(self) -> str:
        before = f"{escape_text(self.before)} " if self.before else ""
        note = f'<p class="note">{escape_text(self.meaning)}</p>\n' if self.meaning else ""
        return (
            f'<div class="verdict{" refuted" if self.alarming else ""}">\n'
            f"<p>{before}<strong>{escape_text(self.word)}</strong>: {escape_text(self.explanation)}</p>\n"
            f"{note}</div>"
        )


@attrs.frozen
class Chart(Part):
    """A chart with its caption. svg: as it stands on the page; empty if it cannot be drawn."""

    svg: str
    caption: str = ""

    def html(self) -> str:
        caption = f"\n<figcaption>{escape_text(self.caption)}</figcaption>" if self.caption else ""
        return f"<figure>\n{self.svg}{caption}\n</figure>"


@attrs.frozen
class CommandLine(Part):
    """A command, with a button that copies it. A page has one at most."""

    command: str

    def html(self) -> str:
        return (
            f'<pre class="command" id="command">{escape_text(self.command)}</pre>\n'
            '<button id="copy" type="button" hidden>Copy the command</button>'
        )


@attrs.frozen(kw_only=True)
class Document:
    """The parts of a result in order, and its picture, if it has one."""

    parts: Sequence[Part]
    picture: Picture | None = None

    def text(self, width: int = WIDTH) -> str:
        """The document for a terminal, with prose in lines of this width."""
        return "\n\n".join(filter(None, (part.text(width) for part in self.parts)))


def render_page(title: str, heading: str, parts: Iterable[Part]) -> str:
    """One HTML page that loads nothing from the network: the same bytes for the same parts."""
    shown = [*parts]
    script = _COPY_SCRIPT if any(isinstance(part, CommandLine) for part in shown) else ""
    content = [part.html() for part in shown] + ([f"<script>{script}</script>"] if script else [])
    skeleton = resources.files("audits.reports").joinpath("page.html").read_text(encoding="utf-8")
    return Template(skeleton).substitute(
        policy=escape(make_policy(script)),
        title=escape_text(title),
        heading=escape_text(heading),
        content="\n".join(content),
    )


def escape_text(text: str) -> str:
    """Text of strangers, without markup and without characters that would reorder the page."""
    return escape(escape_controls(text))


def make_policy(script: str = "") -> str:
    """The policy of a page, which holds texts of strangers: nothing is loaded or sent, one script is run."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    allowed = f"'sha256-{digest}'" if script else "'none'"
    return (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src {allowed}; base-uri 'none'; "
        "form-action 'none'"
    )


class Report(ABC):
    """Base of all results, attrs records. Each defines its headline and its document; all else follows."""

    __slots__ = ()

    kind: ClassVar[str]

    @property
    @abstractmethod
    def headline(self) -> str:
        """The result in one line."""

    @abstractmethod
    def document(self) -> Document:
        """The result in parts, with a picture, of which the summary, the chart and the page are made."""

    def summary(self, width: int = WIDTH) -> str:
        """The result as text, as the command line prints it. width: of lines of prose, in characters."""
        return self.document().text(width)

    @overload
    def plot(self, ax: None = None, title: str | None = None) -> ReportFigure: ...

    @overload
    def plot(self, ax: Axes, title: str | None = None) -> Axes: ...

    def plot(self, ax: Axes | None = None, title: str | None = None) -> ReportFigure | Axes:
        """A chart of the result: a new figure of matplotlib, which notebooks display, or `ax`, drawn on.

        Fonts, sizes and colours are those of the user's rcParams, where they differ from matplotlib's own.
        title: in place of the usual one; "" for none. Raises: InvalidArgument without matplotlib, or if the
        result has no chart.
        """
        check_extra("a chart", "matplotlib")
        from audits.reports.figure import draw_picture, make_figure  # an extra, and slow to import

        picture = self._get_picture()
        if ax is None:
            return make_figure(picture, of=self.kind, title=title)
        draw_picture(ax, picture, title)
        return ax

    def write_plot(self, path: str | os.PathLike[str]) -> None:
        """Draw the chart into a file, PDF, PNG or SVG: the same bytes for the same figures."""
        check_plot(path)
        from audits.reports.figure import write_figure  # an extra, and slow to import

        write_figure(self._get_picture(), path, of=self.kind)

    def _get_picture(self) -> Picture:
        picture = self.document().picture
        if picture is None:
            raise InvalidArgument("this result has no chart", remedy="Show its summary.")
        return picture

    def list_rows(self) -> list[ResultRow]:
        """What the result says about each claim that it tests, as `audits.compare` shows it."""
        raise Unsupported(f"a result of the kind {self.kind} tests no claim that could be compared")

    def _list_records(self) -> Sequence[Record]:
        """The rows of the result's table, by column."""
        return [attrs.asdict(row) for row in self.list_rows()]

    def to_frame(self) -> pd.DataFrame:
        """The result's table as a DataFrame, with the columns of `write_csv`. Raises: InvalidArgument without
        pandas; Unsupported if the result has no table."""
        return make_frame(self._list_records())

    def to_latex(self, columns: Sequence[str] | None = None) -> str:
        """The result's table in LaTeX, for the package booktabs. columns: some of `to_frame`, by name."""
        return format_latex(self._list_records(), columns)

    def write_csv(self, path: str | os.PathLike[str]) -> None:
        """Write the result's table as a CSV file. Empty: unknown. Raises: InvalidArgument; Unsupported."""
        write_records(self._list_records(), path)

    def _describe(self) -> dict[str, Any]:
        """The entries of `to_dict` after its header."""
        return dict(to_data(self))

    def to_dict(self, command: str | None = None) -> dict[str, Any]:
        """The result as dicts, lists, numbers and strings, as `to_data` makes them, after a header."""
        return {**describe_header(self.kind, command), **self._describe()}

    def to_html(self, path: str | os.PathLike[str] | None = None) -> str:
        """The result as one HTML page that loads nothing from the network. path: also write it there."""
        if path is not None:
            check_output_file("HTML report", path)
        page = self._render_page()
        if path is not None:
            with write_atomically("HTML report", path) as unfinished:
                unfinished.write_text(page, encoding="utf-8")
        return page

    def _render_page(self) -> str:
        parts = sorted(self.document().parts, key=lambda part: not isinstance(part, Conclusion))
        picture = self.document().picture
        if picture is not None:
            check_extra("a chart", "matplotlib")
            from audits.reports.figure import make_figure  # an extra, and slow to import

            figure = make_figure(picture, of=self.kind, title="", page=True)
            parts.append(Chart(figure.to_svg(description=self.headline), picture.reading))
        return render_page(self.headline, self.headline, parts)

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return f"<div><strong>{escape(self.headline)}</strong><pre>{escape(self.summary())}</pre></div>"

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.headline}>"
