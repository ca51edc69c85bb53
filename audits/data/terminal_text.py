"""Text from strangers, made safe to print: it must not steer a terminal, nor hide or reorder other text."""

from __future__ import annotations

import re

# Control characters but tabs and newlines; separators of lines; marks, embeddings, overrides and isolates of
# the direction of writing; surrogates, as in names of files that are not UTF-8; invisible tags.
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff"
    "\U000e0000-\U000e007f]"
)


def escape_controls(text: str, *, one_line: bool = False) -> str:
    """The text with unsafe characters as Python writes them. one_line: newlines and tabs too."""
    text = _UNSAFE.sub(lambda match: match[0].encode("unicode_escape").decode(), text)
    return text.replace("\n", "\\n").replace("\t", "\\t") if one_line else text
