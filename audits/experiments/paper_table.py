"""Table 4 of Liu, Zhu, Chaudhuri, Wang, Revisiting Model-Agnostic Private Learning, for two data sets.

The third data set, real-sim, is left out. A data set is recognised by its number of examples. The table's ±
are very probably too narrow by a factor of √30 (docs/voting.md), and so are not shown here.
"""

from __future__ import annotations

from math import inf

import attrs


@attrs.frozen
class PaperRow:
    """A row: the number of answers, their ε ex post (nats; None if infinite), and the mean accuracy."""

    answers: float
    epsilon_ex_post: float | None
    accuracy: float


DATA_SETS = {8_124: "mushroom", 48_842: "a9a"}
_ROWS: dict[int, dict[tuple[str, float], PaperRow]] = {
    8_124: {
        ("psq-np", inf): PaperRow(163, None, 0.9773),
        ("asq-np", inf): PaperRow(47.3, None, 0.9146),
        ("psq", 0.5): PaperRow(163, 0.5, 0.6416),
        ("asq", 0.5): PaperRow(40.1, 0.4461, 0.6418),
        ("psq", 1.0): PaperRow(163, 1.0, 0.7534),
        ("asq", 1.0): PaperRow(42.9, 0.9267, 0.7727),
        ("psq", 2.0): PaperRow(163, 2.0, 0.8974),
        ("asq", 2.0): PaperRow(46.5, 1.9410, 0.8858),
    },
    48_842: {
        ("psq-np", inf): PaperRow(977, None, 0.5555),
        ("asq-np", inf): PaperRow(225.6, None, 0.5461),
        ("psq", 0.5): PaperRow(977, 0.5, 0.5040),
        ("asq", 0.5): PaperRow(293, 0.5, 0.5212),
        ("psq", 1.0): PaperRow(977, 1.0, 0.5171),
        ("asq", 1.0): PaperRow(290.8, 0.9958, 0.5369),
        ("psq", 2.0): PaperRow(977, 2.0, 0.5176),
        ("asq", 2.0): PaperRow(290.3, 1.9896, 0.5543),
    },
}


def find_paper_row(examples: int, method: str, epsilon: float) -> PaperRow | None:
    """The paper's row for a data set of so many examples, if it has one."""
    return _ROWS.get(examples, {}).get((method, epsilon))
