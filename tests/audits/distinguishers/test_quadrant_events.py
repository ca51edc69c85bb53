"""Rare events in quadrants of two columns."""

from __future__ import annotations

import numpy as np
import pytest

from audits.distinguishers.marginal_ratios import Entries, MarginalRatios
from audits.distinguishers.quadrant_events import QuadrantEvents, bound_log_ratios
from audits.distinguishers.view_features import ViewCounts, ViewFeatures

NAMES = tuple(f"value[{i}]" for i in range(4))
NO_RATIOS = MarginalRatios(Entries(NAMES, False), (), (), ())


def rare_block(rng: np.random.Generator, pairs: int) -> ViewCounts:
    """In world 1 alone, one view in 20 has its largest entry in the last place, and it is small."""
    views = rng.random((2, pairs, 4))
    rare = rng.random(pairs) < 0.05
    views[1, rare] *= 0.3
    views[1, rare, 3] = 0.3
    return ViewCounts.of(*(ViewFeatures(world, NAMES) for world in views))


def test_a_rare_event_of_two_columns_is_found(rng: np.random.Generator) -> None:
    distinguisher = QuadrantEvents.fit(rare_block(rng, 4_000), NO_RATIOS)
    asked = rare_block(rng, 2_000)
    world0, world1 = distinguisher(asked)[asked.which].T
    threshold = np.quantile(world1, 0.96)
    assert threshold > 1
    assert np.mean(world0 >= threshold) < 0.01


@pytest.mark.parametrize("factors", [(1, 1, 1, 1), (-1, -1, -1, -1)])
def test_every_orientation_is_found(rng: np.random.Generator, factors: tuple[int, ...]) -> None:
    block = rare_block(rng, 4_000)
    turned = ViewCounts(block.rows * factors, block.which, block.counts, NAMES)
    world0, world1 = QuadrantEvents.fit(turned, NO_RATIOS)(turned)[turned.which].T
    threshold = np.quantile(world1, 0.96)
    assert threshold > 1
    assert np.mean(world0 >= threshold) < 0.01


def test_the_bound_of_a_quadrant_is_that_of_its_games(rng: np.random.Generator) -> None:
    """Against a count of the games in the quadrant of a view."""
    block = rare_block(rng, 300)
    distinguisher = QuadrantEvents.fit(block, NO_RATIOS)
    plane = distinguisher.planes[0]
    columns = [distinguisher.columns(block)[index] for index in (plane.first, plane.second)]
    bins = [
        np.searchsorted(distinguisher.cuts[index], column, side="right")
        for index, column in zip((plane.first, plane.second), columns, strict=True)
    ]
    bounds = [0.0]
    for in_first in (np.less_equal, np.greater_equal):
        for in_second in (np.less_equal, np.greater_equal):
            for cell in np.ndindex(*plane.bounds.shape[1:]):
                held = (in_first(bins[0], cell[0]) & in_second(bins[1], cell[1]))[block.which]
                both = held.all(axis=1).sum()
                of_worlds = bound_log_ratios(held.sum(axis=0), both, pairs=300, delta=0.0, errors=2.0)
                bounds.append(of_worlds.max())
    assert plane.bounds.max() == pytest.approx(max(bounds))


def test_equal_worlds_have_no_quadrants(rng: np.random.Generator) -> None:
    views = ViewFeatures(rng.random((500, 4)), NAMES)
    block = ViewCounts.of(views, views)
    assert not QuadrantEvents.fit(block, NO_RATIOS)(block).any()
