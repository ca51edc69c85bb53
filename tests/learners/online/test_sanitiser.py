"""The sanitiser and its learners, and agnostic-batched: claim, synthetic sequences, regret."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from support.laws.mechanism_laws import RATE, SURE
from support.laws.sanitiser_laws import (
    DATA,
    FUNCTIONS,
    Law,
    discriminator_law,
    furthest,
    learn_repeatedly,
    learner_law,
)
from support.online.adversaries import measure_regret
from support.simple_players import script
from support.statistical import check_counts, check_mean, expect_rejection, statistical

from arena import Adaptive, Example, play
from arena.concepts import Intervals, Thresholds
from arena.concepts.consistency import labellings
from arena.errors import InvalidArgument
from benchmarks.papers.subsampled_learner import SubsampledLearner
from learners.mechanisms import exponential_experts
from learners.mechanisms.accounting import best_composition
from learners.online.agnostic_batched import AgnosticBatched
from learners.online.sanitiser import (
    WIN,
    Discriminator,
    ExponentialLearner,
    ProposalGenerator,
    Sanitiser,
    answers_bound,
    error_functions,
    round_to_counts,
    rounding_error,
)


@statistical(rate=RATE)
def test_the_exponential_learner_follows_its_distribution(rng: np.random.Generator) -> None:
    found = learn_repeatedly(ExponentialLearner(0.7), rng, 400_000)
    law = learner_law(FUNCTIONS, DATA, 0.7)
    check_counts(np.bincount(found, minlength=4), list(law.values()), effect=0.01, **SURE)


def test_functions_that_are_not_allowed_are_never_learned(rng: np.random.Generator) -> None:
    found = learn_repeatedly(ExponentialLearner(0.5), rng, 200, np.array([False, True, False, True]))
    assert set(found.tolist()) == {1, 3}


@statistical(rate=1e-9)
def test_the_exponential_learner_errs_within_its_bound(rng: np.random.Generator) -> None:
    """100,000 runs; a fifth of the bound is exceeded more often than beta."""
    learner, beta = ExponentialLearner(2.0), 0.05
    found = learn_repeatedly(learner, rng, 100_000)
    errors = (FUNCTIONS[:, [x for x, _ in DATA]] != [y for _, y in DATA]).sum(axis=1)
    excess = (errors - errors.min())[found]
    most = stats.binom.isf(1e-9, 100_000, beta)
    assert np.count_nonzero(excess > learner.excess_errors(4, beta)) <= most
    assert np.count_nonzero(excess > learner.excess_errors(4, beta) / 5) > most


SANITISER_FUNCTIONS = np.array([[0, 0, 1], [0, 1, 1]], bool)
BOTH = np.concatenate([SANITISER_FUNCTIONS, ~SANITISER_FUNCTIONS])
ALPHA, STEP = 0.5, 0.8
POINTS = [0, 0, 1, 2, 2, 2]
UNIFORM = [1 / 3] * 3


def tally_of_sanitiser(points: tuple[int, ...] | list[int], games: int = 1) -> np.ndarray:
    return np.tile(np.bincount(points, minlength=3), (games, 1))


# --- the discriminator --------------------------------------------------------------------------------------


def answers(rng: np.random.Generator, epsilon: float, proposal: list[float]) -> np.ndarray:
    discriminator = Discriminator(BOTH, ALPHA, epsilon, ExponentialLearner(epsilon))
    games = 400_000
    functions = discriminator.respond(rng, tally_of_sanitiser(POINTS, games), np.tile(proposal, (games, 1)))
    return np.bincount(functions + 1, minlength=5)


def answer_distribution(epsilon: float, proposal: list[float]) -> list[float]:
    law = discriminator_law(BOTH, POINTS, proposal, ALPHA, epsilon)
    return [law[row] for row in range(-1, 4)]


@pytest.mark.thorough
@pytest.mark.parametrize("proposal", [UNIFORM, [0.9, 0.05, 0.05], [0.0, 0.0, 1.0]])
@statistical(rate=RATE)
def test_answers_follow_the_law(rng: np.random.Generator, proposal: list[float]) -> None:
    check_counts(answers(rng, STEP, proposal), answer_distribution(STEP, proposal), effect=0.01, **SURE)


@pytest.mark.thorough
@statistical(rate=2 * RATE)
def test_answers_of_other_noise_is_detected(rng: np.random.Generator) -> None:
    with expect_rejection():
        observed, expected = answers(rng, 1.2 * STEP, UNIFORM), answer_distribution(STEP, UNIFORM)
        check_counts(observed, expected, effect=0.01, **SURE)


@pytest.mark.parametrize("proposal", [UNIFORM, [0.8, 0.1, 0.1], [0.1, 0.1, 0.8]])
def test_an_answer_is_as_private_as_its_three_steps(proposal: list[float]) -> None:
    """All datasets of four examples and their neighbours."""
    worst = 0.0
    for rest in itertools.combinations_with_replacement(range(3), 3):
        laws: list[Law] = [
            discriminator_law(BOTH, [first, *rest], proposal, ALPHA, STEP) for first in range(3)
        ]
        worst = max(worst, furthest(laws))
    assert 3 * STEP / 3 < worst <= 3 * STEP


# --- the generator ------------------------------------------------------------------------------------------


@given(seed=st.integers(0, 10**6), alpha=st.floats(0.05, 0.5))
def test_a_correct_discriminator_wins_within_the_bound(seed: int, alpha: float) -> None:
    rng = np.random.default_rng(seed)
    functions = rng.integers(0, 2, size=(20, 8)).astype(bool)
    functions = np.concatenate([functions, ~functions])
    data = rng.dirichlet(np.full(8, 0.2))
    generator = ProposalGenerator(1, 8, rate=2 * alpha)
    for _ in range(answers_bound(8, alpha) + 1):
        gaps = functions @ (data - generator.proposals[0])
        found = np.flatnonzero(gaps >= alpha / 2)
        if not found.size:
            break
        generator.update(np.array([0]), functions[rng.choice(found)][None])  # any that tells them apart
    assert not found.size


def test_rates_without_a_bound_are_refused() -> None:
    assert answers_bound(32, 0.1) == math.floor(2 * math.log(32) / 0.01)
    assert answers_bound(32, 0.1, rate=0.1) > answers_bound(32, 0.1)
    for rate in (0.0, 0.4, 1.0):
        with pytest.raises(InvalidArgument, match="rate must be more than 0 and less than 4·alpha, got"):
            answers_bound(32, 0.1, rate)


# --- the sanitiser ------------------------------------------------------------------------------------------


def sanitiser(**change: Any) -> Sanitiser:
    return Sanitiser(
        SANITISER_FUNCTIONS, **{"epsilon": 6.0, "delta": 0.0, "alpha": ALPHA, "calls": 2, **change}
    )


def two_calls_law(points: tuple[int, ...] | list[int], step: float) -> Law:
    """The distribution of transcripts of two calls, numbered 5·first + second + 6, or 0 if the first is
    WIN."""
    law: Law = {}
    first = discriminator_law(BOTH, points, UNIFORM, ALPHA, step)
    for row, p in first.items():
        if row == WIN:
            law[0] = p
            continue
        weights = np.exp(2 * ALPHA * BOTH[row])
        second = discriminator_law(BOTH, points, list(weights / weights.sum()), ALPHA, step)
        law |= {5 * row + other + 6: p * q for other, q in second.items()}
    return law


@pytest.mark.thorough
@statistical(rate=RATE)
def test_distributions_follow_the_law_of_the_transcripts(rng: np.random.Generator) -> None:
    """Transcripts with the same final distribution share a cell."""
    spec, games = sanitiser(), 400_000
    found = spec.run(rng, tally_of_sanitiser(POINTS, games))
    weights = {0: np.zeros(3)}
    for row, other in itertools.product(range(4), range(-1, 4)):
        second = BOTH[other] if other != WIN else np.zeros(3)
        weights[5 * row + other + 6] = 2 * ALPHA * (1.0 * BOTH[row] + second)
    cells: dict[bytes, float] = {}
    for key, p in two_calls_law(POINTS, spec.step).items():
        e = np.exp(weights[key])
        cell = (e / e.sum()).round(9).tobytes()
        cells[cell] = cells.get(cell, 0.0) + p
    seen, counts = np.unique(found.distribution.round(9), axis=0, return_counts=True)
    by_cell = {row.tobytes(): count for row, count in zip(seen, counts, strict=True)}
    assert by_cell.keys() <= cells.keys()
    observed = [by_cell.get(cell, 0) for cell in cells]
    check_counts(observed, list(cells.values()), effect=0.01, **SURE)


def test_two_calls_are_as_private_as_claimed() -> None:
    """All datasets of three examples and their neighbours."""
    spec = sanitiser()
    claim = spec.guarantee(3)
    assert claim == pytest.approx((6.0, 0.0))
    laws = [
        [two_calls_law((first, *rest), spec.step) for first in range(3)]
        for rest in itertools.combinations_with_replacement(range(3), 2)
    ]
    worst = max(furthest(family) for family in laws)
    assert claim.epsilon / 4 < worst <= claim.epsilon


def test_the_claim_is_the_composition_of_the_steps() -> None:
    spec = sanitiser(epsilon=1.0, delta=1e-6, calls=100)
    assert spec.guarantee(50) == best_composition(300, spec.step, slack=1e-6)
    assert spec.guarantee(50).epsilon <= 1.0
    assert best_composition(300, 1.001 * spec.step, slack=1e-6).epsilon > 1.0


def test_the_cost_of_another_learner_is_added() -> None:
    learner = SubsampledLearner(0.01)
    spec = sanitiser(epsilon=1.0, delta=1e-6, calls=5, learner=learner)
    steps = best_composition(10, spec.step, slack=5e-7)
    learned = best_composition(5, *learner.guarantee(400), slack=5e-7)
    assert spec.guarantee(400) == pytest.approx(
        (steps.epsilon + learned.epsilon, steps.delta + learned.delta)
    )
    assert spec.sample_size(0.1) == math.inf


def test_the_sanitiser_runs_with_algorithm_4(rng: np.random.Generator) -> None:
    spec = sanitiser(epsilon=500.0, calls=8, alpha=0.2, learner=SubsampledLearner(0.1))
    counts = np.tile([[450, 50, 500]], (20, 1))
    assert errors(spec, spec.run(rng, counts).distribution, counts).mean() < 0.15


@pytest.mark.parametrize("concepts", [Thresholds(range(4)), Intervals(range(4))], ids=str)
@statistical(rate=1e-9)
def test_errors_are_within_alpha_at_the_theorem_s_sample_size(
    concepts: Thresholds | Intervals, rng: np.random.Generator
) -> None:
    """500 datasets; an eighth of alpha is exceeded more often than beta."""
    beta, games = 0.1, 500
    functions = error_functions(labellings(concepts))
    spec = Sanitiser(functions, epsilon=2.0, delta=1e-6, alpha=0.4)
    size = int(spec.sample_size(beta))
    counts = rng.multinomial(size, rng.dirichlet(np.full(8, 0.1), size=games))
    found = spec.run(rng, counts)
    worst = errors(spec, found.distribution, counts)
    most = stats.binom.isf(1e-9, games, beta)
    assert np.count_nonzero(~found.won | (worst > spec.alpha)) <= most
    assert np.count_nonzero(worst > spec.alpha / 8) > most


def test_few_calls_have_no_error_bound() -> None:
    assert sanitiser().sample_size(0.1) == math.inf
    full = sanitiser(calls=None)
    assert full.sample_size(0.1) < math.inf
    assert sanitiser(calls=full.most_calls).sample_size(0.1) == full.sample_size(0.1)
    assert sanitiser(calls=full.most_calls - 1).sample_size(0.1) == math.inf


def errors(spec: Sanitiser, distribution: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """(n,): the largest error of a function's mean."""
    data = counts / counts.sum(axis=1, keepdims=True)
    return np.abs((distribution - data) @ spec.functions.T).max(axis=1)


def test_games_with_other_numbers_of_examples_are_refused(rng: np.random.Generator) -> None:
    with pytest.raises(InvalidArgument, match="sanitised together must have as many examples each"):
        sanitiser().run(rng, np.array([[1, 1, 0], [1, 0, 0]]))


# --- labels, and synthetic data -----------------------------------------------------------------------------


def test_error_functions_are_1_where_the_concept_errs() -> None:
    concepts = labellings(Intervals(range(5)))
    functions = error_functions(concepts)
    for (c, concept), x, y in itertools.product(enumerate(concepts), range(5), range(2)):
        assert functions[c, y * 5 + x] == (concept[x] != y)


@given(seed=st.integers(0, 10**6), size=st.integers(1, 300), points=st.integers(1, 12))
def test_synthetic_data_follow_the_distribution(seed: int, size: int, points: int) -> None:
    rng = np.random.default_rng(seed)
    distribution = rng.dirichlet(np.full(points, 0.3), size=4)
    functions = rng.integers(0, 2, size=(30, points)).astype(bool)
    counts = round_to_counts(distribution, size)
    assert (counts >= 0).all()
    assert (counts.sum(axis=1) == size).all()
    moved = np.abs((counts / size - distribution) @ functions.T).max()
    assert moved <= rounding_error(functions, size) + 1e-9


# --- the claim ----------------------------------------------------------------------------------------------


def test_the_claim_is_that_of_one_sanitiser() -> None:
    learner = AgnosticBatched(epsilon=0.7, delta=1e-5, calls=40)
    cost = best_composition(120, learner.sanitiser.step, slack=1e-5)
    assert (learner.claim.epsilon, learner.claim.delta) == cost
    assert 0.6999 < learner.claim.epsilon <= 0.7
    assert AgnosticBatched(epsilon=0.7, delta=1e-5, calls=40, rounds=100_000).claim == learner.claim


@pytest.mark.parametrize(("rounds", "batches"), [(4, 0), (5, 1), (8, 1), (9, 2)])
def test_the_last_batch_is_not_sanitised(rounds: int, batches: int) -> None:
    learner = AgnosticBatched(rounds=rounds, batch=4)
    assert learner.batches == batches
    assert (learner.claim.epsilon > 0) == (batches > 0)
    state = learner.start(2, np.random.default_rng(1))
    for _ in range(rounds):
        state.hypothesis()
        state.observe(np.zeros(2), np.ones(2, np.int8))
    assert state._counts.sum() == 2 * (rounds - 4 * batches)


def test_hypotheses_do_not_depend_on_the_current_batch() -> None:
    told = [script(*[Example(x, y)] * 8) for x, y in ((0.0, 1), (15.0, 0))]
    learner = AgnosticBatched(rounds=9, batch=8)
    shown = [play(learner, t, Adaptive(8), games=50, seed=3, record=True).replies for t in told]
    for one, other in zip(*shown, strict=True):
        assert np.array_equal(one.parts[0], other.parts[0])


# --- synthetic sequences -----------------------------------------------------------------------------------


def test_every_batch_adds_one_synthetic_example_to_each_sequence() -> None:
    """For large ε, synthetic data have the means of the real data, up to alpha and the rounding."""
    learner = AgnosticBatched(rounds=121, batch=40, epsilon=1e4, alpha=0.1, calls=None)
    state = learner.start(3, np.random.default_rng(2))
    rng = np.random.default_rng(3)
    x, y = rng.integers(0, 16, size=(120, 3)), rng.integers(0, 2, size=(120, 3))
    for row, labels in zip(x, y, strict=True):
        state.hypothesis()
        state.observe(row.astype(float), labels)
    functions, error = learner.functions, 0.1 + rounding_error(learner.functions, 40)
    for batch in range(3):
        for game in range(3):
            part = slice(40 * batch, 40 * batch + 40)
            real = functions[:, 16 * y[part, game] + x[part, game]].mean(axis=1)
            synthetic = functions[:, state._sequences[batch, game]].mean(axis=1)
            assert np.abs(real - synthetic).max() <= error


@statistical(rate=1e-8)
def test_synthetic_examples_are_in_random_order(rng: np.random.Generator) -> None:
    """The first sequence has an example at a low point as often as the others."""
    learner = AgnosticBatched(rounds=5, batch=4, epsilon=1e4, alpha=0.05, calls=None)
    state = learner.start(5_000, rng)
    for t in range(4):
        state.observe(np.full(5_000, float(t % 2) * 15), np.zeros(5_000, np.int8))
    low = state._sequences[0] < 8
    assert 0.2 < low.mean() < 0.8
    apart = low[:, 0] - low.mean(axis=1)
    check_mean(apart, 0, bounds=(-1, 1), rate=1e-8, effect=0.2, power=1 - 1e-8)


@pytest.mark.thorough
@statistical(rate=1e-8)
def test_concepts_are_drawn_by_hedge_on_a_random_sequence(rng: np.random.Generator) -> None:
    """Two sequences of one example each; the distribution of the next concept is computed by hand."""
    learner = AgnosticBatched(concepts=Thresholds([0.0, 1.0]), rounds=3, batch=2, rate=1.0)
    games = 100_000
    state = learner.start(games, rng)
    for _ in range(2):
        state.observe(np.zeros(games), np.ones(games, np.int8))
    state._sequences[0] = [2, 1]  # (0, label 1) and (1, label 0): columns 2·1 + 0 and 2·0 + 1
    drawn = state.hypothesis().concepts
    # Thresholds at 0, 1, ∞ err on the first: 0, 1, 1; on the second: 1, 1, 0.
    e = np.exp(-1.0)
    law = (np.array([1, e, e]) / (1 + 2 * e) + np.array([e, e, 1]) / (1 + 2 * e)) / 2
    check_mean(drawn == 0.0, law[0], bounds=(0, 1), rate=5e-9, effect=0.02, power=1 - 1e-8)
    check_mean(drawn == 1.0, law[1], bounds=(0, 1), rate=5e-9, effect=0.02, power=1 - 1e-8)


# --- regret ---------------------------------------------------------------------------------------------


@pytest.mark.thorough
@statistical(rate=1e-6)
def test_regret_per_round_falls_with_the_length_of_games() -> None:
    """40 games each, batches as long as the root of the game; Welch's test at 1e-6.

    Means are 0.21 and 0.16, standard deviations 0.012 and 0.005: no difference would be seen by chance at
    that rate, and this one is missed with less.
    """
    short = measure_regret(AgnosticBatched(rounds=1_000, batch=250, epsilon=3.0), 40) / 1_000
    long = measure_regret(AgnosticBatched(rounds=16_000, batch=1_000, epsilon=3.0), 40) / 16_000
    assert stats.ttest_ind(long, short, equal_var=False, alternative="less").pvalue < 1e-6


def test_a_bound_exists_only_if_the_sanitiser_s_theorem_applies() -> None:
    assert AgnosticBatched().bound(10_000) is None
    learner = AgnosticBatched(
        concepts=Thresholds(range(4)), rounds=20_000, batch=2_000, epsilon=400.0, alpha=0.25, calls=None
    )
    bound = learner.bound(20_000)
    hedge = exponential_experts.regret(10, 5, learner.hedge_rate)
    error = 0.25 + rounding_error(learner.functions, 2_000)
    assert bound.at_most == pytest.approx(2_000 * hedge + 2 * error * 20_000 + 1)
    assert bound.beta is None
    assert learner.bound(20_001) is None
    assert learner.bound(1_999) is None
    partial = learner.bound(4_500)
    assert partial.at_most > 2_000 * exponential_experts.regret(2, 5, learner.hedge_rate) + 500
