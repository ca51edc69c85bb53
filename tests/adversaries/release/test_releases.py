"""cover-swap, low-bits and statdp."""

from __future__ import annotations

import math
from fractions import Fraction

import attrs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.simple_players import run_audit

from adversaries.release.cover_swap import CoverSwap, NeighbourPair, find_worst_pair
from adversaries.release.point_swap import CountSwap, LowBits
from adversaries.release.statdp import ALL_DIFFER, StatDP
from arena import Adversary, Finite, InvalidArgument, Learner, PrivacyUnit, Release, Sample, play
from arena.concepts import DecisionLists, Literals, Variables
from arena.step_scores import find_last_bits
from arena.testing import check_adversary
from audits.exact_loss.view_laws import view_law
from audits.runs.verdict import Verdict
from benchmarks.suite import list_statdp_inputs
from learners.lists.private_decision_list import PrivateDecisionList, Rivest
from learners.releases.counts import GaussianCount, GeometricCount, LaplaceCount
from learners.zoo.counting_queries import NoisyHist1
from learners.zoo.svt import Svt1


def learner(d: int = 2, delta: float = 0.01) -> PrivateDecisionList:
    return PrivateDecisionList(concepts=DecisionLists(Variables(d)), delta=delta)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "spec", [learner(), learner(5), Rivest(concepts=DecisionLists(Variables(2)))], ids=repr
)
def test_it_keeps_to_the_contract(spec: PrivateDecisionList) -> None:
    check_adversary(CoverSwap(learner=spec), spec, Release())


@pytest.mark.thorough
@pytest.mark.parametrize("delta", [0.0, 1e-6, 0.01, 0.2])
@pytest.mark.parametrize("features", [Variables(1), Variables(3), Literals(2)], ids=repr)
def test_the_worst_pair_loses_much_of_the_claim_and_no_more(features: Variables, delta: float) -> None:
    spec = PrivateDecisionList(concepts=DecisionLists(features), delta=delta)
    pair = find_worst_pair(spec, features.d, 4)
    assert 0.3 < pair.epsilon(delta) <= spec.claim.epsilon + 1e-9
    alone = Sample([(1.0, *(0.0,) * (features.d - 1))], [0])
    swapped = alone.replace_one(0, alone.points[0], 1)
    assert pair.epsilon(delta) > NeighbourPair(
        (alone, swapped), (spec.law(alone), spec.law(swapped))
    ).epsilon(delta)


def test_the_epsilon_of_a_pair_is_that_of_the_definition() -> None:
    samples = Sample([0.0], [0]), Sample([0.0], [1])
    laws = Finite([0, 1, 2], [0.5, 0.5, 0.0]), Finite([0, 1, 2], [0.25, 0.65, 0.1])
    pair = NeighbourPair(samples, laws)
    for delta in (0.1, 0.12, 0.2):
        # Of all events, brute force.
        events = np.array(np.meshgrid(*[[0, 1]] * 3)).reshape(3, -1)
        first, second = laws[0].probabilities @ events, laws[1].probabilities @ events
        needed = [np.log((b - delta) / a) for a, b in zip(first, second, strict=True) if b > delta and a > 0]
        assert pair.epsilon(delta) == pytest.approx(max(0.0, *needed))


@pytest.mark.thorough
def test_its_score_is_the_log_ratio_so_an_audit_comes_near_the_exact_loss() -> None:
    spec = PrivateDecisionList(concepts=DecisionLists(Variables(2)), epsilon=3.0, delta=0.0)
    pair = find_worst_pair(spec, 2, 4)
    verdict = run_audit(spec, CoverSwap(learner=spec), Release(), games=20_000, seed=3)
    assert not verdict.refuted
    assert 0.5 * pair.epsilon(0.0) < verdict.epsilon_lower <= pair.epsilon(0.0)


@pytest.mark.thorough
def test_an_exact_audit_of_hypotheses_knows_its_score() -> None:
    spec = learner(delta=0.0)
    law = view_law(spec, CoverSwap(learner=spec), Release())
    pair = find_worst_pair(spec, 2, 4)
    assert law.score.epsilon_at(1e-9).middle == pytest.approx(pair.epsilon(1e-9), abs=1e-6)
    assert law.loss.epsilon_at(1e-9).middle == pytest.approx(pair.epsilon(1e-9), abs=1e-6)


def test_beyond_the_laws_it_swaps_a_label() -> None:
    spec = attrs.evolve(learner(6), rate=5.0)
    played = play(spec, CoverSwap(learner=spec), Release(), games=400, seed=1)
    assert played.score[played.worlds].mean() > played.score[~played.worlds].mean() + 0.3


FINITE = st.floats(allow_nan=False, allow_infinity=False)
MODEST = st.floats(min_value=-1e200, max_value=1e200, allow_nan=False)


def last_bit(y: float) -> int:
    """The z of y = odd·2^z, by fractions."""
    number = Fraction(y)
    z = -(number.denominator.bit_length() - 1)
    over = number.numerator
    while over % 2 == 0:
        over, z = over // 2, z + 1
    return z


def audit(learner: Learner, adversary: Adversary = LowBits(), games: int = 10_000) -> Verdict:  # noqa: B008
    return run_audit(learner, adversary, Release(), games=games, confidence=1 - 1e-6, seed=2)


@given(FINITE.filter(lambda y: y != 0))
def test_the_last_bit_is_that_of_the_fraction(y: float) -> None:
    assert find_last_bits(np.array([y])).tolist() == [last_bit(y)]


def test_numbers_without_a_last_bit_have_the_largest_score() -> None:
    odd = np.array([0.0, -0.0, np.inf, -np.inf, np.nan])
    assert find_last_bits(odd).tolist() == [2000.0] * 5
    assert find_last_bits(np.array([5e-324, 1.7976931348623157e308, 3])).tolist() == [-1074, 971, 0]


@given(MODEST.filter(lambda x: abs(x) > 1e-200), MODEST, st.floats(min_value=-2, max_value=2))
def test_noise_leaves_multiples_of_half_the_spacing(x: float, far: float, near: float) -> None:
    """The lemma of the docstring, for noise of any size and for noise of the size of x."""
    for noise in (far, near * x):
        released = x + noise
        assert (Fraction(released) / (Fraction(math.ulp(x)) / 2)).denominator == 1


def test_it_is_an_adversary_like_others() -> None:
    check_adversary(LowBits(), LaplaceCount(), Release())


@pytest.mark.thorough
@pytest.mark.parametrize("learner", [LaplaceCount(), LaplaceCount(epsilon=0.1), GaussianCount(epsilon=0.5)])
def test_noise_in_floating_point_is_caught(learner: Learner) -> None:
    """In a sound game ε = 0.1 would not be refuted by 10,000 games; the other adversary refutes none."""
    verdict = audit(learner)
    assert verdict.refuted
    assert verdict.epsilon_lower > 2.5
    assert not audit(learner, CountSwap()).refuted


def test_noise_in_whole_numbers_is_not() -> None:
    verdict = audit(GeometricCount(), games=100_000)
    assert not verdict.refuted
    assert 0.9 < verdict.epsilon_lower <= 1


def test_counts_of_one_spacing_are_not_told_apart() -> None:
    """2 and 3 have one spacing; 1 and 2 have not."""
    one, two = (Sample([0.0, 1.0], [0, 1], [5, ones]) for ones in (1, 2))
    assert audit(LaplaceCount(), LowBits(sample=two)).epsilon_lower < 1
    assert audit(LaplaceCount(), LowBits(sample=one)).refuted


FIVE = Svt1(queries=5)
PATTERNS = {
    "one-above": ([1, 1, 1, 1, 1], [0, 1, 1, 1, 1]),
    "one-below": ([1, 1, 1, 1, 1], [2, 1, 1, 1, 1]),
    "one-above-rest-below": ([1, 1, 1, 1, 1], [2, 0, 0, 0, 0]),
    "one-below-rest-above": ([1, 1, 1, 1, 1], [0, 2, 2, 2, 2]),
    "half-half": ([1, 1, 1, 1, 1], [2, 2, 0, 0, 0]),
    "all-above": ([1, 1, 1, 1, 1], [2, 2, 2, 2, 2]),
    "all-below": ([1, 1, 1, 1, 1], [0, 0, 0, 0, 0]),
    "x-shape": ([1, 1, 0, 0, 0], [0, 0, 1, 1, 1]),
}


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("pattern", ALL_DIFFER)
def test_the_queries_have_the_values_of_the_pattern(pattern: str, swapped: bool) -> None:
    samples = StatDP(pattern=pattern, swapped=swapped, learner=FIVE).samples()
    values = [FIVE.counts(sample).tolist() for sample in samples]
    assert values == list(PATTERNS[pattern])[:: -1 if swapped else 1]
    assert samples[0].differences(samples[1]) == 1


@pytest.mark.parametrize("queries", [1, 2, 10])
def test_every_pattern_fits_any_number_of_queries(queries: int) -> None:
    for adversary in list_statdp_inputs(queries, all_differ=True):
        first, second = adversary.samples()
        assert first.differences(second) == 1
        assert first.points.shape == (queries + 1, queries)
        assert set(np.unique(np.concatenate([first.points, second.points]))) <= {0.0, 1.0}


@pytest.mark.parametrize("pattern", ALL_DIFFER)
def test_it_conforms_and_challenges_a_training_example(pattern: str) -> None:
    adversary = StatDP(pattern=pattern, learner=FIVE)
    check_adversary(adversary, FIVE, Release())
    played = play(FIVE, adversary, Release(), games=4, seed=1)
    assert played.score is None
    assert played.flag.all()
    assert played.challenges == {PrivacyUnit.TRAINING_EXAMPLE}


def test_people_of_a_histogram_stay_in_one_bin_unless_all_differ() -> None:
    learner = NoisyHist1()
    for adversary in list_statdp_inputs(5, all_differ=False):
        play(learner, adversary, Release(), games=2, seed=1)
    with pytest.raises(InvalidArgument, match="the points of noisy-hist-1 must have L1 norm at most 1"):
        play(learner, StatDP(pattern="all-above", learner=learner), Release(), games=2, seed=1)


@pytest.mark.parametrize("learner", [None, LaplaceCount()], ids=["none", "of numbers"])
def test_the_number_of_queries_must_be_known(learner: LaplaceCount | None) -> None:
    with pytest.raises(InvalidArgument, match=r"the number of counting queries, .* got \(\)\. Set queries"):
        StatDP(learner=learner).samples()
