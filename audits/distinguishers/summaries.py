"""Values that occur often, and summaries of views: how often they occur, and the sum and extremes of the
others."""

from __future__ import annotations

import attrs
import numpy as np

from audits.distinguishers.view_features import INFINITE, ViewCounts

_POINT_MASS = 1 / 64  # share of the games from which on a value is a bin of its own
_MOST_MARKS = 4  # values that are counted in a summary


@attrs.frozen(eq=False)
class Summary:
    """Columns that say of each view how often it contains each of `marks` (k,), values that occur often in
    its features, and, if there are any, the sum of the other features, their extremes and where these are."""

    names: tuple[str, ...]
    marks: np.ndarray
    has_numbers: bool

    @classmethod
    def fit(cls, views: ViewCounts) -> Summary:
        times = np.repeat(views.by_world().sum(axis=1), len(views.names))
        values, mass = count_values(views.rows.ravel(), times)
        often = np.argsort(-mass, kind="stable")[:_MOST_MARKS]
        marks = values[np.sort(often[find_point_masses(mass)[often]])]
        return cls(views.names, marks, len(marks) < len(values))

    def __call__(self, views: ViewCounts) -> list[np.ndarray]:
        """Arrays (m,) of the m rows."""
        counts, numbers, is_number = self.split(views)
        if not self.has_numbers:
            return counts
        lows, highs = (np.where(is_number, numbers, end) for end in (INFINITE, -INFINITE))
        ends = lows.min(axis=1), highs.max(axis=1), lows.argmin(axis=1), highs.argmax(axis=1)
        return [*counts, add_numbers(numbers, is_number), *(np.asarray(column, float) for column in ends)]

    def split(self, views: ViewCounts) -> tuple[list[np.ndarray], np.ndarray, np.ndarray]:
        """How often each mark occurs in the rows, (m,) for each mark; the features of the rows, (m, F); and
        which of these are no marks, (m, F)."""
        rows = views.columns(self.names)
        is_number = np.ones(rows.shape, bool)
        counts = []
        for mark in self.marks:
            found = rows == mark
            is_number &= ~found
            counts.append(found.sum(axis=1).astype(float))
        return counts, rows, is_number


def add_numbers(numbers: np.ndarray, is_number: np.ndarray) -> np.ndarray:
    """(m,): the sums of the finite numbers (m, F) of the rows."""
    return np.asarray(np.where(is_number & (np.abs(numbers) < INFINITE), numbers, 0.0).sum(axis=1))


def count_values(column: np.ndarray, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The distinct values among (m,), increasing, and how often each occurred, if these occurred `times`."""
    if times.sum() <= 2 * len(column):  # values are sorted several times as fast as their order is found
        return np.unique(np.repeat(column, times), return_counts=True)
    order = np.argsort(column)
    first = np.flatnonzero(np.diff(column[order], prepend=-np.inf) > 0)
    return column[order][first], np.add.reduceat(times[order], first)


def find_point_masses(mass: np.ndarray) -> np.ndarray:
    """Which of the values that make up shares of `mass` (k,) occur often."""
    return mass >= _POINT_MASS * mass.sum()


def list_point_masses(column: np.ndarray, times: np.ndarray) -> np.ndarray:
    """The values that occur often among (m,), which occurred `times` (m,)."""
    values, mass = count_values(column, times)
    return np.asarray(values[find_point_masses(mass)])
