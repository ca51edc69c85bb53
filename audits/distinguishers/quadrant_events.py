"""Distinguishers for rare events: quadrants in the plane of two columns that summarise a view.

The loss of some mechanisms is largest in an event of a few games in a thousand: one number is small while
another is large. A classifier that is fitted to all games hardly sees it. Here each quadrant is judged by the
bound that it certifies.
"""

from __future__ import annotations

from itertools import combinations, product

import attrs
import numpy as np

from audits.distinguishers.marginal_ratios import MarginalRatios, choose_cuts, find_bins
from audits.distinguishers.view_features import ViewCounts, summarise_rows

_STANDARD_ERRORS = 2.0  # by which the bound of a quadrant is below its estimate
_PLANES = 2  # with the best quadrants, whose bounds are combined


@attrs.frozen(eq=False)
class Plane:
    """The bounds of the quadrants of two columns.

    bounds: (2, K, L), for each bin of the columns `first` and `second` the largest bound of the quadrants
    that contain it, at least 0; row b for the quadrants that are likelier in world b.
    """

    first: int
    second: int
    bounds: np.ndarray


@attrs.frozen(eq=False)
class QuadrantEvents:
    """Scores a view by the largest bound on a log ratio of the quadrants that contain it.

    Quadrants that are likelier in world 1 raise the score, and those that are likelier in world 0 lower it.
    additive: its score is a column, next to the summary of the view. cuts: of each column, (k,).
    """

    names: tuple[str, ...]
    additive: MarginalRatios
    cuts: tuple[np.ndarray, ...]
    planes: tuple[Plane, ...]

    @classmethod
    def fit(cls, views: ViewCounts, additive: MarginalRatios) -> QuadrantEvents:
        """Choose the pairs of columns with the best quadrants in these games."""
        empty = cls(views.names, additive, (), ())
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
        return [*summarise_rows(views.columns(self.names)), self.additive(views)]

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
    """(2, ...): about the ε (nats) that events certify, row b for those that are likelier in world b.

    The log ratio of the event's probabilities, minus so many standard errors, which guards against rare
    events that look good by chance. Pairs with both games in the event add nothing to the error.
    Shapes: world (2, ...), the games of each world in the events; both (...), the pairs with both in them.
    """
    chances = (world + 0.5) / (pairs + 1)
    gain, loss = np.maximum(chances - delta, 1e-300), chances[::-1]
    scatter = np.maximum(1 / gain + 1 / loss - 2 * both / (pairs + 1) / (gain * loss), 0)
    return np.asarray(np.log(gain / loss) - errors * np.sqrt(scatter / pairs))


def _bound_quadrants(
    views: ViewCounts, bins: tuple[np.ndarray, np.ndarray], shape: tuple[int, int]
) -> np.ndarray:
    """The bounds (2, K, L) of a plane; shape: K and L, the numbers of bins. Shapes: bins, of each column (2,
    k), the bins of the two games of each pair."""
    largest = np.zeros((2, *shape))
    for flips in product((1, -1), repeat=2):  # quadrants hold all bins from one on, or up to one
        first, second = (
            of_games if flip > 0 else size - 1 - of_games
            for of_games, flip, size in zip(bins, flips, shape, strict=True)
        )
        cells = first * shape[1] + second
        in_both = first.min(axis=0) * shape[1] + second.min(axis=0)
        # How many are in each cell or, in both columns, in a later one.
        tables = [
            np.bincount(cell, views.counts, minlength=shape[0] * shape[1]).reshape(shape)[::-1, ::-1]
            for cell in (*cells, in_both)
        ]
        *world, both = (table.cumsum(axis=0).cumsum(axis=1)[::-1, ::-1] for table in tables)
        bounds = bound_log_ratios(
            np.stack(world), both, pairs=views.pairs, delta=0.0, errors=_STANDARD_ERRORS
        )
        bounds = np.maximum.accumulate(np.maximum.accumulate(bounds, axis=1), axis=2)
        largest = np.maximum(largest, bounds[:, :: flips[0], :: flips[1]])
    return largest
