"""The base of learners whose training runs are made by another library: settings, claim and running games."""

from __future__ import annotations

from abc import abstractmethod
from typing import Protocol, Self

import attrs
import numpy as np

from arena.claims import Claim, PrivacyUnit
from arena.moves import GradientCanary
from arena.neighbours import Neighbours
from arena.players import Learner
from arena.privacy_curves import NoisyStepsCurve
from arena.sample import Sample, Training
from arena.settings import count_setting, more_than, setting
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
        """A run on the sample. seeds: (2,) int64 below 2^62, for the batches and for the noise.

        Raises: Unsupported if the library is missing.
        """

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
        return Claim(
            epsilon=curve.epsilon(self.delta),
            delta=self.delta,
            protects=(PrivacyUnit.TRAINING_EXAMPLE,),
            neighbours=Neighbours.ADD_OR_REMOVE_ONE,
            curve=curve,
        )

    def start(self, games: int, rng: np.random.Generator) -> LibraryTrainingState:
        return LibraryTrainingState(self, games, rng)


class LibraryTrainingState:
    """A learner in a batch of games, each a training run of its own."""

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
        self._runs = [self._learner.open_run(sample, seeds) for sample, seeds in pairs]

    def advance(self, steps: int, canaries: tuple[GradientCanary, ...]) -> np.ndarray:
        models = np.empty((len(self._runs), self._learner.parameters))
        for game, run in enumerate(self._runs):
            chosen = [(canary.x[game], canary.label, canary.gradient[game]) for canary in canaries]
            for _ in range(steps):
                run.make_step(chosen)
            models[game] = run.read_model()
        return models
