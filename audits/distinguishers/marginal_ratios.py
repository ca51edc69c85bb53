"""Additive distinguishers, and those for rare events, quadrants in the plane of two columns of a view.

An additive one sums the log ratios of the bins into which the entries fall: for independent noise, about the
log-likelihood ratio. An event of a few games in a thousand, where one number is small while another is large,
is hardly seen by a classifier that is fitted to all games, so quadrants are judged by the bound they certify.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, product

import attrs
import numpy as np

from audits.distinguishers.summaries import Summary, count_values, find_point_masses
from audits.distinguishers.view_features import ViewCounts, follows_a_number

RESOLUTIONS = (2, 8, 32)  # quantiles at which the values of an entry are cut
_TAIL_GAMES = 64  # beyond the outermost of the finest cuts; further cuts lie at halves of the tail
_FEW_CUTS = 64  # up to which comparing with each of them is faster than a binary search
_LISTED = 32  # distinct values of an entry up to which each value is a bin of its own
_STANDARD_ERRORS = 2.0  # by which the bound of a quadrant is below its estimate
_PLANES = 2  # with the best quadrants, whose bounds are combined


@attrs.frozen(eq=False)
class Entries:
    """What is binned: the features, or their differences, each entry of a released vector minus the one
    before it, in which the noise that a running sum has gathered cancels."""

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
    """How often each pair of bins of each entry occurs. cuts: for each entry and each of `RESOLUTIONS`, those
    between bins; finer ones include coarser ones. counts: for each entry (K, K), by the finest bins."""

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
    values, mass = count_values(column, times)
    if len(values) <= _LISTED:
        return (values[1:],) * len(RESOLUTIONS)
    is_point = find_point_masses(mass)
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
    """As `shrink_log_ratios`, from pairs (K, K) by the bins of their games."""
    return shrink_log_ratios(counts.sum(axis=1), counts.sum(axis=0), np.diagonal(counts))


def shrink_log_ratios(in_0: np.ndarray, in_1: np.ndarray, both: np.ndarray) -> np.ndarray:
    """(K,): the log ratios of bins, shrunk towards 0 as far as chance explains them (James and Stein 1961),
    from the games of each world in each bin and the pairs with both. Only pairs in different bins add noise:
    entries on which the worlds agree get exactly 0."""
    weight = 1 / (in_0 + in_1 + 1)
    signal = (weight * (in_1 - in_0) ** 2).sum()
    noise = (weight * (in_0 + in_1 - 2 * both)).sum()
    if signal <= noise:
        return np.zeros(len(in_0))
    return np.asarray((1 - noise / signal) * np.log((in_1 + 0.5) / (in_0 + 0.5)))


@attrs.frozen(eq=False)
class Plane:
    """The bounds of the quadrants of two columns. bounds: (2, K, L), for each pair of bins the largest bound
    of the quadrants that contain it, at least 0; row b for those that are likelier in world b."""

    first: int
    second: int
    bounds: np.ndarray


@attrs.frozen(eq=False)
class QuadrantEvents:
    """Scores a view by the largest bounds on log ratios of the quadrants that contain it, for world 1 minus
    for world 0. additive: its score is a column, next to the summary of the view. cuts: of each column."""

    summary: Summary
    additive: MarginalRatios
    cuts: tuple[np.ndarray, ...]
    planes: tuple[Plane, ...]

    @classmethod
    def fit(cls, views: ViewCounts, additive: MarginalRatios) -> QuadrantEvents:
        """Choose the pairs of columns with the best quadrants in these games."""
        empty = cls(Summary.fit(views), additive, (), ())
        columns = empty.columns(views)
        times = views.by_world().sum(axis=1)
        cuts = tuple(choose_cuts(column, times)[-1] for column in columns)
        bins = [
            find_bins(column, of_column).astype(np.int64)[views.which.T]
            for column, of_column in zip(columns, cuts, strict=True)
        ]
        sizes = [len(of_column) + 1 for of_column in cuts]
        planes = [
            Plane(i, j, _bound_quadrants(views, (bins[i], bins[j]), (sizes[i], sizes[j])))
            for i, j in combinations(range(len(columns)), 2)
        ]
        planes.sort(key=lambda plane: -plane.bounds.max())
        return attrs.evolve(empty, cuts=cuts, planes=tuple(planes[:_PLANES]))

    def columns(self, views: ViewCounts) -> list[np.ndarray]:
        """The columns (m,) of the views."""
        return [*self.summary(views), self.additive(views)]

    def __call__(self, views: ViewCounts) -> np.ndarray:
        columns = self.columns(views)
        best = np.zeros((2, len(views.rows)))
        for plane in self.planes:
            first, second = (find_bins(columns[i], self.cuts[i]) for i in (plane.first, plane.second))
            best = np.maximum(best, plane.bounds[:, first, second])
        return np.asarray(best[1] - best[0])


def bound_log_ratios(
    world: np.ndarray, both: np.ndarray, *, pairs: int, delta: float, errors: float
) -> np.ndarray:
    """(2, ...): about the ε (nats) that events certify, row b for those that are likelier in world b: the log
    ratio of their probabilities, so many standard errors worse. Shapes: world (2, ...), the games of each
    world in the events; both (...), the pairs with both in them, which add nothing to the error."""
    # Score limits of the number of pairs with one game in the event, which hold also if there are few.
    only = world - both
    z = errors / np.sqrt(2)
    centre, width = only + z**2 / 2, z * np.sqrt(only + z**2 / 4)
    gain = np.maximum(both + centre - width - delta * pairs, 1e-300)
    return np.asarray(np.log(gain / (both + centre + width)[::-1]))


def _bound_quadrants(
    views: ViewCounts, bins: tuple[np.ndarray, np.ndarray], shape: tuple[int, int]
) -> np.ndarray:
    """The bounds (2, K, L) of a plane, from the bins (2, k) of the games of each pair in both columns."""
    size = shape[0] * shape[1]

    def count(first: np.ndarray, second: np.ndarray) -> np.ndarray:
        return np.bincount(first * shape[1] + second, views.counts, minlength=size).reshape(shape)

    tables = [count(first, second) for first, second in zip(*bins, strict=True)]
    ends = [(of_games.min(axis=0), of_games.max(axis=0)) for of_games in bins]
    largest = np.zeros((2, *shape))
    for flips in product((1, -1), repeat=2):  # quadrants hold all bins from one on, or up to one
        # A quadrant holds both games of a pair if it holds the lesser, or the greater, of their bins.
        both_ends = count(
            *(of_column[0 if flip > 0 else 1] for of_column, flip in zip(ends, flips, strict=True))
        )
        *world, both = (
            table[:: -flips[0], :: -flips[1]].cumsum(axis=0).cumsum(axis=1)[::-1, ::-1]
            for table in (*tables, both_ends)
        )
        bounds = bound_log_ratios(
            np.stack(world), both, pairs=views.pairs, delta=0.0, errors=_STANDARD_ERRORS
        )
        bounds = np.maximum.accumulate(np.maximum.accumulate(bounds, axis=1), axis=2)
        largest = np.maximum(largest, bounds[:, :: flips[0], :: flips[1]])
    return largest
