"""dp-fedavg and dp-ftrl."""

from __future__ import annotations

from math import sqrt
from typing import Any

import attrs
import numpy as np
import pytest
from scipy import stats
from support.simple_players import run_audit, script

from adversaries.common.training_samples import change_example
from adversaries.training.canaries import GradientCanaryAttack
from arena import GradientCanary, InvalidArgument, ProtocolViolation, Sample, Train, TrainingRun, play
from arena.privacy_curves import GaussianCurve
from arena.sample import Training
from arena.testing import check_learner
from learners.training.dp_fedavg import DPFedAvg
from learners.training.dp_sgd import DPFTRL, DPSGD

GAMES = 2_000
TINY_NOISE = 1e-9  # the rounding of noisy sums is then far below the changes
SMALL = DPFedAvg(features=2, size=3, batch=3, steps=2, noise=TINY_NOISE, local_steps=4, local_rate=0.3)


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def train(learner: DPFedAvg, sample: Sample, games: int = 2) -> Any:
    state = learner.start(games, rng())
    state.train(Training.of([sample], np.zeros(games, int)))
    return state


def train_one_user(learner: DPFedAvg, model: np.ndarray, points: np.ndarray, labels: np.ndarray) -> Any:
    """The clipped change of one model (P,) by a loop over steps and examples."""
    own = model.copy()
    for _ in range(learner.local_steps):
        gradient = np.zeros_like(model)
        for x, y in zip(points, labels, strict=True):
            _, add = learner.network.gradients(own[None], x[None], np.array([float(y)]))
            gradient += add(np.ones((1, 1)))[0] / len(points)
        own -= learner.local_rate * gradient
    change = own - model
    return change * min(1, learner.clip / np.linalg.norm(change))


@pytest.mark.parametrize("hidden", [0, 2])
@pytest.mark.parametrize("column", [-1, 0])
def test_a_round_adds_up_clipped_changes_of_users(hidden: int, column: int) -> None:
    """All three users take part with hardly any noise; their examples are mixed, some occur several times."""
    users = np.array([4, 9, 4, 7, 9, 4])
    features = 3 * rng(2).standard_normal((6, 2))
    points = np.insert(features, 0 if column == 0 else 2, users, axis=1)
    sample = Sample(points, [0, 1, 1, 0, 1, 0], [2, 1, 3, 1, 2, 1])
    learner = attrs.evolve(SMALL, hidden=hidden, user_column=column, clip=0.4, learning_rate=0.5)
    state = train(learner, sample)
    rows, labels = sample.rows()
    for _ in range(2):
        expected = state.parameters.copy()
        for game, model in enumerate(state.parameters):
            for user in (4, 7, 9):
                own = learner.users_of(rows) == user
                change = train_one_user(learner, model, learner.drop_users(rows)[own], labels[own])
                expected[game] += 0.5 / 3 * change
        assert state.advance(1, ()) == pytest.approx(expected, abs=1e-8)


def test_a_canary_takes_the_place_of_the_gradient_of_its_example() -> None:
    """User 1 has the canary three times and another example; user 2 has canaries only, which are clipped."""
    canary, other = [1.0, 0.0, 1.0], [0.0, 2.0, 1.0]
    sample = Sample([canary, other, [1.0, 0.0, 2.0]], [1, 0, 1], [3, 1, 5])
    learner = attrs.evolve(SMALL, clip=100.0, loss="squared", local_rate=0.5, local_steps=2)
    first = GradientCanary(np.tile(canary, (2, 1)), 1, np.tile([2.0, 0.0], (2, 1)))
    second = GradientCanary(np.tile([1.0, 0.0, 2.0], (2, 1)), 1, np.tile([0.0, -300.0], (2, 1)))
    model = train(learner, sample).advance(1, (first, second))
    # Of user 1: two steps of 0.5·(3/4·2, 0); the other example has no gradient at 0. Of user 2: (0, 100).
    assert model[0] == pytest.approx(np.array([-1.5, 100.0]) / 3, abs=1e-5)


def test_changes_that_diverge_count_as_none() -> None:
    sample = Sample([[1e200, 1.0, 0.0], [0.0, 0.0, 1.0]], [1, 0])
    learner = attrs.evolve(SMALL, loss="squared", local_steps=50)
    assert (np.abs(train(learner, sample).advance(2, ())) < 1e-6).all()


# A chi-square test of the number of users; a false alarm with probability at most 2e-9.
@pytest.mark.statistical(rate=2e-9)
@pytest.mark.parametrize("users", [5, 80])
def test_users_are_drawn_on_their_own(users: int) -> None:
    """The number of users of a round is binomial, whatever the number of their examples."""
    learner = DPFedAvg(size=10, batch=3, steps=1, noise=TINY_NOISE, local_steps=1)
    points = np.stack([np.ones(users), np.arange(users)], axis=1)
    sample = Sample(points, np.ones(users, int), 1 + np.arange(users) % 3)
    canaries = tuple(
        GradientCanary(np.tile(point, (GAMES, 1)), 1, np.full((GAMES, 1), -9.0)) for point in points
    )
    drawn = np.rint(3 * train(learner, sample, GAMES).advance(1, canaries)[:, 0]).astype(int)
    law = GAMES * stats.binom.pmf(np.arange(users + 1), users, 0.3)
    usual = law > 5
    seen = np.bincount(drawn, minlength=users + 1)
    observed, expected = ((np.append(f[usual], f[~usual].sum()) + 1e-9) for f in (seen, law))
    assert stats.chisquare(observed, expected * observed.sum() / expected.sum()).pvalue > 1e-9


def test_its_claim_is_that_of_dp_sgd_for_users() -> None:
    learner = DPFedAvg(size=100, batch=10, steps=5, noise=2.0)
    claim = learner.claim
    assert str(claim.neighbours) == "add or remove a user of at most 10"
    assert claim.epsilon == DPSGD(size=100, batch=10, steps=5, noise=2.0).claim.epsilon
    large = attrs.evolve(learner, neighbours="add or remove a user of at most 99")
    assert large.claim.epsilon == claim.epsilon
    for relation in ("add or remove one", "replace one", "zero out one"):
        with pytest.raises(InvalidArgument, match="says nothing about"):
            attrs.evolve(learner, neighbours=relation).claim
    assert learner.sample_size is None
    assert learner.adapt_to(7) == learner


def test_training_sets_differ_in_one_user() -> None:
    learner = attrs.evolve(SMALL, noise=3.0, neighbours="add or remove a user of at most 2")
    sample = Sample([[0.0, 1.0, 5.0], [1.0, 1.0, 6.0]], [0, 1], [4, 3])
    without, added = change_example(sample, 1, (0, 0), ([1.0, 2.0, 0.0], 1), learner)
    assert (without.size, added.size) == (6, 8)
    assert learner.users_of(added.points).tolist() == [5, 6, 7]
    assert play(learner, script(Train(added, without)), TrainingRun(), games=2, seed=1).flag.all()
    for other in (added.remove_one(2), Sample(added.points, added.labels, [4, 2, 3]), sample):
        with pytest.raises(ProtocolViolation, match="that of the other without one user, who has at most 2"):
            play(learner, script(Train(added, other)), TrainingRun(), games=2, seed=1)


@pytest.mark.thorough
@pytest.mark.parametrize("hidden", [0, 2])
def test_it_conforms(hidden: int) -> None:
    check_learner(attrs.evolve(SMALL, noise=2.0, size=6, hidden=hidden), games=500)


DP_FTRL_SMALL = DPFTRL(size=14, batch=2, steps=14, noise=3.0)


# 14 chi-square tests; a false alarm with probability at most 3e-8.
@pytest.mark.statistical(rate=3e-8)
def test_a_prefix_has_the_noise_of_its_blocks() -> None:
    """Two epochs of seven steps without gradients: the blocks are the binary digits of the step."""
    games = 20_000
    state = DP_FTRL_SMALL.start(games, np.random.default_rng(1))
    state.train(Training.of([Sample([[0.0]], [0], [14])], np.zeros(games, int)))
    for step in range(14):
        blocks = (step % 7 + 1).bit_count() + (3 if step >= 7 else 0)
        moved = state.advance(1, ())[:, 0] / DP_FTRL_SMALL.step_size
        statistic = (moved**2).sum() / (9 * blocks)
        assert stats.chi2.cdf(statistic, games) == pytest.approx(0.5, abs=0.5 - 1e-9)


def test_an_example_is_in_one_block_of_each_level() -> None:
    assert (DP_FTRL_SMALL.epoch_steps, DP_FTRL_SMALL.levels) == (7, 3)
    exact = GaussianCurve(sqrt(2 * 3) / 3).epsilon(1e-5)
    assert DP_FTRL_SMALL.claim.epsilon == pytest.approx(exact, rel=1e-4)
    assert str(DP_FTRL_SMALL.claim.neighbours) == "zero out one"
    assert DPFTRL(epsilon=2.0).claim.epsilon == pytest.approx(2, rel=1e-3)
    with pytest.raises(InvalidArgument, match="sampling must be one of shuffled"):
        DPFTRL(sampling="poisson")


@pytest.mark.thorough
def test_it_is_not_refuted_and_conforms() -> None:
    check_learner(DP_FTRL_SMALL, games=1_000)
    claim = DP_FTRL_SMALL.claim
    attack = GradientCanaryAttack(learner=DP_FTRL_SMALL)
    verdict = run_audit(DP_FTRL_SMALL, attack, TrainingRun(), games=20_000, confidence=1 - 1e-6)
    assert not verdict.refuted
    assert verdict.epsilon_lower > 0.05 * claim.epsilon
