"""The scores that every estimator gets: which cases there are, and where their arrays are.

Imported in the environment of every tool, so it needs numpy only.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).parents[2] / "build" / "anchors"
SCORES = FOLDER / "scores.npz"

CONFIDENCE = 0.95
AUDITS = 20  # of each case
NULL_AUDITS = 10_000  # of each size
NULL_SIZES = (20, 100, 1_000)  # games in each world
NULL_DELTA = 1e-5  # not 0, since some estimators exist for positive δ only
_NULL_SEED = 77


@dataclass(frozen=True)
class TwoWorlds:
    """Scores of `games` games in each of two worlds, of which (epsilon, delta) is the exact privacy loss.

    Arrays: (AUDITS, 2, games), with world 0 first; a high score speaks for world 1.
    """

    law: str
    epsilon: float
    delta: float
    games: int

    @property
    def name(self) -> str:
        return f"{self.law}, ε = {self.epsilon:g}, δ = {self.delta:g}, n = {self.games:,}"


@dataclass(frozen=True)
class OneRun:
    """Scores of the canaries of one run, each included or not by a fair coin.

    Every score is N(μ, 1) if its canary is included and N(0, 1) otherwise, independently of the others, with
    the μ for which (epsilon, delta) is exact. Arrays: scores (AUDITS, canaries) and coins of the same shape.
    """

    epsilon: float
    delta: float
    canaries: int

    @property
    def name(self) -> str:
        return f"one run, ε = {self.epsilon:g}, δ = {self.delta:g}, m = {self.canaries:,}"


TWO_WORLDS = (
    TwoWorlds("Gaussian", 1.0, 1e-5, 1_000),
    TwoWorlds("Gaussian", 1.0, 1e-5, 10_000),
    TwoWorlds("Gaussian", 4.0, 1e-5, 1_000),
    TwoWorlds("Laplace", 1.0, 0.0, 1_000),
    TwoWorlds("Laplace", 1.0, 0.0, 10_000),
    TwoWorlds("randomised response", 1.0, 0.0, 1_000),
    TwoWorlds("Gaussian", 1.0, 1e-5, 200),
    TwoWorlds("Gaussian", 1.0, 1e-5, 5_000),
)
ONE_RUN = tuple(OneRun(epsilon, 1e-5, m) for m in (1_000, 5_000) for epsilon in (1.0, 2.0, 4.0, 8.0))


def draw_identical_worlds(games: int, audit: int) -> np.ndarray:
    """Standard normal scores of an audit without any privacy loss: (2, games)."""
    return np.random.default_rng([_NULL_SEED, games, audit]).standard_normal((2, games))


def draw_uninformative_run(canaries: int, audit: int) -> tuple[np.ndarray, np.ndarray]:
    """Scores that do not depend on the coins: (canaries,) both."""
    rng = np.random.default_rng([_NULL_SEED + 1, canaries, audit])
    return rng.standard_normal(canaries), rng.random(canaries) < 0.5


def digest_scores() -> str:
    """A digest of all scores, which shows whether two tools were given the same ones."""
    digest = hashlib.sha256()
    with np.load(SCORES) as arrays:
        for name in sorted(arrays.files):
            digest.update(arrays[name].tobytes())
    for size in NULL_SIZES:
        digest.update(draw_identical_worlds(size, NULL_AUDITS - 1).tobytes())
        for array in draw_uninformative_run(size, NULL_AUDITS - 1):
            digest.update(array.tobytes())
    return digest.hexdigest()[:16]
