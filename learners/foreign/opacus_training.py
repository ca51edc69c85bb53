"""opacus-sgd: a linear model trained by PyTorch with Opacus."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import attrs
import numpy as np

from arena.sample import Sample
from learners.foreign.base import missing_library
from learners.foreign.library_training import ChosenGradient, LibraryRun, LibrarySGD


@attrs.frozen
class OpacusSGD(LibrarySGD):
    """Logistic regression by DP-SGD, as `PrivacyEngine.make_private` of Opacus makes it.

    Yousefpour and others, Opacus: User-Friendly Differential Privacy Library in PyTorch (2021). Each game is
    a training run of its own, with a data loader, an optimizer and generators of random numbers seeded from
    the learner's. The claim is that of Opacus' accountant "prv" for the numbers size, batch, steps and noise,
    and for an example that is added or removed. It is computed by our accountant, with which that agrees.

    The engine reads the number of examples from the data: the rate is that of the real number, and updates
    are divided by int(real number·rate). What follows is in docs/foreign.md.
    """

    name = "opacus-sgd"
    theorem = "the privacy accountant of Opacus"
    packages = ("opacus", "torch")

    @property
    def rate(self) -> float:
        return 1 / -(-self.size // self.batch)

    @property
    def step_size(self) -> float:
        return self.learning_rate / int(self.size * self.rate)

    def open_run(self, sample: Sample, seeds: np.ndarray) -> LibraryRun:
        try:
            import opacus  # noqa: F401 - says now what is missing
        except ImportError as error:
            raise missing_library("opacus", error) from error
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
        """(P,) float64."""
        (weight,) = self._module.parameters()
        return np.asarray(weight.detach().numpy(), dtype=np.float64).ravel()

    def _next_batch(self) -> Any:
        try:
            return next(self._batches)
        except StopIteration:
            self._batches = iter(self._loader)
            return next(self._batches)
