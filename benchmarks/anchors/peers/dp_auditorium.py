"""The testers of DP-Auditorium on false and true claims: how often each refutes, and processor seconds.

DP_AUDITORIUM=path/to/checkout python -m benchmarks.anchors.peers.dp_auditorium, with the packages of
requirements-dp-auditorium.txt; prints a line of JSON for each claim, tester and number of games. The testers
have the settings of its example and tests, and pairs of data sets are given. The package's `__init__` is not
run, since it imports generators of data sets that need Vizier.
"""

from __future__ import annotations

import json
import math
import os
import sys
import time
import types
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator

from benchmarks.anchors.peers import find_commit
from benchmarks.anchors.peers.sniper_mechanisms import Mechanism, sparse_vector

SEEDS = 3
SIZES = (10_000, 100_000)  # games in each world
FAILURE = 0.05  # of a tester
BINS = 20
TESTERS = ("hockey-stick", "Rényi", "MMD", "histogram")


@dataclass(frozen=True)
class Claim:
    """(ε, δ) claimed for a function f(data, games, rng) -> (games,) or (games, k), on two data sets."""

    mechanism: Mechanism
    data: tuple[float, ...]
    neighbour: tuple[float, ...]
    epsilon: float
    delta: float = 0.0
    neighbours: str = "replace one"

    @property
    def worlds(self) -> tuple[np.ndarray, np.ndarray]:
        return np.array(self.data), np.array(self.neighbour)


def draw_noisy_sum(data: np.ndarray, games: int, rng: Generator, *, noise: str) -> np.ndarray:
    return data.sum() + getattr(rng, noise)(0.0, 1.0, games)


def draw_mean(data: np.ndarray, games: int, rng: Generator, *, epsilon: float, delta: float) -> np.ndarray:
    """`MeanMechanism` of DP-Auditorium without noise in its counts: no privacy, as the true n shows."""
    factor = math.sqrt(2 * math.log(1.25 / delta)) if delta else 1.0
    draw = rng.normal if delta else rng.laplace
    return data.mean() + draw(0.0, factor / epsilon / len(data), games)


_MEAN = {"data": (0.0,), "neighbour": (0.0, 1.0), "neighbours": "add or remove one"}
_HALVES = {"data": (1.0,) * 5 + (0.0,) * 5, "neighbour": (0.0,) * 5 + (1.0,) * 5}
_SVT = {**_HALVES, "epsilon": 1.0, "neighbours": "replace a group of 10"}
CLAIMS: dict[str, Claim] = {
    "Laplace, half of ε = 1": Claim(partial(draw_noisy_sum, noise="laplace"), (0.0,), (1.0,), 0.5),
    "Laplace, 0.8 of ε = 1": Claim(partial(draw_noisy_sum, noise="laplace"), (0.0,), (1.0,), 0.8),
    "Laplace, true": Claim(partial(draw_noisy_sum, noise="laplace"), (0.0,), (1.0,), 1.0),
    "Gaussian, μ = 1": Claim(partial(draw_noisy_sum, noise="normal"), (0.0,), (1.0,), 1.0, 1e-5),
    "mean by true n, Laplace": Claim(partial(draw_mean, epsilon=0.1, delta=0.0), epsilon=0.1, **_MEAN),
    "mean by true n, Gaussian": Claim(
        partial(draw_mean, epsilon=0.1, delta=1e-5), epsilon=0.1, delta=1e-5, **_MEAN
    ),
    "SVT1, true": Claim(partial(sparse_vector, rho=2.0, nu=4.0, threshold=0.5, halts=1), **_SVT),
    "SVT5": Claim(partial(sparse_vector, rho=2.0, nu=0.0, threshold=1.0), **_SVT),
    "SVT6": Claim(partial(sparse_vector, rho=2.0, nu=2.0, threshold=1.0), **_SVT),
}


def build_tester(kind: str, claim: Claim) -> Any:
    """A tester of the claim; None if it does not apply to it."""
    from dp_auditorium.configs import privacy_property, property_tester_config

    approximate = privacy_property.ApproximateDp(claim.epsilon, claim.delta)
    if kind == "histogram":
        from dp_auditorium.testers import histogram_tester

        if len(claim.data) > 2:
            return None  # releases are vectors
        return histogram_tester.HistogramTester(
            property_tester_config.HistogramPropertyTesterConfig(False, BINS, -1.0, 1.0, approximate)
        )
    if kind == "MMD":
        from dp_auditorium.testers import mmd_tester

        rbf = property_tester_config.Kernel.KERNEL_RBF
        return mmd_tester.MMDPropertyTester(
            property_tester_config.MMDPropertyTesterConfig(rbf, 0.1, approximate)
        )
    if kind == "hockey-stick":
        from dp_auditorium.testers import hockey_stick_tester

        training = hockey_stick_tester.make_default_hs_training_config()
        return hockey_stick_tester.HockeyStickPropertyTester(
            property_tester_config.HockeyStickPropertyTesterConfig(training, approximate),
            hockey_stick_tester.make_default_hs_base_model(),
        )
    from dp_auditorium.testers import renyi_tester

    if claim.delta:
        return None
    training = property_tester_config.TrainingConfig(5, 128, 0.001, 1.0)
    pure = privacy_property.PrivacyProperty(pure_dp=privacy_property.PureDp(claim.epsilon))
    return renyi_tester.RenyiPropertyTester(
        property_tester_config.RenyiPropertyTesterConfig(1.5, training, pure),
        renyi_tester.make_default_renyi_base_model(),
    )


def run_tester(kind: str, claim: Claim, games: int, seed: int) -> tuple[bool, float] | None:
    """Whether a tester refutes the claim, and its processor seconds; None if it does not apply."""
    from dp_auditorium import privacy_test_runner
    from dp_auditorium.configs import privacy_test_runner_config as configs
    from dp_auditorium.generators.constant_dataset_generator import ConstantDatasetGenerator

    tester = build_tester(kind, claim)
    if tester is None:
        return None
    rng = np.random.default_rng(seed)
    config = configs.PrivacyTestRunnerConfig(
        configs.PropertyTester.UNSPECIFIED_TESTER, 1, FAILURE, games, configs.PostProcessing.TANH
    )
    runner = privacy_test_runner.PrivacyTestRunner(config, ConstantDatasetGenerator(claim.worlds), tester)
    mechanism: Callable[[np.ndarray, int], np.ndarray] = partial(_draw_rows, claim, kind, rng)
    start = time.process_time()
    result = runner.test_privacy(mechanism, "")
    return result.found_privacy_violation is not None, time.process_time() - start


def _draw_rows(claim: Claim, kind: str, rng: Generator, data: np.ndarray, games: int) -> np.ndarray:
    """(games, k); of the histogram (games,)."""
    released = np.asarray(claim.mechanism(data, games, rng), float)
    return released if kind == "histogram" or released.ndim == 2 else released[:, None]


def load_package(checkout: str) -> None:
    """Make the modules importable without the `__init__` of the package and of its generators; one thread."""
    root = Path(checkout, "python", "dp_auditorium", "dp_auditorium")
    for name in ("dp_auditorium", "dp_auditorium.generators"):
        package = types.ModuleType(name)
        package.__path__ = [str(root.joinpath(*name.split(".")[1:]))]
        sys.modules[name] = package
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)


def main() -> None:
    checkout = os.environ["DP_AUDITORIUM"]
    load_package(checkout)
    import tensorflow as tf

    commit = find_commit(checkout)
    for name, claim in CLAIMS.items():
        for kind in TESTERS:
            for games in SIZES:
                runs = []
                for seed in range(SEEDS):
                    tf.keras.utils.set_random_seed(seed)
                    runs.append(run_tester(kind, claim, games, seed))
                found = [run for run in runs if run is not None]
                row = {"claim": name, "tester": kind, "games": games, "commit": commit, "runs": found}
                print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
