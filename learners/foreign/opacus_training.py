"""opacus-sgd: a linear model trained by PyTorch with Opacus."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

import attrs
import numpy as np

from arena.claims import Claim, PrivacyUnit
from arena.errors import InvalidArgument, Unsupported
from arena.moves import GradientCanary
from arena.neighbours import Neighbours
from arena.players import Learner
from arena.privacy_curves import NoisyStepsCurve
from arena.sample import Sample, Training
from arena.settings import at_least, less_than, more_than, setting, whole


def _import_opacus() -> Any:
    try:
        import opacus
    except ImportError as error:
        raise Unsupported(
            "opacus-sgd needs Opacus and PyTorch", remedy="Install them: pip install 'dp-arena[opacus]'."
        ) from error
    return opacus


@attrs.frozen
class OpacusSGD(Learner):
    """Logistic regression by DP-SGD, as `PrivacyEngine.make_private` of Opacus makes it.

    Yousefpour and others, Opacus: User-Friendly Differential Privacy Library in PyTorch (2021). Each game is
    a training run of its own, with a data loader, an optimizer and generators of random numbers seeded from
    the learner's. The claim is that of Opacus' accountant "prv" for the numbers size, batch, steps and noise,
    and for an example that is added or removed. It is computed by our accountant, with which that agrees.

    The engine reads the number of examples from the data: the rate is that of the real number, and updates
    are divided by int(real number·rate). What follows is in docs/opacus.md.
    """

    name = "opacus-sgd"
    protocols = ("TrainingRun",)
    theorem = "the privacy accountant of Opacus"
    packages = ("opacus", "torch")

    features: int = setting(100, help="d, the coordinates of a point", check=[whole, at_least(1)])
    size: int = setting(4, help="n, the number of examples that is assumed", check=[whole, at_least(1)])
    batch: int = setting(2, help="the batch size given to the data loader", check=[whole, at_least(1)])
    steps: int = setting(1, help="T, the number of steps", check=[whole, at_least(1)])
    noise: float = setting(4.0, unit="clip", help="the noise multiplier", check=more_than(0))
    clip: float = setting(1.0, unit="length of a gradient", help="the longest gradient", check=more_than(0))
    learning_rate: float = setting(1.0, help="the step size", check=more_than(0))
    delta: float = setting(
        1e-5, unit="probability", help="the δ of the claim", check=[more_than(0), less_than(1)]
    )

    def __attrs_post_init__(self) -> None:
        if self.batch > self.size:
            raise InvalidArgument(
                "a batch must not be larger than the data",
                value=f"batch {self.batch:,}, size {self.size:,}",
                remedy="Lower batch, or raise size.",
            )

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
    def rate(self) -> float:
        """The chance of an example to be in a batch."""
        return 1 / -(-self.size // self.batch)

    @property
    def noise_run(self) -> float:
        """The noise multiplier."""
        return self.noise

    @property
    def step_size(self) -> float:
        """By how much a sum of gradients moves the model, if the data have the assumed size."""
        return self.learning_rate / int(self.size * self.rate)

    def losses(self, parameters: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """(n, k): the logistic losses of models (n, P) on examples (k, d), (k,)."""
        margins = parameters @ x.T
        return np.asarray(np.logaddexp(0.0, margins) - y * margins)

    @property
    def claim(self) -> Claim:
        curve = NoisyStepsCurve(self.rate, self.noise, self.steps)
        return Claim(
            epsilon=curve.epsilon(self.delta),
            delta=self.delta,
            protects=(PrivacyUnit.TRAINING_EXAMPLE,),
            neighbours=Neighbours.ADD_OR_REMOVE_ONE,
            curve=curve,
        )

    def start(self, games: int, rng: np.random.Generator) -> OpacusState:
        return OpacusState(self, games, rng)


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


class OpacusState:
    """opacus-sgd in a batch of games, each an object of Opacus."""

    def __init__(self, learner: OpacusSGD, games: int, rng: np.random.Generator) -> None:
        _import_opacus()
        self._learner = learner
        self._seeds = rng.integers(2**62, size=(games, 2))
        self._runs: list[_Run] = []

    @property
    def steps(self) -> int:
        return self._learner.steps

    def train(self, training: Training) -> None:
        samples = [training.samples[which] for which in training.which]
        pairs = zip(samples, self._seeds.tolist(), strict=True)
        self._runs = [_Run(self._learner, sample, *seeds) for sample, seeds in pairs]

    def advance(self, steps: int, canaries: tuple[GradientCanary, ...]) -> np.ndarray:
        models = np.empty((len(self._runs), self._learner.features))
        for game, run in enumerate(self._runs):
            chosen = [(canary.x[game], canary.label, canary.gradient[game]) for canary in canaries]
            for _ in range(steps):
                run.make_step(chosen)
            models[game] = run.read_model()
        return models


class _Run:
    """One training run."""

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

    def make_step(self, canaries: list[tuple[np.ndarray, int, np.ndarray]]) -> None:
        import torch

        with _silence():
            x, y = self._next_batch()
            self._optimizer.zero_grad()
            self._loss(self._module(x)[:, 0], y).backward()
            (weight,) = self._module.parameters()
            for point, label, gradient in canaries:
                rows = (x == torch.tensor(point, dtype=torch.float32)).all(dim=1) & (y == label)
                weight.grad_sample[rows] = torch.tensor(gradient, dtype=torch.float32)
            self._optimizer.step()

    def read_model(self) -> np.ndarray:
        """(P,) float64."""
        (weight,) = self._module.parameters()
        return np.asarray(weight.detach().numpy(), dtype=np.float64).ravel()

    def _next_batch(self) -> Any:
        try:
            return next(self._batches)
        except StopIteration:
            self._batches = iter(self._loader)
            return next(self._batches)
