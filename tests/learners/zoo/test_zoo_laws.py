"""Output distributions of the zoo: against releases, against plain quadratures, and far in the tails."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from support.laws.mechanism_laws import sparse_vector_law
from support.statistical import check_cdf, check_counts, statistical
from support.zoo import EVERY, LIVELY, alternating, label, masses, spread

from arena import Branches, Density, Finite, Independent, Sample, Unsupported
from learners.zoo.counting_queries import CountingLearner
from learners.zoo.noisy_max import ReportNoisyMax1, ReportNoisyMax2, ReportNoisyMax3, ReportNoisyMax4
from learners.zoo.svt import HaltingSvtLearner, Svt1, Svt2, Svt3, Svt4, Svt5, Svt6, halting_law

RATE = 1e-8
SURE = {"rate": RATE, "power": 1 - 1e-7, "effect": 0.01}
GAMES = 900_000


def people(values: list[float]) -> Sample:
    """One example that gives the queries these values."""
    return Sample([values], [0])


# --- releases follow the output distribution --------------------------------------------------------------


@pytest.mark.thorough
@pytest.mark.parametrize("learner", LIVELY, ids=label)
@statistical(rate=8 * RATE)
def test_releases_follow_the_output_distribution(learner: CountingLearner, rng: np.random.Generator) -> None:
    """Two samples alternate in one batch; at most four checks each."""
    samples = [spread(learner, 2.5), spread(learner, 3.5, falling=True)]
    training, games = alternating(samples, GAMES)
    released = learner.start(GAMES, rng).release(training)
    for sample, rows in zip(samples, games, strict=True):
        check_values(released[rows], learner.law(sample))


def check_values(values: np.ndarray, law: object) -> None:
    if isinstance(law, Finite):
        check_finite(values, law)
    elif isinstance(law, Density):
        check_cdf(quantiles(values, law), lambda u: u, **SURE)
    elif isinstance(law, Independent):
        uniform = [quantiles(column, part) for column, part in zip(values.T, law.parts, strict=True)]
        for column in uniform:
            check_cdf(column, lambda u: u, **SURE)
        cells = sum((column > 0.5) << place for place, column in enumerate(uniform))
        check_counts(np.bincount(cells, minlength=8), np.full(8, 1 / 8), **SURE)
    elif isinstance(law, Branches):
        check_branches(values, law)
    else:
        raise AssertionError(f"no check for {law}")


def check_finite(values: np.ndarray, law: Finite) -> None:
    flat = values.reshape(len(values), -1)
    distinct, counts = np.unique(flat, axis=0, return_counts=True)
    tally = {tuple(row): count for row, count in zip(distinct, counts, strict=True)}
    support = [tuple(row) for row in law.values.reshape(len(law.values), -1)]
    assert set(tally) <= set(support)
    check_counts([tally.get(row, 0) for row in support], law.probabilities, **SURE)


def check_branches(values: np.ndarray, law: Branches) -> None:
    branch, number = law.read(values)
    shares = [masses(part)[1].sum() if isinstance(part, Density) else part for part in law.parts]
    check_counts(np.bincount(branch, minlength=len(shares)), shares, **SURE)
    uniform = [
        quantiles(number[branch == index], part)
        for index, part in enumerate(law.parts)
        if isinstance(part, Density)
    ]
    check_cdf(np.concatenate(uniform), lambda u: u, **SURE)


def quantiles(values: np.ndarray, law: Density) -> np.ndarray:
    """The distribution function at the values, normalised by the density's mass."""
    cuts, mass = masses(law)
    cumulative = np.concatenate([[0.0], np.cumsum(mass)])
    return np.interp(values, cuts, cumulative / cumulative[-1])


@pytest.mark.thorough
@statistical(rate=RATE)
def test_svt_3_with_two_halts_has_the_answers_of_its_noise(rng: np.random.Generator) -> None:
    learner = Svt3(epsilon=1.0, queries=4, halts=2)
    sample = spread(learner, 3.5)
    training, _ = alternating([sample], GAMES)
    released = learner.start(GAMES, rng).release(training)
    answers = np.select([released == -2000, released == -1000], [-1.0, 0.0], 1.0)
    check_finite(
        answers, halting_law(*learner.answer_probabilities(learner.counts(sample)), 2, renewed=False)
    )


# --- sums and integrals ---------------------------------------------------------------------------------


@pytest.mark.thorough
@pytest.mark.parametrize("learner", [*EVERY, *LIVELY], ids=label)
def test_every_output_distribution_has_mass_1(learner: CountingLearner) -> None:
    for sample in (spread(learner, 3.0), spread(learner, 20.0, falling=True)):
        assert mass(learner.law(sample)) == pytest.approx(1, abs=1e-11)


def mass(law: object) -> float:
    if isinstance(law, Finite):
        return float(law.probabilities.sum())
    if isinstance(law, Density):
        return float(masses(law)[1].sum())
    if isinstance(law, Independent):
        return float(np.prod([mass(part) for part in law.parts]))
    assert isinstance(law, Branches)
    return sum(mass(part) if isinstance(part, Density) else part for part in law.parts)


# --- against closed forms and plain recursions ------------------------------------------------------------


@pytest.mark.parametrize("gap", [0.0, 0.3, 1.0])
def test_two_noisy_queries_have_the_distribution_in_closed_form(gap: float) -> None:
    d = gap / 2  # in scales: ε = 1
    with_laplace = ReportNoisyMax1(epsilon=1.0, queries=2).law(people([0.0, gap]))
    with_exponential = ReportNoisyMax2(epsilon=1.0, queries=2).law(people([0.0, gap]))
    assert with_laplace.probabilities[0] == pytest.approx(np.exp(-d) * (2 + d) / 4, abs=1e-14)
    assert with_exponential.probabilities[0] == pytest.approx(np.exp(-d) / 2, abs=1e-14)


@pytest.mark.parametrize(
    ("kind", "noise"), [(ReportNoisyMax3, stats.laplace), (ReportNoisyMax4, stats.expon)]
)
def test_the_maximum_has_the_distribution_function_of_a_maximum(kind: type, noise: object) -> None:
    values = [0.2, 0.9, 0.5]
    law = kind(epsilon=1.0, queries=3).law(people(values))
    cuts, parts = masses(law)
    expected = np.prod([noise.cdf(cuts, q, 2.0) for q in values], axis=0)
    assert np.abs(np.cumsum(parts) - expected[1:]).max() < 1e-12


@pytest.mark.parametrize(
    "learner",
    [
        Svt1(epsilon=1.0, queries=5),
        Svt2(epsilon=1.0, queries=5),
        Svt2(epsilon=1.0, queries=5, halts=2),
        Svt4(epsilon=1.0, queries=5),
    ],
    ids=label,
)
def test_sparse_vector_agrees_with_a_recursion_over_strings(learner: HaltingSvtLearner) -> None:
    values = np.array([0.0, 3.0, 1.5, 0.4, 6.0])
    sample = Sample([values / 6], [0], [6])

    def answers(query: float, rho: np.ndarray) -> dict[str, np.ndarray]:
        above = stats.laplace.sf(learner.threshold + rho - query, scale=learner.noise_scale)
        return {"T": above, ".": 1 - above}

    expected = sparse_vector_law(
        values, answers, scale=learner.threshold_scale, kinks=values - learner.threshold, halts=learner.halts
    )
    law = learner.law(sample)
    letters = {1.0: "T", 0.0: ".", -1.0: ""}
    strings = ["".join(letters[answer] for answer in row) for row in law.values]
    assert dict(zip(strings, law.probabilities, strict=True)) == pytest.approx(expected, abs=1e-9)


def test_answers_to_all_queries_are_those_of_a_learner_that_never_halts() -> None:
    learner = Svt6(epsilon=1.0, queries=5)
    sample = spread(learner, 4.0)
    law = learner.law(sample)
    slow = halting_law(*learner.answer_probabilities(learner.counts(sample)), 6, renewed=False)
    assert np.abs(law.log_density(slow.values) - np.log(slow.probabilities)).max() < 1e-12


def test_svt_5_answers_between_its_queries() -> None:
    law = Svt5(epsilon=1.0, queries=3).law(people([0.0, 1.0, 0.25]))
    cdf = stats.laplace(scale=2.0).cdf
    expected = {
        (1.0, 1.0, 1.0): cdf(-1.0),
        (0.0, 1.0, 1.0): cdf(-0.75) - cdf(-1.0),
        (0.0, 1.0, 0.0): 0.5 - cdf(-0.75),
        (0.0, 0.0, 0.0): 0.5,
    }
    computed = {tuple(row.tolist()): p for row, p in zip(law.values, law.probabilities, strict=True)}
    assert computed == pytest.approx(expected, abs=1e-15)


def test_svt_5_keeps_its_accuracy_at_very_low_thresholds() -> None:
    law = Svt5(epsilon=2.0, queries=2, threshold=-40.0).law(people([1.0, 0.5]))
    chance = np.exp(law.log_density(np.array([[1.0, 0.0]])))[0]
    assert chance == pytest.approx((np.exp(-40.5) - np.exp(-41.0)) / 2, rel=1e-12)


# --- in the tails -----------------------------------------------------------------------------------------


def test_the_maximum_is_accurate_in_the_tails() -> None:
    law = ReportNoisyMax3(epsilon=1.0, queries=3).law(people([0.2, 0.9, 0.5]))
    low, high = law.log_density(np.array([-4000.0, 4000.0]))
    assert low == pytest.approx(np.log(3 / 16) + (3 * -4000.0 - 1.6) / 2, rel=1e-14)
    terms = (np.array([0.2, 0.9, 0.5]) - 4000.0) / 2
    assert high == pytest.approx(np.log(1 / 4) - 1999.9 + np.log(np.exp(terms + 1999.9).sum()), rel=1e-14)


def test_the_maximum_of_exponentials_ends_at_the_largest_query() -> None:
    law = ReportNoisyMax4(epsilon=1.0, queries=2).law(people([0.25, 0.75]))
    below, at, above, far = law.log_density(np.array([0.7, 0.75, 0.75 + 1e-12, 4000.0]))
    assert below == at == -np.inf
    assert above == pytest.approx(np.log(0.5 * -np.expm1(-0.25)), abs=1e-9)
    assert far == pytest.approx(np.log(0.5) - 2000 + np.log(np.exp(0.125) + np.exp(0.375)))


def test_svt_3_has_density_in_the_tails_and_none_at_impossible_releases() -> None:
    law = Svt3(epsilon=1.0, queries=3).law(people([0.5, 0.0, 1.0]))
    far = law.log_density(np.array([[-1000.0, -900.0, -2000.0], [-1000.0, -902.0, -2000.0]]))
    assert far[0] - far[1] == pytest.approx(3.0)  # three exponentials of scale 2
    impossible = [
        [-2000.0, -2000.0, -2000.0],
        [-1000.0, -2000.0, -2000.0],
        [5.0, -1000.0, -2000.0],
        [5.0, 5.0, -2000.0],
        [-2000.0, 5.0, -2000.0],
    ]
    assert (law.log_density(np.array(impossible)) == -np.inf).all()
    assert np.isfinite(law.log_density(np.full((1, 3), -1000.0))).all()


# --- refusals -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("learner", "message"),
    [
        (Svt3(halts=2), "svt-3 has an exact output distribution only for one halt, got 2"),
        (Svt6(queries=15), "may have at most 16,384 sequences of answers"),
        (Svt1(queries=20, halts=20), "may have at most 16,384 sequences of answers"),
    ],
)
def test_output_distributions_that_are_refused(learner: CountingLearner, message: str) -> None:
    with pytest.raises(Unsupported, match=message):
        learner.law(spread(learner, 2.0))
