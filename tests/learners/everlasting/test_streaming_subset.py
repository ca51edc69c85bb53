"""D̂_i: every subset of a round's queries equally likely, and kept as they came."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from support.statistical import check_counts, expect_rejection, statistical

from learners.everlasting import generic_bbl_state as module
from learners.everlasting.generic_bbl_state import StreamingSubset

RATE = 1e-8


def collect(games: int, of: int, choose: int, rng: np.random.Generator) -> np.ndarray:
    collector = StreamingSubset(games, of=of, choose=choose, rng=rng)
    for place in range(of):
        collector.offer(place + 1000.0 * np.arange(games)[:, None])
    return collector.collect()


@pytest.mark.parametrize(("of", "choose"), [(1, 1), (5, 0), (5, 5), (300, 7), (300, 299), (1000, 400)])
@pytest.mark.parametrize("games", [0, 1, 9])
def test_each_game_keeps_distinct_queries_of_its_own(
    games: int, of: int, choose: int, rng: np.random.Generator
) -> None:
    chosen = collect(games, of, choose, rng)
    assert chosen.shape == (games, choose)
    for game, row in enumerate(chosen):
        assert len(set(row.tolist())) == choose
        assert ((row >= 1000 * game) & (row < 1000 * game + of)).all()


@pytest.mark.thorough
@statistical(rate=2 * RATE)
@pytest.mark.parametrize("segment", [2, 256])
def test_every_subset_is_equally_likely(
    segment: int, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_SEGMENT", segment)
    chosen = collect(1, 1, 1, rng)
    collector = StreamingSubset(300_000, of=6, choose=3, rng=rng)
    for first, stop in ((0, 1), (1, 5), (5, 6)):
        collector.offer(np.broadcast_to(np.arange(first, stop), (300_000, stop - first)))
    chosen = collector.collect()
    subsets = list(combinations(range(6), 3))
    index = {s: i for i, s in enumerate(subsets)}
    observed = np.bincount([index[tuple(row)] for row in np.sort(chosen, axis=1).tolist()], minlength=20)
    law = np.full(20, 1 / 20)
    check_counts(observed, law, rate=RATE, effect=0.006, power=1 - 1e-8)
    first = np.bincount(chosen[:, 0].astype(int), minlength=6)  # the order is random as well
    check_counts(first, np.full(6, 1 / 6), rate=RATE, effect=0.01, power=1 - 1e-8)


@statistical(rate=2 * RATE)
def test_places_in_the_order_of_arrival_would_be_noticed(rng: np.random.Generator) -> None:
    chosen = np.sort(np.argsort(rng.random((300_000, 6)), axis=1)[:, :3], axis=1)
    counts = np.bincount(chosen[:, 0], minlength=6)
    with expect_rejection():
        check_counts(counts, np.full(6, 1 / 6), rate=RATE, effect=0.01, power=1 - 1e-8)
