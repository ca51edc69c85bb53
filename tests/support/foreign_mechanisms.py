"""Mechanisms as users write them, importable by other processes, and stand-ins for libraries."""

from __future__ import annotations

import math
import os
import random
import secrets
import warnings
from typing import Any

import attrs
import numpy as np
from support.simple_players import Scripted

from arena import Learner, Moves, Release, Sample, Train, play

SYSTEM = secrets.SystemRandom()


def laplace(labels: Any, rng: np.random.Generator) -> Any:
    return np.sum(labels) + rng.laplace()


def laplaces(ones: int, games: int, rng: np.random.Generator) -> np.ndarray:
    return ones + rng.laplace(size=games)


def with_global_generators(labels: Any) -> Any:
    return np.sum(labels) + np.random.laplace() + random.gauss(0, 1)  # noqa: NPY002


def with_system_generator(labels: Any) -> float:
    return np.sum(labels) + SYSTEM.expovariate(1) * SYSTEM.choice((-1, 1))


def without_coins(labels: Any) -> float:
    return np.sum(labels)


def with_module_generator(labels: Any, rng: np.random.Generator = np.random.default_rng(0)) -> float:  # noqa: B008
    """Its generator is seeded when the module is imported."""
    return np.sum(labels) + rng.normal()


def at_home_only(home: int) -> float:
    if os.getpid() != home:
        raise ValueError("away")
    return 1.0


def in_a_frozen_set(x: object) -> bool:
    return x in {"a", "b", "c", "d", "e"}  # a frozenset, whose order differs between processes


def play_releases(learner: Learner, sample: Sample, games: int = 3) -> np.ndarray:
    """The releases of its games, (games, ...)."""
    releases: list[np.ndarray] = []

    def moves(games: int, rng: np.random.Generator) -> Moves:
        reply = yield Train(sample)
        releases.append(reply.value)
        return None

    play(learner, Scripted(moves), Release(), games=games, seed=1)
    return releases[0]


@attrs.frozen
class Measurement:
    """A stand-in for a measurement of OpenDP, with the attributes that the learner uses."""

    carrier: str = "i32"
    metric: str = "AbsoluteDistance(i32)"
    distance: str = "i32"
    measure: str = "MaxDivergence"
    loss: Any = 1.0
    noise: bool = True

    input_carrier_type = property(lambda self: self.carrier)
    input_metric = property(lambda self: self.metric)
    input_distance_type = property(lambda self: self.distance)
    output_measure = property(lambda self: self.measure)

    def map(self, d_in: float) -> Any:
        assert type(d_in) is (float if self.distance.startswith("f") else int)
        return self.loss

    def __call__(self, data: Any) -> Any:
        def noisy(x: Any) -> Any:
            inner = self.carrier.removeprefix("Vec<")
            assert type(x) is (bool if inner[0] == "b" else float if inner[0] == "f" else int)
            return x + self.noise * SYSTEM.choice((-1, 0, 1))

        return [noisy(x) for x in data] if self.carrier.startswith("Vec<") else noisy(data)


class Profile:
    """A stand-in for a privacy profile of OpenDP: ε = -log10 δ."""

    def epsilon(self, delta: float) -> float:
        return -math.log10(delta)


class Mechanism:
    """A stand-in for a mechanism of diffprivlib. It holds the system's generator, so it cannot be pickled."""

    def __init__(
        self, epsilon: float, delta: float = 0.0, sensitivity: float = 1.0, random_state: Any = None
    ) -> None:
        self.epsilon, self.delta, self.sensitivity = epsilon, delta, sensitivity
        self._rng = SYSTEM if random_state is None else random_state

    def randomise(self, value: float) -> float:
        return value + self._rng.uniform(-1, 1)


def without_the_library() -> Any:
    import no_such_library  # type: ignore[import-not-found]

    return no_such_library


class PrivacyLeakWarning(RuntimeWarning):
    """A stand-in for the warning of diffprivlib, which is known by its name."""


class MeanModel:
    """A stand-in for a model of diffprivlib, as scikit-learn's: the mean of the points with bounded noise."""

    def __init__(
        self, epsilon: float = 1.0, bounds: Any = (0.0, 1.0), noise: float = 1.0, random_state: Any = None
    ) -> None:
        self.epsilon, self.bounds, self.noise, self._rng = epsilon, bounds, noise, random_state

    def fit(self, points: np.ndarray, labels: np.ndarray) -> None:
        if self.bounds is None:
            warnings.warn("Bounds have not been\nspecified.", PrivacyLeakWarning, stacklevel=1)
        if len(labels) > 5_000:
            raise ValueError("too many examples")
        self.mean_ = points.mean(axis=0) + self.noise * self._rng.uniform(-1, 1, points.shape[1])
        self.intercept_ = labels.sum()
        self.scale_ = None


class NothingFitted(MeanModel):
    """A model without parameters that are known."""

    def fit(self, points: np.ndarray, labels: np.ndarray) -> None:
        self.tree_ = (int(labels.sum()), len(points))


def read_tree(model: Any) -> Any:
    return model.tree_
