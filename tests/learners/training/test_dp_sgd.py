"""dp-sgd: gradients, batches and noise beside plain references, and what it claims."""

from __future__ import annotations

from math import sqrt
from typing import Any

import attrs
import numpy as np
import pytest
from scipy import stats

from arena import BLANK, GradientCanary, InvalidArgument, Neighbours, Sample
from arena.privacy_curves import GaussianCurve, NoisyStepsCurve
from arena.sample import Training
from arena.testing import check_learner
from learners.training.dp_sgd import DPSGD
from learners.training.noisy_sums_state import FIXED, POISSON, SAMPLINGS, SHUFFLED, BatchSource
from learners.training.small_networks import LOSSES, SmallNetwork

NETWORKS = [SmallNetwork(3, hidden, loss) for hidden in (0, 4) for loss in LOSSES]
TINY_NOISE = 1e-9  # the rounding of noisy sums is then far below the gradients


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def train(learner: DPSGD, sample: Sample, games: int) -> Any:
    state = learner.start(games, rng())
    state.train(Training.of([sample], np.zeros(games, int)))
    return state


@pytest.mark.parametrize("network", NETWORKS, ids=str)
@pytest.mark.parametrize("shared", [True, False])
def test_gradients_are_those_of_finite_differences(network: SmallNetwork, shared: bool) -> None:
    games, k, step = 2, 5, 1e-6
    parameters = rng().standard_normal((games, network.size))
    x = rng(2).standard_normal((k, 3) if shared else (games, k, 3))
    y = (rng(3).random(k if shared else (games, k)) < 0.5).astype(float)
    norms, add = network.gradients(parameters, x, y, (x**2).sum(axis=-1))
    single = np.stack([add(np.tile(np.eye(k)[i], (games, 1))) for i in range(k)], axis=1)
    assert np.sqrt((single**2).sum(axis=2)) == pytest.approx(norms)
    for parameter in range(network.size):
        moved = step * np.eye(network.size)[parameter]
        slope = network.losses(parameters + moved, x, y) - network.losses(parameters - moved, x, y)
        assert single[:, :, parameter] == pytest.approx(slope / (2 * step), abs=1e-6)


@pytest.mark.parametrize("hidden", [0, 2])
def test_a_step_adds_up_clipped_gradients(hidden: int) -> None:
    """All examples in the batch and hardly any noise, beside a loop over the examples."""
    sample = Sample(rng().standard_normal((4, 3)), [0, 1, 1, 0], [2, 1, 3, 1])
    learner = DPSGD(
        features=3, hidden=hidden, size=7, batch=7, steps=1, clip=0.3, noise=TINY_NOISE, learning_rate=0.5
    )
    state = train(learner, sample, 2)
    before = state.parameters.copy()
    points, labels = sample.rows()
    norms, add = learner.network.gradients(before, points, labels.astype(float), (points**2).sum(axis=1))
    total = np.zeros_like(before)
    for i in range(len(points)):
        gradient = add(np.tile(np.eye(len(points))[i], (2, 1)))
        total += gradient * np.minimum(1, 0.3 / norms[:, i])[:, None]
    assert state.advance(1, ()) == pytest.approx(before - 0.5 / 7 * total, abs=1e-8)


@pytest.mark.parametrize("hidden", [0, 2])
@pytest.mark.parametrize("loss", LOSSES)
def test_the_largest_points_move_a_model_by_the_clip_at_most(hidden: int, loss: str) -> None:
    sample = Sample([[1e308, -1e308], [-1.7e308, 1e300], [1.0, 2.0]], [1, 0, 1])
    learner = DPSGD(
        features=2, hidden=hidden, loss=loss, size=3, batch=3, steps=4, noise=TINY_NOISE, learning_rate=3.0
    )
    state = train(learner, sample, 5)
    before = state.parameters.copy()
    for _ in range(4):
        after = state.advance(1, ()).copy()
        assert np.linalg.norm(after - before, axis=1).max() <= 3 * (1 + 1e-6)
        before = after


def test_canaries_and_blank_examples() -> None:
    sample = Sample([[1.0, 0.0], [0.0, 2.0], [0.0, 0.0]], [1, 0, BLANK], [2, 1, 3])
    learner = DPSGD(features=2, size=6, batch=6, steps=1, noise=TINY_NOISE, neighbours="zero out one")
    state = train(learner, sample, 1)
    canary = GradientCanary(np.array([[1.0, 0.0]]), 1, np.array([[30.0, 40.0]]))  # clipped to (0.6, 0.8)
    model = state.advance(1, (canary,))
    assert model[0] == pytest.approx(-np.array([2 * 0.6, 2 * 0.8 + 1.0]) / 6, abs=1e-8)  # 0.5·2 of the second
    nobody = GradientCanary(np.zeros((0, 2)), 1, np.zeros((0, 2)))
    assert train(learner, sample, 0).advance(1, (nobody,)).shape == (0, 2)
    with pytest.raises(InvalidArgument, match="2 entries"):
        state.advance(1, (attrs.evolve(canary, gradient=np.ones((1, 3))),))


@pytest.mark.parametrize("scale", [1.0, 0.5])  # whole numbers, which are stored as such, and others
def test_games_of_one_batch_may_have_canaries_of_their_own(scale: float) -> None:
    points = scale * np.eye(100)
    learner = DPSGD(features=100, size=100, batch=100, steps=1, noise=TINY_NOISE)
    alike, own = (train(learner, Sample(points, np.ones(100, int)), 2) for _ in range(2))
    gradient = np.tile(np.full(100, 0.01), (2, 1))
    first = alike.advance(1, (GradientCanary(points[[3, 3]], 1, gradient),))
    second = own.advance(1, (GradientCanary(points[[3, 4]], 1, gradient),))
    assert first[0] == pytest.approx(second[0], abs=1e-8)
    assert first[1, 4] - first[1, 3] == pytest.approx(second[1, 3] - second[1, 4])
    assert first[1, 4] > first[1, 3]


# Chi-square tests of 6 laws, and 2 of the noise; a false alarm with probability at most 8e-9.
@pytest.mark.statistical(rate=8e-9)
@pytest.mark.parametrize("sampling", SAMPLINGS)
@pytest.mark.parametrize("counted", [True, False])
def test_batches_have_the_law_that_is_accounted(sampling: str, counted: bool) -> None:
    """The number of copies in a batch of two kinds of examples, 3 and 2 of them, at a rate of 2/5."""
    games = 40_000
    source = BatchSource(np.array([3, 2]), games, rng(), sampling=sampling, rate=0.4, size=2)
    if counted:
        counts = source.draw_counts()
    else:
        chosen, inside = source.draw_positions()
        counts = np.stack([(inside & (chosen == kind)).sum(axis=1) for kind in (0, 1)], axis=1)
    seen = np.bincount(counts @ [3, 1], minlength=12)
    first, second = np.divmod(np.arange(12), 3)
    if sampling == POISSON:
        law = stats.binom.pmf(first, 3, 0.4) * stats.binom.pmf(second, 2, 0.4)
    else:
        law = stats.hypergeom.pmf(first, 5, 3, 2) * (first + second == 2)
    assert not seen[law == 0].any()
    assert stats.chisquare(seen[law > 0], games * law[law > 0]).pvalue > 1e-9


def test_an_epoch_takes_every_example_once() -> None:
    source = BatchSource(np.array([1, 2, 3]), 50, rng(), sampling=SHUFFLED, rate=0.5, size=3)
    for _ in range(4):
        assert (source.draw_counts() + source.draw_counts() == [1, 2, 3]).all()
    fixed = BatchSource(np.ones(100, int), 50, rng(), sampling=FIXED, rate=0.9, size=90)
    chosen, inside = fixed.draw_positions()
    assert inside.all()
    assert (np.diff(np.sort(chosen, axis=1), axis=1) > 0).all()  # no example twice


@pytest.mark.statistical(rate=8e-9)
def test_the_noise_is_that_of_the_claim() -> None:
    sample = Sample([[0.0, 0.0]], [0], [10])  # no gradients
    learner = DPSGD(features=2, size=10, batch=10, steps=2, noise=3.0, clip=2.0, learning_rate=10)
    state = train(learner, sample, 20_000)
    first = state.advance(1, ()).copy()
    moves = np.concatenate([first, state.advance(1, ()) - first], axis=1)
    assert np.abs(np.corrcoef(moves.T) - np.eye(4)).max() < 0.05
    spread = 6 * sqrt(1 + 1 / 32**2 / 3)  # with that of the rounding
    statistic = (moves**2).sum() / spread**2
    assert stats.chi2.cdf(statistic, moves.size) == pytest.approx(0.5, abs=0.5 - 1e-9)


def test_claims_are_those_of_the_sampling() -> None:
    learner = DPSGD(size=100, batch=10, steps=50, noise=2.0, delta=1e-5)
    poisson = learner.claim
    assert poisson.neighbours.kind is Neighbours.ADD_OR_REMOVE_ONE
    assert poisson.epsilon == pytest.approx(NoisyStepsCurve(0.1, 2.0, 50).epsilon(1e-5), rel=1e-4)
    assert attrs.evolve(learner, neighbours="zero out one").claim.epsilon == poisson.epsilon
    converted = attrs.evolve(learner, neighbours="replace one").claim
    assert converted.delta == poisson.delta
    assert 2 * poisson.epsilon < converted.epsilon < 2.5 * poisson.epsilon
    fixed = attrs.evolve(learner, sampling=FIXED).claim
    assert fixed.neighbours.kind is Neighbours.REPLACE_ONE
    assert poisson.epsilon < fixed.epsilon
    assert attrs.evolve(learner, sampling=FIXED, neighbours="replace one").claim == fixed
    assert attrs.evolve(learner, sampling=FIXED, neighbours="zero out one").claim.epsilon == fixed.epsilon
    shuffled = attrs.evolve(learner, sampling=SHUFFLED).claim
    assert shuffled.epsilon == pytest.approx(GaussianCurve(sqrt(5)).epsilon(1e-5), rel=1e-4)
    assert learner.other_costs()["Rényi divergences"] > poisson.epsilon


@pytest.mark.thorough
def test_noise_is_found_for_an_epsilon() -> None:
    for sampling in SAMPLINGS:
        learner = DPSGD(epsilon=2.0, size=100, batch=10, steps=20, sampling=sampling)
        assert 1.99 < learner.claim.epsilon <= 2
    assert DPSGD(epsilon=2.0, clip=7.0).noise_run == DPSGD(epsilon=2.0).noise_run


@pytest.mark.thorough
@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_it_conforms(sampling: str) -> None:
    for hidden, steps in ((0, 5), (2, 1)):
        learner = DPSGD(
            features=2, size=12, batch=4, steps=steps, noise=2.0, sampling=sampling, hidden=hidden
        )
        check_learner(learner, games=1_000)
