"""The zoo for tests: one learner of each kind, samples for them, and quadratures of their densities."""

from __future__ import annotations

import numpy as np

from arena import Density, Sample, Training
from learners.zoo.counting_queries import CountingLearner, NoisyHist1, NoisyHist2, ZooLaplace
from learners.zoo.noisy_max import ReportNoisyMax1, ReportNoisyMax2, ReportNoisyMax3, ReportNoisyMax4
from learners.zoo.svt import Svt1, Svt2, Svt3, Svt4, Svt5, Svt6

KINDS: list[type[CountingLearner]] = [
    ZooLaplace,
    NoisyHist1,
    NoisyHist2,
    ReportNoisyMax1,
    ReportNoisyMax2,
    ReportNoisyMax3,
    ReportNoisyMax4,
    Svt1,
    Svt2,
    Svt3,
    Svt4,
    Svt5,
    Svt6,
]
EVERY: list[CountingLearner] = [kind() for kind in KINDS]

# Noise so large that every answer is likely, and several halts where there are any.
LIVELY: list[CountingLearner] = [
    ZooLaplace(epsilon=1.0),
    NoisyHist1(epsilon=1.0, queries=3),
    NoisyHist2(epsilon=1.5, queries=3),
    ReportNoisyMax1(epsilon=1.0),
    ReportNoisyMax2(epsilon=1.0),
    ReportNoisyMax3(epsilon=1.0),
    ReportNoisyMax4(epsilon=1.0),
    Svt1(epsilon=1.0, queries=4),
    Svt1(epsilon=2.0, queries=4, halts=2),
    Svt2(epsilon=1.0, queries=4),
    Svt2(epsilon=2.0, queries=4, halts=2),
    Svt3(epsilon=1.0, queries=4),
    Svt4(epsilon=1.0, queries=4),
    Svt4(epsilon=1.0, queries=4, halts=3),
    Svt5(epsilon=1.0, queries=4),
    Svt6(epsilon=1.0, queries=4),
]


def label(learner: CountingLearner) -> str:
    """The identifier of a test's case."""
    halts = getattr(learner, "halts", 1)
    return learner.name + (f"-{halts}-halts" if halts > 1 else "")


def spread(learner: CountingLearner, most: float, *, falling: bool = False) -> Sample:
    """A sample whose queries have values spread over [0, most], rising or falling; each person in one bin."""
    values = np.linspace(most / 3, most, learner.queries)
    values = values[::-1] if falling else values
    whole = np.floor(values).astype(int)
    units = np.eye(learner.queries)
    points = np.concatenate([units * (values - whole)[:, None], units[whole > 0]])
    counts = np.concatenate([np.ones(learner.queries, int), whole[whole > 0]])
    return Sample(points, np.zeros(len(points)), counts)


def alternating(samples: list[Sample], games: int) -> tuple[Training, list[np.ndarray]]:
    """A batch of games that have the samples in turn, and the games of each sample."""
    which = np.arange(games) % len(samples)
    return Training.of(samples, which), [np.flatnonzero(which == i) for i in range(len(samples))]


def masses(law: Density) -> tuple[np.ndarray, np.ndarray]:
    """Cuts (k + 1,) of a density, and its mass between them (k,), by Gauss's rule."""
    cuts = np.unique([*np.linspace(law.low, law.high, 4_001), *law.kinks])
    cuts = cuts[(cuts >= law.low) & (cuts <= law.high)]
    points, weights = np.polynomial.legendre.leggauss(8)
    half = np.diff(cuts) / 2
    nodes = cuts[:-1, None] + half[:, None] * (points + 1)
    values = np.exp(law.log_density(nodes.ravel())).reshape(nodes.shape)
    return cuts, half * (values @ weights)
