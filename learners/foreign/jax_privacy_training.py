"""jax-privacy-sgd: a linear model trained with the components of JAX Privacy."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import attrs
import numpy as np

from arena.sample import Sample
from arena.settings import setting
from learners.foreign.base import missing_library
from learners.foreign.library_training import ChosenGradient, LibraryRun, LibrarySGD


@attrs.frozen
class JaxPrivacySGD(LibrarySGD):
    """Logistic regression by DP-SGD, made of the components that JAX Privacy documents for it.

    Balle and others, JAX-Privacy: Algorithms for Privacy-Preserving Machine Learning in JAX (2022). Batches
    are drawn by `CyclicPoissonSampling`, padded to one size by `split_and_pad_global_batch`, summed by
    `clipped_grad` and noised by `gaussian_privatizer` in float32. Rate and divisor are computed from the
    settings size and batch, never from the data. A chosen gradient is that of a linear loss, so that the
    library clips it. Noise is added by a function that `jax.jit` compiled, as in the library's examples, or
    without compilation, which rounds more often.

    The claim is that of `dpsgd_event` with the accountant of privacy-loss distributions, for an example that
    is added or removed. It is computed by our accountant, with which that agrees.
    """

    name = "jax-privacy-sgd"
    theorem = "dpsgd_event of JAX Privacy: Poisson-sampled Gaussian mechanisms"
    packages = ("jax", "jax_privacy", "jaxlib")

    compiled: bool = setting(True, help="whether noise is added by a compiled function")

    @property
    def rate(self) -> float:
        return self.batch / self.size

    @property
    def step_size(self) -> float:
        return self.learning_rate / self.batch

    def open_run(self, sample: Sample, seeds: np.ndarray) -> LibraryRun:
        try:
            return _JaxRun(self, sample, seeds)
        except ImportError as error:
            raise missing_library("jax-privacy", error) from error


@attrs.frozen(eq=False)
class _Components:
    """Compiled functions, and those that start the noise of a run and cut a batch into padded parts."""

    sum_gradients: Callable[..., Any]
    start_noise: Callable[..., Any]
    add_noise: Callable[..., Any]
    split_batch: Callable[..., Any]


class _JaxRun:
    """One training run."""

    def __init__(self, learner: JaxPrivacySGD, sample: Sample, seeds: np.ndarray) -> None:
        from jax_privacy.batch_selection import CyclicPoissonSampling, PartitionType

        points, labels = sample.rows()
        self._x, self._y = points.astype(np.float32), labels
        self._batch, self._step = learner.batch, learner.learning_rate
        self._components = _make_components(learner.clip, learner.batch, learner.noise, learner.compiled)
        self._weights: np.ndarray = np.zeros(learner.parameters, dtype=np.float32)
        self._noise_state = self._components.start_noise(self._weights, seeds[1])
        self._batches = CyclicPoissonSampling(
            sampling_prob=learner.rate, iterations=learner.steps, partition_type=PartitionType.INDEPENDENT
        ).batch_iterator(len(labels), rng=np.random.default_rng(int(seeds[0])))

    def make_step(self, chosen: list[ChosenGradient]) -> None:
        total = np.zeros_like(self._weights)
        for indices in self._components.split_batch(next(self._batches), self._batch):
            x, y = self._x[indices], self._y[indices]  # padding, -1, takes the last example and is zeroed
            is_chosen, gradients = np.zeros(len(indices), dtype=bool), np.zeros_like(x)
            for point, label, gradient in chosen:
                rows = (x == point.astype(np.float32)).all(axis=1) & (y == label)
                is_chosen[rows], gradients[rows] = True, gradient
            total = total + self._components.sum_gradients(
                self._weights, x, y, is_chosen, gradients, is_padding_example=indices < 0
            )
        noisy, self._noise_state = self._components.add_noise(total, self._noise_state)
        self._weights = self._weights - np.float32(self._step) * np.asarray(noisy)

    def read_model(self) -> np.ndarray:
        return self._weights.astype(np.float64)


@lru_cache(maxsize=8)
def _make_components(clip: float, batch: int, noise: float, compiled: bool) -> _Components:
    import jax
    import jax.numpy as jnp
    from dp_accounting import NeighboringRelation
    from jax_privacy import clipped_grad
    from jax_privacy.batch_selection import split_and_pad_global_batch
    from jax_privacy.noise_addition import gaussian_privatizer

    def loss(weights: Any, x: Any, y: Any, is_chosen: Any, gradient: Any) -> Any:
        margin = weights @ x
        return jnp.where(is_chosen, gradient @ weights, jnp.logaddexp(0.0, margin) - y * margin)

    gradients = clipped_grad(
        loss, batch_argnums=(1, 2, 3, 4), l2_clip_norm=clip, normalize_by=batch, keep_batch_dim=False
    )
    deviation = noise * gradients.sensitivity(NeighboringRelation.ADD_OR_REMOVE_ONE)

    def start_noise(weights: np.ndarray, seed: np.int64) -> Any:
        key = jax.random.wrap_key_data(np.array(seed, dtype=np.uint64).reshape(1).view(np.uint32))
        return gaussian_privatizer(stddev=deviation, prng_key=key).init(weights)

    add_noise = gaussian_privatizer(stddev=deviation, prng_key=0).update  # the state holds the run's key
    if compiled:
        add_noise = jax.jit(add_noise)
    return _Components(jax.jit(gradients.fun), start_noise, add_noise, split_and_pad_global_batch)
