"""The content security policy of every HTML page that dp-arena writes."""

from __future__ import annotations

import base64
import hashlib


def make_policy(script: str = "") -> str:
    """The policy of a page that loads nothing, sends nothing, and runs at most one script.

    script: the text of its inline script, exactly as it stands in the page; empty: it runs none. Pages hold
    texts of strangers, such as names in a ledger that was sent to the reader.
    """
    allowed = "'none'"
    if script:
        allowed = f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"
    return (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src {allowed}; base-uri 'none'; "
        "form-action 'none'"
    )
