"""What an audit found, for people (text, HTML) and for programs (JSON)."""

from audits.reports.page import check_html, html
from audits.reports.text import as_json, meaning, rows, text

__all__ = ["as_json", "check_html", "html", "meaning", "rows", "text"]
