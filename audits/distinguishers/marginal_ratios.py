"""Additive distinguishers: the sum of the log ratios of the bins into which the entries of a view fall.

For entries with independent noise this is the log-likelihood ratio of the view, up to the width of the bins.
"""

from __future__ import annotations

from collections.abc import Iterator

import attrs
import numpy as np

from audits.distinguishers.view_features import ViewCounts, follows_a_number

RESOLUTIONS = (2, 8, 32)  # quantiles at which the values of an entry are cut
_TAIL_GAMES = 64  # beyond the outermost of the finest cuts; further cuts lie at halves of the tail
_FEW_CUTS = 64  # up to which comparing with each of them is faster than a binary search
_LISTED = 32  # distinct values of an entry up to which each value is a bin of its own
_POINT_MASS = 1 / 64  # share of the games from which on a value is a bin of its own


@attrs.frozen(eq=False)
class Entries:
    """What is binned: the features themselves, or their differences.

    differences: each entry of a released vector minus the one before it, since the noise that a running sum
    has gathered cancels in them.
    """

    names: tuple[str, ...]
    differences: bool

    def columns(self, views: ViewCounts) -> np.ndarray:
        """(F, m): the entries of the m rows."""
        columns = np.ascontiguousarray(views.columns(self.names).T)
        if self.differences:
            places = sorted(follows_a_number(self.names))
            columns[places] -= columns[np.array(places) - 1]
        return columns


@attrs.frozen(eq=False)
class MarginalCounts:
    """How often each pair of bins of each entry occurs, over any number of pairs of games.

    cuts: for each entry and each of `RESOLUTIONS` the increasing cuts between bins; finer ones include
    coarser ones. counts: for each entry (K, K), the pairs by the finest bins of their games in each world.
    """

    entries: Entries
    cuts: list[tuple[np.ndarray, ...]]
    counts: list[np.ndarray]

    @classmethod
    def of(cls, entries: Entries, pilot: ViewCounts) -> MarginalCounts:
        """Counts of the pilot's games, in bins with cuts at the quantiles of its values."""
        times = pilot.by_world().sum(axis=1)
        cuts = [choose_cuts(column, times) for column in entries.columns(pilot)]
        marginals = cls(entries, cuts, [np.zeros((len(cut[-1]) + 1,) * 2, np.int64) for cut in cuts])
        marginals.add(pilot)
        return marginals

    def add(self, views: ViewCounts) -> None:
        """Count further games."""
        which = views.which.T.copy()
        once = None if views.counts.max() == 1 else views.counts
        columns = self.entries.columns(views)
        for column, cuts, counts in zip(columns, self.cuts, self.counts, strict=True):
            in_0, in_1 = find_bins(column, cuts[-1])[which]
            found = np.bincount(in_0 * np.int64(len(counts)) + in_1, weights=once, minlength=counts.size)
            counts += found.astype(np.int64).reshape(counts.shape)

    @property
    def resolutions(self) -> list[int]:
        """The indices of the resolutions that differ."""
        sizes = [self.width(resolution) for resolution in range(len(RESOLUTIONS))]
        return [index for index, size in enumerate(sizes) if size not in sizes[:index]]

    def width(self, resolution: int) -> int:
        """The number of bins of all entries."""
        return sum(len(of_entry[resolution]) + 1 for of_entry in self.cuts)

    def ratios(self, resolution: int, *, pooled: bool = False) -> MarginalRatios:
        """The distinguisher with the bins of `RESOLUTIONS[resolution]`.
        pooled: whether entries with equally many bins share their log ratios, learned from all of them."""
        merged = [
            _merge_bins(counts, of_entry, resolution)
            for of_entry, counts in zip(self.cuts, self.counts, strict=True)
        ]
        if pooled:
            totals: dict[int, np.ndarray] = {}
            for counts in merged:
                totals[len(counts)] = totals.get(len(counts), 0) + counts
            merged = [totals[len(counts)] for counts in merged]
        tables = [_shrink_log_ratios(counts) for counts in merged]
        used = tuple(index for index, table in enumerate(tables) if table.any())
        cuts = tuple(self.cuts[index][resolution] for index in used)
        return MarginalRatios(self.entries, used, cuts, tuple(tables[index] for index in used))


@attrs.frozen(eq=False)
class MarginalRatios:
    """Scores a view by the sum of the log ratios of its entries' bins.
    used: the entries that say something. cuts, tables: of each of them, (k,) and (k + 1,)."""

    entries: Entries
    used: tuple[int, ...]
    cuts: tuple[np.ndarray, ...]
    tables: tuple[np.ndarray, ...]

    def __call__(self, views: ViewCounts) -> np.ndarray:
        return np.asarray(sum(self.terms(views), start=np.zeros(len(views.rows))))

    def terms(self, views: ViewCounts) -> Iterator[np.ndarray]:
        """The log ratios (m,) of each entry that says something."""
        columns = self.entries.columns(views)
        for index, cuts, table in zip(self.used, self.cuts, self.tables, strict=True):
            yield table[find_bins(columns[index], cuts)]


def find_bins(column: np.ndarray, cuts: np.ndarray) -> np.ndarray:
    """(m,): how many of the cuts are at most each value; as `np.searchsorted`, but faster for few cuts."""
    if len(cuts) > _FEW_CUTS:
        return np.searchsorted(cuts, column, side="right")
    bins = np.zeros(len(column), np.uint8)
    for cut in cuts:
        bins += column >= cut
    return bins


def choose_cuts(column: np.ndarray, times: np.ndarray) -> tuple[np.ndarray, ...]:
    """The cuts at each of `RESOLUTIONS`, for values (m,) that occurred `times` (m,).
    Quantiles are those of the values that are no point masses."""
    order = np.argsort(column, kind="stable")
    first = np.flatnonzero(np.diff(column[order], prepend=-np.inf) > 0)
    values, mass = column[order][first], np.add.reduceat(times[order], first)
    if len(values) <= _LISTED:
        return (values[1:],) * len(RESOLUTIONS)
    is_point = mass >= _POINT_MASS * mass.sum()
    points = values[is_point]
    around = np.concatenate([points, np.nextafter(points, np.inf)])
    if is_point.all():
        return (around,) * len(RESOLUTIONS)
    values, below = values[~is_point], np.cumsum(mass[~is_point])
    games = int(below[-1])
    cuts, found = [], around
    for resolution in RESOLUTIONS:
        ranks = np.arange(1, resolution) / resolution
        if resolution == RESOLUTIONS[-1]:
            tails = 0.5 ** np.arange(1, 64) / resolution
            tails = tails[tails * games >= _TAIL_GAMES]
            ranks = np.concatenate([ranks, tails, 1 - tails])
        found = np.union1d(found, values[np.searchsorted(below, ranks * games)])
        cuts.append(found)
    return tuple(cuts)


def _merge_bins(counts: np.ndarray, cuts: tuple[np.ndarray, ...], resolution: int) -> np.ndarray:
    """The counts (K, K) of the finest bins of an entry, added up in those of `RESOLUTIONS[resolution]`."""
    starts = np.concatenate([[0], np.searchsorted(cuts[-1], cuts[resolution]) + 1])
    return np.asarray(np.add.reduceat(np.add.reduceat(counts, starts, axis=0), starts, axis=1))


def _shrink_log_ratios(counts: np.ndarray) -> np.ndarray:
    """(K,): the log ratios of bins, shrunk towards 0 as far as chance explains them (James and Stein 1961).

    Only pairs with their games in different bins add noise: where the two games of a pair use the same random
    numbers these are few, and entries on which the worlds agree get exactly 0.

    Shapes: counts (K, K), pairs by the bins of their games.
    """
    in_0, in_1, both = counts.sum(axis=1), counts.sum(axis=0), np.diagonal(counts)
    weight = 1 / (in_0 + in_1 + 1)
    signal = (weight * (in_1 - in_0) ** 2).sum()
    noise = (weight * (in_0 + in_1 - 2 * both)).sum()
    if signal <= noise:
        return np.zeros(len(in_0))
    return np.asarray((1 - noise / signal) * np.log((in_1 + 0.5) / (in_0 + 0.5)))
