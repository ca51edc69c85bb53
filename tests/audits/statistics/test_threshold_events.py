"""Events and the histogram: exact where scores are few, close in every tail where they are many."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from audits.statistics.score_histogram import MAX_CANDIDATES, ScoreHistogram
from audits.statistics.score_pairs import EVERYTHING, Event, Events, PairCounts

FEW = st.sampled_from([-math.inf, -2.5, 0.0, 1.0, 1e300, math.inf])
ANY = st.floats(allow_nan=False)

Scores = tuple[np.ndarray, np.ndarray]


def blocks_of(score: st.SearchStrategy[float]) -> st.SearchStrategy[list[list[tuple[float, float]]]]:
    return st.lists(st.lists(st.tuples(score, score), min_size=1, max_size=20), min_size=1, max_size=5)


def count_pairs(pairs: list[tuple[float, float]]) -> PairCounts:
    return PairCounts.of(*np.array(pairs, dtype=float).T)


def falls(score: float, event: Event) -> bool:
    return (score >= event.threshold) == event.upper


# --- events -------------------------------------------------------------------------------------------------


def test_an_event_says_what_it_is() -> None:
    assert str(Event(0.25, upper=True)) == "score >= 0.25"
    assert str(Event(0.25, upper=False)) == "score < 0.25"
    assert falls(-math.inf, EVERYTHING)


@given(pairs=st.lists(st.tuples(ANY, ANY), max_size=20), thresholds=st.lists(ANY, min_size=1, max_size=5))
def test_hits_are_those_of_a_count_by_hand(pairs: list[tuple[float, float]], thresholds: list[float]) -> None:
    events = Events(np.array(thresholds))
    block = PairCounts.of(*np.array(pairs, dtype=float).reshape(-1, 2).T)
    hits = events.count(block)
    assert hits.pairs == len(pairs)
    for index in range(len(events)):
        inside = [(falls(first, events[index]), falls(second, events[index])) for first, second in pairs]
        assert hits.world[:, index].tolist() == [sum(i for i, _ in inside), sum(j for _, j in inside)]
        assert hits.both[index] == sum(i and j for i, j in inside)
        assert events[index].count(block) == tuple(hits.world[:, index])


# --- the histogram while scores are few ---------------------------------------------------------------------


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
    """Of a normal law, from scores in many blocks and bins: to within six standard errors."""
    histogram, pairs = ScoreHistogram(log_ratios=True), 40_000
    for _ in range(20):
        histogram.add(PairCounts.of(*rng.normal([[-0.5], [0.5]], 1.0, (2, pairs // 20))))
    events, expected = histogram.events(log_ratios=True)
    k = len(events.thresholds)
    exact = pairs * stats.norm.sf(events.thresholds, [[-0.5], [0.5]], 1.0)
    assert np.allclose(expected[:, :k] + expected[:, k:], pairs)
    assert np.all(np.abs(expected[:, :k] - exact) < 6 * np.sqrt(exact) + 1)
    error = np.abs(expected[:, :k] - exact).mean()
    assert error < 0.6 * np.abs(histogram.events()[1][:, :k] - exact).mean()


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
