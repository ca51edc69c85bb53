"""Kinds of distinguishers that are learned from games, in the order in which they are preferred at a tie."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import lru_cache
from typing import Any

import attrs
import numpy as np

from arena.errors import InvalidArgument, suggest_extra
from audits.distinguishers.marginal_ratios import (
    MarginalCounts,
    MarginalRatios,
    find_bins,
)
from audits.distinguishers.summaries import Summary, add_numbers, list_point_masses
from audits.distinguishers.view_features import ViewCounts, distinct
from audits.statistics.logistic import fit_bins, fit_logistic, rank_terms

Distinguisher = Callable[[ViewCounts], np.ndarray]

_MAX_CELLS = 2**22  # numbers in the table that a classifier is fitted to, which bounds its time and memory
_MAX_PRODUCTS = 2**31  # of two numbers, in a step of a regression that exceeds this limit
_MAX_COUNTS = 2**25  # of two bins, in a step of a regression on bins
_FEW_FEATURES = 16  # above which trees are fitted to fewer games, since each takes longer
_PILOT_CELLS = 2**20  # the same, for the centres, scales and quantiles of features
_SMALL_LEAF = 64  # games in a leaf of a tree, at least
_OUTERMOST = 5e-4  # share of the games on either side beyond whose values a regression compresses
_FARTHEST = 1e3  # standard deviations beyond which all values are alike
_GRID = 33  # quantiles by which ranks are found
_SUMS = 256  # quantiles between which the ranks of sums are interpolated, besides those of the tails
_SUMMARY_SHAPES = 6  # functions of a view's numbers: a constant, whether it has any, and four `rank_terms`
_FEWEST_OTHERS = 64  # values of a feature, besides those that occur often, to which smooth terms are fitted


@attrs.frozen(eq=False)
class ViewFrequencies:
    """Scores a view by the log ratio of its frequencies in world 1 and world 0; 0 if it did not occur."""

    names: tuple[str, ...]
    rows: np.ndarray
    scores: np.ndarray

    @classmethod
    def fit(cls, views: ViewCounts) -> ViewFrequencies:
        """Learn from games; half a game is added to every count."""
        times = views.by_world()
        return cls(views.names, views.rows, np.log((times[:, 1] + 0.5) / (times[:, 0] + 0.5)))

    def __call__(self, views: ViewCounts) -> np.ndarray:
        both, place = distinct(np.concatenate([self.rows, views.columns(self.names)]))
        scores = np.zeros(len(both))
        scores[place[: len(self.rows)]] = self.scores
        return np.asarray(scores[place[len(self.rows) :]])


@attrs.frozen(eq=False)
class BoostedTrees:
    """Scores a view by the log odds of world 1 under boosted trees, of its features and an additive score.
    summary: what they see instead of all features, if it is given."""

    names: tuple[str, ...]
    summary: Summary | None
    additive: MarginalRatios
    classifier: Any

    @classmethod
    def fit(
        cls, views: ViewCounts, additive: MarginalRatios, *, summary: Summary | None = None, leaf: float = 0.0
    ) -> BoostedTrees:
        """Learn from games; leaf: the least share of the games in a leaf. Raises: InvalidArgument if
        scikit-learn is missing."""
        if not has_sklearn():
            raise InvalidArgument(
                "learning a distinguisher from so many different views needs scikit-learn",
                value=len(views.rows),
                remedy=suggest_extra("learning", "let the adversary return a score"),
            )
        from sklearn.ensemble import HistGradientBoostingClassifier  # an extra, and slow to import

        classifier = HistGradientBoostingClassifier(
            max_iter=80,
            max_leaf_nodes=15,
            min_samples_leaf=max(_SMALL_LEAF, int(leaf * views.pairs)),
            early_stopping=False,
            random_state=0,
        )
        wide = len(views.names) > _FEW_FEATURES
        views = _limit_cells(views, len(views.names), _MAX_CELLS // 2 if wide and not summary else _MAX_CELLS)
        trees = cls(views.names, summary, additive, classifier)
        rows, worlds, times = _stack_worlds(trees.columns(views), views)
        weights: np.ndarray | None = times
        if times.sum() <= 2 * len(times):  # scikit-learn is slow to bin many numbers that have weights
            rows, worlds, weights = np.repeat(rows, times, axis=0), np.repeat(worlds, times), None
        with one_thread():
            classifier.fit(rows, worlds, sample_weight=weights)
        return trees

    def columns(self, views: ViewCounts) -> np.ndarray:
        """(m, c): what the trees see of each view."""
        seen = [views.columns(self.names)] if self.summary is None else self.summary(views)
        return np.column_stack([*seen, self.additive(views)])

    def __call__(self, views: ViewCounts) -> np.ndarray:
        columns = self.columns(views)
        with one_thread():
            return np.asarray(self.classifier.decision_function(columns))


@attrs.frozen(eq=False)
class Regression:
    """Scores a view by the log odds of world 1 under a logistic regression.
    terms: views -> (m, T), what is weighed. weights: (T,)."""

    terms: Callable[[ViewCounts], np.ndarray]
    weights: np.ndarray

    @classmethod
    def fit(cls, views: ViewCounts, terms: Callable[[ViewCounts], np.ndarray], width: int) -> Regression:
        """Learn from games; width: the number of terms."""
        views = _limit_work(views, width)
        rows = terms(views)
        spread = rows.std(axis=0)
        scale = np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > 0)
        return cls(terms, _regress((rows - rows.mean(axis=0)) * scale, views) * scale)

    def __call__(self, views: ViewCounts) -> np.ndarray:
        with one_thread():
            return np.asarray(self.terms(views) @ self.weights)


def regress_on_bins(views: ViewCounts, marginals: MarginalCounts, resolution: int) -> MarginalRatios:
    """Log ratios of the bins of all entries, fitted together, so that entries may say the same."""
    cuts = [of_entry[resolution] for of_entry in marginals.cuts]
    sizes = [len(of_entry) + 1 for of_entry in cuts]
    views = _limit_work(views, sum(sizes), _MAX_COUNTS // len(sizes) ** 2)
    columns = marginals.entries.columns(views)
    bins = [find_bins(column, of_entry) for column, of_entry in zip(columns, cuts, strict=True)]
    times = views.by_world()
    with one_thread():
        tables = fit_bins(bins, sizes, times[:, 1], times.sum(axis=1))
    return MarginalRatios(marginals.entries, tuple(range(len(cuts))), tuple(cuts), tuple(tables))


def _regress(rows: np.ndarray, views: ViewCounts) -> np.ndarray:
    """The weights (T,) of a logistic regression on the terms (m, T) of the views."""
    times = views.by_world()
    with one_thread():
        return fit_logistic(rows, times[:, 1], times.sum(axis=1))[0]


@attrs.frozen(eq=False)
class LinearTerms:
    """The terms of a regression: standardised features. Shapes: low, high, centre and scale (F,)."""

    names: tuple[str, ...]
    low: np.ndarray
    high: np.ndarray
    centre: np.ndarray
    scale: np.ndarray

    @classmethod
    def fit(cls, views: ViewCounts) -> LinearTerms:
        views = _limit_cells(views, len(views.names), _PILOT_CELLS)
        ends = [_OUTERMOST, 1 - _OUTERMOST]
        low, high = np.quantile(views.rows, ends, axis=0, method="nearest")
        return cls(views.names, low, high, *_standardise(np.clip(views.rows, low, high)))

    @property
    def width(self) -> int:
        return len(self.names)

    def __call__(self, views: ViewCounts) -> np.ndarray:
        return _compress_tails(views.columns(self.names), self.low, self.high, self.centre, self.scale)


def _compress_tails(
    values: np.ndarray, low: np.ndarray, high: np.ndarray, centre: np.ndarray, scale: np.ndarray
) -> np.ndarray:
    """Standardised values, of which those outside [low, high] grow as logarithms: they keep their order, by
    which rare events are chosen, and do not outweigh all others."""
    inside = np.clip(values, low, high)
    standardised = np.asarray((inside - centre) * scale)
    if np.array_equal(inside, values):
        return standardised
    with np.errstate(over="ignore"):  # by codes of text and of infinity
        beyond = np.clip((values - inside) * scale, -_FARTHEST, _FARTHEST)
    return np.asarray(standardised + np.sign(beyond) * np.log1p(np.abs(beyond)))


def _standardise(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The centre and the scale (F,) of each column; the scale of a constant is 0."""
    # Squares of the largest numbers, such as codes of text, would overflow.
    size = np.maximum(np.abs(rows).max(axis=0), np.finfo(float).tiny)
    spread = (rows / size).std(axis=0) * size
    return rows.mean(axis=0), np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > 0)


@attrs.frozen(eq=False)
class FeatureTerms:
    """The terms of one feature: whether it is each of the values that occur often, `points` (p,), and, where
    it is another one, its standardised value, its absolute value, square and rank among the `grid` (g,)."""

    points: np.ndarray
    grid: np.ndarray
    centre: float
    scale: float

    @classmethod
    def fit(cls, column: np.ndarray, times: np.ndarray) -> FeatureTerms:
        points = list_point_masses(column, times)
        others = column[~np.isin(column, points)]
        if len(others) < _FEWEST_OTHERS:  # nothing but points, of which one term less says all
            return cls(points[1:], np.empty(0), 0.0, 0.0)
        ranks = np.concatenate([[_OUTERMOST], np.arange(1, _GRID) / _GRID, [1 - _OUTERMOST]])
        grid = np.quantile(others, ranks, method="nearest")
        centre, scale = _standardise(np.clip(others, grid[0], grid[-1])[:, None])
        return cls(points, grid, float(centre[0]), float(scale[0]))

    @property
    def width(self) -> int:
        return len(self.points) + (4 if len(self.grid) else 0)

    def __call__(self, column: np.ndarray) -> list[np.ndarray]:
        """Arrays (m,) of the values (m,)."""
        terms = [column == point for point in self.points]
        if not len(self.grid):
            return terms
        other = ~np.logical_or.reduce(terms) if terms else np.ones(len(column), bool)
        inside = np.clip(column, self.grid[0], self.grid[-1])
        z = np.where(other, (inside - self.centre) * self.scale, 0.0)
        return [*terms, z, np.abs(z), z**2, np.where(other, find_bins(inside, self.grid) / _GRID, 0.0)]


@attrs.frozen(eq=False)
class SmoothTerms:
    """The terms of a regression: those of each feature."""

    names: tuple[str, ...]
    parts: tuple[FeatureTerms, ...]

    @classmethod
    def fit(cls, views: ViewCounts) -> SmoothTerms:
        views = _limit_cells(views, len(views.names), _PILOT_CELLS)
        times = views.by_world().sum(axis=1)
        return cls(views.names, tuple(FeatureTerms.fit(column, times) for column in views.rows.T))

    @property
    def width(self) -> int:
        return sum(part.width for part in self.parts)

    def __call__(self, views: ViewCounts) -> np.ndarray:
        columns = np.ascontiguousarray(views.columns(self.names).T)
        terms = [term for part, column in zip(self.parts, columns, strict=True) for term in part(column)]
        return np.stack(terms, axis=1).astype(float)


@attrs.frozen(eq=False)
class SummaryTerms:
    """The terms of a regression for views that mix numbers with marks: how often each mark occurs, the rank
    of the sum of the numbers, and their products, since a low number may say more the later it is released.
    grid, ranks (g,): sums, increasing, and the shares of games whose sums are smaller."""

    summary: Summary
    grid: np.ndarray
    ranks: np.ndarray

    @classmethod
    def fit(cls, views: ViewCounts) -> SummaryTerms:
        """Learn from games. If their views have no marks or hardly any numbers, there are no terms."""
        few = _limit_cells(views, len(views.names), _PILOT_CELLS)
        empty = cls(Summary.fit(few), np.empty(0), np.empty(0))
        if not len(empty.summary.marks) or not empty.summary.has_numbers:
            return empty
        _, total, some = empty._read(views)
        sums = np.sort(np.repeat(total[some], views.by_world().sum(axis=1)[some]))
        if len(sums) < _FEWEST_OTHERS:
            return empty
        tails = 0.5 ** np.arange(1, np.log2(len(sums)))
        places = np.unique(np.floor(len(sums) * np.concatenate([np.arange(_SUMS) / _SUMS, tails, 1 - tails])))
        grid, first = np.unique(sums[places.astype(int)], return_index=True)
        return attrs.evolve(empty, grid=grid, ranks=(places[first] + 0.5) / len(sums))

    @property
    def width(self) -> int:
        return _SUMMARY_SHAPES * (1 + len(self.summary.marks)) if len(self.grid) else 0

    def __call__(self, views: ViewCounts) -> np.ndarray:
        marks, total, some = self._read(views)
        shapes = rank_terms(np.interp(total, self.grid, self.ranks)) * some
        ones = np.ones(len(total))
        return np.stack([shape * mark for shape in (ones, some, *shapes) for mark in (ones, *marks)], axis=1)

    def _read(self, views: ViewCounts) -> tuple[list[np.ndarray], np.ndarray, np.ndarray]:
        """(m,) of each row: how often it has each mark, the sum of its numbers, and whether it has any."""
        counts, numbers, is_number = self.summary.split(views)
        return counts, add_numbers(numbers, is_number), np.logical_or.reduce(is_number, axis=1)


@attrs.frozen(eq=False)
class MarginalTerms:
    """The terms of a regression: the log ratios of the entries' bins."""

    ratios: tuple[MarginalRatios, ...]

    @property
    def width(self) -> int:
        return sum(len(ratios.used) for ratios in self.ratios)

    def __call__(self, views: ViewCounts) -> np.ndarray:
        return np.stack([term for ratios in self.ratios for term in ratios.terms(views)], axis=1)


def has_sklearn() -> bool:
    """Whether scikit-learn, an extra, is installed."""
    return importlib.util.find_spec("sklearn") is not None


@contextmanager
def one_thread() -> Iterator[None]:
    """Keep the libraries beneath numpy and scikit-learn to one thread, as jobs are for the user to choose.
    More threads wait for each other on a busy machine, and sum in another order."""
    controller = _find_threads("sklearn" in sys.modules)
    with nullcontext() if controller is None else controller.limit(limits=1):
        yield


@lru_cache(maxsize=2)
def _find_threads(with_sklearn: bool) -> Any:
    """What limits the threads of the libraries that are loaded; None if it is not installed."""
    if importlib.util.find_spec("threadpoolctl") is None:  # it comes with scikit-learn
        return None
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def _stack_worlds(rows: np.ndarray, views: ViewCounts) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The rows of the views that occur, first in world 0 and then in world 1, their worlds and how often."""
    times = views.by_world().T
    occurs = [np.flatnonzero(of_world) for of_world in times]
    worlds = np.repeat([0, 1], [len(places) for places in occurs])
    often = np.concatenate([own[places] for own, places in zip(times, occurs, strict=True)])
    return rows[np.concatenate(occurs)], worlds, often


def _limit_cells(views: ViewCounts, width: int, cells: int = _MAX_CELLS) -> ViewCounts:
    stride = -(-len(views.rows) * width // cells)
    return views.thin(stride) if stride > 1 else views


def _limit_work(views: ViewCounts, width: int, fewest: int = 1) -> ViewCounts:
    """The views, at least `fewest`, that a regression of so many terms is fitted to. Many terms need many
    views, but each costs the square of their number."""
    most = max(_MAX_CELLS // width, min(len(views.rows) // 4, _MAX_PRODUCTS // width**2), fewest)
    return views.thin(-(-len(views.rows) // most))
