"""Counts below thresholds: between two numbers, which are one while scores are few."""

from __future__ import annotations

import math
import pickle

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from audits.statistics.estimators.bands import CountBounds, ThresholdCounter
from audits.statistics.score_pairs import PairCounts

ANY = st.floats(allow_nan=False)
BLOCKS = st.lists(st.lists(st.tuples(ANY, ANY), max_size=20), max_size=5)


def under(scores: np.ndarray, counts: CountBounds) -> np.ndarray:
    """How many of the scores (2, n) fall into each event, by hand."""
    upper = (scores[:, :, None] >= counts.events.thresholds).sum(axis=1)
    return np.concatenate([upper, scores.shape[1] - upper], axis=1)


def counter_of(scores: np.ndarray, blocks: int) -> ThresholdCounter:
    ranks = ThresholdCounter()
    for part in np.array_split(scores, blocks, axis=1):
        ranks.add(PairCounts.of(*part))
    return ranks


@given(blocks=BLOCKS)
def test_few_scores_are_counted_exactly_at_every_threshold(blocks: list[list[tuple[float, float]]]) -> None:
    ranks = ThresholdCounter()
    for block in blocks:
        ranks.add(PairCounts.of(*np.array(block, dtype=float).reshape(-1, 2).T))
    scores = np.array([pair for block in blocks for pair in block], dtype=float).reshape(-1, 2).T
    counts = ranks.counts()
    assert counts.pairs == ranks.pairs == scores.shape[1]
    assert counts.events.thresholds.tolist() == np.unique(scores + 0.0)[1:].tolist()
    assert (counts.least == under(scores, counts)).all()
    assert (counts.most == counts.least).all()


def test_many_scores_are_counted_between_two_numbers(rng: np.random.Generator) -> None:
    """Scores that drift, so that thresholds come up late and in the middle of bins."""
    scores = rng.normal([[0.0], [1.0]], 1.0, (2, 20_000)) * np.geomspace(3, 0.01, 20_000)
    counts = counter_of(scores, 40).counts()
    true = under(scores, counts)
    assert (counts.least <= true).all()
    assert (true <= counts.most).all()
    assert (counts.least < counts.most).any()


def test_the_two_numbers_are_close_in_every_tail(rng: np.random.Generator) -> None:
    scores = rng.laplace(0.0, 1.0, (2, 100_000))
    counts = counter_of(scores, 100).counts()
    gap = counts.most - counts.least
    assert (gap / (counts.most + 1)).max() <= 1 / 16
    assert (gap == 0).mean() > 0.9


def test_a_new_extreme_is_exact(rng: np.random.Generator) -> None:
    """Nothing lay beyond it before."""
    first, last = rng.normal(size=(2, 5_000)), rng.normal(size=(2, 500))
    last[0, 0], last[1, 0] = 50.0, -50.0
    ranks = ThresholdCounter()
    for scores in (first, last):
        ranks.add(PairCounts.of(*scores))
    counts = ranks.counts()
    far = int(np.flatnonzero(counts.events.thresholds == 50.0)[0])
    assert counts.least[:, far].tolist() == counts.most[:, far].tolist() == [1, 0]


def test_infinite_scores_are_scores() -> None:
    ranks = ThresholdCounter()
    ranks.add(PairCounts.of(np.array([-math.inf, 0.0, 0.0]), np.array([0.0, math.inf, math.inf])))
    counts = ranks.counts()
    assert counts.events.thresholds.tolist() == [0.0, math.inf]
    assert counts.least.tolist() == [[2, 0, 1, 3], [3, 2, 0, 1]]


def test_equal_scores_and_no_scores_leave_no_threshold() -> None:
    ranks = ThresholdCounter()
    assert len(ranks.counts().events) == 0
    ranks.add(PairCounts.of(np.ones(5), np.ones(5)))
    assert len(ranks.counts().events) == 0
    assert ranks.pairs == 5


def test_memory_is_flat(rng: np.random.Generator) -> None:
    ranks, sizes = ThresholdCounter(), []
    for _ in range(100):
        ranks.add(PairCounts.of(*rng.normal(size=(2, 2_000))))
        sizes.append(len(pickle.dumps(ranks)))
    assert max(sizes) < 1.5 * sizes[10]
