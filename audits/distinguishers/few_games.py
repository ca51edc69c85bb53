"""Distinguishers that are learned from a few pairs of games, where every call is dear.

Each kind is fitted to some of the pairs and judged by the others in turn, and the one that predicts these
best is fitted to all of them. Validity: docs/proofs/learned_distinguisher.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import attrs
import numpy as np

from arena.released.encoding import name_suffix
from audits.distinguishers.marginal_ratios import shrink_log_ratios
from audits.distinguishers.view_classifiers import Distinguisher, ViewFrequencies
from audits.distinguishers.view_features import INFINITE, ViewCounts

_FOLDS = 5  # parts of the pairs, each of which is left out once
_TIE = 0.5  # nats: a simpler kind is chosen although it predicts that much worse, as chance may decide it
_PRIOR = 0.1  # games that the variance of all games is worth: the few of one world may agree by chance
_RIDGE = 1e-6  # relative to the variance; makes the covariance matrix of numbers with common noise invertible
_CODES = (" text", " shape")  # suffixes of features that are no magnitudes
_MOST_CORRELATED = 64  # features up to which their covariances are estimated


def learn_from_few(views: ViewCounts) -> Distinguisher:
    """The simplest of the kinds that predict the worlds of left-out pairs best, fitted to all pairs."""
    kinds = list(_list_kinds(views))
    if views.pairs > 1 and len(kinds) > 1:
        losses = np.zeros(len(kinds))
        for trained, judged in _split_pairs(views):
            limit = _limit_log_odds(trained.pairs)
            losses += [_add_losses(fit(trained), judged, limit) for fit in kinds]
        chosen = kinds[int(np.flatnonzero(losses <= losses.min() + _TIE)[0])]
    else:
        chosen = kinds[-1]
    return BoundedScore(chosen(views), _limit_log_odds(views.pairs))


@attrs.frozen(eq=False)
class BoundedScore:
    """The score of another distinguisher, but at most as far from 0 as `limit` (nats). So games that are told
    apart by far have equal scores, and one event holds all of them."""

    score: Distinguisher
    limit: float

    def __call__(self, views: ViewCounts) -> np.ndarray:
        return np.clip(self.score(views), -self.limit, self.limit)


@attrs.frozen(eq=False)
class Columns:
    """The features of views, or their ranks among earlier ones, which extremes and marks cannot distort.

    names: of the features, F. centre: (F,), in place of features that are no magnitudes. ordered: the earlier
    values of each feature, increasing, where ranks are used.
    """

    names: tuple[str, ...]
    centre: np.ndarray
    ordered: tuple[np.ndarray, ...] | None

    @classmethod
    def fit(cls, views: ViewCounts, names: tuple[str, ...], *, ranked: bool) -> Columns:
        """Learn from these features of games."""
        columns = views.columns(names)
        finite = np.abs(columns) < INFINITE
        shares = np.where(finite, columns, 0.0) / np.maximum(finite.sum(axis=0), 1)
        games = np.repeat(columns, views.by_world().sum(axis=1), axis=0)
        return cls(names, shares.sum(axis=0), tuple(np.sort(games, axis=0).T) if ranked else None)

    def __call__(self, views: ViewCounts) -> np.ndarray:
        """(m, F): the numbers of the m rows."""
        columns = views.columns(self.names)
        if self.ordered is None:
            return np.where(np.abs(columns) < INFINITE, columns, self.centre)
        ranks = np.empty(columns.shape)
        for place, ordered in enumerate(self.ordered):
            ends = [np.searchsorted(ordered, columns[:, place], side=side) for side in ("left", "right")]
            ranks[:, place] = (ends[0] + ends[1]) / (2 * len(ordered))
        return ranks


@attrs.frozen(eq=False)
class GaussianRatio:
    """Scores a view by the log-likelihood ratio of normal numbers.

    sizes: (F,), the numbers are divided by these.
    means: (2, F), in each world.
    weights: (F,), of the numbers.
    squares: (2, F), half of the inverse variances in each world; None if the variances are equal.
    """

    columns: Columns
    sizes: np.ndarray
    means: np.ndarray
    weights: np.ndarray
    squares: np.ndarray | None
    constant: float

    @classmethod
    def fit(
        cls,
        views: ViewCounts,
        names: tuple[str, ...],
        *,
        ranked: bool = False,
        correlated: bool = False,
        spread: bool = False,
    ) -> GaussianRatio:
        """Learn from these features of games, by default as independent numbers with equal variances in both
        worlds.

        correlated: with equal covariances (Fisher 1936). spread: with variances that may differ.
        """
        columns = Columns.fit(views, names, ranked=ranked)
        numbers, times = columns(views), views.by_world().T[:, :, None]
        size = np.abs(numbers).max(axis=0, initial=0.0)
        size[size == 0] = 1.0
        numbers = numbers / size  # so that squares are finite
        pairs = views.pairs
        means = (times * numbers).sum(axis=1) / pairs
        within = np.sqrt(times) * (numbers - means[:, None])
        sums = (within**2).sum(axis=1)
        gap = means[1] - means[0]
        prior = _PRIOR * (sums.sum(axis=0) / (2 * pairs) + gap**2 / 4)
        variance = (sums.sum(axis=0) + prior) / (2 * pairs - 2 + _PRIOR)
        scale = np.where(variance > 0, np.sqrt(variance), np.inf)
        squares, constant = None, 0.0
        if correlated:
            each = np.concatenate(within) / scale
            table = each.T @ each / (2 * pairs - 2) + _RIDGE * np.eye(len(scale))
            weights = np.linalg.solve(table, gap / scale) / scale
        else:
            weights = gap / scale**2
        if spread:
            own = (sums + prior) / (pairs - 1 + _PRIOR)
            own = np.where(own > 0, own, np.inf)
            both = np.isfinite(own).all(axis=0)
            squares = np.where(both, 0.5 / own, 0.0)
            constant = float(np.log(own[0, both] / own[1, both]).sum() / 2)
        return cls(columns, size, means, weights, squares, constant)

    def __call__(self, views: ViewCounts) -> np.ndarray:
        numbers = self.columns(views) / self.sizes
        if self.squares is None:
            return np.asarray((numbers - self.means.mean(axis=0)) @ self.weights)
        of_0, of_1 = (
            (numbers - mean) ** 2 @ square for mean, square in zip(self.means, self.squares, strict=True)
        )
        return np.asarray(of_0 - of_1 + self.constant)


@attrs.frozen(eq=False)
class EntryFrequencies:
    """Scores a view by the sum of the log ratios of the frequencies of its entries, as if they were
    independent. Values that occurred once count as one, and so do those that did not occur.

    Shapes: of each feature, values (k,), increasing, and tables (k + 1,), with the others last.
    """

    names: tuple[str, ...]
    values: tuple[np.ndarray, ...]
    tables: tuple[np.ndarray, ...]

    @classmethod
    def fit(cls, views: ViewCounts) -> EntryFrequencies:
        """Learn from games."""
        used: list[tuple[str, np.ndarray, np.ndarray]] = []
        times = views.by_world().sum(axis=1)
        for name, column in zip(views.names, views.rows.T, strict=True):
            values, place = np.unique(column, return_inverse=True)
            values = values[np.bincount(place.ravel(), times) > 1]
            in_0, in_1 = _find_places(values, column)[views.which].T
            size, same = len(values) + 1, in_0 == in_1
            both = np.bincount(in_0[same], views.counts[same], size)
            table = shrink_log_ratios(
                np.bincount(in_0, views.counts, size), np.bincount(in_1, views.counts, size), both
            )
            if table.any():
                used.append((name, values, table))
        names, values_of, tables = zip(*used, strict=True) if used else ((), (), ())
        return cls(names, values_of, tables)

    def __call__(self, views: ViewCounts) -> np.ndarray:
        score = np.zeros(len(views.rows))
        columns = views.columns(self.names).T
        for column, values, table in zip(columns, self.values, self.tables, strict=True):
            score += table[_find_places(values, column)]
        return score


def _find_places(values: np.ndarray, column: np.ndarray) -> np.ndarray:
    """(m,): where each number of a column is among values (k,), k if it is none of them."""
    place = np.searchsorted(values, column)
    known = np.append(values, np.nan)[place] == column
    return np.where(known, place, len(values))


_Fit = Callable[[ViewCounts], Distinguisher]


def _list_kinds(views: ViewCounts) -> Iterator[_Fit]:
    """The kinds of distinguishers that a few games can teach, the simplest first."""
    yield ViewFrequencies.fit
    if views.names:
        yield EntryFrequencies.fit
    # The order of numbers means something, and that of the codes of texts does not.
    names = tuple(name for name in views.names if name_suffix(name) not in _CODES)
    if names:
        yield partial(_fit_one_entry, names=names)
        yield partial(GaussianRatio.fit, names=names, ranked=True)
        yield partial(GaussianRatio.fit, names=names)
        yield partial(GaussianRatio.fit, names=names, spread=True)
    if 1 < len(names) <= _MOST_CORRELATED and 2 * views.pairs > len(names) + 4:
        yield partial(GaussianRatio.fit, names=names, correlated=True)


def _fit_one_entry(views: ViewCounts, names: tuple[str, ...]) -> Distinguisher:
    """By the rank of the number whose ranks differ most between the worlds."""
    every = GaussianRatio.fit(views, names, ranked=True)
    best = int(np.argmax(np.abs(every.weights * (every.means[1] - every.means[0]))))
    return GaussianRatio.fit(views, (names[best],), ranked=True)


def _split_pairs(views: ViewCounts) -> Iterator[tuple[ViewCounts, ViewCounts]]:
    """Each part of the pairs as what is left out, after the others."""
    each = np.repeat(np.arange(len(views.counts)), views.counts)
    parts = np.arange(views.pairs) % min(_FOLDS, views.pairs)
    for part in range(int(parts.max()) + 1):
        yield _select(views, each[parts != part]), _select(views, each[parts == part])


def _select(views: ViewCounts, pairs: np.ndarray) -> ViewCounts:
    """Some of the pairs, by their indices, which may occur several times."""
    counts = np.bincount(pairs, minlength=len(views.counts))
    some = attrs.evolve(views, which=views.which[counts > 0], counts=counts[counts > 0])
    return some.drop_unused_rows()


def _limit_log_odds(pairs: int) -> float:
    """Half of the log odds (nats) of what all games of one world did and none of the other."""
    return float(np.log(2 * pairs + 1) / 2)


def _add_losses(distinguisher: Distinguisher, views: ViewCounts, limit: float) -> float:
    """The sum of the logarithmic losses of the guesses of the worlds of these games."""
    score = np.clip(distinguisher(views), -limit, limit)
    of_0, of_1 = views.by_world().T
    return float(of_0 @ np.logaddexp(0.0, score) + of_1 @ np.logaddexp(0.0, -score))
