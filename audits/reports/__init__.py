"""What an audit found, for people (text, HTML) and for programs (JSON)."""

from audits.reports.page import check_html, html
from audits.reports.text import meaning, rows, text

__all__ = ["check_html", "html", "meaning", "rows", "text"]
