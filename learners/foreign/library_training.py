"""jax-privacy and opacus: the training of other libraries, step by step."""

from __future__ import annotations

import logging
import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, ClassVar, Protocol, Self

import attrs
import numpy as np

from arena.claims import Claim, Neighbours
from arena.messages import GradientCanary
from arena.players import Learner
from arena.privacy_curves import NoisyStepsCurve
from arena.sample import Sample, Training
from arena.settings import count_setting, more_than, setting
from learners.common.learner_bases import claim_for_example
from learners.foreign.base import missing_library
from learners.mechanisms.parameter_checks import check_batch

ChosenGradient = tuple[np.ndarray, int, np.ndarray]  # an example's point and label, and its gradient (P,)


class LibraryRun(Protocol):
    """One training run of a library."""

    def make_step(self, chosen: list[ChosenGradient]) -> None:
        """Make one step, in which the examples named have the gradients given."""

    def read_model(self) -> np.ndarray:
        """The weights (P,), float64."""


@attrs.frozen
class LibrarySGD(Learner):
    """Base of logistic regressions by DP-SGD of another library, on batches of Poisson sampling.

    A subclass says which rate and step size the library uses, and opens one training run for each game. The
    claim is for an example that is added or removed, and is computed by our accountant.
    """

    protocols = ("TrainingRun",)
    library: ClassVar[str]  # the optional dependency

    features: int = count_setting(100, help="d, the coordinates of a point")
    size: int = count_setting(4, help="n, the number of examples that is assumed")
    batch: int = count_setting(2, help="the number of examples of a batch, on average")
    steps: int = count_setting(1, help="T, the number of steps")
    noise: float = setting(4.0, unit="clip", help="the noise multiplier", check=more_than(0))
    clip: float = setting(1.0, unit="length of a gradient", help="the longest gradient", check=more_than(0))
    learning_rate: float = setting(1.0, help="the step size", check=more_than(0))
    delta: float = setting(1e-5, unit="probability", help="the δ of the claim")

    def __attrs_post_init__(self) -> None:
        check_batch(self.batch, self.size)

    @property
    @abstractmethod
    def rate(self) -> float:
        """The chance of an example to be in a batch."""

    @property
    @abstractmethod
    def step_size(self) -> float:
        """By how much a sum of gradients moves the model, if the data have the assumed size."""

    @abstractmethod
    def open_run(self, sample: Sample, seeds: np.ndarray) -> LibraryRun:
        """A run on the sample. seeds: (2,) int64, for the batches and for the noise."""

    @property
    def point_shape(self) -> tuple[int, ...]:
        return (self.features,)

    @property
    def sample_size(self) -> int:
        return self.size

    def adapt_to(self, sample_size: int) -> Self:
        """The learner for so many examples."""
        return attrs.evolve(self, size=sample_size, batch=min(self.batch, sample_size))

    @property
    def parameters(self) -> int:
        """P, the number of weights."""
        return self.features

    @property
    def noise_run(self) -> float:
        """The noise multiplier."""
        return self.noise

    def losses(self, parameters: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """(n, k): the logistic losses of models (n, P) on examples (k, d), (k,)."""
        margins = parameters @ x.T
        return np.asarray(np.logaddexp(0.0, margins) - y * margins)

    @property
    def claim(self) -> Claim:
        curve = NoisyStepsCurve(self.rate, self.noise, self.steps)
        relation, epsilon = Neighbours.ADD_OR_REMOVE_ONE, curve.epsilon(self.delta)
        return claim_for_example(epsilon, self.delta, neighbours=relation, curve=curve)

    def start(self, games: int, rng: np.random.Generator) -> LibraryTrainingState:
        return LibraryTrainingState(self, games, rng)


class LibraryTrainingState:
    def __init__(self, learner: LibrarySGD, games: int, rng: np.random.Generator) -> None:
        self._learner = learner
        self._seeds = rng.integers(2**62, size=(games, 2))
        self._runs: list[LibraryRun] = []

    @property
    def steps(self) -> int:
        return self._learner.steps

    def train(self, training: Training) -> None:
        samples = [training.samples[which] for which in training.which]
        pairs = zip(samples, self._seeds, strict=True)
        try:
            self._runs = [self._learner.open_run(sample, seeds) for sample, seeds in pairs]
        except ImportError as error:
            raise missing_library(self._learner.library, error) from error

    def advance(self, steps: int, canaries: tuple[GradientCanary, ...]) -> np.ndarray:
        models = np.empty((len(self._runs), self._learner.parameters))
        for game, run in enumerate(self._runs):
            chosen = [(canary.x[game], canary.label, canary.gradient[game]) for canary in canaries]
            for _ in range(steps):
                run.make_step(chosen)
            models[game] = run.read_model()
        return models


@attrs.frozen
class JaxPrivacySGD(LibrarySGD):
    """Logistic regression by DP-SGD, made of the components that JAX Privacy documents for it.

    Balle and others (2022): `CyclicPoissonSampling`, `split_and_pad_global_batch`, `clipped_grad` and
    `gaussian_privatizer` in float32. Rate and divisor come from the settings, never from the data. The claim
    is that of `dpsgd_event` with privacy-loss distributions, with which our accountant agrees.
    """

    name = "jax-privacy-sgd"
    library = "jax-privacy"
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
        return _JaxRun(self, sample, seeds)


@attrs.frozen(eq=False)
class _Components:
    """Compiled functions, and those that start the noise of a run and cut a batch into padded parts."""

    sum_gradients: Callable[..., Any]
    start_noise: Callable[..., Any]
    add_noise: Callable[..., Any]
    split_batch: Callable[..., Any]


class _JaxRun:
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


@attrs.frozen
class OpacusSGD(LibrarySGD):
    """Logistic regression by DP-SGD, as `PrivacyEngine.make_private` of Opacus makes it.

    Yousefpour and others (2021). The claim is that of Opacus' accountant "prv" for size, batch, steps and
    noise, with which ours agrees. The engine reads the number of examples from the data, for the rate and the
    divisor of updates, int(real number·rate): docs/foreign.md.
    """

    name = "opacus-sgd"
    library = "opacus"
    theorem = "the privacy accountant of Opacus"
    packages = ("opacus", "torch")

    @property
    def rate(self) -> float:
        return 1 / -(-self.size // self.batch)

    @property
    def step_size(self) -> float:
        return self.learning_rate / int(self.size * self.rate)

    def open_run(self, sample: Sample, seeds: np.ndarray) -> LibraryRun:
        return _OpacusRun(self, sample, *seeds.tolist())


@contextmanager
def _silence() -> Iterator[None]:
    """Keep quiet about hooks and empty batches, which every game would report."""
    logger = logging.getLogger("opacus")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)


class _OpacusRun:
    def __init__(self, learner: OpacusSGD, sample: Sample, batch_seed: int, noise_seed: int) -> None:
        import torch
        from opacus import PrivacyEngine

        points, labels = sample.rows()
        self._loss = torch.nn.BCEWithLogitsLoss()
        self._batches: Iterator[Any] = iter(())
        data = torch.utils.data.TensorDataset(
            torch.tensor(points, dtype=torch.float32), torch.tensor(labels, dtype=torch.float32)
        )
        module = torch.nn.Linear(learner.features, 1, bias=False)
        torch.nn.init.zeros_(module.weight)
        with _silence():
            self._module, self._optimizer, self._loader = PrivacyEngine().make_private(
                module=module,
                optimizer=torch.optim.SGD(module.parameters(), lr=learner.learning_rate),
                data_loader=torch.utils.data.DataLoader(
                    data, batch_size=learner.batch, generator=torch.Generator().manual_seed(batch_seed)
                ),
                noise_multiplier=learner.noise,
                max_grad_norm=learner.clip,
                noise_generator=torch.Generator().manual_seed(noise_seed),
            )

    def make_step(self, chosen: list[ChosenGradient]) -> None:
        import torch

        with _silence():
            x, y = self._next_batch()
            self._optimizer.zero_grad()
            self._loss(self._module(x)[:, 0], y).backward()
            (weight,) = self._module.parameters()
            for point, label, gradient in chosen:
                rows = (x == torch.tensor(point, dtype=torch.float32)).all(dim=1) & (y == label)
                weight.grad_sample[rows] = torch.tensor(gradient, dtype=torch.float32)
            self._optimizer.step()

    def read_model(self) -> np.ndarray:
        (weight,) = self._module.parameters()
        return np.asarray(weight.detach().numpy(), dtype=np.float64).ravel()

    def _next_batch(self) -> Any:
        try:
            return next(self._batches)
        except StopIteration:
            self._batches = iter(self._loader)
            return next(self._batches)
