from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.errors import InvalidArgument
from audits.statistics.betting import Betting
from audits.statistics.score_histogram import EXACT, ScoreBins
from audits.statistics.score_pairs import PairCounts

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
