"""Reports on audits for people (text, HTML) and for programs (JSON), and what all reports share."""

from audits.reports.html_report import check_html, write_html
from audits.reports.verdict_text import explain_verdict, verdict_json, verdict_rows, verdict_text

__all__ = ["check_html", "explain_verdict", "verdict_json", "verdict_rows", "verdict_text", "write_html"]
