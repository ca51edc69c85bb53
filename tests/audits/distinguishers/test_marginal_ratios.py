"""Additive distinguishers, by bins of entries, and rare events in quadrants of two columns."""

from __future__ import annotations

from itertools import product

import attrs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.views import count_views

from audits.distinguishers.marginal_ratios import (
    Entries,
    MarginalCounts,
    MarginalRatios,
    QuadrantEvents,
    bound_log_ratios,
    find_bins,
)
from audits.distinguishers.pattern_ratios import PatternRatios
from audits.distinguishers.view_features import ViewCounts


def count_bins(views: ViewCounts, *, differences: bool = False) -> MarginalCounts:
    return MarginalCounts.of(Entries(views.names, differences), views)


@given(st.lists(st.integers(-3, 3), max_size=9), st.lists(st.integers(-3, 3), max_size=5, unique=True))
def test_bins_are_those_of_a_binary_search(values: list[int], cuts: list[int]) -> None:
    column, ordered = np.array(values, float), np.sort(np.array(cuts, float))
    assert find_bins(column, ordered).tolist() == np.searchsorted(ordered, column, side="right").tolist()


def test_with_common_random_numbers_a_small_shift_of_many_entries_is_learned(
    rng: np.random.Generator,
) -> None:
    """Each entry says 0.01; from as many independent pairs, chance would say as much."""
    noise = rng.laplace(size=(8_000, 50))
    coupled = count_bins(count_views(noise, noise + 0.01)).ratios(0)
    weights = np.array([table[-1] - table[0] for table in coupled.tables])
    assert len(weights) == 50
    assert weights.mean() == pytest.approx(0.02, rel=0.1)
    assert weights.std() < 0.3 * weights.mean()


def test_entries_on_which_the_worlds_agree_say_nothing(rng: np.random.Generator) -> None:
    noise = rng.normal(size=(2_000, 20))
    shifted = noise.copy()
    shifted[:, 7] += 0.5
    assert count_bins(count_views(noise, shifted)).ratios(1).used == (7,)


def test_rare_numbers_are_judged_by_all_of_their_pattern(rng: np.random.Generator) -> None:
    """A number next to a mark, on either side, shifts up or down with its place. Errors are about 0.3 times
    those of bins, over twenty runs at most 0.54 times."""
    numbers, first = rng.normal(size=(2, 10_000)), rng.random((2, 10_000)) < 0.5
    numbers[1] += np.where(first[1], 0.2, -0.2)
    views = count_views(*np.stack([np.where(first, numbers, -9), np.where(first, -9, numbers)], axis=2))
    shift = np.where(views.rows[:, 0] > -9, 0.2, -0.2)
    exact = shift * views.rows.max(axis=1) - shift**2 / 2
    smooth, binned = (
        np.abs(PatternRatios.fit(views, smooth=smooth)(views) - exact).mean() for smooth in (True, False)
    )
    assert smooth < 0.7 * binned


def test_running_sums_are_read_by_their_steps(rng: np.random.Generator) -> None:
    noise = rng.laplace(size=(2, 4_000, 30))
    noise[1, :, 20] += 1.0
    views = count_views(*np.cumsum(noise, axis=2))
    scores = count_bins(views, differences=True).ratios(1)(views)[views.which]
    assert np.mean(scores[:, 1] > scores[:, 0]) > 0.6
    entries = Entries(views.names, True).columns(views)
    assert np.allclose(np.sort(entries[20]), np.sort(noise[:, :, 20].ravel()))


def test_point_masses_stay_points(rng: np.random.Generator) -> None:
    noise = rng.normal(size=(2, 4_000, 1))
    noise[0][:2_000], noise[1][:1_000] = 0.25, 0.25
    views = count_views(*noise)
    ratios = count_bins(views).ratios(0)
    asked = count_views(np.array([[0.25]]), np.array([[np.nextafter(0.25, 1)]]))
    point, next_to_it = ratios(asked)[asked.which[0]]
    assert point == pytest.approx(np.log(0.5), abs=0.1)
    assert next_to_it > 0.2


def test_equal_masses_on_more_values_than_are_listed() -> None:
    values = np.repeat(np.arange(40.0), 3)[:, None]
    assert count_bins(count_views(values, values)).width(2) == 81


def test_counts_of_blocks_add_up(rng: np.random.Generator) -> None:
    blocks = [count_views(*rng.normal(size=(2, 500, 3))) for _ in range(2)]
    counts = count_bins(blocks[0])
    alone = [cells.copy() for cells in counts.counts]
    counts.add(blocks[1])
    assert [cells.sum() for cells in counts.counts] == [1_000] * 3
    assert all((more >= less).all() for more, less in zip(counts.counts, alone, strict=True))


NAMES = tuple(f"value[{i}]" for i in range(4))
NO_RATIOS = MarginalRatios(Entries(NAMES, False), (), (), ())


def rare_block(rng: np.random.Generator, pairs: int) -> ViewCounts:
    """In world 1 alone, one view in 20 has its largest entry in the last place, and it is small."""
    views = rng.random((2, pairs, 4))
    rare = rng.random(pairs) < 0.05
    views[1, rare] *= 0.3
    views[1, rare, 3] = 0.3
    return count_views(*views)


@pytest.mark.parametrize("sign", [1, -1])
def test_a_rare_event_of_two_columns_is_found(rng: np.random.Generator, sign: int) -> None:
    """In every orientation."""
    block, asked = (
        attrs.evolve(rare, rows=sign * rare.rows) for rare in (rare_block(rng, 4_000), rare_block(rng, 2_000))
    )
    world0, world1 = QuadrantEvents.fit(block, NO_RATIOS)(asked)[asked.which].T
    threshold = np.quantile(world1, 0.96)
    assert threshold > 1
    assert np.mean(world0 >= threshold) < 0.01


def test_the_bound_of_a_quadrant_is_that_of_its_games(rng: np.random.Generator) -> None:
    """Against a count of the games in the quadrant of a view."""
    block = rare_block(rng, 300)
    distinguisher = QuadrantEvents.fit(block, NO_RATIOS)
    plane = distinguisher.planes[0]
    columns = distinguisher.columns(block)
    bins = [
        np.searchsorted(distinguisher.cuts[index], columns[index], side="right")
        for index in (plane.first, plane.second)
    ]
    bounds = [0.0]
    for in_first, in_second in product((np.less_equal, np.greater_equal), repeat=2):
        for cell in np.ndindex(*plane.bounds.shape[1:]):
            held = (in_first(bins[0], cell[0]) & in_second(bins[1], cell[1]))[block.which]
            both = held.all(axis=1).sum()
            of_worlds = bound_log_ratios(held.sum(axis=0), both, pairs=300, delta=0.0, errors=2.0)
            bounds.append(of_worlds.max())
    assert plane.bounds.max() == pytest.approx(max(bounds))


def test_equal_worlds_have_no_quadrants(rng: np.random.Generator) -> None:
    block = count_views(*[rng.random((500, 4))] * 2)
    assert not QuadrantEvents.fit(block, NO_RATIOS)(block).any()
