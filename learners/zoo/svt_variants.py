"""The six variants of the sparse vector technique: svt-1 and svt-2, which are correct, and svt-3 to svt-6,
which are not.

The numbering is that of Lyu, Su, Li, Understanding the Sparse Vector Technique for Differential Privacy
(2017).
"""

from __future__ import annotations

import attrs
import numpy as np

from arena.errors import Unsupported
from arena.laws import Branches, Density, Finite
from arena.sample import Sample
from learners.mechanisms.noise.densities import HiddenBelow, laplace_density
from learners.mechanisms.noise.laplace_noise import laplace
from learners.zoo.base import QueryValues
from learners.zoo.svt_base import (
    HaltingSvtLearner,
    NoisySvtLearner,
    SvtLearner,
    answer_until_halt,
    full_law,
    noiseless_law,
    threshold_setting,
)

_BELOW = -1000.0  # released by svt-3 for "below"
_UNANSWERED = -2000.0  # released by svt-3 for a query after the last halt


@attrs.frozen
class Svt1(HaltingSvtLearner):
    """Sparse vector as corrected by Lyu, Su and Li: ρ ~ Lap(2/ε), drawn once, and ν ~ Lap(4c/ε); stops after
    c answers "above".

    Algorithm 1 of Lyu, Su, Li, Understanding the Sparse Vector Technique for Differential Privacy (2017). The
    claim is ε, for any number of queries.
    """

    name = "svt-1"
    theorem = "Algorithm 1 of Lyu, Su, Li (2017), and the proof there"

    threshold: float = threshold_setting(0.5)

    @property
    def threshold_scale(self) -> float:
        return 2 / self.epsilon

    @property
    def noise_scale(self) -> float:
        return 4 * self.halts / self.epsilon


@attrs.frozen
class Svt2(HaltingSvtLearner):
    """Sparse vector of Dwork and Roth's book: ρ ~ Lap(2c/ε), drawn afresh after each "above", and ν ~
    Lap(4c/ε); stops after c of these.

    Algorithm Sparse of Dwork and Roth, The Algorithmic Foundations of Differential Privacy (2014), section
    3.6; Algorithm 2 of Lyu, Su, Li (2017). The claim is ε, for any number of queries.
    """

    name = "svt-2"
    theorem = "Theorem 3.25 of The Algorithmic Foundations of Differential Privacy (Dwork, Roth 2014)"
    renewed = True

    threshold: float = threshold_setting(1.0)

    @property
    def threshold_scale(self) -> float:
        return 2 * self.halts / self.epsilon

    @property
    def noise_scale(self) -> float:
        return 4 * self.halts / self.epsilon


@attrs.frozen
class Svt3(HaltingSvtLearner):
    """Sparse vector of Roth's lecture notes: ρ ~ Lap(2/ε) and ν ~ Lap(2c/ε) that releases q_i + ν_i for
    "above"; stops after c of these.

    Roth, lecture notes on The Algorithmic Foundations of Data Privacy (2011); Algorithm 3 of Lyu, Su, Li
    (2017). The error: a released value cannot be below the noisy threshold and so reveals it, while the proof
    counts the answers "below" as if the threshold were hidden. It claims ε. With c = 1 the exact value is
    m·ε/2, where all queries change and the value is far below them.

    Releases (n, m) float64: the value for "above", -1000 for "below", -2000 for a query that is not answered.
    """

    name = "svt-3"
    theorem = "none: the released value reveals the threshold; exactly m·ε/2 for one halt"

    threshold: float = threshold_setting(1.0)

    @property
    def threshold_scale(self) -> float:
        return 2 / self.epsilon

    @property
    def noise_scale(self) -> float:
        return 2 * self.halts / self.epsilon

    def answer(self, values: QueryValues, rng: np.random.Generator, out: np.ndarray) -> None:
        thresholds = self.draw_thresholds(rng, np.empty(values.games))
        noisy = self.add_noise(values, rng)
        answers = answer_until_halt(self.halts, noisy >= thresholds)
        noisy *= self.noise_scale
        np.copyto(noisy, _BELOW, where=answers == 0)
        np.copyto(noisy, _UNANSWERED, where=answers == -1)
        out[:] = noisy.T

    def law(self, sample: Sample) -> Branches:
        """The output distribution. Branch i: it stopped at query i and released a value. Last branch: it
        never stopped.

        Raises: Unsupported if halts > 1, since `Branches` holds one released value only.
        """
        if self.halts > 1:
            raise Unsupported(
                "svt-3 has an exact output distribution only for one halt",
                value=self.halts,
                remedy="Set halts=1.",
            )
        values = self.counts(sample)
        stops = (self._stop_density(values[: i + 1]) for i in range(len(values)))
        return Branches(parts=(*stops, self._all_below(values).total), read=_read_svt_3)

    def _all_below(self, values: np.ndarray) -> HiddenBelow:
        return HiddenBelow.of(self.threshold_scale, values - self.threshold, self.noise_scale)

    def _stop_density(self, values: np.ndarray) -> Density:
        """The density of the value with which it stops at the last of `values`."""
        before, last = self._all_below(values[:-1]), laplace_density(values[-1], self.noise_scale)
        return Density(
            log=lambda x: last.log(x) + before.log(x - self.threshold),
            kinks=tuple(np.unique([*values, self.threshold])),
            low=last.low,
            high=last.high,
            scale=1 / (before.rate + 1 / self.noise_scale),
        )


def _read_svt_3(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The query at which each of values (n, m) stopped, m if it never did, -1 if no game can end so; and the
    value."""
    games, queries = values.shape
    above = (values != _BELOW) & (values != _UNANSWERED)
    stop = np.where(above.any(axis=1), above.argmax(axis=1), queries)
    after = np.arange(queries) - stop[:, None]
    possible = np.where(after < 0, values == _BELOW, (after == 0) | (values == _UNANSWERED)).all(axis=1)
    released = values[np.arange(games), np.minimum(stop, queries - 1)]
    return np.where(possible, stop, -1), released


@attrs.frozen
class Svt4(HaltingSvtLearner):
    """Sparse vector of Lee and Clifton: ρ ~ Lap(4/ε), drawn once, and ν ~ Lap(4/(3ε)) for every c; stops
    after c answers "above".

    Lee, Clifton, Top-k Frequent Itemsets via Differentially Private FP-trees (2014); Algorithm 4 of Lyu, Su,
    Li (2017). The error: the noise of the queries is enough only for monotone queries and one "above". It
    claims ε; what holds is (1 + 6c)ε/4.
    """

    name = "svt-4"
    theorem = "none: too little noise on the queries; (1 + 6c)ε/4 holds (Lyu, Su, Li 2017)"

    threshold: float = threshold_setting(1.0)

    @property
    def threshold_scale(self) -> float:
        return 4 / self.epsilon

    @property
    def noise_scale(self) -> float:
        return 4 / (3 * self.epsilon)


@attrs.frozen
class Svt5(SvtLearner):
    """Sparse vector of Stoddard, Chen and Machanavajjhala: ρ ~ Lap(2/ε), drawn once, and no noise on the
    queries; never stops.

    Stoddard, Chen, Machanavajjhala, Differentially Private Algorithms for Empirical Machine Learning (2014);
    Algorithm 5 of Lyu, Su, Li (2017). The error: two queries without noise get different answers only if the
    threshold lies between them, and then the answers reveal which is larger. It claims ε, but no ε holds:
    some answers are possible for only one of two neighbours.
    """

    name = "svt-5"
    theorem = "none: no noise on the queries, whose order is revealed; infinite"

    threshold: float = threshold_setting(1.0)

    @property
    def threshold_scale(self) -> float:
        return 2 / self.epsilon

    def answer(self, values: QueryValues, rng: np.random.Generator, out: np.ndarray) -> None:
        thresholds = laplace(rng, np.empty(values.games))
        thresholds += self.threshold / self.threshold_scale
        out[:] = (values.rows(1 / self.threshold_scale) >= thresholds).T

    def law(self, sample: Sample) -> Finite:
        return noiseless_law((self.counts(sample) - self.threshold) / self.threshold_scale)


@attrs.frozen
class Svt6(NoisySvtLearner):
    """Sparse vector of Chen and others: ρ ~ Lap(2/ε), drawn once, and ν ~ Lap(2/ε); never stops.

    Chen, Xiao, Zhang, Xu, Differentially Private High-Dimensional Data Publication via Sampling-Based
    Inference (2015); Algorithm 6 of Lyu, Su, Li (2017). The error: the number of answers "above" is not
    limited. It claims ε; the privacy loss grows with the number of queries, without bound.
    """

    name = "svt-6"
    theorem = "none: answers above the threshold are not limited; the loss grows with m without bound"

    threshold: float = threshold_setting(1.0)

    @property
    def threshold_scale(self) -> float:
        return 2 / self.epsilon

    @property
    def noise_scale(self) -> float:
        return 2 / self.epsilon

    def answer(self, values: QueryValues, rng: np.random.Generator, out: np.ndarray) -> None:
        thresholds = self.draw_thresholds(rng, np.empty(values.games))
        out[:] = (self.add_noise(values, rng) >= thresholds).T

    def law(self, sample: Sample) -> Finite:
        """The output distribution, over 2^m sequences of answers.

        Raises: Unsupported if there are more than 16,384 of them.
        """
        return full_law(*self.answer_probabilities(self.counts(sample)))
