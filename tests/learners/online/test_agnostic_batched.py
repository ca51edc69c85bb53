"""agnostic-batched: conformance, claim, synthetic sequences, regret, refusals."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from support.simple_players import Scripted, script
from support.statistical import check_mean, statistical

from arena import Adaptive, BudgetExceeded, Commit, Example, Moves, Oblivious, Unsupported, play
from arena.concepts import FiniteClass, Intervals, Rectangles, Thresholds
from arena.testing import check_learner
from learners.mechanisms import exponential_experts
from learners.mechanisms.accounting import best_composition
from learners.online.agnostic_batched import AgnosticBatched
from learners.online.sanitiser import rounding_error


@pytest.mark.thorough
@pytest.mark.parametrize(
    "learner",
    [
        AgnosticBatched(rounds=12, batch=4),
        AgnosticBatched(rounds=12, batch=5, epsilon=50.0, concepts=Intervals(range(4)), calls=None),
        AgnosticBatched(rounds=12, batch=1, concepts=FiniteClass([[0, 1, 1]])),
        AgnosticBatched(rounds=12, batch=3, concepts=Rectangles([3, 2])),
    ],
    ids=str,
)
def test_it_conforms(learner: AgnosticBatched) -> None:
    check_learner(learner, games=1_000)


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


def noisy(rounds: int) -> Scripted:
    """Uniform points, labels by the threshold 6 with a tenth flipped; scores the best concept's mistakes."""

    def moves(games: int, rng: np.random.Generator) -> Moves:
        x = rng.integers(0, 16, size=(games, rounds))
        y = (x >= 6) ^ (rng.random((games, rounds)) < 0.1)
        yield Commit(x.astype(float), y)
        return np.stack([((x >= t) != y).sum(axis=1) for t in range(17)]).min(axis=0)

    return Scripted(moves)


def regret_a_round(learner: AgnosticBatched, games: int) -> np.ndarray:
    played = play(learner, noisy(learner.rounds), Oblivious(learner.rounds), games=games, seed=1)
    assert played.score is not None
    return (played.mistakes - played.score) / learner.rounds


@pytest.mark.thorough
@statistical(rate=1e-6)
def test_regret_per_round_falls_with_the_length_of_games() -> None:
    """40 games each, batches as long as the root of the game; Welch's test at 1e-6.

    Means are 0.21 and 0.16, standard deviations 0.012 and 0.005: no difference would be seen by chance at
    that rate, and this one is missed with less.
    """
    short = regret_a_round(AgnosticBatched(rounds=1_000, batch=250, epsilon=3.0), 40)
    long = regret_a_round(AgnosticBatched(rounds=16_000, batch=1_000, epsilon=3.0), 40)
    assert stats.ttest_ind(long, short, equal_var=False, alternative="less").pvalue < 1e-6


def test_a_bound_exists_only_if_the_sanitiser_s_theorem_applies() -> None:
    assert AgnosticBatched().bound(10_000) is None
    learner = AgnosticBatched(
        concepts=Thresholds(range(4)), rounds=20_000, batch=2_000, epsilon=400.0, alpha=0.25, calls=None
    )
    bound = learner.bound(20_000)
    assert bound is not None
    hedge = exponential_experts.regret(10, 5, learner.hedge_rate)
    error = 0.25 + rounding_error(learner.functions, 2_000)
    assert bound.at_most == pytest.approx(2_000 * hedge + 2 * error * 20_000 + 1)
    assert bound.beta is None
    assert learner.bound(20_001) is None
    assert learner.bound(1_999) is None
    partial = learner.bound(4_500)
    assert partial is not None
    assert partial.at_most > 2_000 * exponential_experts.regret(2, 5, learner.hedge_rate) + 500


# --- refusals -------------------------------------------------------------------------------------------


def test_more_rounds_than_it_has_are_refused() -> None:
    with pytest.raises(
        BudgetExceeded, match="agnostic-batched has spent its 2 rounds; set rounds to the game's length"
    ):
        play(AgnosticBatched(rounds=2, batch=1), script(*[Example(0.0, 1)] * 3), Adaptive(3), games=2, seed=1)


def test_classes_of_infinite_dimension_are_refused() -> None:
    with pytest.raises(Unsupported, match="its Littlestone dimension is infinite"):
        AgnosticBatched(concepts=Thresholds())
