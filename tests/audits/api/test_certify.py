"""A bound from scores: valid, by counting; not trivial; and the same whatever the order or the updates."""

from __future__ import annotations

import math
from typing import Any

import attrs
import numpy as np
import pytest

from arena import InvalidArgument
from arena.privacy_curves import GaussianCurve, RenyiCurve
from audits import Auditor, certify, compare

CONFIDENCE = 0.9


def flip(rng: np.random.Generator, epsilon: float, games: int) -> tuple[np.ndarray, np.ndarray]:
    """Scores of randomised response, which is (ε, 0)-DP and no better."""
    truth = math.exp(epsilon) / (1 + math.exp(epsilon))
    return rng.random(games) < 1 - truth, rng.random(games) < truth


def add_noise(rng: np.random.Generator, epsilon: float, games: int) -> tuple[np.ndarray, np.ndarray]:
    """Scores of the Laplace mechanism at a distance of 1, which is (ε, 0)-DP and no better."""
    return rng.laplace(scale=1 / epsilon, size=games), 1 + rng.laplace(scale=1 / epsilon, size=games)


@pytest.mark.parametrize("law", [flip, add_noise])
def test_bound_is_near_the_truth_and_below_it(law: Any) -> None:
    certificate = certify(*law(np.random.default_rng(0), 1.0, 5_000), confidence=0.99)
    assert 0.6 < certificate.epsilon_lower <= 1.0 < certificate.ceiling
    assert (certificate.pairs, certificate.unpaired, certificate.refuted) == (5_000, 0, None)


def test_claim_is_refuted_only_if_it_is_false() -> None:
    scores = flip(np.random.default_rng(1), 2.0, 3_000)
    assert certify(*scores, epsilon=1.0, confidence=0.99).refuted
    assert certify(*scores, epsilon=2.0, confidence=0.99).refuted is False


def count_errors(law: Any, audits: int, *, games: int, updates: int = 1, sort: bool = False) -> int:
    """The number of audits that certify more than the truth after some update."""
    rng, errors = np.random.default_rng(7), 0
    for _ in range(audits):
        auditor = Auditor(confidence=CONFIDENCE)
        wrong = False
        for _ in range(updates):
            scores = law(rng, 0.7, games)
            auditor.update(*(map(np.sort, scores) if sort else scores))
            wrong |= auditor._betting.epsilon_lower > 0.7
        errors += wrong
    return errors


def tolerated(audits: int) -> float:
    """The number of errors at the stated confidence, and four standard deviations more."""
    return audits * (1 - CONFIDENCE) + 4 * math.sqrt(audits * CONFIDENCE * (1 - CONFIDENCE))


@pytest.mark.slow
@pytest.mark.parametrize("law", [flip, add_noise])
@pytest.mark.parametrize(("updates", "sort"), [(1, False), (1, True), (8, False)])
def test_bound_is_valid(law: Any, updates: int, sort: bool) -> None:
    audits = 400
    assert count_errors(law, audits, games=400 // updates, updates=updates, sort=sort) <= tolerated(audits)


def test_order_of_an_update_does_not_count_against_validity() -> None:
    """Sorted scores would depend on each other within a block, so they are shuffled."""
    equal = flip(np.random.default_rng(3), 0.0001, 4_000)
    assert certify(*map(np.sort, equal)).epsilon_lower < 0.1


def test_unequal_numbers_wait_for_partners() -> None:
    rng = np.random.default_rng(4)
    zeros, ones = flip(rng, 2.0, 500)
    auditor = Auditor().update(zeros, ones[:100])
    assert (auditor.certificate.pairs, auditor.certificate.unpaired) == (100, 400)
    auditor.update([], ones[100:])
    assert (auditor.certificate.pairs, auditor.certificate.unpaired) == (500, 0)
    assert auditor.certificate.epsilon_lower > 0.8


def test_an_auditor_without_scores_certifies_nothing() -> None:
    certificate = Auditor(epsilon=1.0).certificate
    assert (certificate.epsilon_lower, certificate.ceiling, certificate.refuted) == (0.0, 0.0, False)


def test_a_number_of_games_fixed_beforehand_certifies_more_and_says_so() -> None:
    rng = np.random.default_rng(5)
    zeros, ones = flip(rng, 1.0, 400)
    fixed = certify(zeros, np.append(ones, [1, 0]), epsilon=0.5, fixed_games=True)
    anytime = certify(zeros, ones)
    assert 0.5 < anytime.epsilon_lower < fixed.epsilon_lower <= 1.0 < fixed.ceiling
    assert (fixed.pairs, fixed.unpaired, fixed.refuted) == (400, 2, True)
    assert "confidence 95 %, valid at this number of games only, fixed beforehand" in fixed.headline
    assert "at this number of games only" in fixed.summary()
    assert "number of games only" not in anytime.summary()


def test_sorted_scores_do_not_count_against_validity_at_a_fixed_number_either() -> None:
    equal = flip(np.random.default_rng(3), 0.0001, 4_000)
    assert certify(*map(np.sort, equal), fixed_games=True).epsilon_lower < 0.1


@pytest.mark.thorough
@pytest.mark.parametrize("law", [flip, add_noise])
@pytest.mark.parametrize("games", [30, 400])
def test_bound_at_a_fixed_number_of_games_is_valid(law: Any, games: int) -> None:
    rng, audits = np.random.default_rng(8), 1_000
    bounds = [
        certify(*law(rng, 0.7, games), confidence=CONFIDENCE, fixed_games=True).epsilon_lower
        for _ in range(audits)
    ]
    assert sum(bound > 0.7 for bound in bounds) <= tolerated(audits)


@pytest.mark.parametrize(
    ("scores", "settings", "message"),
    [
        ("ab", {}, "scores_0"),
        ([[1, 2]], {}, "scores_0"),
        ([1, math.nan], {}, "scores_0 must not contain NaN"),
        ([1], {}, "scores_0 must hold the scores of two games"),
        ([2**53 + 1, 0.5], {}, "integers must lie within ±2^53, where float64 is exact, got 900719925474099"),
        (np.array([2**60, 1]), {}, "integers must lie within ±2^53, where float64 is exact"),
        ([2**70, 1], {}, "integers must lie within ±2^53, where float64 is exact"),
        ([1 + 2j, 1.0], {}, "scores_0 must be an array of numbers, one for each game, got 'an array of"),
        (np.array([1.0, None], object), {}, "scores_0 must be numbers, got 'NoneType'"),
        ([1.0, "a"], {}, "scores_0 must be an array of numbers"),
        (np.ma.array([1.0, 2.0], mask=[0, 1]), {}, "scores_0 must be plain numbers, got 'a masked array'."),
        ([1, 2], {"delta": "0"}, "delta must be a number"),
        ([1, 2], {"delta": 1.5}, "delta must be less than 1"),
        ([1, 2], {"confidence": True}, "confidence must be a number"),
        ([1, 2], {"epsilon": 0}, "epsilon must be more than 0"),
        ([1, 2], {"curve": "mu=1", "epsilon": 1.0}, "not both"),
        ([1, 2], {"curve": "mu=1", "fixed_games": True}, "fixed_games tests one pair of ε and δ"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(scores: Any, settings: dict, message: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        certify(scores, [0.0, 1.0], **settings)
    assert message in str(refused.value)


def test_values_by_position_are_refused_with_their_names() -> None:
    with pytest.raises(TypeError, match=r"delta=\.\.\."):
        certify([1, 2], [1, 2], 0.1)  # type: ignore[misc]


@pytest.mark.parametrize(
    ("curve", "kind", "unit", "truth"),
    [("mu=0.8", GaussianCurve, "mu", 1.0), ("rdp=1.5,0.5", RenyiCurve, "bound", 0.75)],
)
def test_a_curve_is_tested_in_its_own_unit(curve: str, kind: type, unit: str, truth: float) -> None:
    rng = np.random.default_rng(0)
    certificate = certify(rng.normal(0, 1, 30_000), rng.normal(1, 1, 30_000), curve=curve)
    assert certificate.refuted
    assert certificate.delta == 1e-5
    assert isinstance(certificate.curve_lower, kind)
    assert 0.8 * truth < getattr(certificate.curve_lower, unit) < truth
    assert str(certificate.curve_lower) in certificate.summary()
    assert certificate.to_dict()["curve_lower"][unit] == getattr(certificate.curve_lower, unit)


def test_a_true_curve_stands_and_may_certify_nothing() -> None:
    rng = np.random.default_rng(1)
    true = certify(rng.normal(0, 1, 2_000), rng.normal(1, 1, 2_000), curve="mu=1", delta=1e-3)
    assert (true.refuted, true.delta) == (False, 1e-3)
    few = certify([0.0, 1.0, 2.0], [0.0, 1.0, 2.0], curve="mu=1")
    assert few.curve_lower is None
    assert "nothing is certified" in few.summary()


def test_arrays_of_objects_are_numbers() -> None:
    scores = [[0.1, 0.3, 0.2] * 50, [2.1, 1.7, 3.0] * 50]
    bound = certify(*scores).epsilon_lower
    assert certify(*(np.array(each, object) for each in scores)).epsilon_lower == bound > 3


def test_so_few_scores_decide_nothing_of_a_large_claim() -> None:
    few = certify([0.0] * 20, [1.0] * 20, epsilon=8.0)
    assert few.ceiling < 8
    assert few.undecided
    assert few.headline.startswith("undecided, ")
    assert few.to_dict()["undecided"] == few.undecided
    assert compare([few]).headline == "1 results, 0 of them refuted, 1 undecided"
    assert not certify([0.0] * 20, [0.0] * 20, epsilon=0.5).undecided
    assert not certify([0.0] * 20, [0.0] * 20).undecided


def test_a_refuted_claim_is_no_limit_of_what_is_false() -> None:
    refuted = certify([0.0] * 200, [1.0] * 200, epsilon=1.0)
    assert "the claim is false, and no claim of ε < " in refuted.summary()
    at_claim = attrs.evolve(refuted, epsilon_lower=1.0)
    assert "no claim of ε < 1 " not in at_claim.summary()
    assert "ε > 1 at δ = 0" in at_claim.headline
