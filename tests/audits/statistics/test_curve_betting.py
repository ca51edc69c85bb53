"""Bets against privacy curves: what they rest on, and what they certify.

How often a true curve is refuted is counted in tests/audits/runs/test_validity.py.
"""

from __future__ import annotations

import numpy as np
import pytest

from arena.privacy_curves import ConcentratedCurve, GaussianCurve, NoisyStepsCurve, PrivacyCurve, RenyiCurve
from audits.statistics.bets import choose_moment_bets
from audits.statistics.betting import Betting, CurveFamily, is_refutable
from audits.statistics.score_histogram import ScoreHistogram
from audits.statistics.score_pairs import PairCounts

DELTA = 1e-5


def bet(curve: PrivacyCurve, mu: float, blocks: tuple[int, ...], rng: np.random.Generator) -> Betting:
    """The test of a curve after games of N(0, 1) against N(mu, 1)."""
    test = Betting(delta=DELTA, confidence=0.95, curve=curve)
    for pairs in blocks:
        test.update(PairCounts.of(rng.normal(0, 1, pairs), rng.normal(mu, 1, pairs)))
    return test


@pytest.mark.parametrize("curve", [GaussianCurve(0.5), NoisyStepsCurve(0.2, 1.0, 10), ConcentratedCurve(0.2)])
def test_conditions_lie_on_the_curves_and_grow_with_the_scale(curve: PrivacyCurve) -> None:
    family = CurveFamily(curve, DELTA)
    indices = np.array([family.claim - 64, family.claim, family.claim + 64])
    epsilons, deltas = family.list_conditions(indices)
    for index, own, at in zip(indices, deltas, epsilons, strict=True):
        scale = 1.01 ** (index - family.claim)
        assert own == pytest.approx(curve.rescale(scale).deltas(at), rel=1e-9)
    same = [curve.rescale(scale).deltas(epsilons[1])[:-3] for scale in (0.9, 1.0, 1.1)]
    assert (np.diff(same, axis=0) > 0).all()


@pytest.mark.parametrize("start", [0, 7, 300, 448, 600])
def test_each_hypothesis_of_a_span_has_a_bet_that_is_legal_against_it(start: int) -> None:
    family = CurveFamily(GaussianCurve(1.0), DELTA)
    for stop in {min(start + 1, len(family)), min(start + 77, len(family)), len(family)}:
        points = family.choose_points(start, stop)
        assert start <= points[0]
        assert points[-1] == stop - 1
        assert (np.diff(points) > 0).all()
        assert not start <= family.claim < stop or family.claim in points


def test_the_bound_comes_close_to_the_truth_and_stays_below(rng: np.random.Generator) -> None:
    """After 65,504 pairs. Without the curve the test certifies 0.65 of the true ε."""
    blocks = (32, 64, 128, *[4_080] * 16)
    truth = GaussianCurve(1.0)
    certified = bet(GaussianCurve(1.3), 1.0, blocks, rng).epsilon_lower
    assert 0.9 < certified / truth.epsilon(DELTA) < 1


def test_a_curve_that_is_too_low_is_refuted_and_a_true_one_is_not(rng: np.random.Generator) -> None:
    """μ is a tenth too low. A true curve is refuted with probability 5 %; the seed is fixed."""
    blocks = (32, 64, 128, *[4_080] * 8)
    assert bet(GaussianCurve(0.9), 1.0, blocks, rng).refuted
    assert not bet(GaussianCurve(1.0), 1.0, blocks, rng).refuted


def test_whether_so_many_games_could_refute_a_curve() -> None:
    settings = {"delta": DELTA, "confidence": 0.95}
    assert not is_refutable([16, 2], GaussianCurve(4.0), **settings)
    assert is_refutable([64, 64, 64, 64], GaussianCurve(4.0), **settings)


def test_the_claim_alone_is_refuted_by_the_same_games(rng: np.random.Generator) -> None:
    scores = rng.normal([[0.0], [1.0]], 1.0, (2, 4_000))
    for claim_only in (False, True):
        test = Betting(delta=DELTA, confidence=0.95, curve=GaussianCurve(0.7), claim_only=claim_only)
        for part in np.split(scores, [500, 1_000, 2_000], axis=1):
            test.update(PairCounts.of(*part))
        assert test.refuted


@pytest.mark.thorough
@pytest.mark.parametrize("curve", [ConcentratedCurve(0.4), RenyiCurve(1.5, 0.6)], ids=["zCDP", "RDP"])
def test_a_bound_on_divergences_comes_out_in_its_own_unit(
    curve: PrivacyCurve, rng: np.random.Generator
) -> None:
    """N(0, 1) against N(1, 1) has D_α = α/2. Events alone show 0.77 of it, and only if they are rare."""
    test = bet(curve, 1.0, (32, 64, 128, *[4_080] * 16), rng)
    assert test.refuted
    certified = test.curve_lower
    assert isinstance(certified, ConcentratedCurve | RenyiCurve)
    order = certified.orders[0]
    assert 0.85 < certified.divergence(order) / (order / 2) < 1


@pytest.mark.parametrize("mu", [1.0, -1.0])
def test_bets_on_moments_return_at_most_what_the_claim_allows(mu: float) -> None:
    """The expected factor, by summation over all pairs of two discrete laws that have the claimed divergence.

    The bets are chosen from other games, which have twice the loss.
    """
    scores = np.linspace(-6, 6, 25)
    laws = np.exp(-0.5 * (scores - np.array([[0.0], [mu]])) ** 2)
    laws /= laws.sum(axis=1, keepdims=True)
    order = 2.0
    divergence = max(np.log((laws[i] ** order * laws[1 - i] ** (1 - order)).sum()) for i in (0, 1))
    family = CurveFamily(RenyiCurve(order, float(divergence)), DELTA, claim_only=True)
    histogram = ScoreHistogram()
    rng = np.random.default_rng(0)
    histogram.add(PairCounts.of(rng.normal(0, 1, 4_000), rng.normal(2 * mu, 1, 4_000)))
    bets = choose_moment_bets(family, histogram, rejected=0)
    assert bets is not None
    assert bets.log_growth(PairCounts.of(np.array([-6.0 * mu]), np.array([6.0 * mu]))).min() > 0
    pairs = (PairCounts.of(np.array([a]), np.array([b])) for a in scores for b in scores)
    growth = np.array([bets.log_growth(pair)[family.claim] for pair in pairs]).reshape(25, 25)
    assert laws[0] @ np.exp(growth) @ laws[1] <= 1
