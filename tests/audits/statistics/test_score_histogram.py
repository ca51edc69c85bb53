"""Events, histograms and bins of scores: exact where scores are few, close in every tail where many."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from arena.errors import InvalidArgument
from audits.statistics.betting import Betting
from audits.statistics.score_histogram import (
    EXACT,
    MAX_CANDIDATES,
    BlockScatter,
    ScoreBins,
    ScoreHistogram,
)
from audits.statistics.score_pairs import EVERYTHING, Event, Events, PairCounts

FEW = st.sampled_from([-math.inf, -2.5, 0.0, 1.0, 1e300, math.inf])
ANY = st.floats(allow_nan=False)

Scores = tuple[np.ndarray, np.ndarray]


def blocks_of(score: st.SearchStrategy[float]) -> st.SearchStrategy[list[list[tuple[float, float]]]]:
    return st.lists(st.lists(st.tuples(score, score), min_size=1, max_size=20), min_size=1, max_size=5)


def count_pairs(pairs: list[tuple[float, float]]) -> PairCounts:
    return PairCounts.of(*np.array(pairs, dtype=float).reshape(-1, 2).T)


def falls(score: float, event: Event) -> bool:
    return (score >= event.threshold) == event.upper


# --- events -------------------------------------------------------------------------------------------------


def test_an_event_says_what_it_is() -> None:
    assert str(Event(0.25, upper=True)) == "score >= 0.25"
    assert str(Event(0.25, upper=False)) == "score < 0.25"
    assert falls(-math.inf, EVERYTHING)


@pytest.mark.thorough
@given(pairs=st.lists(st.tuples(ANY, ANY), max_size=20), thresholds=st.lists(ANY, min_size=1, max_size=5))
def test_hits_are_those_of_a_count_by_hand(pairs: list[tuple[float, float]], thresholds: list[float]) -> None:
    events = Events(np.array(thresholds))
    block = count_pairs(pairs)
    hits = events.count(block)
    assert hits.pairs == len(pairs)
    for index in range(len(events)):
        inside = [(falls(first, events[index]), falls(second, events[index])) for first, second in pairs]
        assert hits.world[:, index].tolist() == [sum(i for i, _ in inside), sum(j for _, j in inside)]
        assert hits.both[index] == sum(i and j for i, j in inside)
        assert events[index].count(block) == tuple(hits.world[:, index])


# --- the histogram while scores are few ---------------------------------------------------------------------


@pytest.mark.thorough
@given(blocks=st.one_of(blocks_of(FEW), blocks_of(ANY)))
def test_few_scores_are_counted_exactly_at_every_threshold(blocks: list[list[tuple[float, float]]]) -> None:
    histogram = ScoreHistogram()
    for block in blocks:
        histogram.add(count_pairs(block))
    pairs = [pair for block in blocks for pair in block]
    distinct = sorted({score for pair in pairs for score in pair})
    events, counts = histogram.events(candidates=len(distinct))
    assert events.thresholds.tolist() == distinct[1:]
    assert histogram.pairs == len(pairs)
    for index in range(len(events)):
        assert counts[:, index].tolist() == [
            sum(falls(pair[world], events[index]) for pair in pairs) for world in (0, 1)
        ]


def test_equal_scores_leave_nothing_to_choose() -> None:
    histogram = ScoreHistogram()
    histogram.add(count_pairs([(3.0, 3.0)] * 4))
    events, counts = histogram.events()
    assert len(events) == 0
    assert counts.shape == (2, 0)


# --- the histogram where scores are many --------------------------------------------------------------------

STREAMS: dict[str, Callable[[np.random.Generator, int], Scores]] = {
    "shifted Laplace": lambda rng, block: (rng.laplace(0, 1, 4096), rng.laplace(1, 1, 4096)),
    "far normal": lambda rng, block: (rng.normal(0, 1, 4096), rng.normal(4, 1, 4096)),
    "heavy tails": lambda rng, block: (rng.standard_cauchy(4096), 1 + rng.standard_cauchy(4096)),
    "growing with time": lambda rng, block: (block + rng.random(4096), block + rng.random(4096) + 0.5),
    "atoms": lambda rng, block: (rng.poisson(2000, 4096) * 1.0, rng.poisson(2100, 4096) * 1.0),
}


@pytest.mark.thorough
@pytest.mark.parametrize("name", STREAMS)
def test_estimates_stay_close_in_every_tail_and_memory_stays_small(
    name: str, rng: np.random.Generator
) -> None:
    """Within a twentieth of the rarer side of each threshold, and mostly exact.

    Edges that stay make no error. Where edges move with every block, half of the counts are wrong.
    """
    histogram, seen = ScoreHistogram(), []
    for block in range(80):
        seen.append(STREAMS[name](rng, block))
        histogram.add(PairCounts.of(*seen[-1]))
    events, counts = histogram.events()
    k = len(events.thresholds)
    assert MAX_CANDIDATES / 2 < k <= MAX_CANDIDATES
    assert len(histogram) < 2500
    for world, row in enumerate(counts):
        scores = np.sort(np.concatenate([block[world] for block in seen]))
        below = np.searchsorted(scores, events.thresholds, side="left")
        rarer = np.minimum(below, len(scores) - below)
        assert np.all(row[:k] + row[k:] == len(scores))
        error = np.abs(row[k:] - below)
        assert np.all(error <= 0.05 * rarer + 1)
        assert np.mean(error == 0) > 0.7


def test_log_likelihood_ratios_say_how_often_events_occur(rng: np.random.Generator) -> None:
    """Of a normal law, from scores in many blocks and bins: to within six standard errors. Errors are about
    0.69 times those of counts, by chance 0.55 to 0.83 times over eight histograms."""
    pairs, errors = 40_000, np.zeros(2)
    for _ in range(8):
        histogram = ScoreHistogram(log_ratios=True)
        for _ in range(20):
            histogram.add(PairCounts.of(*rng.normal([[-0.5], [0.5]], 1.0, (2, pairs // 20))))
        events, expected = histogram.events(log_ratios=True)
        k = len(events.thresholds)
        exact = pairs * stats.norm.sf(events.thresholds, [[-0.5], [0.5]], 1.0)
        assert np.allclose(expected[:, :k] + expected[:, k:], pairs)
        assert np.all(np.abs(expected[:, :k] - exact) < 6 * np.sqrt(exact) + 1)
        errors += [np.abs(found[:, :k] - exact).mean() for found in (expected, histogram.events()[1])]
    assert errors[0] < 0.85 * errors[1]


@pytest.mark.thorough
@pytest.mark.parametrize(
    "transform",
    [
        lambda ratio: 0.5 * ratio,
        lambda ratio: ratio,
        lambda ratio: 3 * ratio,
        lambda ratio: np.sinh(2 * ratio),
    ],
    ids=["half", "exact", "threefold", "sinh"],
)
def test_estimated_ratios_are_calibrated(
    transform: Callable[[np.ndarray], np.ndarray], rng: np.random.Generator
) -> None:
    """The scores are increasing functions of the log-likelihood ratio of normal numbers that differ by 1, so
    chances are known. Errors of log ratios in tails are about 0.8 times those of counts, over twelve runs
    0.65 to 0.9 times; if scores that are not ratios were taken for them, over 20 times."""
    errors, grid = np.zeros(2), np.linspace(-7.0, 7.0, 20_001)
    for _ in range(40):
        histogram = ScoreHistogram(log_ratios=True, estimated=True)
        for _ in range(2):
            numbers = rng.normal([[0.0], [1.0]], size=(2, 10_000))
            histogram.add(PairCounts.of(*transform(numbers - 0.5)))
        events, expected = histogram.events(log_ratios=True)
        k = len(events.thresholds)
        ratios = np.interp(events.thresholds, transform(grid), grid)
        chances = stats.norm.sf(ratios + 0.5, [[0.0], [1.0]])
        told = (20_000 * chances > 40).all(axis=0)
        exact = np.log(chances[1] / chances[0])[told]
        for index, found in enumerate((expected, histogram.events()[1])):
            errors[index] += np.abs(np.log(found[1, :k][told] / found[0, :k][told]) - exact).mean()
    assert errors[0] < 0.95 * errors[1]


def test_rare_scores_and_clean_cuts_are_among_the_thresholds(rng: np.random.Generator) -> None:
    histogram = ScoreHistogram()
    low, high = rng.random(50_000), 2 + rng.random(50_000)
    for block in range(0, 50_000, 5_000):
        histogram.add(PairCounts.of(low[block : block + 5_000], high[block : block + 5_000]))
    thresholds = histogram.events()[0].thresholds
    assert {high.min(), high.max()} <= set(thresholds)  # the worlds apart, and the one highest score
    assert np.count_nonzero(thresholds < np.quantile(low, 0.001)) >= 5


def test_blocks_may_be_split_or_joined(rng: np.random.Generator) -> None:
    scores = rng.integers(0, 100, (2, 1000)) * 1.0
    whole, parts = ScoreHistogram(), ScoreHistogram()
    whole.add(PairCounts.of(*scores))
    for start in range(0, 1000, 10):
        parts.add(PairCounts.of(*scores[:, start : start + 10]))
    assert np.array_equal(whole.events()[1], parts.events()[1])


# --- bins ---------------------------------------------------------------------------------------------------

MANY = 20_000


def bins_of(*worlds: np.ndarray) -> ScoreBins:
    return ScoreBins.of([PairCounts.of(*worlds)])


def edges_of(*worlds: np.ndarray) -> np.ndarray:
    edges = bins_of(*worlds).edges
    assert edges is not None
    return edges


def find_bin(edges: np.ndarray, score: float) -> float:
    """The lower edge of the bin of a score, by going through the edges."""
    below = [edge for edge in edges if edge <= score]
    return float(below[-1] if below else edges[0])


def test_few_different_scores_are_counted_exactly(rng: np.random.Generator) -> None:
    bins = bins_of(*rng.integers(0, 700, (2, MANY)).astype(float))
    assert bins.edges is None
    world0, world1 = rng.normal(size=(2, 50))
    assert np.array_equal(bins.count(world0, world1).scores, PairCounts.of(world0, world1).scores)


EDGES = edges_of(*np.random.default_rng(0).normal([[0.0], [1.0]], 1.0, (2, 1_000)))


@given(st.lists(st.floats(allow_nan=False) | st.sampled_from(EDGES), min_size=2, max_size=30))
def test_a_score_becomes_the_lower_edge_of_its_bin(scores: list[float]) -> None:
    assert (np.diff(EDGES) > 0).all()
    worlds = np.array(scores), np.array(scores[::-1])
    expected = PairCounts.of(*([find_bin(EDGES, score) for score in world] for world in worlds))
    found = ScoreBins(EDGES).count(*worlds)
    assert np.array_equal(found.scores, expected.scores)
    assert np.array_equal(found.counts, expected.counts)


def test_bins_are_narrow_in_both_worlds_and_in_their_tails(rng: np.random.Generator) -> None:
    worlds = rng.normal([[0.0], [50.0]], 1.0, (2, MANY))
    edges = edges_of(*worlds)
    for world in worlds:
        shares = np.histogram(world, [-np.inf, *edges, np.inf])[0] / MANY
        assert shares.max() < 0.015
        assert (np.sort(world)[[0, 1, -2, -1]] == np.sort(world[np.isin(world, edges)])[[0, 1, -2, -1]]).all()


def test_point_masses_stay_points(rng: np.random.Generator) -> None:
    """A score that occurs in one game of a thousand, and the ends of a clipped distribution."""
    world0, world1 = np.clip(rng.normal([[0.0], [0.1]], 1.0, (2, MANY)), -2.0, 1.5)
    world1[rng.random(MANY) < 0.001] = 0.25
    edges = edges_of(world0, world1)
    for point in (-2.0, 0.25, 1.5):
        assert {point, np.nextafter(point, np.inf)} <= {*edges.tolist()}


def test_infinite_scores_have_bins_of_their_own(rng: np.random.Generator) -> None:
    world0, world1 = rng.normal(size=(2, MANY))
    world0[:2], world1[:2] = -np.inf, np.inf
    bins = bins_of(world0, world1)
    scores = bins.count(np.array([-np.inf, -1e300]), np.array([np.inf, 1e300])).scores
    assert scores[0].tolist() == [-np.inf, np.inf]
    assert np.isfinite(scores[1]).all()


def test_scores_beyond_all_earlier_ones_are_told_apart(rng: np.random.Generator) -> None:
    edges = edges_of(*rng.normal(size=(2, MANY)))
    assert find_bin(edges, 20.0) < find_bin(edges, 60.0) < find_bin(edges, 300.0)
    assert find_bin(edges, -20.0) > find_bin(edges, -60.0) > find_bin(edges, -300.0)


def test_no_number_is_no_score() -> None:
    for bins in (EXACT, ScoreBins(np.arange(3.0))):
        with pytest.raises(InvalidArgument, match="a score must not be NaN"):
            bins.count(np.array([np.nan]), np.zeros(1))


def test_bins_cost_hardly_any_evidence(rng: np.random.Generator) -> None:
    worlds = rng.laplace([[0.0], [1.0]], 1.0, (2, 60_000))
    exact, binned = (Betting(delta=0.0, confidence=0.95) for _ in range(2))
    bins = bins_of(*worlds[:, :10_000])
    for start in range(0, 60_000, 4_000):
        block = worlds[:, start : start + 4_000]
        exact.update(PairCounts.of(*block))
        binned.update(bins.count(*block))
    assert binned.epsilon_lower > 0.99 * exact.epsilon_lower > 0.9


def test_blocks_that_count_in_bins_scatter_as_exact_ones_do(rng: np.random.Generator) -> None:
    """Scores of world 1 are always a little larger, and in bins sometimes equal."""

    def draw(pairs: int) -> tuple[np.ndarray, np.ndarray]:
        scores = rng.normal(size=pairs)
        return scores, scores + 0.01

    exact = [PairCounts.of(*draw(1_000)) for _ in range(8)]
    bins = ScoreBins.of(exact)
    scatter = BlockScatter()
    for block in [*exact, *(bins.count(*draw(4_000)) for _ in range(30))]:
        scatter.update(block)
        assert not scatter.suspected
