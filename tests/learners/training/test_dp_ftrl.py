"""dp-ftrl: the noise of every prefix, and what it claims."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest
from scipy import stats

from adversaries.training.gradient_canary import GradientCanaryAttack
from arena import InvalidArgument, Sample, TrainingRun
from arena.sample import Training
from arena.testing import check_learner
from audits.runs.plan import Plan
from audits.runs.run import run
from learners.mechanisms.noise.gaussian_noise import gaussian_epsilon
from learners.training.dp_ftrl import DPFTRL

SMALL = DPFTRL(size=14, batch=2, steps=14, noise=3.0)


# 14 chi-square tests; a false alarm with probability at most 3e-8.
@pytest.mark.statistical(rate=3e-8)
def test_a_prefix_has_the_noise_of_its_blocks() -> None:
    """Two epochs of seven steps without gradients: the blocks are the binary digits of the step."""
    games = 20_000
    state = SMALL.start(games, np.random.default_rng(1))
    state.train(Training.of([Sample([[0.0]], [0], [14])], np.zeros(games, int)))
    for step in range(14):
        blocks = (step % 7 + 1).bit_count() + (3 if step >= 7 else 0)
        moved = state.advance(1, ())[:, 0] / SMALL.step_size
        statistic = (moved**2).sum() / (9 * blocks)
        assert stats.chi2.cdf(statistic, games) == pytest.approx(0.5, abs=0.5 - 1e-9)


def test_an_example_is_in_one_block_of_each_level() -> None:
    assert (SMALL.epoch_steps, SMALL.levels) == (7, 3)
    exact = gaussian_epsilon(delta=1e-5, sigma=3 / sqrt(2 * 3))
    assert SMALL.claim.epsilon == pytest.approx(exact, rel=1e-4)
    assert str(SMALL.claim.neighbours) == "zero out one"
    assert DPFTRL(epsilon=2.0).claim.epsilon == pytest.approx(2, rel=1e-3)
    with pytest.raises(InvalidArgument, match="sampling must be one of shuffled"):
        DPFTRL(sampling="poisson")


@pytest.mark.thorough
def test_it_is_not_refuted_and_conforms() -> None:
    check_learner(SMALL, games=1_000)
    claim = SMALL.claim
    plan = Plan(
        learner=SMALL,
        adversary=GradientCanaryAttack(learner=SMALL),
        referee=TrainingRun(),
        epsilon=claim.epsilon,
        delta=claim.delta,
        confidence=1 - 1e-6,
        games=20_000,
    )
    verdict = run(plan)
    assert not verdict.refuted
    assert verdict.epsilon_lower > 0.05 * claim.epsilon
