"""Scores from a column of a CSV file, each with a bit: its world, or whether the canary was included."""

from __future__ import annotations

import numpy as np

from arena.errors import InvalidArgument
from audits.data.csv_samples import read_table

_BITS = {"0": False, "1": True, "0.0": False, "1.0": True, "false": False, "true": True}


def load_scores(path: str, *, scores: str, bits: str) -> tuple[np.ndarray, np.ndarray]:
    """The scores (n,) and the bits (n,) in two columns of a CSV file; bits are 0 and 1, or false and true.

    Raises: InvalidArgument, with the file, the line, the column, the value and the remedy.
    """
    table = read_table(path)
    score, bit = table.find_column(scores), table.find_column(bits)
    if score == bit:
        raise InvalidArgument("a column cannot hold both scores and bits", value=bits, remedy="Name two.")
    for line, row in table.rows:
        if row[bit].casefold() not in _BITS:
            raise InvalidArgument(
                f"{table.name}, line {line}, column {bits!r}: a bit must be 0 or 1",
                value=row[bit],
                remedy="Write 0 and 1, or false and true, or name another column.",
            )
    return (
        np.array([table.parse_number(line, row, score, "a score") for line, row in table.rows]),
        np.array([_BITS[row[bit].casefold()] for _, row in table.rows]),
    )
