"""Distinguishers for views that mix numbers with marks, values that occur often, as a sparse vector releases.

Which entries are marks is the pattern of a view, and its numbers are judged among the views of that pattern.
"""

from __future__ import annotations

import attrs
import numpy as np

from audits.distinguishers.marginal_ratios import choose_cuts, find_bins, shrink_log_ratios
from audits.distinguishers.summaries import list_point_masses
from audits.distinguishers.view_features import ViewCounts
from audits.statistics.logistic import fit_ordered

_MAX_PATTERNS, _MAX_NUMBERS = 64, 64  # the most frequent patterns, and columns with numbers in all of them
_FACTOR = np.uint64(6364136223846793005)  # odd, so that patterns hardly ever get the same number
_FEWEST_GAMES = 256  # of a pattern; views of rarer ones have the score 0


@attrs.frozen(eq=False)
class Part:
    """Views of one pattern. base: its log ratio. numbers: the columns that are no marks, with cuts (k,) and
    the log ratios (k + 1,) of bins."""

    base: float
    numbers: tuple[tuple[int, np.ndarray, np.ndarray], ...]


@attrs.frozen(eq=False)
class PatternRatios:
    """Scores a view by the log ratio of its pattern and those of its numbers within the pattern.
    marks: of each column, (k,) increasing. codes: (p,) of the patterns, increasing. parts: p."""

    names: tuple[str, ...]
    marks: tuple[np.ndarray, ...]
    codes: np.ndarray
    parts: tuple[Part, ...]

    @classmethod
    def fit(cls, views: ViewCounts, *, smooth: bool = False) -> PatternRatios:
        """Learn from games; without a pattern that occurs often, all scores are 0. smooth: whether the log
        ratios of numbers change smoothly with their rank, which rare events need."""
        rows, by_world = views.columns(views.names), views.by_world()
        times = by_world.sum(axis=1)
        marks = tuple(list_point_masses(column, times) for column in rows.T)
        empty = cls(views.names, marks, np.empty(0, np.uint64), ())
        codes, place = np.unique(empty._find_codes(rows), return_inverse=True)
        games = np.bincount(place, times)
        kept = np.argsort(-games, kind="stable")[:_MAX_PATTERNS]
        kept = np.sort(kept[games[kept] >= _FEWEST_GAMES])
        free = _MAX_NUMBERS
        base = shrink_log_ratios(*_count_cells(place, views, len(codes)))
        parts = []
        for pattern in kept:
            members = np.flatnonzero(place == pattern)
            numbers = []
            is_number = [value not in own for value, own in zip(rows[members[0]], marks, strict=True)]
            for column in np.flatnonzero(is_number)[:free].tolist():
                own = rows[members, column]
                cuts = choose_cuts(own, times[members])[-1]
                cells = np.full(len(rows), len(cuts) + 1)
                cells[members] = find_bins(own, cuts)
                counts = _count_cells(cells, views, len(cuts) + 2)[:, :-1]
                ratios = shrink_log_ratios(*counts)
                if ratios.any():
                    if smooth:
                        ratios = _smooth_log_ratios(*counts[:2])
                    numbers.append((column, cuts, ratios - base[pattern]))
            free -= sum(is_number)
            if free < 0:
                break
            parts.append(Part(float(base[pattern]), tuple(numbers)))
        return attrs.evolve(empty, codes=codes[kept[: len(parts)]], parts=tuple(parts))

    def __call__(self, views: ViewCounts) -> np.ndarray:
        rows = views.columns(self.names)
        codes, scores = self._find_codes(rows), np.zeros(len(rows))
        for code, part in zip(self.codes, self.parts, strict=True):
            members = np.flatnonzero(codes == code)
            scores[members] = part.base + sum(
                table[find_bins(rows[members, column], cuts)] for column, cuts, table in part.numbers
            )
        return scores

    def _find_codes(self, rows: np.ndarray) -> np.ndarray:
        """(m,): the pattern of each row, as one number."""
        codes = np.zeros(len(rows), np.uint64)
        for column, marks in zip(rows.T, self.marks, strict=True):
            if len(marks):
                place = np.minimum(np.searchsorted(marks, column), len(marks) - 1)
                codes = codes * _FACTOR + np.where(marks[place] == column, place + 1, 0).astype(np.uint64)
        return codes


def _count_cells(cells: np.ndarray, views: ViewCounts, size: int) -> np.ndarray:
    """(3, size): the games of each world in the cells, (m,) of each row, and the pairs with both."""
    in_0, in_1 = cells[views.which.T]
    both = np.where(in_0 == in_1, views.counts, 0)
    counted = [(in_0, views.counts), (in_1, views.counts), (in_0, both)]
    return np.stack([np.bincount(own, times, minlength=size) for own, times in counted])


def _smooth_log_ratios(in_0: np.ndarray, in_1: np.ndarray) -> np.ndarray:
    """(K,): the log ratios of ordered bins by a regression on their rank, 0 for those without games."""
    times = in_0 + in_1
    ratios, seen = np.zeros(len(times)), times > 0
    ratios[seen] = fit_ordered(in_1[seen], times[seen])
    return ratios
