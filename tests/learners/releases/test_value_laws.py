"""Releases of one value have the distributions that they declare."""

from __future__ import annotations

import itertools
from fractions import Fraction
from itertools import pairwise
from math import exp, log, sqrt

import attrs
import numpy as np
import pytest
from scipy import stats
from support.foreign_mechanisms import play_releases
from support.laws.learner_laws import check_common_random_numbers, delta_of_finite, integral
from support.laws.mechanism_laws import selection_law
from support.simple_players import script
from support.statistical import check_cdf, check_counts, expect_rejection, statistical

from arena import InvalidArgument, Learner, Release, Sample, Train, Unsupported, play
from arena.concepts import FiniteClass, Thresholds
from arena.laws import Density, Finite, Independent, ValueLaw
from arena.testing import check_learner
from learners.mechanisms.noise import gaussian_delta
from learners.releases.choices import ExponentialChoice, RandomisedResponse
from learners.releases.counts import GaussianCount, GeometricCount, LaplaceCount, answer_weights

RATE = 1e-8
SURE = {"rate": RATE, "power": 1 - 1e-8}
COUNTED = Sample([0.0, 0.0], [0, 1], [4, 3])
NEIGHBOUR = COUNTED.replace_one(0, 0.0, 1)
LABELLED = Sample([0.0, 1.0, 0.0], [1, 0, 1], [1, 1, 1])
GRID, TWINS = Thresholds([0.0, 1.0, 2.0]), FiniteClass([[0, 0, 1], [1, 1, 0], [0, 0, 1], [1, 1, 1]])
GRADED = Sample([0.0, 1.0, 2.0], [1, 0, 1], [1, 2, 2])  # t = 0, 1, 2, ∞ err 2, 3, 1, 3 times
THREE = Sample([0.0, 0.0], [1, 0], [3, 2])


@pytest.mark.thorough
@pytest.mark.parametrize(
    "learner",
    [
        GaussianCount(),
        GaussianCount(sigma=0.5),
        RandomisedResponse(size=4),
        RandomisedResponse(size=40),
        ExponentialChoice(),
        ExponentialChoice(concepts=FiniteClass([[0, 1], [1, 0], [0, 1]])),
        GeometricCount(),
        GeometricCount(size=1, epsilon=3.0),
    ],
    ids=lambda learner: learner.name,
)
def test_learners_conform(learner: Learner) -> None:
    check_learner(learner)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("learner", "wrong", "sample", "cdf"),
    [
        (LaplaceCount(epsilon=0.5), {"epsilon": 0.55}, COUNTED, stats.laplace(3, 2).cdf),
        (GaussianCount(sigma=2.0), {"sigma": 2.2}, COUNTED, stats.norm(3, 2).cdf),
        (RandomisedResponse(size=3, epsilon=0.8), {"epsilon": 0.9}, LABELLED, None),
        (ExponentialChoice(concepts=GRID, epsilon=1.5), {"epsilon": 1.7}, GRADED, None),
        (ExponentialChoice(concepts=TWINS, epsilon=1.5), {"epsilon": 1.7}, GRADED, None),
        (GeometricCount(size=5, epsilon=0.5), {"epsilon": 0.55}, THREE, None),
    ],
    ids=lambda value: value.name if isinstance(value, Learner) else "",
)
@statistical(rate=3 * RATE)
def test_releases_follow_the_law_and_not_one_nearby(learner, wrong, sample, cdf) -> None:  # type: ignore[no-untyped-def]
    def check(player: Learner) -> None:
        released = play_releases(player, sample, 400_000)
        if cdf is None:
            assert_counts(released, learner.law(sample))
        else:
            check_cdf(released, cdf, effect=0.01, **SURE)

    check(learner)
    with expect_rejection():
        check(attrs.evolve(learner, **wrong))


# --- laplace-count ----------------------------------------------------------------------------------------


def test_laplace_count_tells_its_density() -> None:
    law = LaplaceCount(epsilon=0.5).law(COUNTED)
    x = np.linspace(-20, 20, 41)
    assert law.log_density(x) == pytest.approx(stats.laplace.logpdf(x, loc=3, scale=2))
    assert integral(law) == pytest.approx(1.0, abs=1e-12)
    assert law.kinks == (3.0,)


@pytest.mark.parametrize("epsilon", [0.0, 0.2, 0.49, 0.5, 0.8])
def test_laplace_count_has_the_curve_of_laplace_noise(epsilon: float) -> None:
    """δ(ε′) of Laplace noise for ε is 1 − exp((ε′ − ε)/2), and 0 from ε on."""
    learner = LaplaceCount(epsilon=0.5)
    for one, other in itertools.permutations((COUNTED, NEIGHBOUR)):
        found = integral(learner.law(one), learner.law(other), epsilon)
        assert found == pytest.approx(max(0.0, 1 - exp((epsilon - 0.5) / 2)), abs=1e-12)


# --- gaussian-count ---------------------------------------------------------------------------------------


def test_gaussian_count_tells_its_density() -> None:
    law = GaussianCount(sigma=2.0).law(COUNTED)
    x = np.linspace(-200, 200, 41)
    assert law.log_density(x) == pytest.approx(stats.norm.logpdf(x, 3, 2))
    assert integral(law) == pytest.approx(1.0, abs=1e-12)
    assert law.kinks == ()


@pytest.mark.parametrize("learner", [GaussianCount(), GaussianCount(sigma=0.7), GaussianCount(epsilon=0.1)])
def test_the_claim_of_gaussian_count_is_attained(learner: GaussianCount) -> None:
    claim = learner.claim
    for one, other in itertools.permutations((COUNTED, NEIGHBOUR)):
        found = integral(learner.law(one), learner.law(other), claim.epsilon)
        assert found == pytest.approx(claim.delta, rel=1e-9, abs=1e-13)


def test_gaussian_count_is_calibrated_to_its_claim() -> None:
    claim = GaussianCount(epsilon=0.5, delta=1e-6).claim
    assert claim.epsilon == 0.5
    assert claim.delta <= 1e-6
    assert claim.delta == pytest.approx(1e-6, rel=1e-9)
    classical = sqrt(2 * log(1.25e6)) / 0.5
    assert GaussianCount(epsilon=0.5, delta=1e-6).sigma_run < 0.9 * classical
    assert GaussianCount(sigma=3.0).claim.delta == gaussian_delta(epsilon=1.0, sigma=3.0)


# --- randomised-response ----------------------------------------------------------------------------------


def test_randomised_response_flips_each_label_in_its_place() -> None:
    law = RandomisedResponse(size=3, epsilon=log(3)).law(LABELLED)
    found = np.exp(law.log_density(np.array([[1, 0, 1], [0, 0, 1], [0, 1, 0], [2, 0, 1]])))
    assert found == pytest.approx([27 / 64, 9 / 64, 1 / 64, 0])
    assert (
        play_releases(RandomisedResponse(size=3, epsilon=30.0), LABELLED, games=2).tolist() == [[1, 0, 1]] * 2
    )


def test_many_labels_have_the_law_of_few() -> None:
    sample = Sample(np.arange(13), np.arange(13) % 2)
    law = RandomisedResponse(size=13, epsilon=0.5).law(sample)
    assert isinstance(law, Independent)
    values = np.random.default_rng(1).integers(0, 2, (50, 13))
    right = (values == np.arange(13) % 2).sum(axis=1)
    assert law.log_density(values) == pytest.approx(0.5 * right - 13 * np.log1p(exp(0.5)))


def test_the_claim_of_randomised_response_is_attained() -> None:
    learner = RandomisedResponse(size=3, epsilon=0.8)
    leads = [
        lead(learner, LABELLED, LABELLED.replace_one(run, 1.0, label)) for run in range(3) for label in (0, 1)
    ]
    assert max(leads) == pytest.approx(learner.claim.epsilon, rel=1e-12)
    flipped = LABELLED.replace_one(0, 0.0, 0)
    expected = (exp(0.8) - exp(0.3)) / (1 + exp(0.8))
    found = delta_of_finite(learner.law(LABELLED), learner.law(flipped), 0.3)
    assert found == pytest.approx(expected, rel=1e-12)


def test_randomised_response_wants_the_size_it_is_set_for() -> None:
    message = r"randomised-response is configured for 1 example, got 3\. Set size to the size of the sample\."
    with pytest.raises(Unsupported, match=message):
        RandomisedResponse().law(LABELLED)
    with pytest.raises(Unsupported, match=message):
        play(RandomisedResponse(), script(Train(LABELLED)), Release(), games=2, seed=1)
    assert RandomisedResponse().adapt_to(3).sample_size == 3


# --- exponential-choice -----------------------------------------------------------------------------------


def test_exponential_choice_tells_the_law_of_its_mechanism() -> None:
    law = ExponentialChoice(concepts=GRID, epsilon=1.5).law(GRADED)
    expected = selection_law([-2, -3, -1, -3], epsilon=1.5, sensitivity=1)
    assert np.exp(law.log_density(np.array([0.0, 1.0, 2.0, np.inf]))) == pytest.approx(expected)


def test_the_claim_of_exponential_choice_holds_for_every_neighbour() -> None:
    learner = ExponentialChoice(concepts=GRID, epsilon=1.5)
    leads = [
        lead(learner, GRADED, GRADED.replace_one(run, point, label))
        for run, point, label in itertools.product(range(3), GRID.domain or (), (0, 1))
    ]
    assert 0.5 < max(leads) <= learner.claim.epsilon + 1e-12


@pytest.mark.parametrize("concepts", [Thresholds(), Thresholds(range(4_097))])
def test_exponential_choice_needs_a_finite_domain(concepts: Thresholds) -> None:
    with pytest.raises(InvalidArgument, match="over a finite domain of at most 4,096 points") as refused:
        ExponentialChoice(concepts=concepts)
    assert str(refused.value).endswith("Choose one, for instance concepts=thresholds:1..16.")


# --- all of them ------------------------------------------------------------------------------------------


def assert_counts(values: np.ndarray, law: ValueLaw) -> None:
    """Do the values (n, ...) follow a finite law?"""
    assert isinstance(law, Finite)
    known = {str(value.tolist()): float(p) for value, p in zip(law.values, law.probabilities, strict=True)}
    seen, counts = np.unique(values, axis=0, return_counts=True)
    observed = {str(value.tolist()): int(count) for value, count in zip(seen, counts, strict=True)}
    assert set(observed) <= set(known)
    check_counts([observed.get(name, 0) for name in known], [*known.values()], effect=0.01, **SURE)


def lead(learner: Learner, one: Sample, other: Sample) -> float:
    """The largest log-likelihood ratio between two finite laws."""
    laws = [learner.law(sample) for sample in (one, other)]
    assert isinstance(laws[0], Finite)
    assert not isinstance(laws[1], Density)
    values = laws[0].values
    return float(np.abs(laws[0].log_density(values) - laws[1].log_density(values)).max())


def paper_probability(size: int, epsilon: float, count: int, answer: int) -> float:
    """The chance of an answer in the truncated geometric mechanism: what lies beyond an end falls to it."""
    a = exp(-epsilon)

    def noise(k: int) -> float:
        return (1 - a) / (1 + a) * a ** abs(k)

    if 0 < answer < size:
        return noise(answer - count)
    beyond = range(10_000)
    return sum(noise(answer - count + (-k if answer == 0 else k)) for k in beyond)


@pytest.mark.parametrize(("size", "epsilon"), [(1, 1.0), (5, 0.3), (12, 2.0)])
def test_chances_are_those_of_the_paper(size: int, epsilon: float) -> None:
    table = answer_weights(size, epsilon)
    assert [sum(map(int, row)) for row in table] == [2**63] * (size + 1)
    for count in range(size + 1):
        for answer in range(size + 1):
            wanted = paper_probability(size, epsilon, count, answer)
            assert int(table[count, answer]) / 2**63 == pytest.approx(wanted, rel=1e-6)


@pytest.mark.thorough
@pytest.mark.parametrize(("size", "epsilon"), [(10, 1.0), (400, 0.1), (13, 3.0), (1, 40.0)])
def test_the_claim_is_the_largest_ratio(size: int, epsilon: float) -> None:
    table = answer_weights(size, epsilon)
    ratios = [
        Fraction(int(one), int(other))
        for above, below in pairwise(table)
        for pair in zip(above, below, strict=True)
        for one, other in (pair, pair[::-1])
    ]
    claim = GeometricCount(size=size, epsilon=epsilon).claim
    assert claim.epsilon == pytest.approx(log(max(ratios)), abs=1e-12)
    rounded = 1 / int(table.min())
    assert epsilon - 1e-12 <= claim.epsilon <= epsilon + 1e-12 + 3 * rounded
    assert claim.delta == 0


def test_chances_that_would_vanish_are_refused() -> None:
    with pytest.raises(InvalidArgument) as refused:
        GeometricCount(size=50, epsilon=1.0)
    assert str(refused.value) == (
        "the noise must reach from one end of 0..n to the other with a probability of at least 2^-63, "
        "got 'n = 50, ε = 1'. Choose size and epsilon such that n·ε is at most 40."
    )


def test_another_size_is_refused() -> None:
    with pytest.raises(Unsupported, match="geometric-count is configured for 10 examples, got 5"):
        GeometricCount().law(THREE)
    assert GeometricCount().adapt_to(5).law(THREE).probabilities.argmax() == 3


def test_it_is_in_step() -> None:
    check_common_random_numbers(
        GeometricCount(size=20), Sample([0.0], [0], [20]), Sample([0.0, 0.0], [0, 1], [10, 10])
    )
