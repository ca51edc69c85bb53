"""What every result can do: a summary, a chart, a page, and plain data."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from html import escape
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import attrs

from audits.data.output_files import check_output_file, write_atomically
from audits.data.terminal_text import escape_controls
from audits.reports.json_form import describe_header
from audits.reports.page_policy import make_policy

if TYPE_CHECKING:
    from audits.reports.figure import ReportFigure

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ font-family: system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }}
pre {{ overflow-x: auto; }}
svg {{ max-width: 100%; height: auto; background: #fff; }}
</style>
</head>
<body>
<h1>{title}</h1>
<pre>{summary}</pre>
{chart}
</body>
</html>
"""
R = TypeVar("R")


class Report(ABC):
    """Base of the results of the verbs of `audits`."""

    __slots__ = ()

    kind: ClassVar[str]

    @property
    @abstractmethod
    def headline(self) -> str:
        """The result in one line."""

    @abstractmethod
    def summary(self) -> str:
        """The result as text, as the command line prints it."""

    @abstractmethod
    def plot(self) -> ReportFigure:
        """A chart of the result: a matplotlib figure, which notebooks display.

        Raises: InvalidArgument without matplotlib.
        """

    @abstractmethod
    def _describe(self) -> dict[str, Any]:
        """The entries of `to_dict` after its header."""

    def to_dict(self) -> dict[str, Any]:
        """The result as dicts, lists, numbers and strings, ready for `json.dumps`.

        It begins with the schema number, the kind of the result and the version of dp-arena. None stands for
        a number that is not finite.
        """
        return {**describe_header(self.kind), **self._describe()}

    def to_html(self, path: str | os.PathLike[str] | None = None) -> str:
        """The result as one HTML page that loads nothing from the network. path: also write it there.

        Raises: InvalidArgument without matplotlib, or if the file cannot be written.
        """
        if path is not None:
            check_output_file("HTML report", path)
        page = self._render_page()
        if path is not None:
            with write_atomically("HTML report", path) as unfinished:
                unfinished.write_text(page, encoding="utf-8")
        return page

    def _render_page(self) -> str:
        chart = self.plot().to_svg()
        title, summary = (escape(escape_controls(text)) for text in (self.headline, self.summary()))
        return _PAGE.format(policy=make_policy(), title=title, summary=summary, chart=chart)

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return f"<div><strong>{escape(self.headline)}</strong><pre>{escape(self.summary())}</pre></div>"

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.headline}>"


def extend_record(record: Any, report: type[R], **more: Any) -> R:
    """A report, of a subclass of the record's class, with the fields of the record and more of its own."""
    fields = {field.alias or field.name: getattr(record, field.name) for field in attrs.fields(type(record))}
    return report(**fields, **more)
