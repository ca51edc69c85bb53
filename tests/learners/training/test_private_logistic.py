"""Private logistic regressions: minimisers, their sensitivity, noise, and the exact loss in one dimension."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.special import expit

from arena import InvalidArgument, Sample
from arena.sample import Training
from arena.testing import check_learner
from learners.training.private_logistic import ObjectivePerturbation, OutputPerturbation, PrivateLogistic

SIZE = 6
points = st.lists(st.tuples(st.floats(-1.5, 1.5), st.floats(-1.5, 1.5)), min_size=SIZE, max_size=SIZE)
labels = st.lists(st.integers(0, 1), min_size=SIZE, max_size=SIZE)


def minimise(learner: PrivateLogistic, sample: Sample) -> np.ndarray:
    return learner._minimise(sample, learner.regularisation, np.zeros((1, learner.features)))[0]


@pytest.mark.thorough
@given(points, labels, st.tuples(st.floats(-1, 1), st.floats(-1, 1)), st.integers(0, 1))
def test_a_replaced_example_moves_the_minimiser_by_less_than_the_bound(
    x: list, y: list, other: tuple, label: int
) -> None:
    learner = OutputPerturbation(features=2, size=SIZE, regularisation=0.05)
    sample = Sample(x, y)
    weights = minimise(learner, sample)
    moved = minimise(learner, sample.replace_one(0, other, label)) - weights
    assert np.sqrt((moved**2).sum()) <= 2 / (SIZE * 0.05) + 1e-9

    near = np.array(x) / np.maximum(1, np.sqrt((np.array(x) ** 2).sum(axis=1)))[:, None]
    signed = near * (2 * np.array(y) - 1)[:, None]
    gradient = 0.05 * weights - (expit(-signed @ weights)[:, None] * signed).mean(axis=0)
    assert gradient == pytest.approx(0, abs=1e-9)


# A Kolmogorov-Smirnov test of the lengths and one of the angles; a false alarm with probability at most 2e-9.
@pytest.mark.statistical(rate=2e-9)
def test_the_noise_has_the_density_of_the_paper() -> None:
    learner = OutputPerturbation(features=2, size=10, regularisation=0.1, epsilon=0.5)
    noise = learner._draw_noise(50_000, np.random.default_rng(1))
    lengths = np.sqrt((noise**2).sum(axis=1))
    assert stats.kstest(lengths, stats.gamma(2, scale=2 / (10 * 0.1 * 0.5)).cdf).pvalue > 1e-9
    angles = np.arctan2(noise[:, 0], noise[:, 1])
    assert stats.kstest(angles, stats.uniform(-np.pi, 2 * np.pi).cdf).pvalue > 1e-9


def log_density(learner: ObjectivePerturbation, sample: Sample, weights: np.ndarray) -> np.ndarray:
    """Of released weights (k,), by the noise that leads to each and its derivative."""
    signed = (sample.points[:, 0] * (2 * sample.labels - 1))[:, None]
    wrong = expit(-signed * weights)
    shares = (sample.counts / sample.size)[:, None]
    noise = learner.size * ((shares * wrong * signed).sum(axis=0) - learner.regularisation * weights)
    slope = learner.size * ((shares * wrong * (1 - wrong) * signed**2).sum(axis=0) + learner.regularisation)
    return np.log(slope) - np.abs(noise) / learner._noise_scale - np.log(2 * learner._noise_scale)


def test_the_loss_of_objective_perturbation_is_at_most_epsilon() -> None:
    """In one dimension, where the density of the weights is known. There the slopes of two examples add up to
    1 if they pull in opposite directions, where the paper has 2, so that the loss is half of what is paid."""
    learner = ObjectivePerturbation(features=1, size=5, regularisation=0.3, epsilon=1.0)
    weights = np.linspace(-8, 8, 4_001)
    worst = 0.0
    for ones in range(5):
        sample = Sample([[1.0], [-0.5]], [1, 0], [ones + 1, 5 - ones - 1] if ones < 4 else [4, 1])
        for point, label in (([1.0], 0), ([-1.0], 0), ([0.0], 1)):
            other = sample.replace_one(0, point, label)
            ratio = log_density(learner, sample, weights) - log_density(learner, other, weights)
            worst = max(worst, float(np.abs(ratio).max()))
    assert worst == pytest.approx(learner._remaining_epsilon / 2, rel=0.01)
    assert worst <= 1.0


# A Kolmogorov-Smirnov test; a false alarm with probability at most 1e-9.
@pytest.mark.statistical(rate=1e-9)
def test_releases_have_that_density() -> None:
    learner = ObjectivePerturbation(features=1, size=5, regularisation=0.3, epsilon=1.0)
    sample = Sample([[1.0], [-0.5]], [1, 0], [3, 2])
    released = learner.release(Training.of([sample], np.zeros(20_000, int)), np.random.default_rng(1))[:, 0]
    grid = np.linspace(-40, 40, 80_001)
    cumulative = np.cumsum(np.exp(log_density(learner, sample, grid))) * (grid[1] - grid[0])
    assert cumulative[-1] == pytest.approx(1, abs=1e-3)
    assert stats.kstest(released, lambda w: np.interp(w, grid, cumulative)).pvalue > 1e-9


def test_settings_that_leave_nothing_for_the_noise_are_refused() -> None:
    with pytest.raises(InvalidArgument, match="must leave half of ε for the noise"):
        ObjectivePerturbation(size=2, regularisation=0.01)


@pytest.mark.thorough
@pytest.mark.parametrize("kind", [OutputPerturbation, ObjectivePerturbation])
def test_they_conform(kind: type[PrivateLogistic]) -> None:
    check_learner(kind(features=2, size=8, regularisation=0.5), games=1_000)
