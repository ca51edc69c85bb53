"""Clipping that does not bound what a record contributes, and noise or clipping in the wrong order."""

from __future__ import annotations

import numpy as np

from benchmarks.bugs.bug import Bug, a_list, a_table, a_vector, find_gaussian_scale
from benchmarks.bugs.bug import numbers as field

CLIPPING, ORDER = "clipping", "order of operations"
SIGMA = find_gaussian_scale(1.0, 1e-5)
GRADIENTS = a_list(field(-10, 10))


def clip_norm(vectors, bound):
    norms = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors * np.minimum(1, bound / np.maximum(norms, 1e-12))


def release_covariance(rows, rng):
    clipped = rows.clip(0, 1)
    return np.cov(rows["x"], rows["y"])[0, 1] + rng.laplace(scale=1 / len(clipped))


def release_covariance_twin(rows, rng):
    clipped = rows.clip(0, 1)
    return np.cov(clipped["x"], clipped["y"])[0, 1] + rng.laplace(scale=1 / len(clipped))


def clip_at_default(gradients, rng, bound=1.0):
    asked = 0.1
    return np.clip(gradients, -bound, bound).sum() + rng.normal(scale=SIGMA * asked)


def clip_at_default_twin(gradients, rng):
    return clip_at_default(gradients, rng, bound=0.1)


def clip_microbatches(gradients, rng, noise=1.0):
    """Means of two are clipped to [-1, 1]; one of the two may move its mean from one end to the other."""
    pairs = np.reshape(gradients, (-1, 2))
    return np.clip(pairs.mean(axis=1), -1, 1).sum() + rng.laplace(scale=noise)


def clip_microbatches_twin(gradients, rng):
    return clip_microbatches(gradients, rng, noise=2.0)


def clip_each_parameter(updates, rng):
    total = np.clip(updates.to_numpy(float), -1, 1).sum(axis=0)
    return total + rng.normal(scale=SIGMA, size=12)


def clip_each_parameter_twin(updates, rng):
    total = clip_norm(updates.to_numpy(float), 1.0).sum(axis=0)
    return total + rng.normal(scale=SIGMA, size=12)


def clip_batch(gradients, rng):
    size = 8
    return np.clip(np.sum(gradients) / size, -1, 1) + rng.normal(scale=SIGMA / size)


def clip_batch_twin(gradients, rng):
    size = 8
    return np.clip(gradients, -1, 1).sum() / size + rng.normal(scale=SIGMA / size)


def add_raw_gradient(gradients, rng):
    stored = np.sum(gradients) / 8  # by the backward pass
    stored += np.clip(gradients, -1, 1).sum()
    return stored + rng.normal(scale=SIGMA)


def add_raw_gradient_twin(gradients, rng):
    return np.clip(gradients, -1, 1).sum() + rng.normal(scale=SIGMA)


def clip_after_noise(gradients, rng):
    return float(np.clip(np.sum(gradients) + rng.normal(scale=SIGMA), -1, 1))


def clip_after_noise_twin(gradients, rng):
    return np.clip(gradients, -1, 1).sum() + rng.normal(scale=SIGMA)


def count_tied_weights(gradients, rng, layers=6):
    """A weight of several layers gets the clipped gradient of each, as if each were a further example."""
    return layers * np.clip(gradients, -1, 1).sum() + rng.normal(scale=SIGMA)


def count_tied_weights_twin(gradients, rng):
    return np.clip(6 * np.asarray(gradients), -1, 1).sum() + rng.normal(scale=SIGMA)


def keep_old_gradients(gradients, rng):
    """One example a step; what earlier steps had accumulated is not set to zero."""
    stored, published = 0.0, []
    for gradient in gradients:
        stored += float(np.clip(gradient, -1, 1))
        published.append(stored + rng.normal(scale=SIGMA))
    return published


def keep_old_gradients_twin(gradients, rng):
    return [float(np.clip(gradient, -1, 1)) + rng.normal(scale=SIGMA) for gradient in gradients]


def share_updates(updates, rng):
    """Sparse vector on weights: two of those above the threshold get noise, the others below become 0."""
    bar = 2.0 + rng.laplace(scale=4)
    above = np.flatnonzero(np.abs(updates) + rng.laplace(scale=16, size=len(updates)) >= bar)
    chosen = above[rng.permutation(len(above))[:2]]
    shared = updates.astype(float)
    shared[np.setdiff1d(np.arange(len(updates)), above)] = 0.0
    shared[chosen] += rng.laplace(scale=4, size=len(chosen))
    return shared


def share_updates_twin(updates, rng):
    bar, shared, given = 2.0 + rng.laplace(scale=4), np.zeros(len(updates)), 0
    for place in rng.permutation(len(updates)):
        if given < 2 and abs(updates[place]) + rng.laplace(scale=16) >= bar:
            shared[place] = updates[place] + rng.laplace(scale=4)
            given += 1
    return shared


BUGS = [
    Bug(
        name="clipped-then-forgotten",
        kind=CLIPPING,
        address="https://github.com/opendp/smartnoise-sdk/issues/622",
        library="smartnoise-synth 1.0.5, DPcovariance",
        summary="The columns are clipped, and then the covariance is that of the columns as they came.",
        relation="replace one",
        epsilon=1.0,
        schema=a_table(x=field(-50, 50), y=field(-50, 50), least=2),
        mechanism=release_covariance,
        twin=release_covariance_twin,
        worlds=([(0.0, 0.0), (0.5, 0.5), (1.0, 0.0)], [(0.0, 0.0), (0.5, 0.5), (50.0, 50.0)]),
    ),
    Bug(
        name="clipping-norm-ignored",
        kind=CLIPPING,
        address="https://github.com/meta-pytorch/opacus/pull/664",
        library="opacus 1.5.0, fast gradient clipping",
        summary="Gradients are clipped at a default, and the noise is that of the norm asked for.",
        relation="add or remove one",
        epsilon=1.0,
        delta=1e-5,
        schema=GRADIENTS,
        mechanism=clip_at_default,
        twin=clip_at_default_twin,
        worlds=([0.5], [0.5, 10.0]),
    ),
    Bug(
        name="microbatch-means",
        kind=CLIPPING,
        address="https://github.com/tensorflow/privacy/issues/620",
        library="tensorflow-privacy, microbatches",
        summary="The mean of a microbatch is clipped, which doubles what an example may change.",
        relation="zero out one",
        epsilon=1.0,
        schema=a_list(field(-30, 30), least=4, most=4, blank=0.0),
        mechanism=clip_microbatches,
        twin=clip_microbatches_twin,
        worlds=([10.0, -30.0, 0.0, 0.0], [10.0, 0.0, 0.0, 0.0]),
    ),
    Bug(
        name="each-parameter-clipped",
        kind=CLIPPING,
        address="https://github.com/fedbiomed/fedbiomed/issues/1443",
        library="fedbiomed, central differential privacy",
        summary="Each parameter is clipped by itself, while the noise is that of one norm for all of them.",
        relation="add or remove one",
        epsilon=1.0,
        delta=1e-5,
        schema=a_table(**{f"w{place}": field(-3, 3) for place in range(12)}),
        mechanism=clip_each_parameter,
        twin=clip_each_parameter_twin,
        worlds=([(0.0,) * 12], [(0.0,) * 12, (3.0,) * 12]),
    ),
    Bug(
        name="batch-clipped",
        kind=CLIPPING,
        address="https://github.com/APPFL/APPFL/issues/349",
        library="appfl 1.8.0",
        summary="The mean gradient of the batch is clipped, with the noise of gradients clipped one by one.",
        relation="add or remove one",
        epsilon=1.0,
        delta=1e-5,
        schema=a_list(field(-10, 10), most=8),
        mechanism=clip_batch,
        twin=clip_batch_twin,
        worlds=([0.5], [0.5, -10.0]),
    ),
    Bug(
        name="raw-gradient-left-in",
        kind=CLIPPING,
        address="https://github.com/dayu11/Differentially-Private-Deep-Learning/issues/7",
        library="dayu11/Differentially-Private-Deep-Learning",
        summary="Clipped gradients are added to the raw mean gradient that the backward pass has left.",
        relation="add or remove one",
        epsilon=1.0,
        delta=1e-5,
        schema=a_list(field(-100, 100), most=8),
        mechanism=add_raw_gradient,
        twin=add_raw_gradient_twin,
        worlds=([0.5], [0.5, 100.0]),
    ),
    Bug(
        name="tied-weights",
        kind=CLIPPING,
        address="https://github.com/meta-pytorch/opacus/issues/413",
        library="opacus 1.1.1",
        summary="The gradients of a shared weight are clipped for each of its layers, and all are added.",
        relation="add or remove one",
        epsilon=1.0,
        delta=1e-5,
        schema=GRADIENTS,
        mechanism=count_tied_weights,
        twin=count_tied_weights_twin,
        worlds=([0.5], [0.5, 10.0]),
    ),
    Bug(
        name="noise-then-clipping",
        kind=ORDER,
        address="https://github.com/illidanlab/dpgan/issues/4",
        library="dpgan",
        summary="Noise is added to the raw gradient, and the result is clipped.",
        relation="add or remove one",
        epsilon=1.0,
        delta=1e-5,
        schema=a_list(field(-100, 100)),
        mechanism=clip_after_noise,
        twin=clip_after_noise_twin,
        worlds=([0.0], [0.0, 100.0]),
    ),
    Bug(
        name="gradients-kept",
        kind=ORDER,
        address="https://github.com/meta-pytorch/opacus/pull/219",
        library="opacus, before 1.0",
        summary="Gradients of earlier steps stay in the sum, whose noise covers the examples of one step.",
        relation="zero out one",
        epsilon=1.0,
        delta=1e-5,
        schema=a_list(field(-10, 10), least=16, most=16, blank=0.0),
        mechanism=keep_old_gradients,
        twin=keep_old_gradients_twin,
        worlds=([10.0] + [0.0] * 15, [0.0] * 16),
    ),
    Bug(
        name="chosen-weights-without-noise",
        kind=ORDER,
        address="https://github.com/NVIDIA/NVFlare/issues/343",
        library="NVFlare 2.0, SVTPrivacy",
        summary="Weights that pass the sparse vector but are not drawn go out without noise.",
        relation="at Linf distance at most 1",
        epsilon=1.0,
        schema=a_vector(6, field(-5, 5)),
        mechanism=share_updates,
        twin=share_updates_twin,
        worlds=([5.0, 5.0, 5.0, 5.0, 5.0, 5.0], [4.0, 5.0, 5.0, 5.0, 5.0, 5.0]),
    ),
]
