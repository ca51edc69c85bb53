"""Training whose steps are not what the accountant counts, and private learning of other kinds."""

from __future__ import annotations

import numpy as np

from benchmarks.bugs.bug import Bug, a_list, choices, find_gaussian_scale, integers, labelled
from benchmarks.bugs.bug import numbers as field

TRAINING, SAMPLING, ACCOUNTING, NOISE = "training", "sampling", "accounting", "noise"
SIGMA, SIGMA_OF_COUNTS = find_gaussian_scale(1.0, 1e-5), find_gaussian_scale(1.0, 1e-3)


def divide_by_expected_size(gradients, rng):
    """The expected batch follows from the number of examples, in batches of at most two."""
    rate = 1 / -(-len(gradients) // 2)
    expected = max(1, int(len(gradients) * rate))
    noisy = rng.normal(scale=SIGMA, size=50)
    noisy[0] += np.clip(gradients, -1, 1).sum()
    return noisy / expected


def divide_by_expected_size_twin(gradients, rng):
    noisy = rng.normal(scale=SIGMA, size=50)
    noisy[0] += np.clip(gradients, -1, 1).sum()
    return noisy / 2


def normalise_batch(values, rng):
    """The gradient of each example, after all examples were centred by their mean."""
    centred = np.array(values, float) - np.mean(values)
    return np.clip(3 * centred + 1, -1, 1).sum() + rng.laplace(scale=2)


def normalise_batch_twin(values, rng):
    return np.clip(3 * np.array(values, float) + 1, -1, 1).sum() + rng.laplace(scale=2)


def share_a_seed(records, rng):
    """Gradients of the weight and of the offset; the noise of both is drawn with one key."""
    key = int(rng.integers(2**32))
    noise = [np.random.default_rng(key).laplace(scale=2) for _ in range(2)]
    weight = sum(np.clip(x, 0, 1) for x in records)
    return [weight + noise[0], len(records) + noise[1]]


def share_a_seed_twin(records, rng):
    weight = sum(np.clip(x, 0, 1) for x in records)
    return [weight + rng.laplace(scale=2), len(records) + rng.laplace(scale=2)]


def take_first_batch(values, rng):
    """One step on a batch of fixed size, accounted as one that takes each example with probability 1/8."""
    batch = np.clip(values[: -(-len(values) // 8)], -1, 1)
    return float(batch.sum()) + rng.laplace(scale=0.5)


def take_first_batch_twin(values, rng):
    batch = np.clip([value for value in values if rng.random() < 1 / 8], -1, 1)
    return float(batch.sum()) + rng.laplace(scale=0.5)


def count_clipped_for_free(values, rng):
    """A sum with noise, and the share of clipped values with noise of its own, for the next clipping norm."""
    total = np.clip(values, -1, 1).sum() + rng.laplace(scale=1)
    clipped = sum(abs(value) > 1 for value in values) + rng.laplace(scale=0.5)
    return [total, clipped]


def count_clipped_for_free_twin(values, rng):
    total = np.clip(values, -1, 1).sum() + rng.laplace(scale=2)
    clipped = sum(abs(value) > 1 for value in values) + rng.laplace(scale=2)
    return [total, clipped]


def centre_together(data, rng, parts=2):
    """Means of the feature and of the target, and then a moment, each with 1/parts of the budget."""
    x, y = np.clip(data[0][:, 0], 0, 1), np.clip(data[1], 0, 1)
    noise = rng.laplace(scale=parts / len(y), size=3)
    return [x.mean() + noise[0], y.mean() + noise[1], x @ y / len(y) + noise[2]]


def centre_together_twin(data, rng):
    return centre_together(data, rng, parts=3)


def threshold_by_laplace(words, rng):
    """Counts of words with Gaussian noise, above a threshold made for Laplace noise at δ = 1e-3."""
    tau = 1 + np.log(1 / (2 * 1e-3))
    noisy = {word: words.count(word) + rng.normal(scale=SIGMA_OF_COUNTS) for word in sorted(set(words))}
    return {word: count for word, count in noisy.items() if count > tau}


def threshold_by_laplace_twin(words, rng):
    noisy = {word: words.count(word) + rng.laplace() for word in sorted(set(words))}
    return {word: count for word, count in noisy.items() if count > 1 + np.log(1 / (2 * 1e-3))}


def release_best_run(scores, rng, noise=1.0):
    """The best of 50 runs with different settings, each with the budget of one."""
    true = float(np.clip(scores, 0, 1).sum())
    return float(max(true + rng.laplace(scale=noise, size=50)))


def release_best_run_twin(scores, rng):
    return release_best_run(scores, rng, noise=50.0)


def limit_noise(values, rng):
    """Geometric noise drawn by trials, of which there are at most as many as the statistic has values."""
    lower = upper = 3  # as the analyst gave them
    noise = 0
    for _ in range(upper - lower):
        noise += int(rng.geometric(1 - np.exp(-1))) - int(rng.geometric(1 - np.exp(-1)))
    return len(values) + noise


def limit_noise_twin(values, rng):
    return len(values) + int(rng.geometric(1 - np.exp(-1))) - int(rng.geometric(1 - np.exp(-1)))


def use_default_seed(values, rng):
    noise = np.random.default_rng(0)
    return [values.count(kind) + noise.laplace() for kind in (0, 1, 2)]


def use_default_seed_twin(values, rng):
    return [values.count(kind) + rng.laplace() for kind in (0, 1, 2)]


BUGS = [
    Bug(
        name="divisor-of-update",
        kind=TRAINING,
        address="https://github.com/pytorch/opacus/issues/571",
        library="opacus 1.0.0 to 1.6.0",
        summary="Noisy sums are divided by a size that is computed from the private number of examples.",
        relation="add or remove one",
        epsilon=1.0,
        delta=1e-5,
        schema=a_list(field(-1, 1), least=1),
        mechanism=divide_by_expected_size,
        twin=divide_by_expected_size_twin,
        worlds=([0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]),
    ),
    Bug(
        name="batch-normalisation",
        kind=TRAINING,
        address="https://github.com/Princeton-SysML/GradAttack/issues/4",
        library="DP-SGD with batch normalisation, which opacus refuses",
        summary="Examples are centred by the mean of the batch before each gradient is clipped.",
        relation="replace one",
        epsilon=1.0,
        schema=a_list(field(0, 10), least=6, most=6),
        mechanism=normalise_batch,
        twin=normalise_batch_twin,
        worlds=([0.0] * 6, [0.0] * 5 + [10.0]),
    ),
    Bug(
        name="one-key-for-two-arrays",
        kind=NOISE,
        address="https://github.com/jax-ml/jax/pull/3646",
        library="jax, example of differentially private SGD",
        summary="The noise of several arrays is drawn with one key, so that differences are exact.",
        relation="add or remove one",
        epsilon=1.0,
        schema=a_list(field(0, 1)),
        mechanism=share_a_seed,
        twin=share_a_seed_twin,
        worlds=([1.0], [1.0, 0.0]),
    ),
    Bug(
        name="default-seed",
        kind=NOISE,
        address="https://github.com/DataResponsibly/DataSynthesizer/pull/46",
        library="DataSynthesizer 0.1.13",
        summary="Noise is drawn from a generator with a default seed, and is the same in each run.",
        relation="add or remove one",
        epsilon=1.0,
        schema=a_list(choices(0, 1, 2)),
        mechanism=use_default_seed,
        twin=use_default_seed_twin,
        worlds=([0, 1], [0, 1, 1]),
    ),
    Bug(
        name="noise-without-trials",
        kind=NOISE,
        address="https://github.com/opendp/smartnoise-core/pull/318",
        library="smartnoise-core, before 0.2.2",
        summary="Bounds given by the analyst limit how often noise is drawn, down to not at all.",
        relation="add or remove one",
        epsilon=1.0,
        schema=a_list(integers(0, 9)),
        mechanism=limit_noise,
        twin=limit_noise_twin,
        worlds=([4], [4, 4]),
    ),
    Bug(
        name="fixed-batch-as-sampled",
        kind=SAMPLING,
        address="https://github.com/lxuechen/private-transformers/issues/7",
        library="private-transformers",
        summary="Batches of fixed size in a fixed order are accounted as if each example was sampled.",
        relation="zero out one",
        epsilon=float(np.log1p((np.e**2 - 1) / 8)),
        schema=a_list(field(-10, 10), least=8, most=8, blank=0.0),
        mechanism=take_first_batch,
        twin=take_first_batch_twin,
        worlds=([10.0] + [0.0] * 7, [0.0] * 8),
    ),
    Bug(
        name="clipping-norm-for-free",
        kind=ACCOUNTING,
        address="https://github.com/google-parfait/tensorflow-federated/pull/1080",
        library="tensorflow-federated, adaptive clipping",
        summary="The noisy count from which the next clipping norm is learned is not paid for.",
        relation="add or remove one",
        epsilon=1.0,
        schema=a_list(field(-5, 5)),
        mechanism=count_clipped_for_free,
        twin=count_clipped_for_free_twin,
        worlds=([0.5], [0.5, 5.0]),
    ),
    Bug(
        name="two-means-for-one",
        kind=ACCOUNTING,
        address="https://github.com/IBM/differential-privacy-library/issues/104",
        library="diffprivlib 0.6.6, LinearRegression",
        summary="The mean of X and that of y get the budget of a single one.",
        relation="replace one",
        epsilon=1.0,
        schema=labelled([field(0, 1)], field(0, 1)),
        mechanism=centre_together,
        twin=centre_together_twin,
        worlds=([((0.0,), 0.0)], [((1.0,), 1.0)]),
    ),
    Bug(
        name="threshold-of-other-noise",
        kind=ACCOUNTING,
        address="https://github.com/opendp/smartnoise-sdk/issues/204",
        library="smartnoise-sql, before 0.1",
        summary="The threshold for rare keys is that of Laplace noise, and the noise is Gaussian.",
        relation="add or remove one",
        epsilon=1.0,
        delta=1e-3,
        schema=a_list(choices("ash", "elm", "fir")),
        mechanism=threshold_by_laplace,
        twin=threshold_by_laplace_twin,
        worlds=([], ["ash"]),
    ),
    Bug(
        name="best-of-many-runs",
        kind="selection",
        address="https://arxiv.org/abs/2110.03620",
        library="practice of tuning, Papernot and Steinke (2022)",
        summary="The best of 50 private runs is released with the budget of one run.",
        relation="add or remove one",
        epsilon=1.0,
        schema=a_list(field(0, 1)),
        mechanism=release_best_run,
        twin=release_best_run_twin,
        worlds=([], [1.0]),
    ),
]
