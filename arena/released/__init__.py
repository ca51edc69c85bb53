"""Releases as arrays of numbers: what a mechanism may release, how it is encoded, and the features of it."""

from arena.released.columns import ABSENT, align_columns, hash_values, name_suffix, value_columns
from arena.released.encoding import (
    LEAST,
    encode_values,
    fit_rows,
    has_unique_text,
    is_category,
    list_objects,
)
from arena.released.format import format_value

__all__ = [
    "ABSENT",
    "LEAST",
    "align_columns",
    "encode_values",
    "fit_rows",
    "format_value",
    "has_unique_text",
    "hash_values",
    "is_category",
    "list_objects",
    "name_suffix",
    "value_columns",
]
