"""Margins: the two examples of the paper with exact numbers, and the band of Definition 17."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom
from support.statistical import check_mean, statistical

from arena import InvalidArgument, Sample
from arena.concepts import FiniteClass, Thresholds
from benchmarks.papers.margins import Margins, estimate_margins, fresh_parts
from learners.pate.teacher import Minimiser, Teacher

RATE = 1e-8
FAILS = Minimiser(FiniteClass([[1, 1, 0, 0], [1, 0, 1, 0], [1, 0, 0, 1]]))
POINTS = np.arange(4)


def vote_error(wrong: float, teachers: int) -> float:
    """The probability that at least half of K independent teachers, each wrong so often, are wrong."""
    return float(binom.sf(math.ceil(teachers / 2) - 1, teachers, wrong))


def chances_of_concepts(size: int) -> np.ndarray:
    """(3,): the probability that each is the minimiser, for `size` uniform points labelled 1."""
    found = np.zeros(3)
    for drawn in product(POINTS, repeat=size):
        concept = FAILS.concepts.erm(np.array(drawn), np.ones(size, int))
        found[int(concept)] += 4.0**-size
    return found


def error_of_vote(chances: np.ndarray, teachers: int) -> float:
    """The expected share of points to which less than half of the teachers give label 1."""
    ones = chances @ FAILS.concepts.matrix
    return float(np.mean([binom.cdf(math.ceil(teachers / 2) - 1, teachers, p) for p in ones]))


@pytest.mark.parametrize("size", [1, 3, 5])
def test_every_concept_is_wrong_about_half(size: int) -> None:
    assert (FAILS.concepts.matrix.mean(axis=1) == 0.5).all()
    assert error_of_vote(chances_of_concepts(size), 1) == pytest.approx(0.5)


def test_the_vote_is_wrong_about_three_quarters_in_the_limit() -> None:
    """With uniform minimisers every point except the first gets 1 from a third of the teachers: ξ = 1/6."""
    uniform = np.full(3, 1 / 3)
    errors = [error_of_vote(uniform, teachers) for teachers in (1, 9, 101, 1_001)]
    assert errors == sorted(errors)
    assert errors[1] == pytest.approx(0.75 * binom.cdf(4, 9, 1 / 3))
    for teachers in (9, 101, 1_001):
        short = 0.75 - error_of_vote(uniform, teachers)
        assert 0 <= short <= 0.75 * math.exp(-2 * teachers / 36)
    assert errors[-1] == pytest.approx(0.75, abs=1e-12)


@pytest.mark.thorough
@statistical(rate=4 * RATE)
def test_expected_margins_follow_the_distribution_of_minimisers(rng) -> None:
    """Fresh samples of three points: the shares of teachers are the probabilities of concepts."""
    teachers = 8_000
    fresh = (Sample(rng.integers(0, 4, 3), [1, 1, 1]) for _ in range(teachers))
    found = estimate_margins(FAILS, fresh, POINTS)
    exact = chances_of_concepts(3) @ FAILS.concepts.matrix
    for share, chance in zip(found.mean, exact, strict=True):
        check_mean(
            np.repeat([0.0, 1.0], [round(teachers * (1 - share)), round(teachers * share)]),
            chance,
            bounds=(0, 1),
            rate=RATE,
            effect=0.08,
            power=1 - RATE,
        )
    assert found.expected == pytest.approx(np.abs(exact - 0.5), abs=found.error(RATE))
    clear = np.abs(exact - 0.5) > found.error(RATE)
    assert clear.sum() == 3
    assert (found.majority_limit == (exact >= 0.5))[clear].all()


@pytest.mark.thorough
@given(st.integers(1, 400), st.floats(0.001, 0.5))
def test_the_error_of_a_vote_is_below_hoeffdings_bound(teachers: int, xi: float) -> None:
    error = vote_error(0.5 - xi, teachers)
    assert error == pytest.approx(
        sum(binom.pmf(k, teachers, 0.5 - xi) for k in range(teachers + 1) if k >= teachers / 2)
    )
    assert error <= math.exp(-2 * teachers * xi**2)


def test_voting_wins() -> None:
    errors = [vote_error(0.4, teachers) for teachers in (1, 101, 1_001)]
    assert errors[0] == 0.4
    assert errors[1] == pytest.approx(0.0209, abs=1e-4)
    assert errors[2] < math.exp(-20.02)


def test_nu_is_the_share_of_points_at_most_xi_from_a_tie() -> None:
    margins = Margins(np.array([0.5, 0.6, 0.1, 1.0]), 10)
    found = margins.high_margin([0.0, 0.1, 0.4, 0.5])
    assert found.nu.tolist() == [0.25, 0.5, 0.75, 1.0]
    assert (found.lower <= found.nu).all()
    assert (found.nu <= found.upper).all()


@pytest.mark.parametrize("seed", range(3))
def test_the_band_contains_the_true_value(seed: int) -> None:
    """Points whose probability of label 1 is uniform: P[Δ ≤ ξ] = 2ξ. At 1e-6, no seed should fail."""
    rng = np.random.default_rng(seed)
    chance = rng.random(3_000)
    margins = Margins(rng.binomial(2_000, chance) / 2_000, 2_000)
    xi = np.linspace(0, 0.5, 51)
    found = margins.high_margin(xi, miss=1e-6)
    assert (found.lower <= 2 * xi).all()
    assert (2 * xi <= found.upper).all()
    # A problem with a fifth of its points on a tie is another.
    assert not (found.upper >= np.minimum(0.3 + 2 * xi, 1)).all()


def test_fresh_parts_are_drawn_from_the_sample(rng) -> None:
    sample = Sample([0.0, 1.0], [0, 1], [1, 3])
    parts = list(fresh_parts(sample, 50, 200, rng))
    assert {part.size for part in parts} == {50}
    ones = np.mean([part.labels @ part.counts / 50 for part in parts])
    assert 0.7 < ones < 0.8


@pytest.mark.thorough
def test_a_realizable_problem_has_a_high_margin(rng) -> None:
    """Thresholds at 1/2: teachers disagree only near 1/2."""
    points = rng.random(4_000)
    sample = Sample(points, points >= 0.5)
    for teacher in (Minimiser(Thresholds()), Teacher.from_text("LogisticRegression(C=100)")):
        asked = rng.random(200)
        margins = estimate_margins(teacher, fresh_parts(sample, 40, 30, rng), asked)
        nu = margins.high_margin(0.4).nu[0]
        assert nu < 0.15
        assert (margins.majority_limit == (asked >= 0.5)).mean() > 0.95


def test_refusals() -> None:
    with pytest.raises(InvalidArgument, match="margins need at least one sample to train on, got 0"):
        estimate_margins(FAILS, [], POINTS)
    with pytest.raises(InvalidArgument, match="miss must be more than 0, got 0"):
        Margins(np.array([0.5]), 3).high_margin(0.1, miss=0)
