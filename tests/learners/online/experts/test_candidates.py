"""Candidates: counts between ends, their distribution, privacy by enumeration, missed occurrences."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import stats
from support.laws.mechanism_laws import RATE, SURE
from support.laws.transition_laws import delta, sets_of_one_end, sets_of_two_ends
from support.statistical import check_counts, expect_rejection, statistical

from arena.errors import InvalidArgument
from learners.online.experts.transitions import Candidates, counter_noise_scale, largest_missed_count


def candidates_at_ends(candidates: Candidates, stretches: list[list[int]], games: int) -> list[np.ndarray]:
    """The candidates at the ends of these stretches, with the same points in all games."""
    candidate_sets = []
    for stretch in stretches:
        for x in stretch:
            candidates.observe(np.full(games, x))
        candidate_sets.append(candidates.end_stretch())
    return candidate_sets


def test_with_little_noise_they_are_the_points_that_occurred_often_enough(rng: np.random.Generator) -> None:
    candidates = Candidates(2, 4, rng, ends=5, length=3, epsilon=1e9, threshold=1.5)
    stretches = [[0, 0, 1], [1, 2, 2], [3, 3, 1], [0, 1, 3]]
    for e, found in enumerate(candidates_at_ends(candidates, stretches, 2), start=1):
        assert found.shape == (2, e, 4)
        for i in range(e):
            since = [x for stretch in stretches[i:e] for x in stretch]
            assert found[:, i].tolist() == [[since.count(x) >= 2 for x in range(4)]] * 2


def test_games_are_counted_separately(rng: np.random.Generator) -> None:
    candidates = Candidates(3, 2, rng, ends=1, length=2, epsilon=1e9, threshold=1.5)
    for place in ([0, 1, 0], [0, 1, 1]):
        candidates.observe(np.array(place))
    assert candidates.end_stretch()[:, 0].tolist() == [[True, False], [False, True], [False, False]]


def test_without_counters_every_point_is_a_candidate(rng: np.random.Generator) -> None:
    state = str(rng.bit_generator.state)
    candidates = Candidates(3, 2, rng, ends=2, length=1, epsilon=0, threshold=100.0)
    first, second = candidates_at_ends(candidates, [[0], [1]], 3)
    assert first.shape == (3, 1, 2)
    assert second.shape == (3, 2, 2)
    assert first.all()
    assert second.all()
    assert str(rng.bit_generator.state) == state
    assert counter_noise_scale(2, 0) == counter_noise_scale(0, 1.0) == 0


# --- distribution ------------------------------------------------------------------------------------------


@statistical(rate=RATE)
def test_one_end_follows_the_law(rng: np.random.Generator) -> None:
    check_one_end(rng, epsilon=1.0)


@statistical(rate=2 * RATE)
def test_other_noise_is_detected(rng: np.random.Generator) -> None:
    with expect_rejection():
        check_one_end(rng, epsilon=1.15)


def check_one_end(rng: np.random.Generator, epsilon: float) -> None:
    games = 400_000
    candidates = Candidates(games, 2, rng, ends=1, length=3, epsilon=epsilon, threshold=2.5)
    (found,) = candidates_at_ends(candidates, [[0, 1, 0]], games)
    law = sets_of_one_end([2, 1], counter_noise_scale(1, 1.0), 2.5)
    observed = np.bincount(found[:, 0] @ [2, 1], minlength=4)
    check_counts(observed, [law[()], law[1,], law[0,], law[0, 1]], effect=0.01, **SURE)


@statistical(rate=RATE)
def test_two_ends_follow_the_law(rng: np.random.Generator) -> None:
    games = 400_000
    candidates = Candidates(games, 2, rng, ends=2, length=3, epsilon=1.0, threshold=2.5)
    first, second = candidates_at_ends(candidates, [[0, 1, 0], [0, 0, 0]], games)
    law = sets_of_two_ends(2, 3, counter_noise_scale(2, 1.0), 2.5)
    assert sum(law.values()) == pytest.approx(1, abs=1e-7)
    seen = 4 * first[:, 0, 0] + 2 * second[:, 0, 0] + second[:, 1, 0]
    chances = np.array(list(law.values()))
    check_counts(np.bincount(seen, minlength=8), chances / chances.sum(), effect=0.01, **SURE)


# --- privacy ------------------------------------------------------------------------------------------------


def worst_ratio(counts: list[list[int]], scale: float) -> float:
    """The largest log ratio of a pattern of two points at two ends, over one replaced point."""
    worst = 0.0
    for stretch, gains in itertools.product((0, 1), (0, 1)):
        other = [list(row) for row in counts]
        other[stretch][gains] += 1
        other[stretch][1 - gains] -= 1
        laws = []
        for rows in (counts, other):
            points = [sets_of_two_ends(rows[0][x], rows[1][x], scale, 3.0) for x in (0, 1)]
            laws.append([p * q for p, q in itertools.product(*(law.values() for law in points))])
        worst = max(worst, *(abs(math.log(p / q)) for p, q in zip(*laws, strict=True) if min(p, q) > 1e-6))
    return worst


@pytest.mark.thorough
def test_neighbours_are_as_close_as_is_claimed() -> None:
    epsilon = 1.0
    counts = [[2, 1], [1, 2]]
    assert epsilon / 3 < worst_ratio(counts, counter_noise_scale(2, epsilon)) <= epsilon + 1e-4
    assert worst_ratio(counts, counter_noise_scale(2, epsilon) / 3) > epsilon


def test_one_end_spends_all_its_epsilon_on_two_points() -> None:
    """One point's count rises towards the threshold and the other's falls, at half of the cost each."""
    laws = [sets_of_one_end(counts, counter_noise_scale(1, 0.8), 6.0) for counts in ([3, 10], [2, 11])]
    assert math.log(laws[0][0,] / laws[1][0,]) == pytest.approx(0.8)
    assert delta(laws[0], laws[1], 0.8 + 1e-12) == 0


# --- utility ------------------------------------------------------------------------------------------------


@statistical(rate=1e-9)
def test_frequent_points_are_missed_as_rarely_as_stated(rng: np.random.Generator) -> None:
    """2,000 counters of 8 ends, one stretch of the most that may be missed and one more; an eighth of that is
    missed often."""
    beta = 0.1
    missed = largest_missed_count(8, 1.0, threshold=5.0, beta=beta)
    assert missed > 5
    for occurred, often in ((missed + 1, False), (missed // 8, True)):
        candidates = Candidates(2_000, 1, rng, ends=8, length=occurred, epsilon=1.0, threshold=5.0)
        lost = np.zeros(2_000, bool)
        for _ in range(8):
            for _ in range(occurred):
                candidates.observe(np.zeros(2_000, int))
            lost |= ~candidates.end_stretch().all(axis=(1, 2))
        assert (np.count_nonzero(lost) > stats.binom.isf(1e-9, 2_000, beta)) == often


def test_missed_occurrences_by_hand() -> None:
    assert largest_missed_count(0, 1.0, threshold=5.0, beta=0.1) == 0
    assert largest_missed_count(3, 0.0, threshold=5.0, beta=0.1) == 0
    assert largest_missed_count(3, 1e9, threshold=5.0, beta=0.1) == 5
    assert largest_missed_count(3, 1e9, threshold=5.5, beta=0.1) == 5
    assert largest_missed_count(3, 1e9, threshold=-5.0, beta=0.1) == 0


def test_a_negative_epsilon_is_refused(rng: np.random.Generator) -> None:
    with pytest.raises(InvalidArgument, match="epsilon must be positive"):
        Candidates(1, 1, rng, ends=1, length=1, epsilon=-1.0, threshold=1.0)
