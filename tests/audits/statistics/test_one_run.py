"""The one-run test: equal to a binomial test without δ, valid for true claims, and not trivial."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import binom

from arena.privacy_curves import GaussianCurve
from audits.statistics.bets import Hypotheses
from audits.statistics.betting import CurveFamily, EpsilonGrid
from audits.statistics.estimates import clopper_pearson
from audits.statistics.one_run import RightGuesses, count_guesses, find_bound, guess_bits, is_claim_excluded

Draw = Callable[[np.random.Generator, int], tuple[np.ndarray, np.ndarray]]
ERROR = 0.05


def respond(epsilon: float, each: float = 0.0, together: float = 0.0) -> Draw:
    """Randomised response that reveals each bit with one probability, and all bits with another."""

    def draw(rng: np.random.Generator, m: int) -> tuple[np.ndarray, np.ndarray]:
        bits = rng.integers(2, size=m).astype(bool)
        is_true = rng.random(m) < 1 / (1 + np.exp(-epsilon))
        revealed = (rng.random(m) < each) | (rng.random() < together)
        return np.where(is_true, bits, ~bits) + revealed * np.where(bits, 2, -2), bits

    return draw


def add_noise(mu: float) -> Draw:
    def draw(rng: np.random.Generator, m: int) -> tuple[np.ndarray, np.ndarray]:
        bits = rng.integers(2, size=m).astype(bool)
        return rng.standard_normal(m) + mu * bits, bits

    return draw


def find_least(
    ends: str, canaries: int, guesses: int, points: tuple[np.ndarray, np.ndarray], error: float = ERROR
) -> int:
    """The least number of right guesses that excludes these conditions; one more than all if none does."""
    made = (RightGuesses(ends, canaries, guesses, right) for right in range(guesses + 1))
    return next((each.right for each in made if each.exclude(*points, error)), guesses + 1)


@pytest.mark.parametrize("ends", ["both", "high"])
@pytest.mark.parametrize("epsilon", [0.0, 0.7, 3.0])
def test_without_delta_it_is_nearly_the_binomial_test(epsilon: float, ends: str) -> None:
    law, test = binom(60, 1 / (1 + np.exp(-epsilon))), (ends, 400, 60, (np.array([epsilon]), np.zeros(1)))
    for error in (0.01, 0.05, 0.2):
        assert law.sf(find_least(*test, error) - 1) < error
        assert law.sf(find_least(*test, 1.25 * error) - 2) >= error


def test_delta_makes_it_harder_and_a_curve_of_more_points_easier() -> None:
    points = [(np.ones(1), np.array([delta])) for delta in (0.0, 1e-5, 1e-3, 1e-2)]
    points.append((np.array([0.2, 1.0]), np.array([1e-2, 1e-3])))
    *least, of_two = (find_least("both", 1_000, 160, each) for each in points)
    assert least == sorted(least)
    assert least[0] <= least[1] <= least[0] + 1 < least[3]
    assert of_two < least[2]


def test_conditions_bound_a_distribution_that_fulfils_them() -> None:
    """Theorem 1 by brute force: m = 3 bits, one of which is revealed with probability δ."""
    m, n, delta, epsilon = 3, 2, 0.1, 0.4
    p = 1 / (1 + np.exp(-epsilon))
    # Both guesses are randomised response, and either is right for sure with probability δ.
    right = delta + (1 - delta) * p
    laws = binom.pmf(np.arange(n + 1), n, right)
    tails = np.append(laws[::-1].cumsum()[::-1], 0.0)
    for c in range(1, n + 1):
        above = tails[c + 1 :].sum()
        wrong = max(0.0, ((c * tails[c] + above) / m - delta) * np.exp(-epsilon))
        assert (n - c + 1) * tails[c - 1] >= m * wrong + above + tails[c] - 1e-12


def test_guesses_are_the_extremes_and_ties_do_not_follow_the_order_of_the_file() -> None:
    bits = np.arange(1_000) < 500
    both, high, low = guess_bits(np.where(bits, 1.0, 0.0), bits)
    assert (both.guesses, both.right) == (160, 160)
    assert (high.right, low.right) == (160, 160)
    tied = guess_bits(np.zeros(1_000), bits)
    assert all(made.right < 110 for made in tied)
    assert count_guesses(11) == 10
    assert guess_bits(np.arange(11.0), np.ones(11, bool))[0].right == 5


def count_refuted(draw: Draw, hypotheses: Hypotheses, *, runs: int, canaries: int) -> int:
    known: dict[tuple[RightGuesses, ...], bool] = {}
    refuted = 0
    for seed in range(runs):
        guesses = guess_bits(*draw(np.random.default_rng([3, seed]), canaries))
        if guesses not in known:
            known[guesses] = is_claim_excluded(hypotheses, guesses, ERROR)
        refuted += known[guesses]
    return refuted


TRUE_CLAIMS = {
    "pure": (respond(1.0), EpsilonGrid.make(0.0, claim=1.0)),
    "little": (respond(0.1), EpsilonGrid.make(0.0, claim=0.1)),
    "reveals each bit": (respond(1.0, each=0.001), EpsilonGrid.make(0.001, claim=1.0)),
    "reveals all bits": (respond(0.1, together=0.04), EpsilonGrid.make(0.04, claim=0.1)),
    "curve": (add_noise(0.3), CurveFamily(GaussianCurve(0.3), 1e-5)),
    "hardly any curve": (add_noise(0.05), CurveFamily(GaussianCurve(0.05), 1e-5)),
}


@pytest.mark.parametrize(
    ("runs", "canaries"), [(100, 100), pytest.param(10_000, 1_000, marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("name", TRUE_CLAIMS)
def test_true_claims_are_refuted_at_most_at_the_nominal_rate(name: str, runs: int, canaries: int) -> None:
    refuted = count_refuted(*TRUE_CLAIMS[name], runs=runs, canaries=canaries)
    assert clopper_pearson(np.array([refuted]), runs, 1e-6)[0][0] <= ERROR


FALSE_CLAIMS: dict[str, Hypotheses] = {
    "reveals each bit": EpsilonGrid.make(0.001, claim=0.2),
    "curve": CurveFamily(GaussianCurve(0.1), 1e-5),
}


@pytest.mark.parametrize("name", FALSE_CLAIMS)
def test_claims_of_half_as_much_are_refuted(name: str) -> None:
    draw, true = TRUE_CLAIMS[name]
    guesses = guess_bits(*draw(np.random.default_rng(0), 5_000))
    assert is_claim_excluded(FALSE_CLAIMS[name], guesses, ERROR)
    assert not is_claim_excluded(true, guesses, ERROR)


def test_ideal_canaries_certify_half_of_the_claim() -> None:
    curve = GaussianCurve.of_claim(2.0, 1e-5)
    guesses = guess_bits(*add_noise(curve.mu)(np.random.default_rng(0), 5_000))
    assert 0.7 < find_bound(EpsilonGrid.make(1e-5), guesses, ERROR) < 2
    assert 0.95 < find_bound(CurveFamily(curve, 1e-5), guesses, ERROR) < 2


def test_the_leak_of_one_end_is_found() -> None:
    rng = np.random.default_rng(0)
    bits = rng.integers(2, size=2_000).astype(bool)
    scores = rng.random(2_000) + 2 * (bits & (rng.random(2_000) < 0.3))
    assert find_bound(EpsilonGrid.make(1e-5), guess_bits(scores, bits), ERROR) > 2
    assert find_bound(EpsilonGrid.make(1e-5), guess_bits(-scores, ~bits), ERROR) > 2


def test_bound_is_zero_without_a_leak() -> None:
    bits = np.random.default_rng(0).integers(2, size=1_000).astype(bool)
    assert find_bound(EpsilonGrid.make(0.0), guess_bits(np.arange(1_000.0), bits), ERROR) == 0
