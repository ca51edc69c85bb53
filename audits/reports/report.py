"""What every result can do: a summary, a chart, a page, and plain data."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from html import escape
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import attrs

from audits.data.output_files import check_extra, check_output_file, write_atomically
from audits.reports.document import Chart, Document, Listing, render_page
from audits.reports.json_form import describe_header, to_data

if TYPE_CHECKING:
    from audits.reports.figure import ReportFigure

R = TypeVar("R")


class Report(ABC):
    """Base of all results, attrs records. Each defines its headline and its document; all else follows."""

    __slots__ = ()

    kind: ClassVar[str]

    @property
    @abstractmethod
    def headline(self) -> str:
        """The result in one line."""

    def document(self) -> Document:
        """The result in parts, with a picture, of which the summary, the chart and the page are made."""
        return Document(parts=[Listing(self.summary())])

    def summary(self) -> str:
        """The result as text, as the command line prints it."""
        return self.document().text()

    def plot(self) -> ReportFigure:
        """A chart of the result: a matplotlib figure, which notebooks display.

        Raises: InvalidArgument without matplotlib.
        """
        check_extra("a chart", "matplotlib")
        from audits.reports.figure import make_figure  # an extra, and slow to import

        picture = self.document().picture
        assert picture is not None
        return make_figure(picture.draw, of=self.kind, bars=picture.bars)

    def _describe(self) -> dict[str, Any]:
        """The entries of `to_dict` after its header."""
        entries: dict[str, Any] = to_data(self)
        return entries

    def to_dict(self, command: str | None = None) -> dict[str, Any]:
        """The result as dicts, lists, numbers and strings, ready for `json.dumps`.

        It begins with the schema number, the kind of the result, the version of dp-arena and the command
        line, if there was one. None stands for a number that is not finite.
        """
        return {**describe_header(self.kind, command), **self._describe()}

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
        chart = Chart(self.plot().to_svg(description=self.headline))
        return render_page(self.headline, self.headline, [*self.document().parts, chart])

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return f"<div><strong>{escape(self.headline)}</strong><pre>{escape(self.summary())}</pre></div>"

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.headline}>"


def extend_record(record: Any, report: type[R], **more: Any) -> R:
    """A report, of a subclass of the record's class, with the fields of the record and more of its own."""
    fields = {field.alias or field.name: getattr(record, field.name) for field in attrs.fields(type(record))}
    return report(**fields, **more)
