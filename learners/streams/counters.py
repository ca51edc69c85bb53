"""tree-counter, stream-histogram, sparse-counter, count-alarm and announced-sampling: streams with noise."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil
from typing import Any, ClassVar

import attrs
import numpy as np

from arena.claims import Claim, Neighbours, read_relation
from arena.laws import Independent, Transformed
from arena.referees.stream_moves import StreamLaw
from arena.sample import freeze
from arena.settings import count_setting, more_than, one_of, setting
from learners.mechanisms.counters import BinaryCounter, tree_levels
from learners.mechanisms.factorisations import lowest_bit
from learners.mechanisms.noise import (
    REACH,
    discrete_laplace,
    discrete_laplace_tail,
    laplace,
    laplace_density,
)
from learners.mechanisms.sparse_vector import RunningSum
from learners.streams.base import StreamLearner, claim_pure


@attrs.frozen
class TreeCounter(StreamLearner):
    """Publishes the sum of all records in [0, 1] so far, by the binary mechanism with Laplace noise.

    A record is in at most log2 T + 1 intervals of the tree, each with noise of its own: (ε, 0)-DP, for
    adaptive streams (docs/proofs/binary_counter.md).
    """

    name = "tree-counter"
    theorem = "Theorem 3.5 of Chan, Shi, Song, Private and Continual Release of Statistics (2011)"

    epsilon: float = setting(1.0, unit="nats", help="ε")

    @property
    def claim(self) -> Claim:
        return claim_pure(self.neighbours, self.epsilon)

    @property
    def scale(self) -> float:
        """Of the noise of every interval."""
        return tree_levels(self.rounds) / self.epsilon

    def law(self, sample: Any) -> Transformed:
        """Of the releases for a stream (k,): each shows one more interval."""
        ends = np.concatenate([[0.0], np.cumsum(sample)])
        sums = [float(ends[t] - ends[t - lowest_bit(t)]) for t in range(1, len(ends))]
        parts = tuple(laplace_density(each, self.scale) for each in sums)
        return Transformed(Independent(parts), inverse=read_intervals)

    def open(self, games: int, rng: np.random.Generator) -> Callable[[np.ndarray], np.ndarray]:
        return BinaryCounter((games,), rng, horizon=self.rounds, epsilon=self.epsilon).add


def read_intervals(releases: np.ndarray) -> np.ndarray:
    """(n, k): the noisy sum of the interval that ends with each round, from what was published (n, k)."""
    before = np.concatenate([np.zeros((len(releases), 1)), releases], axis=1)
    older = [t - lowest_bit(t) for t in range(1, before.shape[1])]
    return np.asarray(before[:, 1:] - before[:, older])


COUNTS, LARGEST = SHOWN = ("counts", "largest")


@attrs.frozen
class StreamHistogram(StreamLearner):
    """Publishes how often each category 1, …, d has arrived, or the largest count alone (MaxSum).

    A record that is no category, such as 0, is counted nowhere. Every category has a binary counter with
    Laplace noise; a replaced record changes two of them, one that is added or removed one. The largest count
    is post-processing of all: Jain and others (2023) show that no private stream of it has an error as small
    as that of a counter.
    """

    name = "stream-histogram"
    theorem = "the binary mechanism for each category; Jain and others (2023) for the largest"

    categories: int = count_setting(3, help="d, the categories")
    show: str = setting(COUNTS, help="what is published: counts or largest", check=one_of(*SHOWN))
    epsilon: float = setting(1.0, unit="nats", help="ε for a replaced record")

    @property
    def domain(self) -> tuple[float, float]:
        return (0.0, float(self.categories))

    @property
    def some_points(self) -> np.ndarray:
        return freeze(np.arange(self.categories + 1.0))

    @property
    def claim(self) -> Claim:
        return claim_pure(self.neighbours, self.epsilon, self.epsilon / 2)

    def open(self, games: int, rng: np.random.Generator) -> Callable[[np.ndarray], np.ndarray]:
        shape = games, self.categories
        counter = BinaryCounter(shape, rng, horizon=self.rounds, epsilon=self.epsilon, sensitivity=2.0)
        kinds = np.arange(1, self.categories + 1)

        def publish(records: np.ndarray) -> np.ndarray:
            counts = counter.add(records[:, None] == kinds)
            return counts.max(axis=1) if self.show == LARGEST else counts

        return publish


@attrs.frozen
class SparseCounter(StreamLearner):
    """Publishes a noisy count that changes only when about `step` more records have been summed.

    A running sum with a noisy threshold says when (half of ε); then the sum since the last change is added,
    with Laplace noise (the other half). A record is in one such stretch, so there may be any number of them:
    the private partition of Dwork, Naor, Reingold, Rothblum (2015), docs/proofs/running_sum.md.
    """

    name = "sparse-counter"
    theorem = "the private partition of Dwork, Naor, Reingold, Rothblum (2015)"
    common_random_numbers = False  # noise is drawn when the count changes

    step: float = setting(
        10.0, unit="records", help="the sum after which the count changes", check=more_than(0)
    )
    epsilon: float = setting(1.0, unit="nats", help="ε")

    @property
    def claim(self) -> Claim:
        return claim_pure(self.neighbours, self.epsilon)

    def open(self, games: int, rng: np.random.Generator) -> Callable[[np.ndarray], np.ndarray]:
        share = self.epsilon / 2
        watch = RunningSum(games, rng, thresholds=self.step, epsilon=share)
        stretch, shown = np.zeros(games), np.zeros(games)

        def publish(records: np.ndarray) -> np.ndarray:
            stretch[:] += records
            rows = np.flatnonzero(watch.observe(records))
            if len(rows):
                shown[rows] += stretch[rows] + laplace(rng, np.empty(len(rows)), 1 / share)
                stretch[rows] = 0.0
                watch.restart(rows, self.step)
            return shown.copy()

        return publish


RECORDS = freeze(np.array([0.0, 1.0]))  # of learners to which every record above 0 is 1


@attrs.frozen
class CountAlarm(StreamLearner):
    """Publishes 0 until a noisy count of the records above 0 reaches a noisy threshold, and then 1 for ever.

    AboveThreshold on a running count, with noise of the geometric mechanism: noise k has a probability
    proportional to e^(-ε|k|), once for the threshold and afresh in every round. (ε, 0)-DP for adaptive
    streams, with less noise than for other queries (docs/proofs/running_sum.md).
    """

    name = "count-alarm"
    theorem = "docs/proofs/running_sum.md, after Dwork et al. (2009)"

    threshold: int = count_setting(3, help="the count of records that it waits for")
    epsilon: float = setting(1.0, unit="nats", help="ε")

    @property
    def claim(self) -> Claim:
        return claim_pure(self.neighbours, self.epsilon)

    def stream_law(self) -> CountAlarmLaw:
        return CountAlarmLaw(self.threshold, self.epsilon, self.rounds)

    def open(self, games: int, rng: np.random.Generator) -> Callable[[np.ndarray], np.ndarray]:
        left = self.threshold + discrete_laplace(rng, games, epsilon=self.epsilon)
        alarm = np.zeros(games, bool)

        def publish(records: np.ndarray) -> np.ndarray:
            np.subtract(left, records > 0, out=left)
            np.logical_or(alarm, discrete_laplace(rng, games, epsilon=self.epsilon) >= left, out=alarm)
            return alarm.astype(float)

        return publish


@attrs.frozen(eq=False)
class CountAlarmLaw(StreamLaw):
    """What `count-alarm` publishes. States: how many records are left to the noisy threshold, then the alarm.
    Both ends stand for all that lies beyond, less than 1e-17 of the noise."""

    threshold: int
    epsilon: float
    rounds: int

    values = RECORDS
    records = RECORDS

    @property
    def reach(self) -> int:
        return ceil(REACH / self.epsilon)

    def start(self) -> np.ndarray:
        noise = np.abs(np.arange(-self.reach - self.threshold, self.reach + 1))
        beyond = discrete_laplace_tail(noise, epsilon=self.epsilon)
        masses = beyond - discrete_laplace_tail(noise + 1, epsilon=self.epsilon)
        masses[[0, -1]] = beyond[[0, -1]]
        return np.append(masses, 0.0)

    def step(self, measure: np.ndarray, x: np.ndarray) -> np.ndarray:
        left = np.arange(measure.shape[1] - 1) - self.reach
        fewer = np.concatenate(
            [measure[:, :1] + measure[:, 1:2], measure[:, 2:-1], 0 * measure[:, :1]], axis=1
        )
        counted = np.where(x[:, None] > 0, fewer, measure[:, :-1])
        after = np.zeros((2, *measure.shape))
        after[0, :, :-1] = counted * discrete_laplace_tail(1 - left, epsilon=self.epsilon)
        after[1, :, -1] = measure[:, -1] + counted @ discrete_laplace_tail(left, epsilon=self.epsilon)
        return after


@attrs.frozen
class AnnouncedSampling(StreamLearner):
    """Publishes a few records, by randomised response, and announces a round before whether the next will be.

    Private for fixed streams: the record that differs is sampled with probability `rate`, so that its loss is
    ε₀ only then, which is (ε, rate·(e^ε₀ − e^ε)/(e^ε₀ + 1))-DP. Whoever chooses records after the
    announcement puts it where it is sampled, and rate does not help: docs/proofs/streams.md.

    What is published: 1 and the noisy record if it was sampled, otherwise 0 and 0; and the announcement. A
    record is 0, or 1 if it is above 0.
    """

    name = "announced-sampling"
    theorem = "docs/proofs/streams.md; for streams that are fixed beforehand only"
    protocols: ClassVar[tuple[str, ...]] = ("FixedStream",)

    rate: float = setting(0.05, unit="fraction", help="the chance of a round to be sampled")
    sampled: float = setting(4.0, unit="nats", help="ε₀, of the noise of a sampled record")
    epsilon: float = setting(1.0, unit="nats", help="the ε of the claim")

    @property
    def claim(self) -> Claim:
        relation = read_relation(self.neighbours)
        once = self.truth * -np.expm1(min(0.0, self.epsilon - self.sampled))
        single = claim_pure(str(Neighbours.REPLACE_ONE), self.epsilon)
        return attrs.evolve(single, delta=self.rate * once).convert(
            relation if relation.kind is not Neighbours.REPLACE_ONE else single.neighbours
        )

    @property
    def truth(self) -> float:
        """The chance of a sampled record to be published as it is."""
        return float(1 / (1 + np.exp(-self.sampled)))

    def stream_law(self) -> AnnouncedSamplingLaw:
        return AnnouncedSamplingLaw(self.rate, self.truth, self.rounds)

    def open(self, games: int, rng: np.random.Generator) -> Callable[[np.ndarray], np.ndarray]:
        announced = [rng.random(games) < self.rate]

        def publish(records: np.ndarray) -> np.ndarray:
            now, coming = announced[0], rng.random(games) < self.rate
            announced[0] = coming
            noisy = (records > 0) == (rng.random(games) < self.truth)
            return np.stack([now, now & noisy, coming], axis=1).astype(float)

        return publish


@attrs.frozen(eq=False)
class AnnouncedSamplingLaw(StreamLaw):
    """What `announced-sampling` publishes. States: whether the next record will be sampled."""

    rate: float
    truth: float
    rounds: int

    values = freeze(
        np.array([(now, bit, next) for now, bit in ((0, 0), (1, 0), (1, 1)) for next in (0, 1)], float)
    )
    records = RECORDS

    def start(self) -> np.ndarray:
        return np.array([1 - self.rate, self.rate])

    def step(self, measure: np.ndarray, x: np.ndarray) -> np.ndarray:
        one = np.where(x > 0, self.truth, 1 - self.truth)
        parts = np.stack([measure[:, 0], measure[:, 1] * (1 - one), measure[:, 1] * one])
        after = parts[:, None, :, None] * np.diag(self.start())[:, None]  # what is shown, and what comes
        return np.asarray(after.reshape(6, *measure.shape))
