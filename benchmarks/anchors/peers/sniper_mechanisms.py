"""The 20 mechanisms of DP-Sniper's evaluation as plain functions, with its best pair of data sets for each.

Each is f(data, games, rng) -> (games,) or (games, k): `data` is a vector of query answers, a row is one run.
Written anew from the code of DP-Sniper (Bichsel, Steffen, Bogunovic, Vechev 2021; `dpsniper/mechanisms` of
github.com/eth-sri/dp-sniper at ee087b2), with its settings. Needs numpy only, since DP-Sniper's environment
imports it too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np
from numpy.random import Generator

EPSILON = 0.1  # of each mechanism's definition, nats
BELOW, STOPPED = -1000.0, -2000.0  # what SVT3 releases in place of numbers
BLOOM_SIZE, BLOOM_HASHES = 20, 4
ONE_TIME_RAPPOR_F = 0.95  # the probability that a bit is replaced by a fair coin
RAPPOR_F, RAPPOR_P, RAPPOR_Q = 0.75, 0.45, 0.55  # p and q: of releasing 1 where the kept bit is 0 and 1

Mechanism = Callable[[np.ndarray, int, Generator], np.ndarray]


def laplace_mechanism(data: np.ndarray, games: int, rng: Generator) -> np.ndarray:
    return rng.laplace(data[0], 1 / EPSILON, games)


def geometric(data: np.ndarray, games: int, rng: Generator) -> np.ndarray:
    """GeoSample of Balcer and Vadhan (2018), Algorithm 4.8, for a count among five individuals."""
    steps = np.cumsum(geometric_weights(int(data[0])))
    return np.searchsorted(steps, rng.integers(1, steps[-1] + 1, games)).astype(float)


def geometric_weights(count: int, individuals: int = 5) -> np.ndarray:
    """(individuals + 1,): of how many integers each release is the image."""
    bits = math.ceil(math.log(2 / EPSILON))
    base = 2**bits
    size = (2 * base + 1) * (base + 1) ** (individuals - 1)
    below = [base ** (count - z) * (base + 1) ** (individuals - count + z) for z in range(count)]
    above = [
        size - base ** (z - count + 1) * (base + 1) ** (individuals - 1 - z + count)
        for z in range(count, individuals)
    ]
    return np.diff([0, *below, *above, size])


def noisy_histogram(data: np.ndarray, games: int, rng: Generator, *, scale: float) -> np.ndarray:
    return data + rng.laplace(scale=scale, size=(games, len(data)))


def report_noisy_max(data: np.ndarray, games: int, rng: Generator, *, noise: str, value: bool) -> np.ndarray:
    """The place of the largest noisy answer or, wrongly, its value. noise: "laplace" or "exponential"."""
    noisy = data + getattr(rng, noise)(scale=2 / EPSILON, size=(games, len(data)))
    return noisy.max(axis=1) if value else noisy.argmax(axis=1)


def sparse_vector(
    data: np.ndarray, games: int, rng: Generator, *, rho: float, nu: float, threshold: float, halts: int = 0
) -> np.ndarray:
    """1 where a noisy answer reaches the noisy threshold, 0 elsewhere, -1 after `halts` ones (0: never).

    rho, nu: the scales of the noise of the threshold and of an answer; 0 for none.
    """
    noisy = data + rng.laplace(scale=nu, size=(games, len(data))) if nu else data
    above = noisy >= rng.laplace(scale=rho, size=(games, 1)) + threshold
    return stop_after(halts, above, above.astype(int), -1)


def stop_after(halts: int, above: np.ndarray, released: np.ndarray, mark: float) -> np.ndarray:
    """`released`, with `mark` wherever `halts` earlier answers were above."""
    if halts:
        released[np.cumsum(above, axis=1) - above >= halts] = mark
    return released


def svt2(data: np.ndarray, games: int, rng: Generator) -> np.ndarray:
    """SVT2 draws the threshold anew after each answer "above"; it stops after the first."""
    return sparse_vector(data, games, rng, rho=2 / EPSILON, nu=4 / EPSILON, threshold=1.0, halts=1)


def svt3(data: np.ndarray, games: int, rng: Generator, *, halts: int = 1) -> np.ndarray:
    """Releases the noisy answers above the threshold, -1000 for those below, -2000 after the last."""
    noisy = data + rng.laplace(scale=2 * halts / EPSILON, size=(games, len(data)))
    above = noisy >= rng.laplace(scale=2 / EPSILON, size=(games, 1)) + 1.0
    return stop_after(halts, above, np.where(above, noisy, BELOW), STOPPED)


def svt4(data: np.ndarray, games: int, rng: Generator, *, halts: int = 1) -> np.ndarray:
    scales = {"rho": 4 / EPSILON, "nu": 4 / (3 * EPSILON)}
    return sparse_vector(data, games, rng, threshold=1.0, halts=halts, **scales)


@lru_cache
def list_bloom_bits(number: int) -> list[int]:
    """The bits of a number's Bloom filter: mmh3.hash(str(number), seed) % 20 for seeds 0 to 3."""
    return sorted({hash_short_text(str(number), seed) % BLOOM_SIZE for seed in range(BLOOM_HASHES)})


def hash_short_text(text: str, seed: int) -> int:
    """MurmurHash3 of at most three characters, 32 bits with a sign."""
    mixed = int.from_bytes(text.encode(), "little") * 0xCC9E2D51 % 2**32
    mixed = (mixed << 15 | mixed >> 17) * 0x1B873593 % 2**32
    result = seed ^ mixed ^ len(text)
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35), (16, 1)):
        result = (result ^ result >> shift) * factor % 2**32
    return (result + 2**31) % 2**32 - 2**31


def one_time_rappor(
    data: np.ndarray, games: int, rng: Generator, *, f: float = ONE_TIME_RAPPOR_F
) -> np.ndarray:
    """The Bloom filter of a number, of which each bit becomes a fair coin with probability f."""
    bits = np.zeros(BLOOM_SIZE)
    bits[list_bloom_bits(int(data[0]))] = 1
    uniform = rng.random((games, BLOOM_SIZE))
    return np.where(uniform < f / 2, 1.0, np.where(uniform < f, 0.0, bits))


def rappor(data: np.ndarray, games: int, rng: Generator) -> np.ndarray:
    kept = one_time_rappor(data, games, rng, f=RAPPOR_F)
    return (rng.random(kept.shape) < np.where(kept == 1, RAPPOR_Q, RAPPOR_P)).astype(float)


def laplace_parallel(data: np.ndarray, games: int, rng: Generator) -> np.ndarray:
    """One answer, twenty times with noise for ε/20."""
    return rng.laplace(data[0], 20 / EPSILON, (games, 20))


def svt34_parallel(data: np.ndarray, games: int, rng: Generator) -> np.ndarray:
    return np.hstack([svt3(data, games, rng, halts=2), svt4(data, games, rng, halts=2)])


def prefix_sum(data: np.ndarray, games: int, rng: Generator) -> np.ndarray:
    return np.cumsum(data + rng.laplace(scale=1 / EPSILON, size=(games, len(data))), axis=1)


def numerical_svt(data: np.ndarray, games: int, rng: Generator) -> np.ndarray:
    """Releases the first two answers above the threshold with fresh noise, 0 for others, -1000 afterwards."""
    shape = (games, len(data))
    above = data + rng.laplace(scale=12 / EPSILON, size=shape) >= 1.0 + rng.laplace(
        scale=3 / EPSILON, size=(games, 1)
    )
    return stop_after(
        2, above, np.where(above, data + rng.laplace(scale=6 / EPSILON, size=shape), 0.0), BELOW
    )


@dataclass(frozen=True)
class Case:
    """A mechanism on the data sets of world 0 and world 1, in the order that DP-Sniper recorded.

    learner, pattern, swapped: the same as a learner of the zoo against `statdp`, where there is one.
    """

    mechanism: Mechanism
    data: tuple[float, ...]
    neighbour: tuple[float, ...]
    learner: str = ""
    pattern: str = ""
    swapped: bool = False

    @property
    def worlds(self) -> tuple[np.ndarray, np.ndarray]:
        return np.array(self.data), np.array(self.neighbour)

    @property
    def neighbours(self) -> str:
        """The relation in which any two data sets of this size are neighbours."""
        return f"replace a group of {len(self.data)}"


noisy_hist_1 = partial(noisy_histogram, scale=1 / EPSILON)
noisy_hist_2 = partial(noisy_histogram, scale=EPSILON)
noisy_max_1 = partial(report_noisy_max, noise="laplace", value=False)
noisy_max_2 = partial(report_noisy_max, noise="exponential", value=False)
noisy_max_3 = partial(report_noisy_max, noise="laplace", value=True)
noisy_max_4 = partial(report_noisy_max, noise="exponential", value=True)
svt1 = partial(sparse_vector, rho=2 / EPSILON, nu=4 / EPSILON, threshold=0.5, halts=1)
svt5 = partial(sparse_vector, rho=2 / EPSILON, nu=0.0, threshold=1.0)
svt6 = partial(sparse_vector, rho=2 / EPSILON, nu=2 / EPSILON, threshold=1.0)

_ZEROS5, _ONES5, _ONES, _UP = (0.0,) * 5, (1.0,) * 5, (1.0,) * 10, (2.0,) * 5 + (0.0,) * 5
_HEAD, _TAIL = (1.0,) * 5 + (0.0,) * 5, (0.0,) * 5 + (1.0,) * 5
_ONE_LESS, _REST_ABOVE = (0.0, 1.0, 1.0, 1.0, 1.0), (0.0, 2.0, 2.0, 2.0, 2.0)

# `best_result` of DP-Sniper's logistic regression, in eval_sp2021/reference-results/dd_search_reg_data.log.
CASES: Mapping[str, Case] = {
    "LaplaceMechanism": Case(laplace_mechanism, (1.0,), (2.0,), "zoo-laplace", "one-below"),
    "TruncatedGeometric": Case(geometric, (2.0,), (1.0,)),
    "NoisyHist1": Case(noisy_hist_1, _ONE_LESS, _ONES5, "noisy-hist-1", "one-above", swapped=True),
    "NoisyHist2": Case(noisy_hist_2, _ONE_LESS, _ONES5, "noisy-hist-2", "one-above", swapped=True),
    "ReportNoisyMax1": Case(noisy_max_1, _ONES5, _REST_ABOVE, "report-noisy-max-1", "one-below-rest-above"),
    "ReportNoisyMax2": Case(noisy_max_2, _ONES5, _REST_ABOVE, "report-noisy-max-2", "one-below-rest-above"),
    "ReportNoisyMax3": Case(noisy_max_3, _ZEROS5, _ONES5, "report-noisy-max-3", "all-below", swapped=True),
    "ReportNoisyMax4": Case(noisy_max_4, _ONES5, (2.0,) * 5, "report-noisy-max-4", "all-above"),
    "SVT1": Case(svt1, _TAIL, _HEAD, "svt-1", "x-shape", swapped=True),
    "SVT2": Case(svt2, _TAIL, _HEAD, "svt-2", "x-shape", swapped=True),
    "SVT3": Case(svt3, _ONES, _UP, "svt-3", "half-half"),
    "SVT4": Case(svt4, _ONES, _UP, "svt-4", "half-half"),
    "SVT5": Case(svt5, _UP, _ONES, "svt-5", "half-half", swapped=True),
    "SVT6": Case(svt6, _HEAD, _TAIL, "svt-6", "x-shape"),
    "RAPPOR": Case(rappor, (1.0,), (0.0,)),
    "OneTimeRAPPOR": Case(one_time_rappor, (1.0,), (0.0,)),
    "LaplaceParallel": Case(laplace_parallel, (1.0,), (0.0,)),
    "SVT34Parallel": Case(svt34_parallel, _ONES, _UP),
    "PrefixSum": Case(prefix_sum, _ONES, (0.0,) * 10),
    "NumericalSVT": Case(numerical_svt, (2.0,) * 10, _ONES),
}


@dataclass(frozen=True)
class Domain:
    """The vectors that a mechanism receives: least and largest entry; neighbours are at distance 1."""

    values: tuple[int, int] = (-10, 10)
    metric: str = "linf"


_COUNTS = Domain((0, 10), "l1")
# Of `exp_default`, and the mechanisms whose input must be of whole numbers.
DOMAINS: Mapping[str, Domain] = {
    **dict.fromkeys(CASES, Domain()),
    **dict.fromkeys(("LaplaceMechanism", "LaplaceParallel", "RAPPOR", "OneTimeRAPPOR"), Domain(metric="l1")),
    "TruncatedGeometric": Domain((0, 5), "l1"),
    "NoisyHist1": _COUNTS,
    "NoisyHist2": _COUNTS,
}
WHOLE_NUMBERS = ("TruncatedGeometric", "NoisyHist1", "NoisyHist2", "RAPPOR", "OneTimeRAPPOR")
